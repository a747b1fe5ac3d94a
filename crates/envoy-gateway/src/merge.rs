// SPDX-License-Identifier: Apache-2.0
//! In: two values of a kind and a merge type. Out: one. The lists that are merged by key are data. Not here: who is
//! merged with whom.

use overrule_engine::{
    Combine, FieldKey, ListRule, MergePlan, MergeRule, Merger, Nulls, Prefer, StepId, Traced,
};
use overrule_source::{Documents, NodeKind};

use crate::kinds::KindRole;
use crate::policy::MergeType;
use crate::{Profile, reasons};

/// Lists that a strategic merge merges by key: kind, path, key.
const KEYED: &[(KindRole, &[&str], u16)] = &[
    (KindRole::Traffic, &["compression"], key::TYPE),
    (KindRole::Traffic, &["compressor"], key::TYPE),
    (KindRole::Traffic, &["httpUpgrade"], key::TYPE),
    (KindRole::Security, &["extAuth", "contextExtensions"], key::NAME),
    (KindRole::Proxy, &["container", "env"], key::NAME),
    (KindRole::Proxy, &["container", "volumeMounts"], key::MOUNT_PATH),
    (KindRole::Proxy, &["initContainers"], key::NAME),
    (KindRole::Proxy, &["pod", "imagePullSecrets"], key::NAME),
    (KindRole::Proxy, &["pod", "topologySpreadConstraints"], key::TOPOLOGY_KEY),
    (KindRole::Proxy, &["pod", "volumes"], key::NAME),
];

/// What an EnvoyProxy's keyed lists are below of.
const WORKLOADS: &[&[&str]] = &[
    &["provider", "kubernetes", "envoyDeployment"],
    &["provider", "kubernetes", "envoyDaemonSet"],
];

/// Numbers of the combinators.
mod key {
    pub(super) const TYPE: u16 = 1;
    pub(super) const NAME: u16 = 2;
    pub(super) const MOUNT_PATH: u16 = 3;
    pub(super) const TOPOLOGY_KEY: u16 = 4;
    /// Rules of a local rate limit.
    pub(super) const LOCAL_RULES: u16 = 5;

    /// The member that identifies an element.
    pub(super) fn name(number: u16) -> Option<&'static str> {
        match number {
            TYPE => Some("type"),
            NAME => Some("name"),
            MOUNT_PATH => Some("mountPath"),
            TOPOLOGY_KEY => Some("topologyKey"),
            _ => None,
        }
    }
}

/// Every plan of a run.
#[derive(Debug)]
pub(crate) struct Plans {
    /// By role, strategic.
    strategic: [MergePlan; 4],
    json: MergePlan,
    /// Field by field.
    pub(crate) fields: MergePlan,
    nulls: Nulls,
}

impl Plans {
    pub(crate) fn new(profile: Profile) -> Self {
        // Nulls are taken out before two values meet where they delete nothing.
        let nulls = if profile.null_deletes() { Nulls::Delete } else { Nulls::Keep };
        let roles = [KindRole::Traffic, KindRole::Security, KindRole::Extension, KindRole::Proxy];
        Self {
            strategic: roles.map(|role| MergePlan::with_rules(rules(role), nulls)),
            json: MergePlan::with_rules([], nulls),
            fields: MergePlan::with_rules([(vec!["*"], MergeRule::Atomic)], Nulls::Keep),
            nulls,
        }
    }

    /// How policies of a kind are merged.
    pub(crate) fn of(&self, role: KindRole, merge: MergeType) -> &MergePlan {
        let [traffic, security, extension, proxy] = &self.strategic;
        match (merge, role) {
            (MergeType::Strategic, KindRole::Traffic) => traffic,
            (MergeType::Strategic, KindRole::Security) => security,
            (MergeType::Strategic, KindRole::Proxy) => proxy,
            (MergeType::Strategic, _) => extension,
            _ => &self.json,
        }
    }

    /// A value as it takes part in a merge: where nulls delete nothing, it has none.
    pub(crate) fn prepared(&self, documents: &Documents, value: Traced) -> Option<Traced> {
        match self.nulls {
            Nulls::Delete => Some(value),
            Nulls::Keep => without_nulls(documents, value),
        }
    }

    /// Two specs as one, as JSON: the child's and that of the policy above it.
    pub(crate) fn merged(
        &self,
        documents: &Documents,
        (role, merge): (KindRole, MergeType),
        child: Traced,
        parent: Traced,
    ) -> serde_json::Value {
        let mut losses = Vec::new();
        let sides = (self.prepared(documents, child), self.prepared(documents, parent));
        let (child, parent) = match sides {
            (Some(child), Some(parent)) => (child, parent),
            (one, other) => {
                return one.or(other).map(|value| value.to_json(documents)).unwrap_or_default();
            }
        };
        let (plan, reason) = (self.of(role, merge), &reasons::CHILD_PREFERRED);
        let mut merger =
            Merger::new(documents, plan, &KeyedLists, Prefer::Held, reason, &mut losses);
        let merged = merger.merge(MergePlan::ROOT, child, parent);
        merged.map(|value| value.to_json(documents)).unwrap_or_default()
    }
}

