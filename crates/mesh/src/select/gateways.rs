// SPDX-License-Identifier: Apache-2.0
//! In: the MeshGateways of a mesh. Out: the one that configures a proxy, without a look at all of them. Not here: which
//! of several it is (`gateway_of`).

use hashbrown::{HashMap, HashSet};

use crate::dataplane::{Dataplane, MeshGateway, Tags, gateway_of};

/// MeshGateways by a tag that their selectors ask for.
pub(crate) struct GatewayIndex<'a> {
    gateways: &'a [MeshGateway],
    by_tag: HashMap<(&'a str, &'a str), Vec<usize>>,
    /// Those with a selector that asks for no value.
    any: Vec<usize>,
}

impl<'a> GatewayIndex<'a> {
    pub(crate) fn new(gateways: &'a [MeshGateway]) -> Self {
        let (mut by_tag, mut any) = (HashMap::<_, Vec<usize>>::new(), Vec::new());
        for (place, gateway) in gateways.iter().enumerate() {
            for selector in &gateway.selectors {
                match selector.iter().find(|(_, value)| &***value != "*") {
                    Some((key, value)) => by_tag.entry((&**key, &**value)).or_default().push(place),
                    None => any.push(place),
                }
            }
        }
        Self { gateways, by_tag, any }
    }

    /// The MeshGateway that configures a proxy, by place.
    pub(crate) fn of(&self, proxy: &Dataplane) -> Option<usize> {
        let tags: Vec<&Tags> = match &proxy.gateway {
            Some(gateway) => vec![&gateway.tags],
            None => proxy.inbounds.iter().map(|i| &i.tags).collect(),
        };
        let tags: HashSet<(&str, &str)> =
            tags.into_iter().flatten().map(|(key, value)| (&**key, &**value)).collect();
        let with_tags = tags.iter().filter_map(|tag| self.by_tag.get(tag)).flatten();
        let mut places: Vec<usize> = with_tags.chain(&self.any).copied().collect();
        places.sort_unstable();
        places.dedup();
        let candidates = places.iter().filter_map(|place| self.gateways.get(*place));
        let found = gateway_of(proxy, candidates)?;
        let is_it =
            |place: &&usize| self.gateways.get(**place).is_some_and(|g| std::ptr::eq(g, found));
        places.iter().find(is_it).copied()
    }
}
