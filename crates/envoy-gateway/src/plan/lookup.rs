// SPDX-License-Identifier: Apache-2.0
//! In: a policy and a phase. Out: the objects it targets in that phase, in the controller's order. Not here: claims.

use hashbrown::HashSet;
use overrule_engine::{NodeId, PolicyId, Reason};
use overrule_gateway::topology::grants::{Referent, Referrer};
use overrule_gateway::topology::{GROUP as GATEWAY_API, RouteKind};
use overrule_model::{
    GroupKind, Object, ObjectId, ObjectKey, Scope, Selector, SelectorClause, Sym,
};

use super::{Phase, Plan};
use crate::kinds::KindRole;
use crate::policy::{Policy, PolicyTarget, TargetNamespaces, TargetObjects};
use crate::reasons;

/// A target that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// The object.
    pub(super) node: NodeId,
    /// A section of it, as written; it may not exist.
    pub(super) section: Option<Sym>,
    /// Which target of the policy.
    pub(super) reference: u32,
}

/// What a target is by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetIs {
    Gateway,
    Set,
    Route,
}

impl Plan<'_> {
    fn target_is(&self, policy: &Policy, target: &PolicyTarget) -> Option<TargetIs> {
        if self.text(target.group) != GATEWAY_API {
            return None;
        }
        match self.text(target.kind) {
            "Gateway" => Some(TargetIs::Gateway),
            "ListenerSet" => Some(TargetIs::Set),
            kind => policy.info.routes.contains(&kind).then_some(TargetIs::Route),
        }
    }

    /// The targets of a policy in a phase: what its selectors select, then what it names and has not selected.
    pub(super) fn targets(&self, id: PolicyId, policy: &Policy, phase: Phase) -> Vec<Found> {
        let wanted = match phase {
            Phase::Rules | Phase::Routes => TargetIs::Route,
            Phase::SetListeners | Phase::Sets => TargetIs::Set,
            Phase::Listeners | Phase::Gateways => TargetIs::Gateway,
        };
        let of_phase = (0_u32..)
            .zip(&policy.targets)
            .filter(|(_, target)| self.target_is(policy, target) == Some(wanted))
            .filter(|(_, target)| target.section().is_some() == phase.has_section());
        let of_phase: Vec<(u32, &PolicyTarget)> = of_phase.collect();
        let mut selected: Vec<(i64, Found)> = Vec::new();
        let mut known: HashSet<NodeId> = HashSet::new();
        for (reference, target) in &of_phase {
            if let TargetObjects::Selected(Some((labels, namespaces))) = &target.objects {
                for object in self.selected(id, policy, target, (labels, namespaces)) {
                    let age = self.fabric.world.profile.age(object.created);
                    let node = self.fabric.world.topology.object_node(object.id);
                    if let Some(node) = node.filter(|node| known.insert(*node)) {
                        selected.push((age, Found { node, section: None, reference: *reference }));
                    }
                }
            }
        }
        selected.sort_by_key(|(age, _)| *age);
        let mut found: Vec<Found> = selected.into_iter().map(|(_, found)| found).collect();
        for (reference, target) in of_phase {
            let TargetObjects::Named(name, section) = target.objects else { continue };
            let kind = GroupKind { group: target.group, kind: target.kind };
            let key = ObjectKey { kind, scope: Scope::Namespace(policy.namespace), name };
            let object = self.fabric.world.snapshot.find(key);
            let node = object.and_then(|o| self.fabric.world.topology.object_node(o.id));
            let section = section.map(|(name, _)| name);
            let Some(node) = node else { continue };
            if section.is_some() || !found.iter().any(|f| f.node == node) {
                found.push(Found { node, section, reference });
            }
        }
        found
    }

    /// Objects with labels, in the namespaces that a selector means and that permit it.
    fn selected(
        &self,
        _id: PolicyId,
        policy: &Policy,
        target: &PolicyTarget,
        (labels, namespaces): (&Selector, &TargetNamespaces),
    ) -> Vec<&Object> {
        let kind = GroupKind { group: target.group, kind: target.kind };
        let here = match namespaces {
            TargetNamespaces::Same => Some(policy.namespace),
            TargetNamespaces::All | TargetNamespaces::Labelled(_) => None,
        };
        let candidates = self.labelled(kind, here, labels);
        let fits = |object: &&Object| {
            let namespace = object.scope.name();
            let meant = match namespaces {
                TargetNamespaces::Same => namespace == policy.namespace,
                TargetNamespaces::All => true,
                TargetNamespaces::Labelled(of) => self.fabric.is_labelled(namespace, of),
            };
            meant && self.may_select(policy, object)
        };
        candidates.into_iter().filter(fits).collect()
    }

    /// Whether a policy may select an object: a grant in the namespace of the object says so.
    fn may_select(&self, policy: &Policy, object: &Object) -> bool {
        let world = self.fabric.world;
        let Some(own) = world.snapshot.get(policy.object) else { return false };
        let GroupKind { group, kind } = own.kind;
        let from = Referrer { group, kind, namespace: policy.namespace };
        let GroupKind { group, kind } = object.kind;
        let to = Referent { group, kind, namespace: object.scope.name(), name: object.name };
        world.topology.grants.allows(from, to)
    }

    /// Objects of a kind with labels; in one namespace, if it is given.
    fn labelled(&self, kind: GroupKind, here: Option<Sym>, labels: &Selector) -> Vec<&Object> {
        let snapshot = self.fabric.world.snapshot;
        let (group, name) = (snapshot.text(kind.group), snapshot.text(kind.kind));
        let all = snapshot.of_kind(group, name);
        let fits = |object: &&Object| labels.matches(&object.labels);
        let pair = labels.requirements.iter().find_map(|clause| match clause {
            SelectorClause::Equals(key, value) => Some((*key, *value)),
            _ => None,
        });
        if let Some((key, value)) = pair {
            let index = self.labels.get_or_init(|| self.index_labels());
            let ids = index.get(&(kind, key, value)).map_or(&[][..], Vec::as_slice);
            let objects = ids.iter().filter_map(|id| snapshot.get(*id));
            let near = |o: &&Object| here.is_none_or(|namespace| o.scope.name() == namespace);
            return objects.filter(near).filter(fits).collect();
        }
        match here {
            Some(namespace) => {
                let own = self.first_of(all.first(), all.len(), snapshot.text(namespace));
                let own = own.filter_map(|id| snapshot.get(id));
                own.take_while(|o| o.kind == kind && o.scope.name() == namespace)
                    .filter(fits)
                    .collect()
            }
            None => all.iter().filter(fits).collect(),
        }
    }

    /// The objects of a kind from a namespace on: they are in the order of their numbers.
    fn first_of(
        &self,
        first: Option<&Object>,
        count: usize,
        namespace: &str,
    ) -> impl Iterator<Item = ObjectId> + use<> {
        let snapshot = self.fabric.world.snapshot;
        let start = first.map_or(0, |object| object.id.0);
        let end = start.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = low + (high - low) / 2;
            let object = snapshot.get(ObjectId(middle));
            match object.is_some_and(|o| snapshot.text(o.scope.name()) < namespace) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        (low..end).map(ObjectId)
    }

    /// Objects by the pairs of labels that selectors of policies begin with.
    fn index_labels(&self) -> super::LabelIndex {
        let mut index = super::LabelIndex::new();
        let world = self.fabric.world;
        for policy in &world.policies.list {
            for target in &policy.targets {
                let TargetObjects::Selected(Some((labels, _))) = &target.objects else { continue };
                let kind = GroupKind { group: target.group, kind: target.kind };
                for clause in &labels.requirements {
                    if let SelectorClause::Equals(key, value) = clause {
                        index.entry((kind, *key, *value)).or_default();
                    }
                }
            }
        }
        for (kind, objects) in world.snapshot.kinds() {
            for object in objects.iter() {
                for (key, value) in object.labels.iter() {
                    if let Some(list) = index.get_mut(&(kind, key, value)) {
                        list.push(object.id);
                    }
                }
            }
        }
        index
    }

    /// Why a target landed nowhere, if nothing was noted about it.
    pub(super) fn why_not(&self, policy: &Policy, target: &PolicyTarget) -> Reason {
        if policy.info.role == KindRole::Patch {
            return &reasons::NOT_SERVED;
        }
        if self.target_is(policy, target).is_none() {
            return &overrule_gateway::reasons::KIND_NOT_ALLOWED;
        }
        match &target.objects {
            TargetObjects::Selected(Some((labels, namespaces))) => {
                let kind = GroupKind { group: target.group, kind: target.kind };
                let elsewhere = !matches!(namespaces, TargetNamespaces::Same)
                    && self
                        .labelled(kind, None, labels)
                        .iter()
                        .any(|o| o.scope.name() != policy.namespace);
                match elsewhere {
                    true => &reasons::NOT_GRANTED,
                    false => &overrule_gateway::reasons::SELECTOR_MATCHES_NOTHING,
                }
            }
            TargetObjects::Selected(None) => &overrule_gateway::reasons::SELECTOR_MATCHES_NOTHING,
            TargetObjects::Named(name, _) => {
                let kind = GroupKind { group: target.group, kind: target.kind };
                let key =
                    ObjectKey { kind, scope: Scope::Namespace(policy.namespace), name: *name };
                match self.fabric.world.snapshot.find(key) {
                    Some(_) => &reasons::NOT_SERVED,
                    None => &overrule_gateway::reasons::TARGET_NOT_FOUND,
                }
            }
        }
    }
}

/// The kind of a route as a word that lives long enough.
pub(super) fn kind_word(kind: RouteKind) -> &'static str {
    kind.name()
}
