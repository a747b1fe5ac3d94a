// SPDX-License-Identifier: Apache-2.0
//! In: an entry of a policy, and the references it stands below. Out: parts of its conf that must be there, or must not
//! be there with these references. Not here: types of values, which lists there are.
//!
//! Each rule is a row of a table. What nobody wrote down is let pass.

use overrule_source::{NodeKind, View};

use super::Check;
use super::shape::written;
use crate::kinds::{self, ResourceKind};
use crate::targetref::TargetRef;

/// What an entry stands in.
pub(super) struct Around<'a, 'v> {
    /// The name of its list.
    pub(super) list: &'v str,
    /// The reference of the policy, if it can be told what it means.
    pub(super) top: Option<&'v TargetRef>,
    /// Its own reference.
    pub(super) to: Option<View<'a>>,
}

impl Around<'_, '_> {
    fn is_below(&self, kind: &ResourceKind) -> bool {
        self.top.is_some_and(|top| top.kind == *kind)
    }

    fn is_about(&self, kind: &ResourceKind) -> bool {
        let written = self.to.and_then(|to| to.get("kind")).and_then(|k| k.scalar_text());
        written == Some(kind.name)
    }
}

/// Something about confs that the control plane insists on.
struct ConfRule {
    /// Kind of the policy.
    of: ResourceKind,
    /// Where it holds.
    holds: fn(&Around<'_, '_>) -> bool,
    /// The part of the entry it is about; what is not there cannot break it.
    part: Part,
    needs: Needs,
    message: &'static str,
}

