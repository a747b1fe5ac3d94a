// SPDX-License-Identifier: Apache-2.0
//! In: workloads, Services and Namespaces of Kubernetes. Out: the Dataplanes that the injector would make of them, and the
//! MeshServices of a mesh that has them. Not here: reading either (`dataplane`, `kinds`).
//!
//! One proxy stands for all replicas of a workload and is called like it. Its address is unknown.

use std::collections::{BTreeMap, BTreeSet};

use overrule_family::{Derived, DerivedObject};
use overrule_model::{GroupKind, Object, ObjectId, ObjectKey, Scope, Snapshot, Sym};
use overrule_source::{Diagnostic, Documents, View};
use serde_json::{Map, Value, json};

use crate::codes;
use crate::resources::GROUP;

/// An address for documentation: nobody has it.
const NO_ADDRESS: &str = "192.0.2.1";
/// The port of an inbound that no Service leads to.
const NO_PORT: u64 = 49151;
const INJECTION: &str = "kuma.io/sidecar-injection";
const MESH: &str = "kuma.io/mesh";
const WORKLOADS: [(&str, &str); 5] = [
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
    ("", "Pod"),
];

type Texts = BTreeMap<String, String>;

/// What would be made of the workloads of a snapshot.
pub(crate) fn derived(documents: &Documents, snapshot: &Snapshot) -> Derived {
    let deriver = Deriver { documents, snapshot };
    let mut found = Derived::default();
    let mut first = None;
    // Services with the mesh of a workload behind them.
    let mut served: BTreeSet<(ObjectId, String)> = BTreeSet::new();
    for (group, kind) in WORKLOADS {
        for object in snapshot.of_kind(group, kind) {
            let Some(proxy) = deriver.proxy(object) else { continue };
            first.get_or_insert(object);
            served.extend(proxy.services.iter().map(|s| (s.id, proxy.mesh.clone())));
            found.objects.push(DerivedObject { from: key(object), manifest: proxy.manifest });
        }
    }
    let proxies = found.objects.len();
    for (service, mesh) in served {
        let service = snapshot.get(service);
        found.objects.extend(service.and_then(|service| deriver.mesh_service(service, &mesh)));
    }
    if let Some(first) = first {
        let first_name = snapshot.display(first.id);
        let message = match proxies {
            1 => format!(
                "the input has no Dataplane of `{first_name}`, so its proxy is derived from it"
            ),
            n => format!(
                "the input has no Dataplanes of {n} workloads, `{first_name}` among them, so their proxies are derived"
            ),
        };
        let d = Diagnostic::new(&codes::DERIVED_PROXIES, message).at(first.at);
        found.diagnostics.push(d.field("metadata.name").help(
            "nothing to do; add the Dataplanes of the cluster to the input for answers about single pods",
        ));
    }
    found
}

fn key(object: &Object) -> ObjectKey {
    ObjectKey { kind: object.kind, scope: object.scope, name: object.name }
}

fn texts(of: Option<View<'_>>) -> Texts {
    let entries = of.into_iter().flat_map(View::entries);
    entries
        .filter_map(|(k, v)| Some((k.key_text().to_owned(), v.scalar_text()?.to_owned())))
        .collect()
}

/// A setting that labels carry, and annotations carried before.
fn setting<'t>(labels: &'t Texts, annotations: &'t Texts, name: &str) -> Option<&'t str> {
    labels.get(name).or_else(|| annotations.get(name)).map(String::as_str)
}

fn is_on(value: &str) -> bool {
    matches!(value, "enabled" | "true")
}

struct Proxy<'a> {
    mesh: String,
    services: Vec<&'a Object>,
    manifest: Value,
}

struct Deriver<'a> {
    documents: &'a Documents,
    snapshot: &'a Snapshot,
}

