// SPDX-License-Identifier: Apache-2.0
//! In: resources as JSON. Out: every path of the Gateway API hierarchy, found by trying all pairs.
//! Not here: policies.

use serde_json::Value;

use super::attach::selects;
use super::{GATEWAY_API, LISTENER, Place, ROUTE, SERVICE};

pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(super) fn namespace(object: &Value) -> &str {
    Some(text(object, "/metadata/namespace")).filter(|n| !n.is_empty()).unwrap_or("default")
}

pub(super) fn full(object: &Value) -> String {
    format!("{}/{}", namespace(object), name(object))
}

pub(super) fn group(object: &Value) -> &str {
    text(object, "/apiVersion").rsplit_once('/').map_or("", |(group, _)| group)
}

pub(super) fn of_kind<'w>(
    world: &'w [Value],
    of: &str,
    kind: &str,
) -> impl Iterator<Item = &'w Value> {
    world.iter().filter(move |o| group(o) == of && text(o, "/kind") == kind)
}

pub(super) fn key(object: &Value) -> (String, String, String) {
    let kind = text(object, "/kind");
    let namespace = if kind == "GatewayClass" { "" } else { namespace(object) };
    (kind.to_owned(), namespace.to_owned(), name(object).to_owned())
}

fn list<'v>(object: &'v Value, pointer: &str) -> &'v [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// An object as a node, then its sections: listeners, or rules by name or `rule-N`.
pub(super) fn places_of(world: &[Value], key: &(String, String, String)) -> Vec<Place> {
    let of = if key.0 == "Service" { "" } else { GATEWAY_API };
    let of_key = |o: &&Value| self::key(o) == *key && group(o) == of;
    let Some(object) = world.iter().find(of_key) else { return Vec::new() };
    let (level, sections): (u8, &[Value]) = match key.0.as_str() {
        "GatewayClass" => (0, &[]),
        "Gateway" => (1, list(object, "/spec/listeners")),
        "ListenerSet" => (2, list(object, "/spec/listeners")),
        "Service" => (SERVICE, list(object, "/spec/ports")),
        "HTTPRoute" | "GRPCRoute" => (ROUTE, list(object, "/spec/rules")),
        _ => return Vec::new(),
    };
    let label = if level == 0 { key.2.clone() } else { format!("{}/{}", key.1, key.2) };
    let mut places = vec![Place { level, object: key.clone(), section: String::new(), label }];
    for (i, section) in sections.iter().enumerate() {
        let written = text(section, "/name");
        let section =
            if written.is_empty() { format!("rule-{}", i + 1) } else { written.to_owned() };
        let level = if level >= SERVICE { level + 1 } else { LISTENER };
        places.push(Place { level, object: key.clone(), section: section.clone(), label: section });
    }
    places
}

/// Every path and every beginning of one.
pub(super) fn paths(world: &[Value]) -> Vec<Vec<Place>> {
    let mut found = Vec::new();
    for gateway in of_kind(world, GATEWAY_API, "Gateway") {
        let class = text(gateway, "/spec/gatewayClassName").to_owned();
        let object = (String::from("GatewayClass"), String::new(), class.clone());
        let class = Place { level: 0, object, section: String::new(), label: class };
        if !found.contains(&vec![class.clone()]) {
            found.push(vec![class.clone()]);
        }
        let above = vec![class, places_of(world, &key(gateway))[0].clone()];
        found.push(above.clone());
        let mut taken: Vec<&Value> = Vec::new();
        through(world, gateway, &above, &mut taken, &mut found);
        let mut sets: Vec<&Value> = of_kind(world, GATEWAY_API, "ListenerSet")
            .filter(|set| is_part_of(world, set, gateway))
            .collect();
        let age = |o: &Value| {
            Some(text(o, "/metadata/creationTimestamp").to_owned()).filter(|t| !t.is_empty())
        };
        sets.sort_by_key(|set| (age(set).unwrap_or("~".to_owned()), full(set)));
        for set in sets {
            let above = [&above[..], &places_of(world, &key(set))[..1]].concat();
            found.push(above.clone());
            through(world, set, &above, &mut taken, &mut found);
        }
    }
    of_kind(world, "", "Service").for_each(|service| called(world, service, &mut found));
    found
}

/// Paths through a Service that routes are bound to. At a port, for the clients of one namespace or for all, GRPCRoutes
/// leave nothing to HTTPRoutes.
fn called(world: &[Value], service: &Value, found: &mut Vec<Vec<Place>>) {
    let places = places_of(world, &key(service));
    let mut through: Vec<Vec<Place>> = Vec::new();
    for (port, place) in list(service, "/spec/ports").iter().zip(&places[1..]) {
        let bound = |kind: &'static str| {
            of_kind(world, GATEWAY_API, kind).filter(move |r| is_bound(r, service, port))
        };
        let clients = |route: &Value| {
            Some(namespace(route).to_owned()).filter(|own| own != namespace(service))
        };
        let calls: Vec<&Value> = bound("GRPCRoute").collect();
        let others = bound("HTTPRoute")
            .filter(|route| !calls.iter().any(|call| clients(call) == clients(route)));
        let path = vec![places[0].clone(), place.clone()];
        let mut any = false;
        for route in calls.iter().copied().chain(others) {
            any = true;
            let own = places_of(world, &key(route));
            let path = [&path[..], &own[..1]].concat();
            through.extend(
                own[1..].iter().map(|rule| [&path[..], std::slice::from_ref(rule)].concat()),
            );
            through.push(path);
        }
        if any {
            through.push(path);
        }
    }
    if !through.is_empty() {
        found.push(vec![places[0].clone()]);
        found.extend(through);
    }
}

