// SPDX-License-Identifier: Apache-2.0
//! In: how many resources each entry of `to` means. Out: entries that mean none, and what they probably should.
//! Not here: entries that are refused (`validate`).

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use overrule_source::Diagnostic;

use super::Here;
use super::near::{Miss, Pairs, Why, add, miss, words};
use super::proxies::SERVICE;
use crate::codes;
use crate::kinds::{self, ResourceKind};
use crate::labels::DISPLAY_NAME;
use crate::policy::{MeshEntry, Policy};
use crate::targetref::TargetRef;
use crate::targets::{Destination, Port, resolve};

/// Kinds of resources that an entry may mean by name or labels.
const KINDS: [ResourceKind; 4] =
    [kinds::SERVICE, kinds::MULTI_ZONE_SERVICE, kinds::EXTERNAL_SERVICE, kinds::HTTP_ROUTE];

pub(super) fn report(here: &Here<'_>, out: &mut Vec<Diagnostic>) {
    let all = Destinations::new(here);
    let mut without_services = None;
    for policy in here.live() {
        let meant = here.found.meant.get(policy.place as usize);
        for (entry, meant) in policy.to.iter().zip(meant.into_iter().flatten()) {
            if *meant > 0 || !entry.target.kind.is_one_of(&KINDS) {
                continue;
            }
            match all.what(&entry.target) {
                What::InForce => {}
                What::Tag => out.push(all.service_tag(policy, entry)),
                What::NoServices => {
                    without_services.get_or_insert(policy.place);
                }
                What::Nothing => out.push(all.nothing(policy, entry)),
            }
        }
    }
    out.extend(without_services.map(|first| no_services(here, first)));
}

/// What an entry is that means no resource.
enum What {
    /// Outbounds by tag read it.
    InForce,
    /// It is the tag of a service, but no outbound in the input has it.
    Tag,
    /// Services are not in the input at all: nothing can be said.
    NoServices,
    /// Neither.
    Nothing,
}

/// What entries may mean, by what they mean it by.
struct Destinations<'a> {
    here: &'a Here<'a>,
    /// By kind and name.
    names: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Destination>>>,
    /// By kind.
    labels: OnceCell<BTreeMap<&'a str, Pairs<'a>>>,
    /// Tags that name services: of inbounds, of outbounds.
    tags: OnceCell<(BTreeSet<&'a str>, BTreeSet<&'a str>)>,
}

impl<'a> Destinations<'a> {
    fn new(here: &'a Here<'a>) -> Self {
        let mut names: BTreeMap<&str, BTreeMap<&str, Vec<&Destination>>> = BTreeMap::new();
        for destination in &here.mesh.destinations {
            let of_kind = names.entry(destination.meta.kind.as_str()).or_default();
            of_kind.entry(destination.meta.display_name()).or_default().push(destination);
        }
        Self { here, names, labels: OnceCell::new(), tags: OnceCell::new() }
    }

