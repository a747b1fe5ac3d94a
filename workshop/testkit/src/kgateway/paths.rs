// SPDX-License-Identifier: Apache-2.0
//! In: Gateways, ListenerSets and routes. Out: every path, found by trying all pairs. Not here: policies; what is
//! below a rule that delegates (`delegation`).

use serde_json::Value;

use super::{
    GATEWAY_API, OracleSettings, delegation, full_name, label, list, namespace, of_kind, text,
    text_or,
};

/// A way of requests: gateway, set if the listener is of one, listener, and routes with the rule taken in each.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// `namespace/name`.
    pub gateway: String,
    /// `namespace/name` of the ListenerSet the listener comes from.
    pub set: Option<String>,
    /// Its name.
    pub listener: String,
    /// Whether the listener speaks HTTPS.
    pub secure: bool,
    /// `HTTPRoute` or `GRPCRoute`.
    pub route_kind: &'static str,
    /// Routes from root to leaf: `namespace/name`, and the index of the rule.
    pub chain: Vec<(String, usize)>,
    /// What the last rule is called.
    pub leaf: String,
    /// Which hosts come this way; none stands for all.
    pub hostnames: Vec<String>,
    /// What requests must match, all routes of the chain considered; one of these.
    pub matches: Vec<Value>,
    /// Whether the last rule delegates in vain and answers 500.
    pub dead: bool,
}

impl Path {
    /// As the cases write it: gateway, set, listener, routes, rule.
    pub fn case_path(&self) -> Vec<String> {
        let above = [Some(&self.gateway), self.set.as_ref(), Some(&self.listener)];
        let routes = self.chain.iter().map(|(route, _)| route);
        above.into_iter().flatten().chain(routes).chain([&self.leaf]).cloned().collect()
    }
}

/// A listener in force, and whose it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listener<'w> {
    pub gateway: &'w Value,
    pub set: Option<&'w Value>,
    pub spec: &'w Value,
}

impl Listener<'_> {
    pub fn secure(&self) -> bool {
        text(self.spec, "/protocol") == "HTTPS"
    }

    fn name(&self) -> &str {
        text(self.spec, "/name")
    }

    /// The object that routes name as their parent.
    fn owner(&self) -> &Value {
        self.set.unwrap_or(self.gateway)
    }
}

/// Listeners for HTTP and HTTPS: those of Gateways, and those of ListenerSets that their Gateway lets in.
pub(super) fn listeners(objects: &[Value]) -> Vec<Listener<'_>> {
    let mut found = Vec::new();
    for gateway in of_kind(objects, GATEWAY_API, "Gateway") {
        for spec in list(gateway, "/spec/listeners") {
            found.push(Listener { gateway, set: None, spec });
        }
        for set in of_kind(objects, GATEWAY_API, "ListenerSet") {
            let parent = &set["spec"]["parentRef"];
            let allowed = &gateway["spec"]["allowedListeners"]["namespaces"];
            let from = text_or(allowed, "/from", "None");
            if is_named(parent, "Gateway", set, gateway)
                && lets_in(objects, from, allowed, gateway, set)
            {
                for spec in list(set, "/spec/listeners") {
                    found.push(Listener { gateway, set: Some(set), spec });
                }
            }
        }
    }
    found.retain(|listener| ["HTTP", "HTTPS"].contains(&text(listener.spec, "/protocol")));
    found
}

/// Every path of a world.
pub(super) fn all(objects: &[Value], settings: &OracleSettings) -> Vec<Path> {
    let mut found = Vec::new();
    let listeners = listeners(objects);
    for listener in &listeners {
        for route_kind in ["HTTPRoute", "GRPCRoute"] {
            for route in of_kind(objects, GATEWAY_API, route_kind) {
                let Some(hostnames) = attached(objects, &listeners, listener, route) else {
                    continue;
                };
                for ends in delegation::below(objects, settings, route_kind, route) {
                    found.push(Path {
                        gateway: full_name(listener.gateway),
                        set: listener.set.map(full_name),
                        listener: listener.name().to_owned(),
                        secure: listener.secure(),
                        route_kind,
                        chain: ends.chain,
                        leaf: ends.leaf,
                        hostnames: hostnames.clone(),
                        matches: ends.matches,
                        dead: ends.dead,
                    });
                }
            }
        }
    }
    found
}

