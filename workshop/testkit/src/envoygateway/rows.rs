// SPDX-License-Identifier: Apache-2.0
//! In: the objects of a world. Out: listeners, rows, policies in order and their targets, each looked up by scanning.

use serde_json::Value;

use super::{EG, GATEWAY_API};

/// How a row is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// Requests.
    Http,
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

/// A listener of a Gateway or ListenerSet.
#[derive(Debug, Clone)]
pub(super) struct Listener {
    pub(super) path: Vec<String>,
    pub(super) gateway: String,
    pub(super) set: Option<String>,
    pub(super) name: String,
    pub(super) protocol: String,
    pub(super) port: u64,
    pub(super) hostname: Option<String>,
    pub(super) from_all: bool,
    pub(super) namespace: String,
    /// What listens: Gateways that are merged share it.
    pub(super) proxy: String,
}

/// A rule of a route at a listener.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// As policy tests write it.
    pub(super) path: Vec<String>,
    pub(super) gateway: String,
    pub(super) set: Option<String>,
    pub(super) listener: usize,
    pub(super) listener_name: String,
    pub(super) route: String,
    pub(super) kind: String,
    pub(super) rule: Option<String>,
    pub(super) wire: Wire,
}

/// A target of a policy: `Kind ns/name`, and a section.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) section: Option<String>,
}

pub(super) struct World {
    objects: Vec<Value>,
    pub(super) listeners: Vec<Listener>,
    pub(super) rows: Vec<Row>,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn full_name(object: &Value) -> String {
    format!("{}/{}", text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]))
}