    fn labels(&self, kind: &str) -> Option<&Pairs<'a>> {
        let all = self.labels.get_or_init(|| {
            let mut all: BTreeMap<&str, Pairs<'_>> = BTreeMap::new();
            for (place, destination) in (0..).zip(&self.here.mesh.destinations) {
                let pairs = all.entry(destination.meta.kind.as_str()).or_default();
                for (key, value) in &destination.meta.labels {
                    add(pairs, key, value, place);
                }
            }
            all
        });
        all.get(kind)
    }

    fn tags(&self) -> &(BTreeSet<&'a str>, BTreeSet<&'a str>) {
        self.tags.get_or_init(|| {
            let proxies = || self.here.mesh.dataplanes.iter().map(|d| &d.it);
            let inbounds = proxies().flat_map(|p| &p.inbounds);
            let inbounds = inbounds.filter_map(|i| i.tags.get(SERVICE)).map(|s| &**s).collect();
            (inbounds, proxies().flat_map(|p| &p.services).map(|s| &**s).collect())
        })
    }

    fn what(&self, target: &TargetRef) -> What {
        if target.kind != kinds::SERVICE {
            return What::Nothing;
        }
        if !target.has_labels() {
            let (inbounds, outbounds) = self.tags();
            if outbounds.contains(target.name()) {
                return What::InForce;
            }
            if inbounds.contains(target.name()) {
                return What::Tag;
            }
        }
        if self.names.contains_key(kinds::SERVICE.name) { What::Nothing } else { What::NoServices }
    }

    /// Puts a finding at a member of the reference of an entry.
    fn at(&self, d: Diagnostic, entry: &MeshEntry, member: &str) -> Diagnostic {
        let view = self.here.world.documents.view(entry.node);
        let target = view.get("targetRef").unwrap_or(view);
        let field = format!("spec.to[{}].targetRef.{member}", entry.index);
        d.at(target.get(member).unwrap_or(target).span()).field(field)
    }

    fn service_tag(&self, policy: &Policy, entry: &MeshEntry) -> Diagnostic {
        let name = entry.target.name();
        let message = format!(
            "`{name}` is the tag of a service, not a MeshService: this entry applies only to outbounds with the tag `{SERVICE}`, and no Dataplane in the input has such an outbound"
        );
        let d = Diagnostic::new(&codes::SERVICE_TAG, message);
        let help = match policy.kind.is_route() {
            true => {
                "nothing to do if the control plane creates such outbounds itself; otherwise route to a MeshService"
            }
            false => {
                "nothing to do if the control plane creates such outbounds itself; otherwise refer to a MeshService"
            }
        };
        self.at(d, entry, "name").help(help)
    }

    fn nothing(&self, policy: &Policy, entry: &MeshEntry) -> Diagnostic {
        let target = &entry.target;
        let why = if target.has_labels() {
            self.by_labels(policy, target)
        } else {
            self.by_name(policy, target)
        };
        let kind = &target.kind;
        let message = format!("this entry matches no {kind}, so it has no effect: {}", why.because);
        let help = why.help.unwrap_or_else(|| {
            format!("correct the reference, or add the {kind} it is meant for to the input")
        });
        self.at(Diagnostic::new(&codes::NO_DESTINATION, message), entry, why.member).help(help)
    }

    fn by_labels(&self, policy: &Policy, target: &TargetRef) -> Why {
        if let Some(why) = self
            .unlabelled(target)
            .or_else(|| self.section(policy, target, self.here.mesh.destinations.iter()))
        {
            return why;
        }
        let none = Pairs::new();
        let pairs = self.labels(target.kind.as_str()).unwrap_or(&none);
        if pairs.is_empty() && !self.names.contains_key(target.kind.as_str()) {
            return Why::new("kind", format!("the mesh has no {}", target.kind), None);
        }
        let miss: Miss = miss(target.label_pairs(), pairs, &self.here.world.budget);
        let (because, help) = words(&miss, target.kind.as_str(), "label");
        Why::new("labels", because, help)
    }

    /// A resource has the name that is asked for, but not the label.
    fn unlabelled(&self, target: &TargetRef) -> Option<Why> {
        let name = target.labels.as_ref()?.get(DISPLAY_NAME)?;
        let of_kind = self.names.get(target.kind.as_str())?;
        let same = of_kind.get(name.as_str())?.iter();
        same.filter(|d| !d.meta.labels.contains_key(DISPLAY_NAME)).count().gt(&0).then(|| {
            Why::new(
                "labels",
                format!(
                    "`{name}` does not have the label `{DISPLAY_NAME}`, and only labels count here"
                ),
                Some(format!(
                    "add the label to the {}, as the control plane does, or refer to it by `name`",
                    target.kind
                )),
            )
        })
    }

    /// The resource is there, but none of its ports has the section.
    fn section<'d>(
        &self,
        policy: &Policy,
        target: &TargetRef,
        among: impl Iterator<Item = &'d Destination>,
    ) -> Option<Why> {
        let wanted = target.section_name();
        if wanted.is_empty() {
            return None;
        }
        let whole = TargetRef { section_name: None, ..target.clone() };
        let fits =
            |d: &&Destination| !resolve(&whole, &policy.meta, std::slice::from_ref(*d)).is_empty();
        let of_kind = among.filter(|d| d.meta.kind == target.kind);
        let found = of_kind.take_while(|_| self.here.world.budget.try_one()).find(fits)?;
        let name = found.meta.display_name();
        let because = format!("no port of `{name}` is called `{wanted}`");
        Some(Why::new("sectionName", because, Some(self.ports(wanted, &found.ports))))
    }

    fn ports(&self, wanted: &str, ports: &[Port]) -> String {
        if let Some(port) = ports.iter().find(|p| p.number.to_string() == wanted) {
            return format!("port {wanted} is called `{}`; use the name", port.section);
        }
        let all: Vec<&str> = ports.iter().map(|p| p.section.as_str()).collect();
        match self.here.world.budget.nearest(wanted, all.len(), all.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? known: {}", all.join(", ")),
            None => format!("known: {}", all.join(", ")),
        }
    }

    fn by_name(&self, policy: &Policy, target: &TargetRef) -> Why {
        let name = target.name();
        let Some(of_kind) = self.names.get(target.kind.as_str()) else {
            return self.of_another_kind(target).unwrap_or_else(|| {
                Why::new("kind", format!("the mesh has no {}", target.kind), None)
            });
        };
        if let Some(same) = of_kind.get(name) {
            let section = self.section(policy, target, same.iter().copied());
            return section.unwrap_or_else(|| elsewhere(policy, target, same));
        }
        self.of_another_kind(target).unwrap_or_else(|| {
            let near = self.here.world.budget.nearest(name, of_kind.len(), of_kind.keys().copied());
            Why::new(
                "name",
                format!("`{name}` not found in the input"),
                near.map(|near| format!("did you mean `{near}`?")),
            )
        })
    }

    fn of_another_kind(&self, target: &TargetRef) -> Option<Why> {
        let named =
            |kind: &str| self.names.get(kind).is_some_and(|n| n.contains_key(target.name()));
        let other = KINDS.iter().map(|kind| kind.name).find(|kind| named(kind))?;
        let because = format!("`{}` is a {other}", target.name());
        Some(Why::new("kind", because, Some(format!("write `kind: {other}`"))))
    }
}

