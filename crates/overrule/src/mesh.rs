// SPDX-License-Identifier: Apache-2.0
//! In: names people type. Out: nodes of every family's targets, and objects by the identity Kuma gives them. Not here:
//! what is said about them.

use overrule_engine::NodeId;
use overrule_mesh::Resources;
use overrule_mesh::kri::Kri;
use overrule_model::{ObjectId, Sym};

use crate::Analysis;

/// The object of a KRI, and the section it names; none if the text is no KRI or names nothing that was read.
pub(crate) fn find(resources: &Resources, text: &str) -> Option<(ObjectId, String)> {
    let kri = Kri::parse(text).ok()?;
    let whole = kri.without_section();
    let is_meant = |meta: &overrule_mesh::resource::Meta| meta.kri() == whole;
    let (object, _) = resources.metas.iter().find(|(_, meta)| is_meant(meta))?;
    Some((*object, kri.section))
}

impl Analysis {
    /// The object of a KRI, and the section it names.
    pub fn by_kri(&self, text: &str) -> Option<(ObjectId, String)> {
        find(&self.kuma, text)
    }

    /// The node of an object that policies act on.
    pub fn object_node(&self, object: ObjectId) -> Option<NodeId> {
        self.topology.object_node(object).or_else(|| self.mesh.object_node(object))
    }

    /// The node of a section of an object.
    pub fn section_node(&self, object: ObjectId, section: Sym) -> Option<NodeId> {
        let gateway = self.topology.section_node(object, section);
        gateway.or_else(|| self.mesh.section_node(object, section))
    }

    /// Every section of an object with its node.
    pub fn sections_of(&self, object: ObjectId) -> Vec<(Sym, NodeId)> {
        self.topology.sections_of(object).chain(self.mesh.sections_of(object)).collect()
    }
}