/// Whether a parentRef of a route means a port of a Service; hostnames say nothing.
fn is_bound(route: &Value, service: &Value, port: &Value) -> bool {
    list(route, "/spec/parentRefs").iter().any(|parent| {
        let home = Some(text(parent, "/namespace")).filter(|n| !n.is_empty());
        (text(parent, "/kind"), text(parent, "/name")) == ("Service", name(service))
            && home.unwrap_or(namespace(route)) == namespace(service)
            && [text(port, "/name"), ""].contains(&text(parent, "/sectionName"))
            && [Some(&port["port"]), None].contains(&parent.get("port"))
    })
}

/// Paths through the listeners of a Gateway or ListenerSet.
fn through<'w>(
    world: &'w [Value],
    owner: &'w Value,
    above: &[Place],
    taken: &mut Vec<&'w Value>,
    found: &mut Vec<Vec<Place>>,
) {
    let listeners = list(owner, "/spec/listeners");
    let same = |a: &Value, b: &Value| {
        (&a["port"], text(a, "/hostname")) == (&b["port"], text(b, "/hostname"))
    };
    for (i, listener) in listeners.iter().enumerate() {
        let place = places_of(world, &key(owner))[i + 1].clone();
        let path = [above, &[place]].concat();
        found.push(path.clone());
        // Listeners that cannot be told apart: none of one object counts, and none that an earlier object has.
        let conflicted =
            listeners.iter().enumerate().any(|(j, other)| i != j && same(listener, other))
                || taken.iter().any(|other| same(listener, other));
        if conflicted {
            continue;
        }
        for kind in ["HTTPRoute", "GRPCRoute"] {
            for route in
                of_kind(world, GATEWAY_API, kind).filter(|r| attaches(world, r, owner, listener))
            {
                let places = places_of(world, &key(route));
                let path = [&path[..], &places[..1]].concat();
                found.extend(
                    places[1..].iter().map(|rule| [&path[..], std::slice::from_ref(rule)].concat()),
                );
                found.push(path);
            }
        }
    }
    taken.extend(listeners);
}

/// Spec 5.2: kind, namespace, port and section name, hostnames; one parentRef is enough.
fn attaches(world: &[Value], route: &Value, owner: &Value, listener: &Value) -> bool {
    let kinds = list(listener, "/allowedRoutes/kinds");
    let kind_allowed =
        kinds.is_empty() || kinds.iter().any(|k| text(k, "/kind") == text(route, "/kind"));
    let from = listener.pointer("/allowedRoutes/namespaces");
    let namespace_allowed = allowed(world, from, "Same", namespace(owner), namespace(route));
    let hosts = list(route, "/spec/hostnames");
    let listens = text(listener, "/hostname");
    let hosts_meet =
        hosts.is_empty() || hosts.iter().any(|h| meet(listens, h.as_str().unwrap_or("")));
    let named = list(route, "/spec/parentRefs").iter().any(|parent| {
        let or = |pointer: &str, default: &str| match text(parent, pointer) {
            "" => default.to_owned(),
            other => other.to_owned(),
        };
        let object = (or("/kind", "Gateway"), or("/namespace", namespace(route)), or("/name", ""));
        object == key(owner)
            && [text(listener, "/name"), ""].contains(&text(parent, "/sectionName"))
            && [Some(&listener["port"]), None].contains(&parent.get("port"))
    });
    kind_allowed && namespace_allowed && hosts_meet && named
}

/// Spec 5.3.
fn meet(a: &str, b: &str) -> bool {
    let within = |narrow: &str, wide: &str| {
        let suffix = wide.strip_prefix('*');
        suffix.is_some_and(|s| {
            narrow.trim_start_matches('*').ends_with(s) && narrow.trim_start_matches('*') != s
        })
    };
    a.is_empty() || b.is_empty() || a == b || within(a, b) || within(b, a)
}

fn allowed(world: &[Value], rule: Option<&Value>, default: &str, host: &str, guest: &str) -> bool {
    let from = rule.map_or("", |r| text(r, "/from"));
    match if from.is_empty() { default } else { from } {
        "All" => true,
        "Same" => host == guest,
        "Selector" => {
            let object = of_kind(world, "", "Namespace").find(|n| name(n) == guest);
            let label = |key: &str| match key {
                "kubernetes.io/metadata.name" => Some(guest),
                _ => object
                    .and_then(|o| o.pointer("/metadata/labels"))
                    .and_then(|l| l.get(key))
                    .and_then(Value::as_str),
            };
            rule.and_then(|r| r.get("selector")).is_some_and(|s| selects(s, &label))
        }
        _ => false,
    }
}

fn is_part_of(world: &[Value], set: &Value, gateway: &Value) -> bool {
    let named = Some(text(set, "/spec/parentRef/namespace"))
        .filter(|n| !n.is_empty())
        .unwrap_or(namespace(set));
    (named, text(set, "/spec/parentRef/name")) == (namespace(gateway), name(gateway))
        && allowed(
            world,
            gateway.pointer("/spec/allowedListeners/namespaces"),
            "None",
            namespace(gateway),
            namespace(set),
        )
}