fn id(object: &Value) -> String {
    format!("{} {}", text(&object["kind"]), full_name(object))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Its age first: no time is the oldest.
fn order(object: &Value) -> (String, String, String) {
    let meta = &object["metadata"];
    let part = |key: &str| text(&meta[key]).to_owned();
    (part("creationTimestamp"), part("namespace"), part("name"))
}

impl World {
    pub(super) fn new(objects: &[Value]) -> Self {
        let mut world = Self { objects: objects.to_vec(), listeners: Vec::new(), rows: Vec::new() };
        world.find_listeners();
        world.find_rows();
        world
    }

    fn of_kind<'w>(&'w self, kind: &'w str) -> impl Iterator<Item = &'w Value> {
        self.objects.iter().filter(move |o| o["kind"] == kind)
    }

    fn find_listeners(&mut self) {
        let merged = self.of_kind("EnvoyProxy").any(|p| p["spec"]["mergeGateways"] == true);
        let mut found = Vec::new();
        for gateway in self.of_kind("Gateway") {
            let own = id(gateway);
            let mut owners: Vec<(&Value, Option<String>)> = vec![(gateway, None)];
            for set in self.of_kind("ListenerSet") {
                let parent = &set["spec"]["parentRef"];
                let from = &gateway["spec"]["allowedListeners"]["namespaces"]["from"];
                let near = set["metadata"]["namespace"] == gateway["metadata"]["namespace"];
                if format!("Gateway {}/{}", text(&parent["namespace"]), text(&parent["name"]))
                    == own
                    && (from == "All" || (from == "Same" && near))
                {
                    owners.push((set, Some(id(set))));
                }
            }
            for (owner, set) in owners {
                for listener in list(&owner["spec"]["listeners"]) {
                    let mut path = vec![full_name(gateway)];
                    path.extend(set.is_some().then(|| full_name(owner)));
                    path.push(text(&listener["name"]).to_owned());
                    found.push(Listener {
                        path,
                        gateway: own.clone(),
                        set: set.clone(),
                        name: text(&listener["name"]).to_owned(),
                        protocol: text(&listener["protocol"]).to_owned(),
                        port: listener["port"].as_u64().unwrap(),
                        hostname: listener["hostname"].as_str().map(str::to_owned),
                        from_all: listener["allowedRoutes"]["namespaces"]["from"] == "All",
                        namespace: text(&owner["metadata"]["namespace"]).to_owned(),
                        proxy: if merged { String::new() } else { own.clone() },
                    });
                }
            }
        }
        self.listeners = found;
    }

    fn parents(&self, route: &Value) -> Vec<(String, Option<String>)> {
        let refs = list(&route["spec"]["parentRefs"]).iter().map(|parent| {
            let kind = parent["kind"].as_str().unwrap_or("Gateway");
            let id = format!("{kind} {}/{}", text(&parent["namespace"]), text(&parent["name"]));
            (id, parent["sectionName"].as_str().map(str::to_owned))
        });
        refs.filter(|(id, _)| {
            self.listeners.iter().any(|l| l.set.as_ref().unwrap_or(&l.gateway) == id)
        })
        .collect()
    }

    fn find_rows(&mut self) {
        let kinds = ["HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"];
        let mut rows = Vec::new();
        for (n, listener) in self.listeners.iter().enumerate() {
            for kind in kinds {
                let wire = match (listener.protocol.as_str(), kind) {
                    ("HTTP", "HTTPRoute" | "GRPCRoute") => Wire::Http,
                    ("TLS", "TLSRoute") | ("TCP", "TCPRoute") => Wire::Tcp,
                    ("UDP", "UDPRoute") => Wire::Udp,
                    _ => continue,
                };
                let mut routes: Vec<&Value> =
                    self.of_kind(kind).filter(|r| self.carries(listener, r)).collect();
                if matches!(kind, "TCPRoute" | "UDPRoute") {
                    routes.sort_by_key(|route| order(route));
                    routes.truncate(1);
                }
                for route in routes {
                    let rules = list(&route["spec"]["rules"]);
                    let most =
                        if matches!(kind, "TCPRoute" | "UDPRoute") { 1 } else { rules.len() };
                    for (r, rule) in rules.iter().take(most).enumerate() {
                        let mut path = listener.path.clone();
                        path.push(format!("{kind} {}", full_name(route)));
                        path.push(
                            rule["name"].as_str().map_or_else(|| format!("#{r}"), str::to_owned),
                        );
                        rows.push(Row {
                            path,
                            gateway: listener.gateway.clone(),
                            set: listener.set.clone(),
                            listener: n,
                            listener_name: listener.name.clone(),
                            route: id(route),
                            kind: kind.to_owned(),
                            rule: rule["name"].as_str().map(str::to_owned),
                            wire,
                        });
                    }
                }
            }
        }
        self.rows = rows;
    }

    /// Whether a route is attached to a listener and a hostname is left for it.
    fn carries(&self, listener: &Listener, route: &Value) -> bool {
        let own = listener.set.as_ref().unwrap_or(&listener.gateway);
        let named = |(id, section): (String, Option<String>)| {
            id == *own && section.is_none_or(|section| section == listener.name)
        };
        let near = route["metadata"]["namespace"] == listener.namespace.as_str();
        if !(listener.from_all || near) || !self.parents(route).into_iter().any(named) {
            return false;
        }
        let others = || {
            self.listeners.iter().filter(|l| {
                l.gateway == listener.gateway
                    && l.port == listener.port
                    && (&l.set, &l.name) != (&listener.set, &listener.name)
            })
        };
        let taken = |host: &str| others().any(|l| l.hostname.as_deref() == Some(host));
        let hosts = list(&route["spec"]["hostnames"]);
        match (&listener.hostname, hosts) {
            (Some(own), []) => !taken(own),
            (None, []) => true,
            (Some(own), hosts) => hosts.iter().any(|h| text(h) == own && !taken(own)),
            (None, hosts) => hosts.iter().any(|h| !taken(text(h))),
        }
    }

    /// Policies of a kind in the order of processing.
    pub(super) fn policies(&self, kind: &str) -> Vec<Value> {
        let mut found: Vec<Value> = self.of_kind(kind).cloned().collect();
        found.sort_by_key(order);
        found
    }

    /// The targets of a policy, with a section or without: what is selected, then what is named.
    pub(super) fn targets(&self, policy: &Value, with_section: bool) -> Vec<Target> {
        let mut found: Vec<Target> = Vec::new();
        let namespace = text(&policy["metadata"]["namespace"]);
        for selector in list(&policy["spec"]["targetSelectors"]).iter().filter(|_| !with_section) {
            for object in self.of_kind(text(&selector["kind"])) {
                let there = text(&object["metadata"]["namespace"]);
                let fits = selector["matchLabels"]["t"] == object["metadata"]["labels"]["t"];
                let near = there == namespace;
                let far = selector["namespaces"]["from"] == "All"
                    && self.may_select(policy, text(&selector["kind"]), there);
                if fits && (near || far) {
                    let target = Target {
                        kind: text(&object["kind"]).to_owned(),
                        id: id(object),
                        section: None,
                    };
                    if !found.contains(&target) {
                        found.push(target);
                    }
                }
            }
        }
        for target in list(&policy["spec"]["targetRefs"]) {
            let kind = text(&target["kind"]).to_owned();
            let section = target["sectionName"].as_str().map(str::to_owned);
            let target = Target {
                id: format!("{kind} {namespace}/{}", text(&target["name"])),
                kind,
                section,
            };
            if target.section.is_some() == with_section && !found.contains(&target) {
                found.push(target);
            }
        }
        found
    }

    fn grants(&self, namespace: &str, from: (&str, &str), to: (&str, &str)) -> bool {
        self.of_kind("ReferenceGrant").filter(|g| g["metadata"]["namespace"] == namespace).any(
            |grant| {
                let is_from =
                    |f: &Value| f["group"] == EG && f["kind"] == from.0 && f["namespace"] == from.1;
                let is_to = |t: &Value| t["group"] == to.0 && t["kind"] == to.1;
                list(&grant["spec"]["from"]).iter().any(is_from)
                    && list(&grant["spec"]["to"]).iter().any(is_to)
            },
        )
    }

    fn may_select(&self, policy: &Value, kind: &str, namespace: &str) -> bool {
        let from = (text(&policy["kind"]), text(&policy["metadata"]["namespace"]));
        self.grants(namespace, from, (GATEWAY_API, kind))
    }

    /// Whether policies of a kind and namespace may refer to Services of a namespace.
    pub(super) fn is_granted(&self, kind: &str, from: &str, namespace: &str) -> bool {
        from == namespace || self.grants(namespace, (kind, from), ("", "Service"))
    }

    /// Whether the controller knows a Gateway or ListenerSet.
    pub(super) fn is_known(&self, of: &str) -> bool {
        self.objects.iter().any(|object| {
            let parent = &object["spec"]["parentRef"];
            let gateway =
                format!("Gateway {}/{}", text(&parent["namespace"]), text(&parent["name"]));
            id(object) == of
                && (object["kind"] == "Gateway"
                    || (object["kind"] == "ListenerSet"
                        && self.objects.iter().any(|g| id(g) == gateway)))
        })
    }

    /// Whether a route has a parent that the controller serves.
    pub(super) fn has_parent(&self, of: &str) -> bool {
        self.objects.iter().any(|object| id(object) == of && !self.parents(object).is_empty())
    }

    /// Whether a target's section is there; every object has no section.
    pub(super) fn has_section(&self, target: &Target) -> bool {
        let Some(section) = &target.section else { return true };
        let object = self.objects.iter().find(|object| id(object) == target.id).unwrap();
        let sections =
            list(&object["spec"]["listeners"]).iter().chain(list(&object["spec"]["rules"]));
        sections.into_iter().any(|s| s["name"] == section.as_str())
    }

    /// Listeners that a Gateway (those of its ListenerSets too) or a ListenerSet has.
    pub(super) fn listeners_of(&self, of: &str) -> Vec<usize> {
        let all = self.listeners.iter().enumerate();
        all.filter(|(_, l)| l.gateway == of || l.set.as_deref() == Some(of))
            .map(|(n, _)| n)
            .collect()
    }
}