/// The exceptions of a strategic merge.
fn rules(role: KindRole) -> Vec<(Vec<&'static str>, MergeRule)> {
    let mut found = Vec::new();
    for (of, path, key) in KEYED.iter().filter(|(of, ..)| *of == role) {
        let rule = MergeRule::Combinator(*key);
        if *of == KindRole::Proxy {
            for workload in WORKLOADS {
                found.push((workload.iter().chain(*path).copied().collect(), rule.clone()));
            }
        } else {
            found.push((path.to_vec(), rule));
        }
    }
    if role == KindRole::Traffic {
        // Rules of rate limits are known by their owner: those of both are there.
        let union = MergeRule::List(ListRule::PreferredFirst);
        found.push((vec!["rateLimit", "global", "rules"], union));
        found.push((vec!["rateLimit", "local", "rules"], MergeRule::Combinator(key::LOCAL_RULES)));
    }
    found
}

/// A value without nulls and empty lists; none if it is one. Parts without any stay as they are written.
fn without_nulls(documents: &Documents, value: Traced) -> Option<Traced> {
    if is_nothing(documents, &value) {
        return None;
    }
    if !has_nulls(documents, &value) {
        return Some(value);
    }
    if value.is_list(documents) {
        let items = value.items(documents).into_iter();
        return Some(Traced::List(
            items.filter_map(|item| without_nulls(documents, item)).collect(),
        ));
    }
    let members = value.entries(documents).into_iter();
    let kept = members.filter_map(|(key, value)| Some((key, without_nulls(documents, value)?)));
    Some(Traced::Map(kept.collect()))
}

/// Whether the controller forgets a value when it reads it: a null, an empty list.
fn is_nothing(documents: &Documents, value: &Traced) -> bool {
    let is_empty = || value.is_list(documents) && value.items(documents).is_empty();
    value.is_null(documents) || is_empty()
}

/// Whether a value has something like that in it.
fn has_nulls(documents: &Documents, value: &Traced) -> bool {
    let Traced::Whole { node, .. } = value else {
        let entries = value.entries(documents);
        let items = value.items(documents);
        let mut parts = entries.iter().map(|(_, value)| value).chain(&items);
        return parts.any(|part| is_nothing(documents, part) || has_nulls(documents, part));
    };
    let mut open = vec![documents.view(*node)];
    while let Some(view) = open.pop() {
        for part in view.entries().map(|(_, member)| member).chain(view.items()) {
            if part.is_null() || (part.kind() == NodeKind::List && part.is_empty()) {
                return true;
            }
            open.push(part);
        }
    }
    false
}

/// Lists that are merged by key or owner.
pub(crate) struct KeyedLists;

impl Combine for KeyedLists {
    fn combine(
        &self,
        number: u16,
        merger: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        let documents = merger.documents;
        if !held.is_list(documents) || !incoming.is_list(documents) {
            return merger.atomic(held, incoming);
        }
        let (child, parent) =
            (held.items(documents).into_vec(), incoming.items(documents).into_vec());
        let items = match key::name(number) {
            Some(key) => keyed(merger, key, child, parent),
            None => local_rules(merger, child, parent),
        };
        Some(Traced::List(items.into()))
    }
}

/// Kubernetes' order: the elements of the child in its order. What only the parent has stands before the next element
/// that both have, else at the end.
fn keyed(
    merger: &mut Merger<'_>,
    key: &str,
    child: Vec<Traced>,
    parent: Vec<Traced>,
) -> Vec<Traced> {
    let documents = merger.documents;
    let id = |item: &Traced| item.get(documents, key).map(|id| id.to_json(documents).to_string());
    let ids: Vec<Option<String>> = parent.iter().map(id).collect();
    let place = |item: &Traced| {
        let own = id(item)?;
        ids.iter().position(|known| known.as_ref() == Some(&own))
    };
    let places: Vec<Option<usize>> = child.iter().map(place).collect();
    let mut parent: Vec<Option<Traced>> = parent.into_iter().map(Some).collect();
    let is_shared = |at: usize| places.contains(&Some(at));
    let mut merged = Vec::with_capacity(child.len() + parent.len());
    // Places of the parent that only it has, in order.
    let mut alone =
        (0..parent.len()).filter(|at| !is_shared(*at)).collect::<Vec<_>>().into_iter().peekable();
    for (item, at) in child.into_iter().zip(&places) {
        if let Some(at) = *at {
            while let Some(before) = alone.next_if(|before| *before < at) {
                merged.extend(parent.get_mut(before).and_then(Option::take));
            }
        }
        let other = at.and_then(|at| parent.get_mut(at)).and_then(Option::take);
        match other {
            Some(other) => {
                let index = FieldKey::Text(merged.len().to_string().into());
                let rest = MergePlan::REST;
                merged.extend(merger.below(&index, |merger| merger.merge(rest, item, other)));
            }
            None => merged.push(item),
        }
    }
    for at in alone {
        merged.extend(parent.get_mut(at).and_then(Option::take));
    }
    merged
}

