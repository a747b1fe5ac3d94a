// SPDX-License-Identifier: Apache-2.0
//! In: policies of a mesh that take part. Out: the permissions of external services at a zone egress. Not here: who may
//! pass (`access`).

use std::sync::Arc;

use super::ladders::Ladders;
use super::{OneMesh, ProxyRules, places};
use crate::entries::subset_of;
use crate::kinds;
use crate::matched::in_order;
use crate::policy::Policy;
use crate::subset::{Subset, Tag};

impl<'a> OneMesh<'a> {
    /// What external services get at a zone egress: permissions with `from` whose reference fits their tags.
    pub(super) fn at_egress(
        &self,
        lists: &[Vec<&'a Policy>],
        ladders: &mut Ladders<'_, '_>,
    ) -> Vec<Arc<ProxyRules>> {
        let mut kinds = self.active.iter().zip(lists);
        let list = kinds.find(|(active, _)| *active.kind == kinds::TRAFFIC_PERMISSION);
        let by_tags = list.into_iter().flat_map(|(_, list)| list).filter(|p| !p.from.is_empty());
        let by_tags: Vec<(&Policy, Subset)> =
            by_tags.filter_map(|p| Some((*p, subset_of(&p.target)?))).collect();
        let mut made = Vec::with_capacity(self.mesh.external.len());
        for service in &self.mesh.external {
            let tags = service.it.inbounds.first().map(|i| &i.tags);
            let has = |tag: &Tag| {
                let found = tags.and_then(|tags| tags.get(&*tag.key));
                found.is_some_and(|value| &*tag.value == "*" || **value == *tag.value)
            };
            let here = by_tags.iter().filter(|(_, wanted)| wanted.tags().iter().all(has));
            let here: Vec<&Policy> = here.map(|(policy, _)| *policy).collect();
            let list = places(&in_order(self.world.profile, &here));
            let permissions = vec![ladders.permission_list(list)];
            made.push(Arc::new(ProxyRules { permissions, ..ProxyRules::default() }));
        }
        made
    }
}
