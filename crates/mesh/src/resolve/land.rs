// SPDX-License-Identifier: Apache-2.0
//! In: which proxies each policy selects. Out: where it landed, or why it did not. Not here: selecting.

use overrule_engine::{Attachment, Reason, Rejection};
use overrule_source::{Documents, Span};

use super::found::FoundMesh;
use super::ladders::Ladders;
use super::shape::Shapes;
use super::{OneMesh, reasons};
use crate::kinds;
use crate::policy::Policy;

impl OneMesh<'_> {
    /// Says where policies landed, and why the others did not.
    pub(super) fn land(
        &self,
        shapes: &Shapes,
        selected: &[Vec<u32>],
        ladders: &mut Ladders<'_, '_>,
    ) {
        let counts = shapes.counts();
        let number = |shape: &u32| counts.get(*shape as usize).copied().unwrap_or(0);
        let mut by_shape: Vec<Vec<usize>> = vec![Vec::new(); counts.len()];
        for (place, shape) in shapes.of.iter().enumerate() {
            if let Some(places) = by_shape.get_mut(*shape as usize) {
                places.push(place);
            }
        }
        for (policy, chosen) in self.mesh.policies.iter().zip(selected) {
            let Some(id) = self.ids.get(policy.place as usize).copied() else { continue };
            let at = target_span(self.world.documents, policy);
            let total = chosen.iter().map(number).sum::<u32>();
            if let Some(selected) = ladders.found.selected.get_mut(policy.place as usize) {
                *selected = total;
            }
            if chosen.is_empty() {
                let reason = self.why_not(policy, &ladders.found);
                ladders.builder.reject(Rejection { policy: id, reference: 0, reason, at });
                continue;
            }
            if policy.target.kind == kinds::MESH {
                let node = self.nodes.mesh;
                ladders.builder.attach(Attachment { policy: id, reference: 0, node, at });
                continue;
            }
            for shape in chosen {
                for place in by_shape.get(*shape as usize).into_iter().flatten() {
                    let Some((node, _)) = self.nodes.dataplanes.get(*place) else { continue };
                    let node = *node;
                    ladders.builder.attach(Attachment { policy: id, reference: 0, node, at });
                }
            }
        }
    }

    fn why_not(&self, policy: &Policy, found: &FoundMesh) -> Reason {
        let unresolved = || found.unresolved.contains_key(&policy.place);
        match policy {
            p if self.mesh.is_refused(self.world.profile, p) => &reasons::REFUSED,
            shadow if shadow.is_shadow() => &reasons::SHADOW,
            _ if unresolved() => &reasons::UNRESOLVED,
            _ => &reasons::SELECTS_NOTHING,
        }
    }
}

/// Where the target of a policy is written; the policy itself if it does not say.
pub(super) fn target_span(documents: &Documents, policy: &Policy) -> Span {
    let root = documents.view(policy.root);
    let target = root.get("spec").and_then(|s| s.get("targetRef"));
    target.unwrap_or(root).span()
}