impl<'a> Deriver<'a> {
    fn text(&self, sym: Sym) -> &'a str {
        self.snapshot.text(sym)
    }

    fn metadata(&self, root: View<'a>) -> (Texts, Texts) {
        let metadata = root.get("metadata");
        let of = |key: &str| texts(metadata.and_then(|m| m.get(key)));
        (of("labels"), of("annotations"))
    }

    fn proxy(&self, workload: &'a Object) -> Option<Proxy<'a>> {
        let root = self.documents.view(workload.root);
        let is_pod = self.text(workload.kind.kind) == "Pod";
        let pod = if is_pod { root } else { root.get("spec")?.get("template")? };
        // A pod that something else makes is told by what makes it.
        if is_pod && pod.get("metadata")?.get("ownerReferences").is_some_and(|o| !o.is_empty()) {
            return None;
        }
        let (labels, annotations) = self.metadata(pod);
        let namespace = self.text(workload.scope.name());
        let (of_namespace, noted) = self.namespace(workload.scope.name());
        let injection = setting(&labels, &annotations, INJECTION);
        if !is_on(injection.or_else(|| setting(&of_namespace, &noted, INJECTION))?) {
            return None;
        }
        let mesh = setting(&labels, &annotations, MESH);
        let mesh = mesh.or_else(|| setting(&of_namespace, &noted, MESH)).unwrap_or("default");
        let name = self.text(workload.name);
        if self.is_there(mesh, namespace, name) {
            return None;
        }
        let services = self.services(workload.scope, &labels);
        let spec = pod.get("spec");
        let mut inbounds: Vec<Value> = Vec::new();
        for service in &services {
            inbounds.extend(self.inbounds(service, namespace, &labels, spec));
        }
        if inbounds.is_empty() {
            let mut tags = own_tags(&labels, namespace);
            tags.insert("kuma.io/service".into(), format!("{name}_{namespace}_svc").into());
            tags.insert("kuma.io/protocol".into(), "tcp".into());
            inbounds.push(json!({"port": NO_PORT, "tags": tags}));
        }
        let gateway = annotations.get("kuma.io/gateway").or_else(|| labels.get("kuma.io/gateway"));
        let networking = match gateway.map(String::as_str) {
            Some("enabled" | "true") => {
                let tags = inbounds.first().map(|i| i["tags"].clone()).unwrap_or_default();
                json!({"address": NO_ADDRESS, "gateway": {"type": "DELEGATED", "tags": tags}})
            }
            // A built-in gateway is made of a MeshGatewayInstance.
            Some("provided") => return None,
            _ => json!({"address": NO_ADDRESS, "inbound": inbounds}),
        };
        let mut labels = labels.clone();
        let account = spec.and_then(|s| s.get("serviceAccountName")).and_then(View::as_str);
        labels.insert(MESH.to_owned(), mesh.to_owned());
        labels.insert(
            "k8s.kuma.io/service-account".to_owned(),
            account.unwrap_or("default").to_owned(),
        );
        let manifest = json!({
            "apiVersion": "kuma.io/v1alpha1", "kind": "Dataplane", "mesh": mesh,
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {"networking": networking},
        });
        Some(Proxy { mesh: mesh.to_owned(), services, manifest })
    }

    /// Labels and annotations of a namespace.
    fn namespace(&self, name: Sym) -> (Texts, Texts) {
        let kind = self.snapshot.names().lookup("Namespace");
        let key = kind.map(|kind| ObjectKey {
            kind: GroupKind { group: Sym::EMPTY, kind },
            scope: Scope::Cluster,
            name,
        });
        let object = key.and_then(|key| self.snapshot.find(key));
        object.map(|o| self.metadata(self.documents.view(o.root))).unwrap_or_default()
    }

    /// Whether the input has a Dataplane of a workload: its own name, or that of one of its pods.
    fn is_there(&self, mesh: &str, namespace: &str, name: &str) -> bool {
        let tail = format!(".{namespace}");
        let pods = format!("{name}-");
        self.snapshot.of_kind(GROUP, "Dataplane").iter().any(|object| {
            let own = self.text(object.name);
            let own = own.strip_suffix(tail.as_str()).unwrap_or(own);
            self.text(object.scope.name()) == mesh && (own == name || own.starts_with(&pods))
        })
    }

    /// The Services that select a pod.
    fn services(&self, scope: Scope, labels: &Texts) -> Vec<&'a Object> {
        let selects = |service: &&'a Object| {
            let root = self.documents.view(service.root);
            let selector = texts(root.get("spec").and_then(|s| s.get("selector")));
            let (own, noted) = self.metadata(root);
            service.scope == scope
                && !selector.is_empty()
                && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
                && !setting(&own, &noted, "kuma.io/ignore").is_some_and(is_on)
        };
        self.snapshot.of_kind("", "Service").iter().filter(selects).collect()
    }

    /// An inbound for each port of a Service that a container has.
    fn inbounds(
        &self,
        service: &Object,
        namespace: &str,
        labels: &Texts,
        spec: Option<View<'a>>,
    ) -> Vec<Value> {
        let root = self.documents.view(service.root);
        let (_, annotations) = self.metadata(root);
        let name = self.text(service.name);
        let inbound = |port: View<'a>| {
            let number = port.get("port").and_then(View::as_u64)?;
            let transport = port.get("protocol").and_then(View::as_str).unwrap_or("TCP");
            if transport != "TCP" {
                return None;
            }
            let target = match port.get("targetPort").filter(|t| !t.is_null()) {
                None => number,
                Some(target) => {
                    let named = || container_port(spec?, target.as_str()?);
                    target.as_u64().or_else(named)?
                }
            };
            let noted = annotations.get(&format!("{number}.service.kuma.io/protocol"));
            let protocol = port.get("appProtocol").and_then(View::as_str);
            let protocol = protocol.or(noted.map(String::as_str));
            let known = ["http", "http2", "grpc", "kafka", "tcp", "tls"];
            let protocol = protocol.filter(|p| known.contains(p)).unwrap_or("tcp");
            let mut tags = own_tags(labels, namespace);
            let mut tag = |key: &str, value: String| tags.insert(key.to_owned(), value.into());
            tag("kuma.io/service", format!("{name}_{namespace}_svc_{number}"));
            tag("kuma.io/protocol", protocol.to_owned());
            tag("k8s.kuma.io/service-name", name.to_owned());
            tag("k8s.kuma.io/service-port", number.to_string());
            let name = port.get("name").and_then(View::as_str).map(|name| ("name", name.into()));
            let own = [("port", target.into()), ("tags", Value::Object(tags))];
            Some(own.into_iter().chain(name).map(|(k, v)| (k.to_owned(), v)).collect())
        };
        let ports = root.get("spec").and_then(|s| s.get("ports"));
        ports.into_iter().flat_map(View::items).filter_map(inbound).collect()
    }

    /// The MeshService of a Service, if its mesh has them and the input does not.
    fn mesh_service(&self, service: &Object, mesh: &str) -> Option<DerivedObject> {
        let meshes = self.snapshot.of_kind(GROUP, "Mesh");
        let found = meshes.iter().find(|object| self.text(object.name) == mesh)?;
        let root = self.documents.view(found.root);
        let of_mesh = root.get("spec").unwrap_or(root);
        let mode = of_mesh.get("meshServices").and_then(|m| m.get("mode")?.as_str());
        if !matches!(mode, Some("Everywhere" | "ReachableBackends" | "Exclusive")) {
            return None;
        }
        let (name, namespace) = (self.text(service.name), self.text(service.scope.name()));
        let full = format!("{name}.{namespace}");
        let there = |o: &Object| {
            self.text(o.scope.name()) == mesh && [name, &full].contains(&self.text(o.name))
        };
        if self.snapshot.of_kind(GROUP, "MeshService").iter().any(there) {
            return None;
        }
        let root = self.documents.view(service.root);
        let spec = root.get("spec")?;
        let mut tags = texts(spec.get("selector"));
        tags.insert("k8s.kuma.io/namespace".to_owned(), namespace.to_owned());
        let (mut labels, _) = self.metadata(root);
        labels.insert(MESH.to_owned(), mesh.to_owned());
        labels.insert("k8s.kuma.io/service-name".to_owned(), name.to_owned());
        let port = |port: View<'_>| {
            let number = port.get("port").and_then(View::as_u64)?;
            let protocol = port.get("appProtocol").and_then(View::as_str).unwrap_or("tcp");
            let target = port.get("targetPort").map_or(number.into(), View::to_json);
            let name = port.get("name").and_then(View::as_str).map(|name| ("name", name.into()));
            let own =
                [("port", number.into()), ("targetPort", target), ("appProtocol", protocol.into())];
            let own = own.into_iter().chain(name).map(|(k, v)| (k.to_owned(), v));
            Some(own.collect::<Value>())
        };
        let ports = spec.get("ports").into_iter().flat_map(View::items).filter_map(port);
        let manifest = json!({
            "apiVersion": "kuma.io/v1alpha1", "kind": "MeshService",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {
                "selector": {"dataplaneTags": tags},
                "ports": ports.collect::<Vec<_>>(),
            },
        });
        Some(DerivedObject { from: key(service), manifest })
    }
}

/// The labels of a pod that become tags, and its namespace.
fn own_tags(labels: &Texts, namespace: &str) -> Map<String, Value> {
    let own = labels.iter().filter(|(key, value)| !key.contains("kuma.io/") && !value.is_empty());
    let mut tags: Map<String, Value> =
        own.map(|(key, value)| (key.clone(), value.clone().into())).collect();
    tags.insert("k8s.kuma.io/namespace".to_owned(), namespace.into());
    tags
}

/// The port of a container that has this name.
fn container_port(spec: View<'_>, name: &str) -> Option<u64> {
    let containers = spec.get("containers").into_iter().flat_map(View::items);
    let ports = containers.filter_map(|c| c.get("ports")).flat_map(View::items);
    let mut named = ports.filter(|p| p.get("name").and_then(View::as_str) == Some(name));
    named.find_map(|p| p.get("containerPort").and_then(View::as_u64))
}
