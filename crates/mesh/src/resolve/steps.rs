// SPDX-License-Identifier: Apache-2.0
//! In: entries of policies. Out: steps with their ranks, and the conf of each. Not here: which ladder they stand on.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use overrule_engine::{PolicyId, ResolutionBuilder, Step, StepId, Traced};
use overrule_source::{Documents, NodeRef};

use crate::conf::{Position, conf_of};
use crate::kinds::{self, HTTP_ROUTE};
use crate::order::{Listed, Names};
use crate::policy::{Entry, Policy};
use crate::profile::Profile;
use crate::topology::{DATAPLANE, MESH};

/// Makes steps.
pub(super) struct Steps<'a> {
    pub(super) documents: &'a Documents,
    pub(super) profile: &'a Profile,
    pub(super) names: Names,
    /// The level of a mesh.
    pub(super) top: u8,
    /// Confs by step.
    pub(super) confs: Vec<Traced>,
    /// Places of policies, by step.
    pub(super) places: Vec<u32>,
    /// Steps by the name of their kind.
    pub(super) by_kind: BTreeMap<&'static str, Vec<StepId>>,
    /// Steps by policy, position and entry.
    known: HashMap<(PolicyId, u8, u32), StepId>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(
        documents: &'a Documents,
        profile: &'a Profile,
        names: Names,
        top: u8,
    ) -> Self {
        Self {
            documents,
            profile,
            names,
            top,
            confs: Vec::new(),
            places: Vec::new(),
            by_kind: BTreeMap::new(),
            known: HashMap::new(),
        }
    }

    /// The step of an entry, or of the one conf of a policy.
    pub(super) fn step(
        &mut self,
        builder: &mut ResolutionBuilder,
        (id, policy): (PolicyId, &Policy),
        entry: Option<&Entry>,
        position: Position,
    ) -> StepId {
        let index = entry.map_or(0, |e| e.index);
        let key = (id, position as u8, index);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let below = if policy.target.kind == kinds::MESH { MESH } else { DATAPLANE };
        let step = Step {
            policy: id,
            entry: entry.map(|e| e.index),
            block: block(position),
            level: self.top.saturating_add(below),
            value: self.value(policy, entry, position),
            mode: 0,
            extra: 0,
        };
        let listed = match (entry, position) {
            (Some(entry), Position::To) => Listed::To(&entry.target),
            (_, Position::Rules) => Listed::Inbound,
            _ => Listed::Policies,
        };
        let step = builder.step(step, self.names.rank(self.profile, policy, entry, listed));
        if step.0 as usize == self.confs.len() {
            let node = entry.map_or_else(|| spec(self.documents, policy.root), |e| e.node);
            let conf = conf_of(self.documents, policy.kind, step, node, position);
            self.confs.push(conf);
            self.places.push(policy.place);
            self.by_kind.entry(policy.kind.name).or_default().push(step);
        }
        self.known.insert(key, step);
        step
    }

    /// The node whose content is contributed.
    fn value(&self, policy: &Policy, entry: Option<&Entry>, position: Position) -> NodeRef {
        let Some(entry) = entry else { return policy.single.unwrap_or(policy.root) };
        let view = self.documents.view(entry.node);
        let inner = match policy.kind.is_route() && position == Position::To {
            true if *policy.kind == HTTP_ROUTE => None,
            true => view.get("rules").and_then(|r| r.items().next()),
            false => view.get("default"),
        };
        inner.map_or(entry.node, |v| NodeRef { doc: entry.node.doc, node: v.id() })
    }
}

/// The word for the list an entry stands in.
fn block(position: Position) -> &'static str {
    match position {
        Position::To => "to",
        Position::From => "from",
        Position::Rules => "rules",
        Position::Single => "default",
    }
}

fn spec(documents: &Documents, root: NodeRef) -> NodeRef {
    let spec = documents.view(root).get("spec");
    spec.map_or(root, |v| NodeRef { doc: root.doc, node: v.id() })
}
