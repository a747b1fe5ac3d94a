// SPDX-License-Identifier: Apache-2.0
//! In: the path and the query of a request. Out: which endpoint of the Inspect API it asks, with its parameters.
//! Not here: answers, and the paths of resources themselves.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::kinds::{self, ResourceKind};

/// A part of a path, decoded.
pub type PathPart<'a> = Cow<'a, str>;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InspectQuestion<'a> {
    /// Something about a proxy.
    Proxy {
        /// Its mesh.
        mesh: PathPart<'a>,
        /// Its name.
        name: PathPart<'a>,
        /// What.
        what: OfProxy<'a>,
    },
    /// What a MeshGateway's proxies get.
    GatewayRules {
        /// Its mesh.
        mesh: PathPart<'a>,
        /// Its name.
        name: PathPart<'a>,
    },
    /// The proxies that a policy selects, or that are behind a service.
    Dataplanes {
        /// The mesh.
        mesh: PathPart<'a>,
        /// The kind of the policy or service.
        kind: &'static ResourceKind,
        /// Its name.
        name: PathPart<'a>,
        /// Whether a mesh that is not there is told before anything else.
        checks_mesh: bool,
        /// Which of them.
        query: InspectQuery<'a>,
    },
    /// The hostnames of a service.
    Hostnames {
        /// Its mesh.
        mesh: PathPart<'a>,
        /// The collection it is asked for in.
        collection: PathPart<'a>,
        /// Its name.
        name: PathPart<'a>,
    },
    /// A resource by its identity.
    Kri {
        /// The identity.
        kri: PathPart<'a>,
        /// How to write the resource.
        query: InspectQuery<'a>,
    },
    /// Every kind of resource.
    Kinds,
    /// Every kind of policy.
    PolicyKinds,
}

