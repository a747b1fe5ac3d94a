// SPDX-License-Identifier: Apache-2.0
//! In: resources as JSON in universal form. Out: plain structs. Not here: what they mean.

use std::collections::BTreeMap;

use serde_json::Value;

/// The namespace of the mesh's operators.
pub const SYSTEM: &str = "kuma-system";

/// Labels or tags.
pub(super) type Pairs = BTreeMap<String, String>;

/// All resources.
#[derive(Debug, Clone, Default)]
pub struct OracleMeshes {
    pub(super) meshes: Vec<Meta>,
    pub(super) proxies: Vec<Proxy>,
    pub(super) destinations: Vec<Destination>,
    pub(super) policies: Vec<Policy>,
}

/// Who a resource is.
#[derive(Debug, Clone)]
pub(super) struct Meta {
    pub kind: String,
    pub mesh: String,
    /// The name its owner gave it.
    pub display: String,
    pub zone: String,
    pub namespace: String,
    pub labels: Pairs,
}

/// A Dataplane.
#[derive(Debug, Clone)]
pub(super) struct Proxy {
    pub meta: Meta,
    pub inbounds: Vec<Inbound>,
    /// Tags of a delegated gateway; none for a sidecar.
    pub gateway: Option<Pairs>,
}

#[derive(Debug, Clone)]
pub(super) struct Inbound {
    pub section: String,
    pub tags: Pairs,
}

/// Something traffic can be sent to.
#[derive(Debug, Clone)]
pub(super) struct Destination {
    pub meta: Meta,
    /// Names of its ports.
    pub sections: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub meta: Meta,
    /// The label; empty if there is none.
    pub role: String,
    pub shadow: bool,
    pub target: Ref,
    pub to: Vec<Entry>,
    pub from: Vec<Entry>,
    pub rules: Vec<Entry>,
    pub single: Option<Value>,
}

/// One element of `to`, `from` or `rules`.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub target: Ref,
    pub conf: Value,
    pub matches: bool,
}

/// A `targetRef`.
#[derive(Debug, Clone)]
pub(super) struct Ref {
    pub kind: String,
    pub name: String,
    pub namespace: String,
    /// None and empty are not the same.
    pub labels: Option<Pairs>,
    pub tags: Pairs,
    pub proxy_types: Vec<String>,
    pub section: String,
}

impl OracleMeshes {
    /// Reads the resources of the kinds that matter here.
    pub fn read(documents: &[Value]) -> Self {
        let mut world = Self::default();
        for document in documents {
            let kind = text(document, "type");
            match kind.as_str() {
                "Mesh" => world.meshes.push(meta(document)),
                "Dataplane" => world.proxies.push(proxy(document)),
                "MeshService" | "MeshMultiZoneService" | "MeshExternalService" => {
                    world.destinations.push(destination(document));
                }
                _ if super::KINDS.contains(&kind.as_str()) => {
                    world.policies.push(policy(document));
                }
                _ => {}
            }
        }
        world
    }
}

impl Meta {
    /// The identifier, or that of a section.
    pub fn kri(&self, section: &str) -> String {
        let short = match self.kind.as_str() {
            "Mesh" => "m",
            "Dataplane" => "dp",
            "MeshService" => "msvc",
            "MeshExternalService" => "extsvc",
            "MeshMultiZoneService" => "mzsvc",
            "MeshTimeout" => "mt",
            "MeshRetry" => "mr",
            "MeshCircuitBreaker" => "mcb",
            "MeshTrace" => "mtr",
            "MeshMetric" => "mm",
            "MeshTrafficPermission" => "mtp",
            other => panic!("no short name for {other}"),
        };
        let Self { mesh, zone, namespace, display, .. } = self;
        format!("kri_{short}_{mesh}_{zone}_{namespace}_{display}_{section}")
    }

    /// Whether two are one resource.
    pub fn is(&self, other: &Meta) -> bool {
        self.kind == other.kind
            && self.mesh == other.mesh
            && self.zone == other.zone
            && self.namespace == other.namespace
            && self.display == other.display
    }

    /// `global`, `zone`, or nothing.
    pub fn origin(&self) -> &str {
        self.labels.get("kuma.io/origin").map_or("", String::as_str)
    }

    /// Whether it lives in a namespace that is not the operators'.
    pub fn is_in_custom_namespace(&self) -> bool {
        !self.namespace.is_empty() && self.namespace != SYSTEM
    }
}

fn meta(document: &Value) -> Meta {
    let labels = pairs(&document["labels"]);
    let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
    let kind = text(document, "type");
    let mesh = if kind == "Mesh" { String::new() } else { text(document, "mesh") };
    let display = match label("kuma.io/display-name") {
        none if none.is_empty() => text(document, "name"),
        display => display,
    };
    let (zone, namespace) = (label("kuma.io/zone"), label("k8s.kuma.io/namespace"));
    Meta { kind, mesh, display, zone, namespace, labels }
}

fn proxy(document: &Value) -> Proxy {
    let networking = &document["networking"];
    let inbound = |inbound: &Value| Inbound {
        section: section(&inbound["name"], &inbound["port"]),
        tags: pairs(&inbound["tags"]),
    };
    Proxy {
        meta: meta(document),
        inbounds: list(&networking["inbound"]).iter().map(inbound).collect(),
        gateway: networking.get("gateway").map(|gateway| pairs(&gateway["tags"])),
    }
}

/// The name of a port, or else its number.
fn section(name: &Value, port: &Value) -> String {
    name.as_str().map_or_else(|| port.to_string(), str::to_owned)
}

fn destination(document: &Value) -> Destination {
    let spec = &document["spec"];
    let sections = match spec.get("match") {
        Some(only) => vec![only["port"].to_string()],
        None => list(&spec["ports"]).iter().map(|p| section(&p["name"], &p["port"])).collect(),
    };
    Destination { meta: meta(document), sections }
}

fn policy(document: &Value) -> Policy {
    let spec = &document["spec"];
    let meta = meta(document);
    let entries = |name: &str| list(&spec[name]).iter().map(entry).collect();
    Policy {
        role: meta.labels.get("kuma.io/policy-role").cloned().unwrap_or_default(),
        shadow: meta.labels.get("kuma.io/effect").is_some_and(|effect| effect == "shadow"),
        meta,
        target: reference(&spec["targetRef"]),
        to: entries("to"),
        from: entries("from"),
        rules: entries("rules"),
        single: spec.get("default").cloned(),
    }
}

fn entry(value: &Value) -> Entry {
    Entry {
        target: reference(&value["targetRef"]),
        conf: value["default"].clone(),
        matches: !list(&value["matches"]).is_empty(),
    }
}

/// A reference that is not there means the mesh.
fn reference(value: &Value) -> Ref {
    let kind = value["kind"].as_str().unwrap_or("Mesh");
    let types = list(&value["proxyTypes"]).iter();
    Ref {
        kind: kind.to_owned(),
        name: text(value, "name"),
        namespace: text(value, "namespace"),
        labels: value.get("labels").map(pairs),
        tags: pairs(&value["tags"]),
        proxy_types: types.filter_map(Value::as_str).map(str::to_owned).collect(),
        section: text(value, "sectionName"),
    }
}

fn pairs(value: &Value) -> Pairs {
    let members = value.as_object().into_iter().flatten();
    members.map(|(key, value)| (key.clone(), value.as_str().expect("text").to_owned())).collect()
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or("").to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
