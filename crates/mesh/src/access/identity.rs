// SPDX-License-Identifier: Apache-2.0
//! In: the resources of a mesh. Out: whether clients of a proxy must show who they are, and what a client shows.
//! Not here: what follows from it (`gate`).

use std::borrow::Cow;
use std::collections::BTreeSet;

use overrule_access::{Caller, Certificate, ClientTags, Enforcement};
use overrule_family::Client;
use overrule_source::{Documents, View};

use crate::dataplane::Dataplane;
use crate::entries::SERVICE;
use crate::resources::{MeshResources, Resources};

/// What a client shows.
pub fn caller(documents: &Documents, resources: &Resources, client: Client<'_>) -> Caller {
    let object = match client {
        Client::Nobody => return Caller::default(),
        Client::Unnamed => return Caller { certificate: Certificate::One, ..Caller::default() },
        Client::Identity(id) => return identified(documents, resources, id),
        Client::Object(object) => object,
    };
    let home = resources.meshes.iter().find_map(|mesh| {
        let proxy = mesh.dataplanes.iter().find(|d| d.object == Some(object))?;
        Some((mesh, &proxy.it))
    });
    let Some((home, proxy)) = home else {
        return Caller { certificate: Certificate::One, ..Caller::default() };
    };
    match identity_of(documents, resources, home, proxy) {
        // Such a certificate has nothing but the identity: no permission finds the tags of the proxy in it.
        Some(spec) => Caller::identified(&given(spec, proxy)),
        None => Caller {
            certificate: Certificate::Several,
            identity: service(proxy).map(|s| format!("spiffe://{}/{s}", home.name)),
            tags: Some(tags(proxy)),
        },
    }
}

/// Who has an identity. If proxies of the input have it in a certificate of the older kind, it has what is in all of
/// theirs.
fn identified(documents: &Documents, resources: &Resources, id: &str) -> Caller {
    let alone = Caller::identified(id);
    let mut meshes = resources.meshes.iter();
    let Some((mesh, name)) = meshes.find_map(|m| Some((m, service_of(id, &m.name)?))) else {
        return alone;
    };
    let is_of = |proxy: &&Dataplane| {
        let mut all = all_tags(proxy);
        all.any(|(key, value)| &**key == SERVICE && &**value == name)
    };
    let proxies = mesh.dataplanes.iter().map(|d| &d.it).filter(is_of);
    let older = proxies.filter(|p| identity_of(documents, resources, mesh, p).is_none());
    let common = older.map(tags).reduce(|mut common, other| {
        common.retain(|key, values| {
            values.retain(|value| other.get(key).is_some_and(|o| o.contains(value)));
            !values.is_empty()
        });
        common
    });
    match common {
        Some(tags) => Caller { certificate: Certificate::Several, tags: Some(tags), ..alone },
        None => alone,
    }
}

/// The service of a mesh that an identity of the older kind names.
fn service_of<'i>(identity: &'i str, mesh: &str) -> Option<&'i str> {
    let name = identity.strip_prefix("spiffe://")?.strip_prefix(mesh)?.strip_prefix('/')?;
    (!name.contains('/')).then_some(name)
}

/// The tags of a client, for an inbound of a mesh. An identity of the older kind names a service of the mesh.
pub fn tags_of<'c>(caller: &'c Caller, mesh: &MeshResources) -> Cow<'c, ClientTags> {
    if let Some(tags) = &caller.tags {
        return Cow::Borrowed(tags);
    }
    let service = caller.identity.as_deref().and_then(|id| service_of(id, &mesh.name));
    let tag = service.map(|s| (SERVICE.to_owned(), BTreeSet::from([s.to_owned()])));
    Cow::Owned(tag.into_iter().collect())
}

/// Whether the proxy asks, as far as the Mesh and its identities say. MeshTLS may say otherwise for an inbound.
pub fn enforcement(
    documents: &Documents,
    resources: &Resources,
    mesh: &MeshResources,
    proxy: &Dataplane,
) -> Enforcement {
    if identity_of(documents, resources, mesh, proxy).is_some() {
        return Enforcement::Strict;
    }
    by_mtls(documents, resources, mesh)
}

/// Whether a zone egress asks: it is part of the mesh, and takes no client without a certificate.
pub fn enforcement_at_egress(
    documents: &Documents,
    resources: &Resources,
    mesh: &MeshResources,
) -> Enforcement {
    match by_mtls(documents, resources, mesh) {
        Enforcement::Permissive => Enforcement::Strict,
        other => other,
    }
}

