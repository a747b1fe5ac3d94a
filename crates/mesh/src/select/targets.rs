// SPDX-License-Identifier: Apache-2.0
//! In: the target of an entry and the resources of the mesh. Out: the real resources it means, with the section.
//! Not here: which entries count for them (`rules`).

use hashbrown::HashMap;
use overrule_source::{Documents, View};

use crate::kinds;
use crate::kri::Kri;
use crate::labels::{DISPLAY_NAME, LabelMap, NAMESPACE};
use crate::resource::{Meta, PlacedResource};
use crate::targetref::TargetRef;

/// A port of a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name, or its number as text.
    pub section: String,
    /// Its number.
    pub number: i64,
}

/// A resource that entries may mean: a Mesh, a service of some kind, a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Who it is.
    pub meta: Meta,
    /// Its ports; none for what has none.
    pub ports: Vec<Port>,
}

impl Destination {
    /// Reads one; none if entries cannot mean resources of its type.
    pub fn read(documents: &Documents, resource: &PlacedResource) -> Option<Self> {
        let spec = resource.spec(documents);
        let number = |of: View<'_>| of.get("port").and_then(View::as_i64).unwrap_or(0);
        let ports = match resource.meta.kind.known() {
            Some(&kinds::MESH | &kinds::HTTP_ROUTE) => Vec::new(),
            Some(&kinds::SERVICE | &kinds::MULTI_ZONE_SERVICE) => {
                let items = spec.get("ports").into_iter().flat_map(View::items);
                let port = |item: View<'_>| {
                    let name = item.get("name").and_then(|n| n.scalar_text()).unwrap_or("");
                    let number = number(item);
                    let section =
                        if name.is_empty() { number.to_string() } else { name.to_owned() };
                    Port { section, number }
                };
                items.map(port).collect()
            }
            Some(&kinds::EXTERNAL_SERVICE) => {
                let number = spec.get("match").map_or(0, number);
                vec![Port { section: number.to_string(), number }]
            }
            _ => return None,
        };
        Some(Self { meta: resource.meta.clone(), ports })
    }
}

/// A resource, or one port of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meant<'a> {
    /// The resource.
    pub resource: &'a Destination,
    /// The section; empty for all of it.
    pub section: &'a str,
}

impl Meant<'_> {
    /// Its identity, section included.
    pub fn kri(&self) -> Kri {
        self.resource.meta.kri().with_section(self.section)
    }
}

/// The resources a target means, in the order of the resources.
pub fn resolve<'a>(
    target: &TargetRef,
    policy: &Meta,
    resources: &'a [Destination],
) -> Vec<Meant<'a>> {
    let one = |(place, port): DestinationIndex| {
        let resource = resources.get(place as usize)?;
        let section = (port as usize).checked_sub(1).and_then(|p| resource.ports.get(p));
        Some(Meant { resource, section: section.map_or("", |p| &p.section) })
    };
    Index::new(resources).resolve(target, policy).into_iter().filter_map(one).collect()
}

/// The place of a destination in its list, and of one of its ports counted from 1; 0 for all of it.
pub type DestinationIndex = (u32, u32);

/// Destinations by identity and by label, so that an entry costs what it means, not what there is.
pub struct Index<'a> {
    resources: &'a [Destination],
    by_kri: HashMap<Kri, Vec<u32>>,
    by_label: HashMap<&'a str, HashMap<&'a str, Vec<u32>>>,
    meshes: Vec<u32>,
}

impl<'a> Index<'a> {
    /// Indexes the destinations of a mesh.
    pub fn new(resources: &'a [Destination]) -> Self {
        let mut index = Self {
            resources,
            by_kri: HashMap::new(),
            by_label: HashMap::new(),
            meshes: Vec::new(),
        };
        for (place, resource) in (0..).zip(resources) {
            if resource.meta.kind == kinds::MESH {
                index.meshes.push(place);
                continue;
            }
            index.by_kri.entry(resource.meta.kri()).or_default().push(place);
            for (key, value) in &resource.meta.labels {
                let with_key = index.by_label.entry(key.as_str()).or_default();
                with_key.entry(value.as_str()).or_default().push(place);
            }
        }
        index
    }

    /// The place of a destination, or of a port of it, by its identity.
    pub fn find(&self, kri: &Kri) -> Option<DestinationIndex> {
        let whole = if kri.section.is_empty() { None } else { Some(kri.without_section()) };
        let place = *self.by_kri.get(whole.as_ref().unwrap_or(kri))?.first()?;
        if kri.section.is_empty() {
            return Some((place, 0));
        }
        let ports = &self.resources.get(place as usize)?.ports;
        let port = (1..).zip(ports).find(|(_, p)| p.section == kri.section)?;
        Some((place, port.0))
    }