/// The hosts a route serves on a listener, or nothing if it is not attached there.
fn attached(
    objects: &[Value],
    listeners: &[Listener],
    listener: &Listener,
    route: &Value,
) -> Option<Vec<String>> {
    let referred = list(route, "/spec/parentRefs").iter().any(|parent| {
        let kind = if listener.set.is_some() { "ListenerSet" } else { "Gateway" };
        is_named(parent, kind, route, listener.owner())
            && text_or(parent, "/sectionName", listener.name()) == listener.name()
            && parent.get("port").is_none_or(|port| listener.spec.get("port") == Some(port))
    });
    let allowed = &listener.spec["allowedRoutes"];
    let kinds = list(allowed, "/kinds");
    let kind_fits = kinds.is_empty() || kinds.iter().any(|k| k["kind"] == route["kind"]);
    let namespaces = &allowed["namespaces"];
    let from = text_or(namespaces, "/from", "Same");
    let fits = referred && kind_fits && lets_in(objects, from, namespaces, listener.owner(), route);
    fits.then(|| hosts(listeners, listener, route)).flatten()
}

/// Whether a reference to a Gateway or ListenerSet is about this one.
fn is_named(parent: &Value, kind: &str, from: &Value, object: &Value) -> bool {
    text_or(parent, "/group", GATEWAY_API) == GATEWAY_API
        && text_or(parent, "/kind", "Gateway") == kind
        && text(parent, "/name") == text(object, "/metadata/name")
        && text_or(parent, "/namespace", namespace(from)) == namespace(object)
}

/// Whether the namespace of a newcomer is among those an owner allows.
fn lets_in(objects: &[Value], from: &str, allowed: &Value, owner: &Value, new: &Value) -> bool {
    match from {
        "All" => true,
        "None" => false,
        "Same" => namespace(owner) == namespace(new),
        "Selector" => {
            let selector = &allowed["selector"];
            assert!(selector.get("matchExpressions").is_none(), "this oracle knows labels only");
            let wanted = selector["matchLabels"].as_object().into_iter().flatten();
            wanted.into_iter().all(|(name, value)| {
                name_label(name, namespace(new)).or(namespace_label(objects, new, name))
                    == value.as_str()
            })
        }
        other => panic!("this oracle does not know namespaces from {other}"),
    }
}

/// Every namespace has its name as a label.
fn name_label<'v>(label: &str, namespace: &'v str) -> Option<&'v str> {
    (label == "kubernetes.io/metadata.name").then_some(namespace)
}

fn namespace_label<'v>(objects: &'v [Value], object: &Value, name: &str) -> Option<&'v str> {
    let here = |n: &&Value| text(n, "/metadata/name") == namespace(object);
    of_kind(objects, "", "Namespace").find(here).and_then(|n| label(n, name))
}

/// The hosts of a route on a listener that no more specific listener of the port owns; nothing if none is left.
fn hosts(listeners: &[Listener], listener: &Listener, route: &Value) -> Option<Vec<String>> {
    let listens = text(listener.spec, "/hostname");
    let wanted: Vec<&str> =
        list(route, "/spec/hostnames").iter().filter_map(Value::as_str).collect();
    let common: Vec<String> = match (listens, wanted.is_empty()) {
        ("", true) => return Some(Vec::new()),
        (_, true) => vec![listens.to_owned()],
        ("", false) => wanted.iter().map(|host| (*host).to_owned()).collect(),
        _ => wanted.iter().filter_map(|host| meet(host, listens)).collect(),
    };
    let owned_elsewhere = |host: &String| {
        listeners.iter().any(|other| {
            let theirs = text(other.spec, "/hostname");
            full_name(other.gateway) == full_name(listener.gateway)
                && other.spec["port"] == listener.spec["port"]
                && !theirs.is_empty()
                && within(host, theirs)
                && theirs != listens
                && (listens.is_empty() || within(theirs, listens))
        })
    };
    let left: Vec<String> = common.into_iter().filter(|host| !owned_elsewhere(host)).collect();
    (!left.is_empty()).then_some(left)
}

/// What two hostnames have in common: the narrower one.
fn meet(a: &str, b: &str) -> Option<String> {
    match (within(a, b), within(b, a)) {
        (true, _) => Some(a.to_owned()),
        (false, true) => Some(b.to_owned()),
        (false, false) => None,
    }
}

/// Whether all hosts of a name are hosts of a pattern: at least one label stands for the `*`.
fn within(name: &str, pattern: &str) -> bool {
    let ending = pattern.strip_prefix('*');
    name == pattern
        || ending.is_some_and(|ending| name.ends_with(ending) && name.len() > ending.len())
}

#[cfg(test)]
mod tests {
    use super::meet;

    #[test]
    fn hostnames() {
        let table = [
            ("a.x", "a.x", Some("a.x")),
            ("a.x", "b.x", None),
            ("a.x", "*.x", Some("a.x")),
            ("b.a.x", "*.x", Some("b.a.x")),
            ("x", "*.x", None),
            ("ax", "*.x", None),
            ("*.x", "a.x", Some("a.x")),
            ("*.a.x", "*.x", Some("*.a.x")),
            ("*.x", "*.a.x", Some("*.a.x")),
            ("*.x", "*.y", None),
        ];
        for (a, b, common) in table {
            assert_eq!(meet(a, b).as_deref(), common, "{a} and {b}");
        }
    }
}