/// A question about a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfProxy<'a> {
    /// Every rule of every kind.
    Rules,
    /// Confs of the whole proxy.
    Policies,
    /// Rules for the traffic of an inbound.
    Inbound(PathPart<'a>),
    /// Confs for a destination.
    Outbound(PathPart<'a>),
    /// Routes to a destination.
    Routes(PathPart<'a>),
    /// Confs for one route to a destination.
    Route(PathPart<'a>, PathPart<'a>),
    /// What it listens on and where it sends.
    Layout,
    /// The configuration of its Envoy.
    Config(InspectQuery<'a>),
}

/// The query of a request: names and values, decoded, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InspectQuery<'a>(Vec<(PathPart<'a>, PathPart<'a>)>);

impl<'a> InspectQuery<'a> {
    /// Reads the part after the question mark.
    pub fn read(text: &'a str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).collect())
    }

    /// The first value of a name; none if it is not there or empty, which the API takes for the same.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    /// The query with other values of a name, as text.
    pub(super) fn with(&self, name: &str, value: &str) -> String {
        let kept = self.0.iter().filter(|(key, _)| key != name);
        let pairs = kept.map(|(k, v)| (&**k, &**v)).chain([(name, value)]);
        let pairs = pairs.map(|(k, v)| format!("{}={}", encoded(k), encoded(v)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// The question that a request asks; none if no endpoint of the Inspect API is meant.
pub fn route<'a>(path: &'a str, query: &'a str) -> Option<InspectQuestion<'a>> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    let raw: Vec<&'a str> = path.split('/').collect();
    let part = decoded;
    Some(match raw.as_slice() {
        ["_resources"] => InspectQuestion::Kinds,
        ["policies"] => InspectQuestion::PolicyKinds,
        ["_kri", kri] => InspectQuestion::Kri { kri: part(kri), query: InspectQuery::read(query) },
        ["meshes", mesh, "meshgateways", name, "_rules"] => {
            InspectQuestion::GatewayRules { mesh: part(mesh), name: part(name) }
        }
        ["meshes", mesh, collection, name, "_hostnames"] => InspectQuestion::Hostnames {
            mesh: part(mesh),
            collection: part(collection),
            name: part(name),
        },
        ["meshes", mesh, collection, name, "_resources", "dataplanes"] => {
            InspectQuestion::Dataplanes {
                mesh: part(mesh),
                kind: ResourceKind::by_path(collection).filter(|k| selects(k))?,
                name: part(name),
                checks_mesh: true,
                query: InspectQuery::read(query),
            }
        }
        ["meshes", mesh, "meshservices", name, "_dataplanes"] => InspectQuestion::Dataplanes {
            mesh: part(mesh),
            kind: &kinds::SERVICE,
            name: part(name),
            checks_mesh: false,
            query: InspectQuery::read(query),
        },
        ["meshes", mesh, "dataplanes", name, rest @ ..] => {
            let what = of_proxy(rest, query)?;
            InspectQuestion::Proxy { mesh: part(mesh), name: part(name), what }
        }
        _ => return None,
    })
}

fn of_proxy<'a>(rest: &[&'a str], query: &'a str) -> Option<OfProxy<'a>> {
    let part = decoded;
    Some(match rest {
        ["_rules"] => OfProxy::Rules,
        ["_policies"] => OfProxy::Policies,
        ["_layout"] => OfProxy::Layout,
        ["_config"] => OfProxy::Config(InspectQuery::read(query)),
        ["_inbounds", kri, "_policies"] => OfProxy::Inbound(part(kri)),
        ["_outbounds", kri, "_policies"] => OfProxy::Outbound(part(kri)),
        ["_outbounds", kri, "_routes"] => OfProxy::Routes(part(kri)),
        ["_outbounds", kri, "_routes", route, "_policies"] => {
            OfProxy::Route(part(kri), part(route))
        }
        _ => return None,
    })
}

/// Whether resources of a kind select proxies.
fn selects(kind: &ResourceKind) -> bool {
    let others = [kinds::SERVICE, kinds::GATEWAY, kinds::GATEWAY_ROUTE];
    kind.is_policy() || kind.is_legacy_policy() || others.contains(kind)
}

/// A part without its percent signs. What is no UTF-8 then is replaced: no name holds it.
fn decoded(text: &str) -> PathPart<'_> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// A part that may stand in a query.
pub(super) fn encoded(text: &str) -> String {
    const CODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(text, CODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_has_its_question() {
        let of = |rest: &str| match route(&format!("/meshes/m/dataplanes/d/{rest}"), "") {
            Some(InspectQuestion::Proxy { mesh, name, what }) => {
                assert_eq!((&*mesh, &*name), ("m", "d"));
                format!("{what:?}")
            }
            other => format!("{other:?}"),
        };
        assert_eq!(of("_rules"), "Rules");
        assert_eq!(of("_policies/"), "Policies");
        assert_eq!(of("_layout"), "Layout");
        assert_eq!(of("_inbounds/k/_policies"), "Inbound(\"k\")");
        assert_eq!(of("_outbounds/k/_policies"), "Outbound(\"k\")");
        assert_eq!(of("_outbounds/k/_routes"), "Routes(\"k\")");
        assert_eq!(of("_outbounds/k/_routes/r/_policies"), "Route(\"k\", \"r\")");
        assert_eq!(of("_config"), "Config(InspectQuery([]))");
        assert_eq!(of("_nothing"), "None");
        assert_eq!(route("/_resources", ""), Some(InspectQuestion::Kinds));
        assert_eq!(route("/policies", ""), Some(InspectQuestion::PolicyKinds));
        assert!(matches!(route("/_kri/k", ""), Some(InspectQuestion::Kri { .. })));
        assert!(matches!(
            route("/meshes/m/meshgateways/g/_rules", ""),
            Some(InspectQuestion::GatewayRules { .. })
        ));
        let hostnames = route("/meshes/m/whatever/s/_hostnames", "");
        assert!(
            matches!(hostnames, Some(InspectQuestion::Hostnames { collection, .. }) if collection == "whatever")
        );
        for (path, checks) in [
            ("/meshes/m/meshtimeouts/p/_resources/dataplanes", true),
            ("/meshes/m/proxytemplates/p/_resources/dataplanes", true),
            ("/meshes/m/meshservices/p/_dataplanes", false),
        ] {
            let asked = route(path, "");
            assert!(
                matches!(asked, Some(InspectQuestion::Dataplanes { checks_mesh, .. }) if checks_mesh == checks)
            );
        }
        assert_eq!(route("/meshes/m/dataplanes/d/_resources/dataplanes", ""), None);
        assert_eq!(route("/meshes/m/dataplanes/d", ""), None);
        assert_eq!(route("meshes", ""), None);
    }

    #[test]
    fn parts_and_queries_are_decoded() {
        let Some(InspectQuestion::Kri { kri, query }) =
            route("/_kri/kri_m%5F%zz%4", "a=b+c&name=%2Fx&&e")
        else {
            panic!("no question");
        };
        assert_eq!(kri, "kri_m_%zz%4");
        assert_eq!((query.get("a"), query.get("name")), (Some("b c"), Some("/x")));
        assert_eq!((query.get("e"), query.get("f")), (None, None));
        assert_eq!(query.with("a", "1"), "name=%2Fx&e=&a=1");
    }
}
