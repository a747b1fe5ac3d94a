// SPDX-License-Identifier: Apache-2.0
//! In: a policy as written. Out: its value in the form merges work on: fields with a value, providers by name.
//! Not here: merging.

use overrule_engine::{FieldKey, PolicyId, Reason, SharedText, Step, StepId, Traced};
use overrule_source::{Documents, NodeRef, View};

use crate::World;
use crate::kinds::{KindShape, PROVIDERS, TWO_UNITS};
use crate::policy::Policy;

/// What a step brings.
pub(crate) struct Content {
    /// Its value in the form merges work on.
    pub(crate) value: Traced,
    /// Why it breaks every rule it reaches.
    pub(crate) problem: Option<Reason>,
    /// Whose it is; none for what a rule says itself.
    pub(crate) policy: Option<PolicyId>,
}

impl Content {
    pub(super) fn of(world: World<'_>, step: StepId, id: PolicyId, policy: &Policy) -> Self {
        let value = of_policy(world.documents, step, policy);
        Self { value, problem: policy.problem, policy: Some(id) }
    }
}

/// What a step of a policy brings.
pub(crate) fn content_of(world: World<'_>, id: StepId, step: &Step) -> Option<Content> {
    let policy = world.policies.get(step.policy)?;
    Some(Content::of(world, id, step.policy, policy))
}

/// Members of the normal form of a unit that names providers.
pub(crate) const PROVIDER_LIST: &str = "providers";
/// The member that switches it off.
pub(crate) const DISABLE: &str = "disable";

/// How many of [`PROVIDERS`] are held as lists of names: extAuth and extProc.
pub(crate) const LISTED: usize = 2;

/// The value of a policy: what its spec sets, without its targets.
pub(crate) fn of_policy(documents: &Documents, step: StepId, policy: &Policy) -> Traced {
    let all = Traced::Whole { step, node: policy.spec }.entries(documents).into_iter();
    let set = all.filter(|(key, value)| {
        !matches!(key.text(documents), "targetRefs" | "targetSelectors")
            && !value.is_null(documents)
    });
    if policy.info.shape != KindShape::Path {
        return Traced::map(set);
    }
    Traced::map(set.filter_map(|(key, value)| {
        let name = key.text(documents);
        let listed = PROVIDERS.iter().take(LISTED).position(|(path, _)| *path == [name]);
        let value = match listed {
            Some(unit) => providers(documents, step, policy, unit, &value)?,
            None if TWO_UNITS.contains(&name) => units(documents, &value)?,
            None => value,
        };
        Some((key, value))
    }))
}

/// A field of two units: what is set of it, if anything is.
fn units(documents: &Documents, value: &Traced) -> Option<Traced> {
    let set: Vec<_> =
        value.entries(documents).into_iter().filter(|(_, v)| !v.is_null(documents)).collect();
    (!set.is_empty()).then(|| Traced::map(set))
}

/// A unit that names a provider: `{providers: [ns/name]}`, or `{disable: true}`.
fn providers(
    documents: &Documents,
    step: StepId,
    policy: &Policy,
    unit: usize,
    value: &Traced,
) -> Option<Traced> {
    let written = value.get(documents, DISABLE).filter(|v| !v.is_null(documents));
    if let Some(Traced::Whole { node, .. }) = written {
        return Some(disabled(step, Some(node)));
    }
    let list = policy.provider(unit).map(|p| name(step, &p.name, p.node));
    Some(provider_map(list.into_iter().collect(), None))
}

/// The name of a provider as a value.
fn name(step: StepId, name: &str, node: NodeRef) -> Traced {
    let json = serde_json::Value::from(name).to_string();
    Traced::Implied { step, json: json.into(), from: Some(node).into() }
}

/// The normal form of a unit that is switched off.
pub(crate) fn disabled(step: StepId, node: Option<NodeRef>) -> Traced {
    let yes = Traced::Implied { step, json: "true".into(), from: node.into() };
    provider_map(Vec::new(), Some(yes))
}

/// The normal form: providers, and whether they are switched off.
pub(crate) fn provider_map(list: Vec<Traced>, disable: Option<Traced>) -> Traced {
    let key = |text: &str| FieldKey::Text(text.into());
    let mut entries = Vec::with_capacity(2);
    if !list.is_empty() || disable.is_none() {
        entries.push((key(PROVIDER_LIST), Traced::List(list.into())));
    }
    entries.extend(disable.map(|value| (key(DISABLE), value)));
    Traced::map(entries)
}

/// The providers of a normal form, each with its name.
pub(crate) fn provider_list(documents: &Documents, value: &Traced) -> Vec<(SharedText, Traced)> {
    let list = value.get(documents, PROVIDER_LIST);
    let items = list.map(|l| l.items(documents)).unwrap_or_default();
    let named = items.into_iter().filter_map(|item| match &item {
        Traced::Implied { json, .. } => Some((json.clone(), item)),
        _ => None,
    });
    named.collect()
}

/// What switches a unit off: the value of `disable`.
pub(crate) fn disabling(documents: &Documents, value: &Traced) -> Option<Traced> {
    value.get(documents, DISABLE).filter(|v| !v.is_null(documents))
}

/// The provider that a unit names which is held as written: `namespace/name`, by the policy of its step.
pub(crate) fn provider_as_written(
    documents: &Documents,
    value: &Traced,
    namespace: impl Fn(StepId) -> String,
) -> Option<String> {
    let Traced::Whole { step, node } = value else { return None };
    let reference = documents.view(*node).get("extensionRef")?;
    let text = |key| reference.get(key).and_then(View::as_str);
    let name = text("name")?;
    let namespace = text("namespace").map_or_else(|| namespace(*step), str::to_owned);
    Some(format!("{namespace}/{name}"))
}