/// Whether what a mesh sends to external services goes through a zone egress.
pub fn uses_egress(documents: &Documents, resources: &Resources, mesh: &MeshResources) -> bool {
    let spec = mesh.object.and_then(|object| resources.spec(documents, object));
    let used = spec.and_then(|s| s.get("routing")).and_then(|r| r.get("zoneEgress"));
    used.and_then(View::as_bool) == Some(true)
}

fn by_mtls(documents: &Documents, resources: &Resources, mesh: &MeshResources) -> Enforcement {
    let mtls = mesh.object.and_then(|object| resources.spec(documents, object)?.get("mtls"));
    let enabled = mtls.and_then(|m| m.get("enabledBackend")).and_then(|b| b.scalar_text());
    let Some(enabled) = enabled.filter(|name| !name.is_empty()) else { return Enforcement::Off };
    let backends = mtls.and_then(|m| m.get("backends")).into_iter().flat_map(View::items);
    let named = |b: &View<'_>| b.get("name").and_then(|n| n.scalar_text()) == Some(enabled);
    let mode = backends.into_iter().find(named).and_then(|b| b.get("mode"));
    match mode.and_then(|m| m.scalar_text()) {
        Some(mode) if mode.eq_ignore_ascii_case("permissive") => Enforcement::Permissive,
        _ => Enforcement::Strict,
    }
}

/// The MeshIdentity that gives a proxy its identity.
fn identity_of<'d>(
    documents: &'d Documents,
    resources: &Resources,
    mesh: &MeshResources,
    proxy: &Dataplane,
) -> Option<View<'d>> {
    let specs = mesh.identities.iter().filter_map(|object| {
        let root = documents.view(*resources.roots.get(object)?);
        root.get("spec")
    });
    let selects = |spec: &View<'_>| {
        let labels = spec.get("selector").and_then(|s| s.get("dataplane"));
        let Some(labels) = labels.and_then(|d| d.get("matchLabels")) else { return false };
        labels.entries().all(|(key, value)| {
            let found = proxy.meta.labels.get(key.key_text()).map(String::as_str);
            found == value.scalar_text()
        })
    };
    // The one that asks for most labels is meant.
    let count = |spec: &View<'_>| {
        let labels = spec.get("selector").and_then(|s| s.get("dataplane"));
        labels.and_then(|d| d.get("matchLabels")).map_or(0, |l| l.len())
    };
    specs.filter(selects).max_by_key(count)
}

/// The identity that a MeshIdentity gives a proxy.
fn given(spec: View<'_>, proxy: &Dataplane) -> String {
    let template = |key: &str, usual: &str| -> String {
        let written = spec.get("spiffeID").and_then(|s| s.get(key));
        written.and_then(|t| t.scalar_text()).unwrap_or(usual).to_owned()
    };
    let domain = template("trustDomain", "{{ .Mesh }}.{{ .Zone }}.mesh.local");
    let path = template("path", "/ns/{{ .Namespace }}/sa/{{ .ServiceAccount }}");
    format!("spiffe://{}{}", rendered(&domain, proxy), rendered(&path, proxy))
}

/// The first service of a proxy, which the first identity of a certificate of the older kind names.
fn service(proxy: &Dataplane) -> Option<&str> {
    all_tags(proxy).find(|(key, _)| &***key == SERVICE).map(|(_, value)| &**value)
}

fn rendered(template: &str, proxy: &Dataplane) -> String {
    let meta = &proxy.meta;
    let label = |key: &str| meta.labels.get(key).map_or("", String::as_str);
    let values = [
        (".Mesh", meta.mesh.as_str()),
        (".Zone", meta.zone()),
        (".Namespace", meta.namespace()),
        (".ServiceAccount", label("k8s.kuma.io/service-account")),
        (".Workload", label("kuma.io/workload")),
    ];
    let mut text = template.to_owned();
    for (name, value) in values {
        for spaced in [format!("{{{{ {name} }}}}"), format!("{{{{{name}}}}}")] {
            text = text.replace(&spaced, value);
        }
    }
    text
}

/// The tags of a proxy, as certificates of the older kind have them: those of every inbound, and of the gateway.
fn tags(proxy: &Dataplane) -> ClientTags {
    let mut found = ClientTags::new();
    for (key, value) in all_tags(proxy) {
        found.entry(key.to_string()).or_default().insert(value.to_string());
    }
    found
}

fn all_tags(proxy: &Dataplane) -> impl Iterator<Item = (&Box<str>, &Box<str>)> {
    let inbounds = proxy.inbounds.iter().flat_map(|i| &i.tags);
    inbounds.chain(proxy.gateway.iter().flat_map(|g| &g.tags))
}
