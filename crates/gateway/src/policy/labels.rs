// SPDX-License-Identifier: Apache-2.0
//! In: policies that select targets by label. Out: which objects that is, and in which scope. Not here: what is said when
//! it is none.

use hashbrown::{HashMap, HashSet};
use overrule_model::{GroupKind, Object, ObjectId, Scope, Selector, SelectorClause, Snapshot, Sym};

use super::{Policy, Reference, Who};

/// Objects by label pair, for the kinds and scopes that selectors ask about. Looked up, never iterated.
#[derive(Debug, Default)]
pub(super) struct LabelIndex(HashMap<(GroupKind, Option<Scope>, Sym, Sym), Vec<ObjectId>>);

impl LabelIndex {
    pub(super) fn new(snapshot: &Snapshot, policies: &[Policy], everywhere: Option<Sym>) -> Self {
        // Only the pairs that selectors ask about: a fleet has far more labels than those. And only in the namespaces they
        // ask in: pairs are used all over a fleet.
        let mut kinds: HashSet<GroupKind> = HashSet::new();
        let mut keys: HashSet<Sym> = HashSet::new();
        let mut index: HashMap<_, Vec<ObjectId>> = HashMap::new();
        for policy in policies {
            let Some(object) = snapshot.get(policy.object) else { continue };
            for reference in &policy.references {
                let Who::Labelled(selector) = &reference.who else { continue };
                let kind = GroupKind { group: reference.group, kind: reference.kind };
                let within = within(snapshot, object, reference, everywhere);
                for requirement in &selector.requirements {
                    let SelectorClause::Equals(key, value) = requirement else { continue };
                    index.entry((kind, within, *key, *value)).or_default();
                    kinds.insert(kind);
                    keys.insert(*key);
                }
            }
        }
        for (kind, objects) in snapshot.kinds().filter(|(k, _)| kinds.contains(k)) {
            for object in objects {
                for (key, value) in object.labels.iter().filter(|(key, _)| keys.contains(key)) {
                    for within in [Some(object.scope), None] {
                        if let Some(list) = index.get_mut(&(kind, within, key, value)) {
                            list.push(object.id);
                        }
                    }
                }
            }
        }
        Self(index)
    }

    /// Objects of a kind and scope that a selector selects, by name.
    pub(super) fn select(
        &self,
        snapshot: &Snapshot,
        kind: GroupKind,
        within: Option<Scope>,
        selector: &Selector,
    ) -> Vec<ObjectId> {
        let fits = |o: &&Object| {
            within.is_none_or(|scope| o.scope == scope) && selector.matches(&o.labels)
        };
        let pairs = selector.requirements.iter().filter_map(|r| match r {
            SelectorClause::Equals(key, value) => {
                Some(self.0.get(&(kind, within, *key, *value)).map_or(&[][..], Vec::as_slice))
            }
            _ => None,
        });
        match pairs.min_by_key(|list| list.len()) {
            Some(list) => {
                list.iter().filter_map(|id| snapshot.get(*id)).filter(fits).map(|o| o.id).collect()
            }
            None => {
                let all = snapshot.of_kind(snapshot.text(kind.group), snapshot.text(kind.kind));
                all.iter().filter(fits).map(|o| o.id).collect()
            }
        }
    }
}

/// The scope a reference of a policy means; the cluster for kinds that have no other.
pub(super) fn scope_of(snapshot: &Snapshot, policy: &Object, reference: &Reference) -> Scope {
    let (group, kind) = (snapshot.text(reference.group), snapshot.text(reference.kind));
    match overrule_model::cluster_scoped(group, kind) {
        Some(true) => Scope::Cluster,
        _ => Scope::Namespace(reference.namespace.map_or(policy.scope.name(), |(ns, _)| ns)),
    }
}

/// Where the labels of a reference select: in its scope, or everywhere from the namespace that does.
pub(super) fn within(
    snapshot: &Snapshot,
    policy: &Object,
    reference: &Reference,
    everywhere: Option<Sym>,
) -> Option<Scope> {
    let all = everywhere == Some(policy.scope.name());
    (!all).then(|| scope_of(snapshot, policy, reference))
}
