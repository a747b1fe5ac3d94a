// SPDX-License-Identifier: Apache-2.0
//! In: policies of one kind. Out: the few of them that may select a proxy. Not here: selecting.

use hashbrown::HashMap;

use crate::dataplane::{Dataplane, MeshGateway};
use crate::kinds;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::select::gateways::GatewayIndex;
use crate::select::{SelectContext, stays_in_namespace};

/// What the policies of a mesh are selected by, whatever the proxy.
#[derive(Clone, Copy)]
pub(super) struct Selecting<'c, 'a> {
    /// By active kind.
    pub(super) candidates: &'c [Candidates<'a>],
    pub(super) gateways: &'c GatewayIndex<'a>,
    /// The routes in force.
    pub(super) routes: &'c [Policy],
}

impl<'c> Selecting<'c, '_> {
    /// For a proxy that has this gateway or none: the others do not matter.
    pub(super) fn context<'g>(
        self,
        gateway: Option<&'g MeshGateway>,
        profile: &'g Profile,
    ) -> SelectContext<'g>
    where
        'c: 'g,
    {
        let gateways = gateway.map_or(&[][..], std::slice::from_ref);
        SelectContext { routes: self.routes, gateways, profile }
    }
}

/// Policies by what a proxy must have for them; in a fleet most ask for something that few proxies have.
pub(super) struct Candidates<'a> {
    list: &'a [&'a Policy],
    /// Places of policies, by the namespace that a proxy must be in, if any, and by what else it must have.
    places: HashMap<(Option<&'a str>, Asked<'a>), Vec<usize>>,
}

/// What a policy asks of a proxy. It may ask for more; this is what it is looked up by.
#[derive(PartialEq, Eq, Hash)]
enum Asked<'a> {
    /// Nothing that could be looked up.
    Nothing,
    /// This label.
    Label(&'a str, &'a str),
    /// This name.
    Name(&'a str),
    /// That this MeshGateway configures it.
    Gateway(&'a str),
    /// This tag, of an inbound or of its gateway.
    Tag(&'a str, &'a str),
}

impl<'a> Candidates<'a> {
    pub(super) fn new(profile: &Profile, list: &'a [&'a Policy]) -> Self {
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for (place, policy) in list.iter().enumerate() {
            let stays = stays_in_namespace(profile, &policy.meta);
            let namespace = stays.then(|| policy.meta.namespace());
            places.entry((namespace, Asked::by(policy))).or_default().push(place);
        }
        Self { list, places }
    }

    /// Those that may select a proxy that this gateway configures, in the order of the list.
    pub(super) fn of(
        &self,
        proxy: &'a Dataplane,
        gateway: Option<&'a MeshGateway>,
    ) -> Vec<&'a Policy> {
        let mut places: Vec<usize> = Vec::new();
        for namespace in [None, Some(proxy.meta.namespace())] {
            let mut add =
                |asked| places.extend(self.places.get(&(namespace, asked)).into_iter().flatten());
            add(Asked::Nothing);
            add(Asked::Name(proxy.meta.display_name()));
            if let Some(gateway) = gateway {
                add(Asked::Gateway(gateway.meta.display_name()));
            }
            for (key, value) in &proxy.meta.labels {
                add(Asked::Label(key, value));
            }
            let inbounds = proxy.inbounds.iter().map(|i| &i.tags);
            let own = proxy.gateway.iter().map(|g| &g.tags);
            let listeners = gateway.into_iter().flat_map(|g| &g.listeners).map(|l| &l.tags);
            let above = gateway.into_iter().map(|g| &g.tags);
            let tags = inbounds.chain(own).chain(above).chain(listeners).flatten();
            tags.for_each(|(key, value)| add(Asked::Tag(key, value)));
        }
        places.sort_unstable();
        // Two inbounds may have the same tag.
        places.dedup();
        places.into_iter().filter_map(|place| self.list.get(place).copied()).collect()
    }
}

impl<'a> Asked<'a> {
    fn by(policy: &'a Policy) -> Self {
        let target = &policy.target;
        match target.kind.known() {
            Some(&kinds::GATEWAY) => Self::Gateway(target.name()),
            Some(&kinds::DATAPLANE) if !target.name().is_empty() => Self::Name(target.name()),
            Some(&kinds::DATAPLANE) if target.namespace().is_empty() => {
                // An empty value is met by proxies without the label too, so it cannot be looked up.
                let mut labels = target.label_pairs().filter(|(_, value)| !value.is_empty());
                labels.next().map_or(Self::Nothing, |(key, value)| Self::Label(key, value))
            }
            Some(&kinds::SERVICE | &kinds::SERVICE_SUBSET) => {
                Self::Tag("kuma.io/service", target.name())
            }
            Some(&kinds::SUBSET) => {
                // Any value is met by many, so it cannot be looked up.
                let mut tags = target.tag_pairs().filter(|(_, value)| *value != "*");
                tags.next().map_or(Self::Nothing, |(key, value)| Self::Tag(key, value))
            }
            _ => Self::Nothing,
        }
    }
}
