// SPDX-License-Identifier: Apache-2.0
//! In: the policies of one kind that select a proxy. Out: them by place: for the whole proxy, and for each port it
//! listens on. Not here: what they say.

use std::collections::BTreeMap;

use crate::dataplane::{Dataplane, InboundListener};
use crate::kinds::ResourceKind;
use crate::kri::Kri;
use crate::matched::{Matched, in_order};
use crate::order::has_order;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resources::{MeshResources, Resources};
use crate::settings::LabelSource;

/// The policies of one kind that select a proxy.
#[derive(Debug)]
pub struct Lists {
    /// The kind.
    pub kind: &'static ResourceKind,
    /// All of them, by place, in merge order.
    pub all: Vec<u32>,
    /// Those that select something the proxy listens on, by port.
    pub at: Vec<AtPort>,
    /// What could not be told of a policy: its place and why, in the words of the release.
    pub unresolved: Vec<(u32, String)>,
}

/// The policies that select one port.
#[derive(Debug)]
pub struct AtPort {
    /// The number.
    pub port: u32,
    /// The inbound, by place; none for a listener of a MeshGateway.
    pub inbound: Option<usize>,
    /// The policies, by place, in merge order.
    pub policies: Vec<u32>,
}

impl Lists {
    /// The lists of a kind; none if no policy of it selects the proxy.
    pub(crate) fn new(
        kind: &'static ResourceKind,
        proxy: &Dataplane,
        matched: &Matched<'_>,
        all: &[&Policy],
    ) -> Option<Self> {
        if all.is_empty() {
            return None;
        }
        let unresolved = matched.warnings.iter().map(|(p, why)| (p.place, why.clone())).collect();
        Some(Self { kind, all: places(all), at: at(proxy, matched), unresolved })
    }
}

fn at(proxy: &Dataplane, matched: &Matched<'_>) -> Vec<AtPort> {
    let mut by_listener: BTreeMap<InboundListener, Vec<u32>> = BTreeMap::new();
    for (listener, policies) in matched.by_listener().into_iter().chain(matched.inbounds()) {
        by_listener.insert(listener, places(&policies));
    }
    let mut found: Vec<AtPort> = by_listener
        .into_iter()
        .map(|(listener, policies)| AtPort {
            port: listener.port,
            inbound: proxy.inbounds.iter().position(|i| i.listener == listener),
            policies,
        })
        .collect();
    found.sort_by_key(|at| at.port);
    found
}

pub(super) fn places(list: &[&Policy]) -> Vec<u32> {
    list.iter().map(|p| p.place).collect()
}

/// Policies of a kind that take part: not refused, not only shadows, in merge order. Those with one identity fewer ties:
/// the last of equals wins, and that is the one whose identity comes first.
pub(crate) fn taking_part<'m>(
    resources: &Resources,
    mesh: &'m MeshResources,
    profile: &Profile,
    kind: &ResourceKind,
) -> Vec<&'m Policy> {
    let of_kind = mesh.policies.iter().filter(|p| p.kind == kind && mesh.takes_part(profile, p));
    let mut list: Vec<(Kri, &Policy)> = of_kind.map(|p| (p.meta.kri(), p)).collect();
    match resources.settings.labels {
        LabelSource::Computed => {
            list.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.place.cmp(&a.1.place)));
        }
        // The release keeps ties in the order of its store, which is that of names.
        LabelSource::AsWritten => list.sort_by(|a, b| a.1.meta.name.cmp(&b.1.meta.name)),
    }
    let list: Vec<&Policy> = list.into_iter().map(|(_, p)| p).collect();
    // Sorted once, every part of it is sorted already.
    if has_order(list.iter().map(|p| &p.target)) { in_order(profile, &list) } else { list }
}