    /// The same as [`resolve`], by place.
    pub fn resolve(&self, target: &TargetRef, policy: &Meta) -> Vec<DestinationIndex> {
        match target.kind.known() {
            Some(&kinds::MESH) => {
                let is_mesh = |place: &&u32| {
                    let found = self.resources.get(**place as usize);
                    found.is_some_and(|r| r.meta.name == policy.mesh)
                };
                self.meshes.iter().filter(is_mesh).map(|place| (*place, 0)).collect()
            }
            Some(
                &kinds::SERVICE
                | &kinds::MULTI_ZONE_SERVICE
                | &kinds::EXTERNAL_SERVICE
                | &kinds::HTTP_ROUTE,
            ) => {
                let query = Query::of(target, policy);
                let fits = |place: &u32| {
                    let resource = self.resources.get(*place as usize)?;
                    let fits = resource.meta.kind == target.kind && query.fits(&resource.meta);
                    let meant = query.section(resource).filter(|_| fits)?;
                    let port = (1..).zip(&resource.ports).find(|(_, p)| p.section == meant.section);
                    Some((*place, port.map_or(0, |(n, _)| n)))
                };
                self.candidates(&query).iter().filter_map(fits).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A few that hold all that fit: those with the label that fewest have.
    fn candidates(&self, query: &Query<'_>) -> &[u32] {
        let Some(labels) = &query.labels else {
            return self.by_kri.get(&query.kri).map_or(&[][..], Vec::as_slice);
        };
        let mut fewest: Option<&[u32]> = None;
        for (key, value) in labels {
            let with = self.by_label.get(key.as_str()).and_then(|v| v.get(value.as_str()));
            let with = with.map_or(&[][..], Vec::as_slice);
            if fewest.is_none_or(|known| with.len() < known.len()) {
                fewest = Some(with);
            }
        }
        fewest.unwrap_or(&[])
    }
}

/// How resources of a kind are meant.
struct Query<'t> {
    labels: Option<LabelMap>,
    kri: Kri,
    section: &'t str,
    /// The number of the port, for names of the old form.
    number: Option<i64>,
}

impl<'t> Query<'t> {
    fn of(target: &'t TargetRef, policy: &Meta) -> Self {
        let namespace = match target.namespace() {
            "" => policy.namespace(),
            namespace => namespace,
        };
        let kri = Kri {
            kind: target.kind.clone(),
            mesh: policy.mesh.clone(),
            zone: policy.zone().to_owned(),
            namespace: namespace.to_owned(),
            name: target.name().to_owned(),
            section: String::new(),
        };
        let section = target.section_name();
        let query = Self { labels: None, kri, section, number: None };
        if target.has_labels() {
            return Self { labels: target.labels.clone(), ..query };
        }
        match old_name(target) {
            Some((labels, number)) => Self { labels: Some(labels), number, ..query },
            None => query,
        }
    }

    fn fits(&self, meta: &Meta) -> bool {
        match &self.labels {
            Some(labels) => meta.has_labels(labels),
            None => meta.kri() == self.kri,
        }
    }

    /// The resource with the section that is meant; none if it lacks that.
    fn section<'a>(&self, resource: &'a Destination) -> Option<Meant<'a>> {
        let port = |fits: &dyn Fn(&Port) -> bool| {
            let port = resource.ports.iter().find(|p| fits(p))?;
            Some(Meant { resource, section: &port.section })
        };
        let has_ports = resource.meta.kind != kinds::HTTP_ROUTE;
        match (self.section, self.number) {
            ("", None) => Some(Meant { resource, section: "" }),
            _ if !has_ports => Some(Meant { resource, section: "" }),
            ("", Some(number)) => port(&|p| p.number == number),
            (section, _) => port(&|p| p.section == section),
        }
    }
}

/// `name_namespace_svc`, or with a port at the end: what services were called before they were resources.
fn old_name(target: &TargetRef) -> Option<(LabelMap, Option<i64>)> {
    if target.kind != kinds::SERVICE || !target.section_name().is_empty() {
        return None;
    }
    let parts: Vec<&str> = target.name().split('_').collect();
    let (name, namespace, number) = match parts.as_slice() {
        [name, namespace, "svc"] => (name, namespace, None),
        [name, namespace, "svc", port] => (name, namespace, Some(port.parse().ok()?)),
        _ => return None,
    };
    let labels = [(NAMESPACE, *namespace), (DISPLAY_NAME, *name)];
    let labels = labels.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    Some((labels, number))
}
