// SPDX-License-Identifier: Apache-2.0
//! In: Gateways and routes. Out: every path, found by trying all pairs. Not here: policies.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Profile, full_name, list, namespace, text};

pub(super) const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// A way of requests: gateway, listener, route, rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path {
    pub gateway: String,
    pub listener: String,
    pub route_kind: String,
    pub route: String,
    pub rule: String,
    /// What a policy calls the rule; none if its name means another one.
    pub called: Option<String>,
}

impl Path {
    /// As keys have it.
    pub fn names(&self) -> Vec<String> {
        [&self.gateway, &self.listener, &self.route, &self.rule].map(String::clone).to_vec()
    }

    /// What policies can target on this path, from the top: kind, `ns/name`, section.
    pub fn levels(&self) -> [(&str, &str, Option<&str>); 4] {
        [
            ("Gateway", &self.gateway, None),
            ("Gateway", &self.gateway, Some(&self.listener)),
            (&self.route_kind, &self.route, None),
            // No section is called like this.
            (&self.route_kind, &self.route, Some(self.called.as_deref().unwrap_or("#"))),
        ]
    }
}

pub(super) fn all(objects: &[Value], profile: Profile) -> BTreeSet<Path> {
    let mut found = BTreeSet::new();
    for gateway in of_kind(objects, "Gateway") {
        for listener in list(gateway, "/spec/listeners") {
            for route_kind in ["HTTPRoute", "GRPCRoute"] {
                for route in of_kind(objects, route_kind) {
                    if fits(gateway, listener, route, profile) {
                        found.extend(rule_names(route, profile).into_iter().map(
                            |(rule, called)| Path {
                                gateway: full_name(gateway),
                                listener: text(listener, "/name").to_owned(),
                                route_kind: route_kind.to_owned(),
                                route: full_name(route),
                                rule,
                                called,
                            },
                        ));
                    }
                }
            }
        }
    }
    found
}

fn of_kind<'w>(objects: &'w [Value], kind: &str) -> impl Iterator<Item = &'w Value> {
    let is_gateway_api = |o: &Value| {
        text(o, "/apiVersion").split_once('/').is_some_and(|(group, _)| group == GATEWAY_API)
    };
    objects.iter().filter(move |o| is_gateway_api(o) && text(o, "/kind") == kind)
}

/// Unnamed rules are called by their number, and named rules are counted too. Of two rules of one name the first keeps it,
/// and an explicit name before a number; the operator means all of them. Each with a name for the path, which no other has.
fn rule_names(route: &Value, profile: Profile) -> Vec<(String, Option<String>)> {
    let rules = list(route, "/spec/rules");
    let number = |i: usize| format!("rule-{}", i + 1);
    if rules.is_empty() {
        return vec![(number(0), Some(number(0)))];
    }
    let written: Vec<&str> = rules.iter().map(|rule| text(rule, "/name")).collect();
    let keeps = |i: usize| !written[i].is_empty() && !written[..i].contains(&written[i]);
    let name = |i: usize| {
        let own = if keeps(i) { written[i].to_owned() } else { number(i) };
        let taken = !keeps(i) && written.contains(&own.as_str());
        let shown = if taken { format!("#{i}") } else { own.clone() };
        let said = if written[i].is_empty() { number(i) } else { written[i].to_owned() };
        match profile {
            Profile::Operator => (shown, Some(said)),
            Profile::Design | Profile::Latest => (shown, Some(own).filter(|_| !taken)),
        }
    };
    (0..rules.len()).map(name).collect()
}

fn fits(gateway: &Value, listener: &Value, route: &Value, profile: Profile) -> bool {
    let by_operator = profile == Profile::Operator;
    let referred = list(route, "/spec/parentRefs").iter().any(|parent| {
        let port = parent.get("port").filter(|_| !by_operator);
        names(parent, gateway, route)
            && ["", text(listener, "/name")].contains(&text(parent, "/sectionName"))
            && port.is_none_or(|port| listener.get("port") == Some(port))
    });
    let hosts = list(route, "/spec/hostnames");
    let listens = match text(listener, "/hostname") {
        "" => "*",
        written => written,
    };
    let host_fits = |host: &str| match by_operator {
        true => subset(host, listens),
        false => meet(host, listens),
    };
    referred
        && (by_operator || admits(gateway, listener, route))
        && (hosts.is_empty() || hosts.iter().filter_map(Value::as_str).any(host_fits))
}

/// Whether a parentRef is about this Gateway.
fn names(parent: &Value, gateway: &Value, route: &Value) -> bool {
    let or = |pointer: &str, default: &str| match text(parent, pointer) {
        "" => default.to_owned(),
        written => written.to_owned(),
    };
    or("/group", GATEWAY_API) == GATEWAY_API
        && or("/kind", "Gateway") == "Gateway"
        && format!("{}/{}", or("/namespace", namespace(route)), text(parent, "/name"))
            == full_name(gateway)
}

/// `allowedRoutes.namespaces`; selectors are not part of these worlds.
fn admits(gateway: &Value, listener: &Value, route: &Value) -> bool {
    match text(listener, "/allowedRoutes/namespaces/from") {
        "All" => true,
        "" | "Same" => namespace(gateway) == namespace(route),
        other => panic!("this oracle does not know allowedRoutes from {other}"),
    }
}

/// Whether a name falls under a pattern with a leading `*`: at least one label stands in its place.
fn under(name: &str, pattern: &str) -> bool {
    let ending = pattern.strip_prefix('*');
    ending.is_some_and(|ending| name.ends_with(ending) && name.len() > ending.len())
}

/// Gateway API: some host is served by both.
fn meet(a: &str, b: &str) -> bool {
    a == b || under(a, b) || under(b, a)
}

/// Kuadrant's operator: all hosts of the route's name are served by the listener.
fn subset(host: &str, listens: &str) -> bool {
    host == listens || under(host, listens)
}

#[cfg(test)]
mod tests {
    use super::{meet, subset};

    #[test]
    fn hostnames() {
        // route, listener, intersection, subset
        let table = [
            ("a.example.com", "*", true, true),
            ("*.example.com", "*", true, true),
            ("a.example.com", "a.example.com", true, true),
            ("a.example.com", "b.example.com", false, false),
            ("a.example.com", "*.example.com", true, true),
            ("b.a.example.com", "*.example.com", true, true),
            ("example.com", "*.example.com", false, false),
            ("badexample.com", "*.example.com", false, false),
            ("*.example.com", "a.example.com", true, false),
            ("*.example.com", "*.example.com", true, true),
            ("*.a.example.com", "*.example.com", true, true),
            ("*.example.com", "*.a.example.com", true, false),
            ("*.other.test", "*.example.com", false, false),
        ];
        for (route, listener, intersection, contained) in table {
            assert_eq!(meet(route, listener), intersection, "{route} and {listener}");
            assert_eq!(subset(route, listener), contained, "{route} in {listener}");
        }
    }
}
