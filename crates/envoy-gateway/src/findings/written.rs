// SPDX-License-Identifier: Apache-2.0
//! In: policies as written. Out: what an API server refuses, as the rules in the CRDs say. The controller does not look
//! again.

use overrule_source::{Diagnostic, Span, View};

use crate::kinds::KindRole;
use crate::policy::{MergeType, Policy};
use crate::{World, codes};

/// What is wrong, where, in which field, and what to do.
type Problem = (String, Span, &'static str, &'static str);

pub(super) fn report(world: World<'_>, out: &mut Vec<Diagnostic>) {
    for policy in &world.policies.list {
        for (message, at, field, help) in problems(world, policy) {
            out.push(Diagnostic::new(&codes::REFUSED, message).at(at).field(field).help(help));
        }
    }
}

/// Whether an API server refuses a policy.
pub(super) fn is_refused(world: World<'_>, policy: &Policy) -> bool {
    !problems(world, policy).is_empty()
}

fn problems(world: World<'_>, policy: &Policy) -> Vec<Problem> {
    let spec = world.documents.view(policy.spec);
    let mut found = Vec::new();
    if policy.info.role == KindRole::Proxy {
        return found;
    }
    targets(policy, spec, &mut found);
    merging(world, policy, spec, &mut found);
    match policy.info.role {
        KindRole::Traffic => traffic(spec, &mut found),
        KindRole::Security => security(spec, &mut found),
        _ => {}
    }
    found
}

fn targets(policy: &Policy, spec: View<'_>, found: &mut Vec<Problem>) {
    let at = |key| spec.get(key).filter(|value| !value.is_null());
    if let (Some(_), Some(refs)) = (at("targetRef"), at("targetRefs")) {
        found.push((
            "either `targetRef` or `targetRefs` can be used; with both, `targetRef` alone would be read".to_owned(),
            refs.span(),
            "spec.targetRefs",
            "keep `targetRefs`",
        ));
    }
    let any = ["targetRef", "targetRefs", "targetSelectors"].iter().any(|key| at(key).is_some());
    if !any {
        found.push((
            "this policy targets nothing".to_owned(),
            policy.at,
            "spec.targetRefs",
            "add a target in `spec.targetRefs`",
        ));
    }
}

fn merging(world: World<'_>, policy: &Policy, spec: View<'_>, found: &mut Vec<Problem>) {
    let Some(written) = spec.get("mergeType").filter(|value| !value.is_null()) else { return };
    let field = "spec.mergeType";
    if !policy.info.role.is_on_rows() {
        let message = format!("a {} cannot be merged", policy.info.kind);
        return found.push((message, written.span(), field, "remove `mergeType`"));
    }
    if !matches!(policy.merge, Some(MergeType::Strategic | MergeType::Json)) {
        let message = "`mergeType` is `StrategicMerge` or `JSONMerge`".to_owned();
        return found.push((message, written.span(), field, "write one of the two, or remove it"));
    }
    let is_route = |kind: &str| policy.info.routes.contains(&kind);
    if policy.targets.iter().any(|target| !is_route(world.snapshot.text(target.kind))) {
        let message = "`mergeType` can only be set if every target is a route".to_owned();
        found.push((
            message,
            written.span(),
            field,
            "remove `mergeType`, or target routes with a policy of their own",
        ));
    }
}

fn traffic(spec: View<'_>, found: &mut Vec<Problem>) {
    let at = |key| spec.get(key).filter(|value| !value.is_null());
    if let (Some(_), Some(compression)) = (at("compressor"), at("compression")) {
        found.push((
            "either `compression` or `compressor` can be used".to_owned(),
            compression.span(),
            "spec.compression",
            "keep `compressor`",
        ));
    }
    if let (Some(buffer), Some(upgrade)) = (at("requestBuffer"), at("httpUpgrade"))
        && !upgrade.is_empty()
    {
        found.push((
            "`requestBuffer` cannot be used together with `httpUpgrade`".to_owned(),
            buffer.span(),
            "spec.requestBuffer",
            "remove one of the two",
        ));
    }
}

/// A rule by tokens needs tokens in the same policy: what is merged in does not count.
fn security(spec: View<'_>, found: &mut Vec<Problem>) {
    let rules =
        spec.get("authorization").and_then(|a| a.get("rules")).into_iter().flat_map(View::items);
    let by_token = rules.filter_map(|rule| rule.get("principal")?.get("jwt")).next();
    let has_tokens = spec.get("jwt").is_some_and(|jwt| !jwt.is_null());
    if let Some(jwt) = by_token.filter(|_| !has_tokens) {
        found.push((
            "a rule with `principal.jwt` needs `jwt` in the same policy".to_owned(),
            jwt.span(),
            "spec.authorization.rules",
            "add `jwt`; that of a policy it is merged with does not count",
        ));
    }
}
