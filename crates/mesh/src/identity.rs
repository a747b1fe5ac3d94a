// SPDX-License-Identifier: Apache-2.0
//! In: the resources of a mesh. Out: whether clients of a proxy must show who they are, and who a proxy is. Not here:
//! what follows from it.

use std::collections::BTreeMap;

use overrule_source::{Documents, View};

use crate::dataplane::Dataplane;
use crate::resources::{MeshResources, Resources};

/// Whether a proxy knows its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Enforcement {
    /// It does not ask: everybody gets in, whatever policies say.
    Off,
    /// It takes those who show who they are and those who do not; policies count for the former.
    Permissive,
    /// It takes only those who show who they are.
    Strict,
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
    let Some(object) = mesh.object else { return Enforcement::Off };
    let Some(root) = resources.roots.get(&object).map(|root| documents.view(*root)) else {
        return Enforcement::Off;
    };
    let spec = root.get("spec").unwrap_or(root);
    let mtls = spec.get("mtls");
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
    let ours =
        |meta: &crate::resource::Meta| meta.kind == "MeshIdentity" && meta.mesh == *mesh.name;
    let all = resources.metas.iter().filter(|(_, meta)| ours(meta));
    let specs = all.filter_map(|(object, _)| {
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

/// Whether a MeshIdentity gives a proxy its identity, so that its certificate has just one.
pub fn has_identity(
    documents: &Documents,
    resources: &Resources,
    mesh: &MeshResources,
    proxy: &Dataplane,
) -> bool {
    identity_of(documents, resources, mesh, proxy).is_some()
}

/// Who a proxy is: the SPIFFE IDs its certificate may have. More than one is for certificates of the older kind.
pub fn identities(
    documents: &Documents,
    resources: &Resources,
    mesh: &MeshResources,
    proxy: &Dataplane,
) -> Vec<String> {
    if let Some(spec) = identity_of(documents, resources, mesh, proxy) {
        let template = |key: &str, usual: &str| -> String {
            let written = spec.get("spiffeID").and_then(|s| s.get(key));
            written.and_then(|t| t.scalar_text()).unwrap_or(usual).to_owned()
        };
        let domain = template("trustDomain", "{{ .Mesh }}.{{ .Zone }}.mesh.local");
        let path = template("path", "/ns/{{ .Namespace }}/sa/{{ .ServiceAccount }}");
        return vec![format!("spiffe://{}{}", rendered(&domain, proxy), rendered(&path, proxy))];
    }
    let mut found: Vec<String> = Vec::new();
    for inbound in &proxy.inbounds {
        let service = inbound.tags.get("kuma.io/service");
        let id = service.map(|s| format!("spiffe://{}/{s}", mesh.name));
        found.extend(id.filter(|id| !found.contains(id)));
    }
    let gateway = proxy.gateway.as_ref().and_then(|g| g.tags.get("kuma.io/service"));
    found.extend(gateway.map(|s| format!("spiffe://{}/{s}", mesh.name)));
    found
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

/// The tags of a proxy, as certificates of the older kind have them.
pub fn tags(proxy: &Dataplane) -> BTreeMap<String, String> {
    let inbounds = proxy.inbounds.iter().flat_map(|i| &i.tags);
    let all = inbounds.chain(proxy.gateway.iter().flat_map(|g| &g.tags));
    all.map(|(key, value)| (key.to_string(), value.to_string())).collect()
}