/// The rules of both, the child's first. One rule without selectors is the limit of the route: the child has it, or the
/// route has none.
fn local_rules(merger: &mut Merger<'_>, child: Vec<Traced>, parent: Vec<Traced>) -> Vec<Traced> {
    let documents = merger.documents;
    let is_limit = |rule: &Traced| {
        let selectors = rule.get(documents, "clientSelectors");
        selectors.is_none_or(|list| list.items(documents).is_empty())
    };
    let whole = Traced::List(child.as_slice().into());
    let (lost, kept): (Vec<Traced>, Vec<Traced>) = parent.into_iter().partition(is_limit);
    for rule in lost {
        merger.lose(&rule, &whole, overrule_engine::Fate::Shadowed);
    }
    child.into_iter().chain(kept).collect()
}

/// A spec as written, for a merge whose origins nobody reads.
pub(crate) fn written(step: u32, node: overrule_source::NodeRef) -> Traced {
    Traced::Whole { step: StepId(step), node }
}

#[cfg(test)]
mod tests {
    use overrule_source::{Input, ReadOptions, read};
    use serde_json::{Value, json};

    use super::*;

    fn merged(
        role: KindRole,
        merge: MergeType,
        profile: Profile,
        child: &Value,
        parent: &Value,
    ) -> Value {
        let inputs =
            [child, parent].map(|v| Input::new(if v == child { "a" } else { "b" }, v.to_string()));
        let documents = read(inputs.to_vec(), &ReadOptions::default()).documents;
        let ids: Vec<_> = documents.ids().collect();
        let at = |n: usize| {
            written(u32::try_from(n).unwrap(), Documents::node_ref(documents.root(ids[n]), ids[n]))
        };
        Plans::new(profile).merged(&documents, (role, merge), at(0), at(1))
    }

    fn names(list: &[&str]) -> Value {
        json!({"httpUpgrade": list.iter().map(|n| json!({"type": n})).collect::<Vec<_>>()})
    }

    #[test]
    fn keyed_lists_have_the_order_of_kubernetes() {
        for (child, parent, both) in [
            (&["d", "b"][..], &["a", "b", "c"][..], &["d", "a", "b", "c"][..]),
            (&["x"], &["a", "b"], &["x", "a", "b"]),
            (&["b", "a"], &["a", "b"], &["b", "a"]),
            (&["c"], &["a", "b", "c", "d"], &["a", "b", "c", "d"]),
            (&["a"], &[], &["a"]),
        ] {
            let got = merged(
                KindRole::Traffic,
                MergeType::Strategic,
                Profile::Shipped,
                &names(child),
                &names(parent),
            );
            assert_eq!(got, names(both), "{child:?} over {parent:?}");
            let got = merged(
                KindRole::Traffic,
                MergeType::Json,
                Profile::Shipped,
                &names(child),
                &names(parent),
            );
            assert_eq!(got, names(child));
        }
    }

    #[test]
    fn a_null_deletes_under_design_only() {
        let (child, parent) =
            (json!({"retry": null, "dns": {"a": 1}}), json!({"retry": {"n": 1}, "dns": {"b": 2}}));
        for merge in [MergeType::Strategic, MergeType::Json] {
            let got = merged(KindRole::Traffic, merge, Profile::Shipped, &child, &parent);
            assert_eq!(got, json!({"retry": {"n": 1}, "dns": {"a": 1, "b": 2}}));
            let got = merged(KindRole::Traffic, merge, Profile::Design, &child, &parent);
            assert_eq!(got, json!({"dns": {"a": 1, "b": 2}}));
        }
    }

    #[test]
    fn the_limit_of_the_parent_is_lost_and_its_rules_are_not() {
        let limit = |n: i64| json!({"limit": {"requests": n, "unit": "Hour"}});
        let rule = |n: i64| json!({"clientSelectors": [{"path": {"value": "/a"}}], "limit": {"requests": n, "unit": "Hour"}});
        let of = |rules: Vec<Value>| json!({"rateLimit": {"local": {"rules": rules}}});
        let got = merged(
            KindRole::Traffic,
            MergeType::Strategic,
            Profile::Shipped,
            &of(vec![rule(1)]),
            &of(vec![limit(2), rule(3)]),
        );
        assert_eq!(got, of(vec![rule(1), rule(3)]));
    }
}