/// The name is right, but a name means something of the policy's own zone and namespace.
fn elsewhere(policy: &Policy, target: &TargetRef, same: &[&Destination]) -> Why {
    let meta = &policy.meta;
    let name = target.name();
    let namespace =
        if target.namespace().is_empty() { meta.namespace() } else { target.namespace() };
    let by_labels = format!("refer to it by labels: {{{DISPLAY_NAME}: {name}}}");
    let in_zone = same.iter().find(|d| d.meta.zone() == meta.zone());
    if let Some(other) = in_zone {
        let its = other.meta.namespace();
        let (place, help) = match its {
            "" => ("in no namespace".to_owned(), by_labels),
            its => (format!("in namespace `{its}`"), format!("write `namespace: {its}`")),
        };
        let own = match namespace {
            "" => "the namespace of a policy without one".to_owned(),
            namespace => format!("`{namespace}`"),
        };
        return Why::new("name", format!("`{name}` is {place}, not in {own}"), Some(help));
    }
    let zones: BTreeSet<&str> = same.iter().map(|d| d.meta.zone()).collect();
    let zones: Vec<String> = zones.into_iter().map(str::to_owned).collect();
    let because = match meta.zone() {
        "" => format!(
            "`{name}` is in zone {}, and a policy of the global control plane cannot refer by name to a resource in a zone",
            super::some_of(&zones)
        ),
        zone => format!(
            "`{name}` is in zone {}, but a name refers to the policy's own zone `{zone}`",
            super::some_of(&zones)
        ),
    };
    Why::new("name", because, Some(by_labels))
}

fn no_services(here: &Here<'_>, first: u32) -> Diagnostic {
    let message = format!(
        "cannot tell what entries about services match: mesh `{}` has no MeshService in the input",
        here.mesh.name
    );
    let d = Diagnostic::new(&codes::NO_SERVICES, message);
    here.at_policy(d, first).help(format!(
        "add those of the control plane: kumactl get meshservices --mesh {} -o yaml",
        here.mesh.name
    ))
}