/// A part of an entry.
enum Part {
    /// Below `default`; empty for all of it.
    Default(&'static str),
    /// A member of the entry.
    Own(&'static str),
    /// `default` of each of its rules.
    Rules,
}

/// What is asked of a part.
enum Needs {
    /// It is not there.
    Absence,
    /// One of these members is.
    AnyOf(&'static [&'static str]),
    /// This member has items, unless a filter of that type answers on its own.
    Items(&'static str, &'static str),
}

const UNDER_ROUTE: &str =
    "can't be specified when top-level TargetRef is referencing MeshHTTPRoute";
const ONLY_HASH: &str =
    "field is not allowed when targetRef.kind is MeshHTTPRoute, only hashPolicies is supported";

fn under_route(around: &Around<'_, '_>) -> bool {
    around.list != "from" && around.is_below(&kinds::HTTP_ROUTE)
}

fn about_route(around: &Around<'_, '_>) -> bool {
    around.is_about(&kinds::HTTP_ROUTE)
}

fn under_part_of_mesh(around: &Around<'_, '_>) -> bool {
    around.top.is_some_and(|top| top.kind != kinds::MESH)
}

const fn timeout_under_route(part: &'static str) -> ConfRule {
    let part = Part::Default(part);
    let message = UNDER_ROUTE;
    ConfRule { of: kinds::TIMEOUT, holds: under_route, part, needs: Needs::Absence, message }
}

const fn balancing_of_route(part: &'static str) -> ConfRule {
    let (of, part) = (kinds::LOAD_BALANCING_STRATEGY, Part::Default(part));
    ConfRule { of, holds: about_route, part, needs: Needs::Absence, message: ONLY_HASH }
}

const fn only_for_whole_mesh(part: &'static str, message: &'static str) -> ConfRule {
    let (of, part) = (kinds::TLS, Part::Default(part));
    ConfRule { of, holds: under_part_of_mesh, part, needs: Needs::Absence, message }
}

static RULES: [ConfRule; 12] = [
    timeout_under_route("connectionTimeout"),
    timeout_under_route("idleTimeout"),
    timeout_under_route("http.maxStreamDuration"),
    timeout_under_route("http.maxConnectionDuration"),
    ConfRule {
        of: kinds::TIMEOUT,
        holds: |_| true,
        part: Part::Default("http"),
        // The release forgot requestHeadersTimeout.
        needs: Needs::AnyOf(&[
            "requestTimeout",
            "streamIdleTimeout",
            "maxStreamDuration",
            "maxConnectionDuration",
        ]),
        message: "at least one timeout in this section should be configured",
    },
    ConfRule {
        of: kinds::HEALTH_CHECK,
        holds: |_| true,
        part: Part::Default(""),
        needs: Needs::AnyOf(&["http", "tcp", "grpc"]),
        message: "must have at least one defined: http, tcp, grpc",
    },
    balancing_of_route("loadBalancer"),
    balancing_of_route("localityAwareness"),
    only_for_whole_mesh(
        "tlsVersion",
        "tlsVersion can only be defined with top level targetRef kind: Mesh",
    ),
    only_for_whole_mesh(
        "tlsCiphers",
        "tlsCiphers can only be defined with top level targetRef kind: Mesh",
    ),
    ConfRule {
        of: kinds::HTTP_ROUTE,
        holds: |around| !around.is_below(&kinds::GATEWAY),
        part: Part::Own("hostnames"),
        needs: Needs::Absence,
        message: "must not be defined",
    },
    ConfRule {
        of: kinds::HTTP_ROUTE,
        holds: |around| around.is_below(&kinds::GATEWAY),
        part: Part::Rules,
        needs: Needs::Items("backendRefs", "RequestRedirect"),
        message: "must not be empty",
    },
];

impl<'a> Check<'a> {
    /// What the control plane insists on for a conf at this place.
    pub(super) fn conf_rules(&mut self, entry: View<'a>, path: &str, around: &Around<'a, '_>) {
        let of = *self.policy.kind;
        for rule in RULES.iter().filter(|rule| rule.of == of && (rule.holds)(around)) {
            for (part, field) in rule.part.of(entry, path) {
                rule.check(self, part, &field);
            }
        }
    }
}

impl Part {
    /// The parts that are there, each with its path. A `default` that is not written is an empty one.
    fn of<'a>(&self, entry: View<'a>, path: &str) -> Vec<(View<'a>, String)> {
        match self {
            Self::Own(name) => {
                let found = written(entry, name).map(|part| (part, format!("{path}.{name}")));
                found.into_iter().collect()
            }
            Self::Default("") => {
                let part = written(entry, "default").unwrap_or(entry);
                vec![(part, format!("{path}.default"))]
            }
            Self::Default(below) => {
                let conf = written(entry, "default");
                let part = conf.and_then(|conf| below.split('.').try_fold(conf, written));
                part.map(|part| (part, format!("{path}.default.{below}"))).into_iter().collect()
            }
            Self::Rules => {
                let rules = written(entry, "rules").into_iter().flat_map(View::items).enumerate();
                let of = |(i, rule)| {
                    let part = written(rule, "default").unwrap_or(rule);
                    (part, format!("{path}.rules[{i}].default"))
                };
                rules.map(of).collect()
            }
        }
    }
}

impl ConfRule {
    fn check<'a>(&self, check: &mut Check<'a>, part: View<'a>, field: &str) {
        let has = |name: &&str| written(part, name).is_some();
        match self.needs {
            // An empty list says as much as none.
            Needs::Absence if part.kind() == NodeKind::List && part.is_empty() => {}
            Needs::Absence => check.say(part, field, self.message),
            Needs::AnyOf(names) if names.iter().any(has) => {}
            Needs::AnyOf(_) => check.say(part, field, self.message),
            Needs::Items(list, unless) => {
                let items = written(part, list).is_some_and(|l| !l.is_empty());
                let filters = written(part, "filters").into_iter().flat_map(View::items);
                let kinds = filters.filter_map(|filter| filter.get("type")?.scalar_text());
                let answered = kinds.into_iter().any(|kind| kind == unless);
                if !items && !answered {
                    check.say(part, &format!("{field}.{list}"), self.message);
                }
            }
        }
    }
}
