// SPDX-License-Identifier: Apache-2.0
//! In: a service and the HostnameGenerators. Out: the hostnames it has: `_hostnames`. Not here: templates (`template`).

use std::collections::{BTreeMap, BTreeSet};

use overrule_source::View;
use serde_json::{Value, json};

use super::answer::{InspectAnswer, error, not_found};
use super::template::render;
use super::{Flavour, InspectInput, Inspector};
use crate::kinds::{self, KINDS, ResourceKind};
use crate::labels::{LabelMap, ORIGIN, ResourceOrigin, zone_of_synced};
use crate::resource::Meta;

impl Inspector {
    pub(super) fn hostnames(
        &self,
        live: InspectInput<'_>,
        mesh: &str,
        collection: &str,
        name: &str,
    ) -> Result<InspectAnswer, InspectAnswer> {
        let Some(kind) = ResourceKind::by_path(collection).filter(|kind| kind.is_destination)
        else {
            let all: Vec<&str> =
                KINDS.iter().filter(|kind| kind.is_destination).map(|kind| kind.path).collect();
            let title = format!("only \"{}\" are available for inspection", all.join(","));
            return Err(error(400, &title, "Resource is not valid", &[]));
        };
        let found = self.find(live, kind, mesh, name);
        let service = found.and_then(|object| live.resources.metas.get(&object));
        let Some(service) = service else { return Err(not_found("could not retrieve service")) };
        let mut hostnames: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (object, generator) in &live.resources.metas {
            if generator.kind != kinds::HOSTNAME_GENERATOR {
                continue;
            }
            let Some(root) = live.resources.roots.get(object) else { continue };
            let Some(spec) = live.documents.view(*root).get("spec") else { continue };
            if let Some(hostname) = hostname(live, spec, generator, service) {
                let zone = self.zone_of(generator, service);
                hostnames.entry(hostname).or_default().insert(zone);
            }
        }
        Ok(InspectAnswer::ok(&shown(&hostnames)))
    }

    /// Where a hostname is known. The release names the zone of the service, whoever generates it.
    fn zone_of<'m>(&self, generator: &'m Meta, service: &'m Meta) -> &'m str {
        let of = match (self.flavour, generator.origin()) {
            (Flavour::Native, ResourceOrigin::Zone) => generator,
            _ => service,
        };
        zone_of_synced(&of.name, &of.labels)
    }
}

/// No hostname at all is null, as Go has it.
fn shown(hostnames: &BTreeMap<String, BTreeSet<&str>>) -> Value {
    let one = |(hostname, zones): (&String, &BTreeSet<&str>)| {
        let zones: Vec<Value> = zones.iter().map(|zone| json!({"name": zone})).collect();
        json!({"hostname": hostname, "zones": zones})
    };
    let items: Vec<Value> = hostnames.iter().map(one).collect();
    let total = items.len();
    let items = if items.is_empty() { Value::Null } else { Value::Array(items) };
    json!({"items": items, "total": total})
}

/// The hostname that a generator gives a service; none if it is not for it or cannot be rendered.
fn hostname(
    live: InspectInput<'_>,
    spec: View<'_>,
    generator: &Meta,
    service: &Meta,
) -> Option<String> {
    // `meshService`, as the selector of a MeshService is called.
    let selector = format!("m{}", service.kind.as_str().strip_prefix('M')?);
    let selector = spec.get("selector")?.get(&selector).filter(|s| !s.is_null())?;
    let wanted = selector.get("matchLabels").into_iter().flat_map(View::entries);
    let labels = as_seen_by(generator, service);
    let has = |(key, value): (View<'_>, View<'_>)| {
        labels.get(key.key_text()).map(String::as_str) == value.scalar_text()
    };
    if !wanted.into_iter().all(has) {
        return None;
    }
    let template = spec.get("template")?.scalar_text()?;
    render(template, service, &live.resources.settings.zone).ok()
}

/// Labels of a service as a generator sees them: to one of its own zone it is of the zone, to all others it came from
/// the global control plane.
fn as_seen_by(generator: &Meta, service: &Meta) -> LabelMap {
    let zone = |meta: &Meta| zone_of_synced(&meta.name, &meta.labels).to_owned();
    let near = generator.origin() == ResourceOrigin::Zone && zone(generator) == zone(service);
    let mut labels = service.labels.clone();
    labels.insert(ORIGIN.into(), if near { "zone" } else { "global" }.into());
    labels
}
