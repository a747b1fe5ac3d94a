// SPDX-License-Identifier: Apache-2.0
//! In: the name of a variant. Out: metadata as if the resource had been created on that control plane and synced to the
//! other. Not here: what the metadata then decides.

use overrule_mesh::labels::{DISPLAY_NAME, LabelMap, MESH, NAMESPACE, ORIGIN, POLICY_ROLE, ZONE};
use overrule_mesh::names::hashed_name;
use overrule_mesh::resource::Meta;

/// Metadata, with what Kubernetes adds to it: namespace and name.
#[derive(Debug, Clone)]
pub(super) struct Rewritten {
    pub(super) meta: Meta,
    pub(super) extension: Option<(String, String)>,
}

const SYSTEM: &str = "kuma-system";

/// Created on a control plane: `global-uni`, `global-k8s`, `zone-uni`, `zone-k8s`.
pub(super) fn created(base: &str, meta: &Meta) -> Rewritten {
    let mut labels: LabelMap = LabelMap::new();
    let mut put = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
    put(DISPLAY_NAME, &meta.name);
    let zone = base.starts_with("zone-");
    put(ORIGIN, if zone { "zone" } else { "global" });
    if zone {
        put(ZONE, base);
    }
    let kubernetes = base.ends_with("-k8s");
    if kubernetes {
        put(NAMESPACE, "ns-k8s");
        put(MESH, &meta.mesh);
    }
    labels.extend(meta.labels.clone());
    let name = if kubernetes { format!("{}.ns-k8s", meta.name) } else { meta.name.clone() };
    let extension = kubernetes.then(|| ("ns-k8s".to_owned(), meta.name.clone()));
    Rewritten { meta: Meta { name, labels, ..meta.clone() }, extension }
}

/// Synced to a control plane on Kubernetes or not.
pub(super) fn synced(from: &Rewritten, kubernetes: bool) -> Rewritten {
    let meta = &from.meta;
    let values: Vec<&str> =
        [ZONE, NAMESPACE].iter().filter_map(|k| meta.labels.get(*k)).map(String::as_str).collect();
    let hashed = hashed_name(&meta.mesh, meta.display_name(), &values);
    let name = if kubernetes { format!("{hashed}.{SYSTEM}") } else { hashed.clone() };
    let extension = kubernetes.then(|| (SYSTEM.to_owned(), hashed));
    Rewritten { meta: Meta { name, ..meta.clone() }, extension }
}

/// A variant of the area `resourcerules`: a base, or `A-2-B`.
pub(super) fn resource_variant(variant: &str, meta: &Meta) -> Rewritten {
    let Some((from, to)) = variant.split_once("-2-") else { return created(variant, meta) };
    let base = created(from, meta);
    let kubernetes = to.ends_with("k8s");
    match from.starts_with("zone-") && to.starts_with("zone-") {
        true => synced(&synced(&base, false), kubernetes),
        false => synced(&base, kubernetes),
    }
}

/// A variant of the area `dataplane-kind`: the dataplane, and the policies.
pub(super) fn dataplane_variant(variant: &str) -> Option<(Steps, Steps)> {
    let zone = |base: &'static str| Steps { base, sync: None, role: None };
    let synced =
        |base: &'static str, kubernetes: bool| Steps { base, sync: Some(kubernetes), role: None };
    let system = |steps: Steps| Steps { role: Some("system"), ..steps };
    let producer = |steps: Steps| Steps { role: Some("producer"), ..steps };
    Some(match variant {
        "uni-zone" => (zone("zone-uni"), zone("zone-uni")),
        "k8s-zone" => (zone("zone-k8s"), zone("zone-k8s")),
        "policy-from-global-uni-zone-uni-on-global" => {
            (synced("zone-uni", false), system(zone("global-uni")))
        }
        "policy-from-global-uni-zone-uni-on-zone" => {
            (zone("zone-uni"), system(synced("global-uni", false)))
        }
        "policy-from-global-uni-zone-k8s-on-zone" => {
            (zone("zone-k8s"), system(synced("global-uni", true)))
        }
        "policy-from-global-uni-zone-k8s-on-global" => {
            (synced("zone-k8s", false), system(zone("global-uni")))
        }
        "policy-from-global-k8s-zone-uni-on-zone" => {
            (zone("zone-uni"), system(synced("global-k8s", false)))
        }
        "policy-from-global-k8s-zone-uni-on-global" => {
            (synced("zone-uni", true), system(zone("global-k8s")))
        }
        "policy-from-global-k8s-zone-k8s-on-zone" => {
            (zone("zone-k8s"), system(synced("global-k8s", true)))
        }
        "policy-from-global-k8s-zone-k8s-on-global" => {
            (synced("zone-k8s", true), system(zone("global-k8s")))
        }
        "policy-global-uni-dpp-k8s-on-zone" => {
            (zone("zone-uni"), system(synced("global-uni", false)))
        }
        "policy-global-uni-dpp-k8s-on-global" => {
            (synced("zone-uni", false), system(zone("global-uni")))
        }
        "policy-from-k8s-to-uni" => (zone("zone-uni"), producer(synced("zone-k8s", false))),
        "policy-from-k8s-to-k8s" => (zone("zone-k8s"), producer(synced("zone-k8s", true))),
        _ => return None,
    })
}

/// Where a resource was created, where it was synced to, and the role it then got.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps {
    base: &'static str,
    sync: Option<bool>,
    role: Option<&'static str>,
}

impl Steps {
    pub(super) fn apply(&self, meta: &Meta) -> Meta {
        let mut found = created(self.base, meta);
        if let Some(kubernetes) = self.sync {
            found = synced(&found, kubernetes);
        }
        let mut meta = found.meta;
        if let Some(role) = self.role {
            meta.labels.insert(POLICY_ROLE.to_owned(), role.to_owned());
            if role == "system" {
                meta.labels.insert(NAMESPACE.to_owned(), SYSTEM.to_owned());
            }
        }
        meta
    }
}
