// SPDX-License-Identifier: Apache-2.0
//! In: names people type, and objects. Out: nodes of every family's targets. Not here: what is said about them.

use overrule_engine::NodeId;
use overrule_family::NamedIdentity;
use overrule_model::{ObjectId, Sym};

use crate::Base;

impl Base {
    /// What a name refers to, if it is an identity of some family other than namespace and name.
    pub fn identify(&self, text: &str) -> NamedIdentity {
        let all = self.grounds.iter().map(|ground| ground.identify(text));
        all.into_iter().find(|found| *found != NamedIdentity::Other).unwrap_or(NamedIdentity::Other)
    }

    /// The object of such an identity, and the section it names.
    pub fn identified(&self, text: &str) -> Option<(ObjectId, String)> {
        match self.identify(text) {
            NamedIdentity::Object(object, section) => Some((object, section)),
            _ => None,
        }
    }

    /// Such identities of all objects.
    pub fn identities(&self) -> impl Iterator<Item = (ObjectId, String)> {
        self.grounds.iter().flat_map(|ground| ground.identities())
    }

    /// The node of an object that policies act on.
    pub fn object_node(&self, object: ObjectId) -> Option<NodeId> {
        let own = || self.grounds.iter().find_map(|ground| ground.object_node(object));
        self.topology.object_node(object).or_else(own)
    }

    /// The node of a section of an object.
    pub fn section_node(&self, object: ObjectId, section: Sym) -> Option<NodeId> {
        let own = || {
            let sections = self.grounds.iter().flat_map(|ground| ground.sections_of(object));
            sections.into_iter().find(|(name, _)| *name == section).map(|(_, node)| node)
        };
        self.topology.section_node(object, section).or_else(own)
    }

    /// Every section of an object with its node.
    pub fn sections_of(&self, object: ObjectId) -> Vec<(Sym, NodeId)> {
        let own = self.grounds.iter().flat_map(|ground| ground.sections_of(object));
        self.topology.sections_of(object).chain(own).collect()
    }
}
