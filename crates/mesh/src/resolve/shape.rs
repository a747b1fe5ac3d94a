// SPDX-License-Identifier: Apache-2.0
//! In: proxies, and what policies ask of them. Out: groups of proxies that no policy can tell apart. Not here: what they
//! get.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use crate::dataplane::{Dataplane, Tags};
use crate::kinds;
use crate::labels::ResourceOrigin;
use crate::policy::Policy;
use crate::resources::ReadObject;

/// What policies can see of a proxy.
#[derive(PartialEq, Eq, Hash)]
struct Shape<'a> {
    origin: ResourceOrigin,
    zone: &'a str,
    namespace: &'a str,
    /// Its name, if a policy asks for it.
    name: &'a str,
    /// Values of the labels that policies ask for.
    labels: Vec<Option<&'a str>>,
    /// Section, port and tags of each inbound, and which earlier one listens where it does.
    inbounds: Vec<(&'a str, u32, &'a Tags, usize)>,
    gateway: Option<(bool, &'a Tags)>,
    services: &'a [Box<str>],
}

/// Proxies by shape.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// The shape of each proxy.
    pub(super) of: Vec<u32>,
    /// The first proxy of each shape, by place.
    pub(super) first: Vec<usize>,
}

impl Shapes {
    /// Groups the proxies of a mesh.
    pub(super) fn new(dataplanes: &[ReadObject<Dataplane>], policies: &[&Policy]) -> Self {
        let mut labels: BTreeSet<&str> = BTreeSet::new();
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for policy in policies {
            labels.extend(policy.target.labels.iter().flatten().map(|(k, _)| k.as_str()));
            if policy.target.kind == kinds::DATAPLANE {
                names.insert(policy.target.name());
            }
        }
        let mut known: HashMap<Shape<'_>, u32> = HashMap::new();
        let mut shapes = Self::default();
        for (place, dataplane) in dataplanes.iter().enumerate() {
            let shape = shape(&dataplane.it, &labels, &names);
            let next = u32::try_from(shapes.first.len()).unwrap_or(u32::MAX);
            let number = *known.entry(shape).or_insert(next);
            if number == next {
                shapes.first.push(place);
            }
            shapes.of.push(number);
        }
        shapes
    }

    /// How many proxies have each shape.
    pub(super) fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.first.len()];
        for shape in &self.of {
            if let Some(count) = counts.get_mut(*shape as usize) {
                *count += 1;
            }
        }
        counts
    }
}

fn shape<'a>(proxy: &'a Dataplane, labels: &BTreeSet<&str>, names: &BTreeSet<&str>) -> Shape<'a> {
    let meta = &proxy.meta;
    let value = |key: &&str| meta.labels.get(*key).map(String::as_str);
    let first = |at: &crate::dataplane::InboundListener| {
        proxy.inbounds.iter().position(|i| i.listener == *at).unwrap_or(0)
    };
    let inbound = |i: &'a crate::dataplane::Inbound| {
        (&*i.section, i.listener.port, &i.tags, first(&i.listener))
    };
    let name = meta.display_name();
    Shape {
        origin: meta.origin(),
        zone: meta.zone(),
        namespace: meta.namespace(),
        name: if names.contains(name) { name } else { "" },
        labels: labels.iter().map(value).collect(),
        inbounds: proxy.inbounds.iter().map(inbound).collect(),
        gateway: proxy.gateway.as_ref().map(|g| (g.built_in, &g.tags)),
        services: &proxy.services,
    }
}
