// SPDX-License-Identifier: Apache-2.0
//! In: the lists of a policy. Out: which of them must be there, must not be there together, or must not be there below
//! the reference the policy has; and what is wrong with their entries. Not here: confs.

use overrule_source::{NodeKind, View};

use super::confs::Around;
use super::shape::written;
use super::{Check, allowed};
use crate::kinds::{self, ResourceKind};
use crate::targetref::TargetRef;
use crate::targetref::validate::TargetRefOptions;

const NOT_DEFINED: &str = "must not be defined";
const NO_FROM_WITH_GATEWAYS: &str = "must not be defined when the scope includes a Gateway, select only proxyType Sidecar or select only gateways and use spec.to";
const ONLY_FOR_ALL: &str = "kind MeshExternalService is only allowed with targetRef.kind: Mesh as it is configured on the Zone Egress and shared by all clients in the mesh";
const ONLY_RULES: &str = "fields 'to' and 'from' must be empty when 'rules' is defined";
const NOT_FROM_AND_RULES: &str = "field 'from' must be empty when 'rules' is defined";

impl<'a> Check<'a> {
    /// Lists that exclude each other, and those of which one must be there.
    pub(super) fn together(&mut self, spec: View<'a>) {
        let [to, from, rules] = super::LISTS
            .map(|list| self.has(list) && spec.get(list).is_some_and(|l| !l.is_empty()));
        let message = match *self.policy.kind {
            kinds::TIMEOUT | kinds::ACCESS_LOG | kinds::RATE_LIMIT | kinds::CIRCUIT_BREAKER
                if rules && (to || from) =>
            {
                ONLY_RULES
            }
            kinds::TLS | kinds::TRAFFIC_PERMISSION if rules && from => NOT_FROM_AND_RULES,
            kinds::TIMEOUT | kinds::ACCESS_LOG | kinds::CIRCUIT_BREAKER
                if !(to || from || rules) =>
            {
                "at least one of 'from', 'to' or 'rules' has to be defined"
            }
            kinds::TRAFFIC_PERMISSION if !(from || rules) && written(spec, "default").is_some() => {
                let message = "at least one of 'from' or 'rules' has to be defined";
                return self.only_release(spec, "spec", message);
            }
            kinds::TRAFFIC_PERMISSION if !(from || rules) => {
                "at least one of 'from' or 'rules' has to be defined"
            }
            kinds::RETRY | kinds::LOAD_BALANCING_STRATEGY if !to => {
                let node = written(spec, "to").unwrap_or(spec);
                return self.say(node, "spec.to", "needs at least one item");
            }
            _ => return,
        };
        self.say(spec, "spec", message);
    }

    /// One list. `top` is the reference of the policy, if it is a good one.
    pub(super) fn list(&mut self, spec: View<'a>, name: &str, top: Option<&TargetRef>) {
        let Some(list) = written(spec, name) else { return };
        let path = format!("spec.{name}");
        if list.kind() != NodeKind::List {
            return self.say(list, &path, "must be a list");
        }
        if let Some(why) =
            top.and_then(|top| self.forbidden(name, top)).filter(|_| !list.is_empty())
        {
            self.say(list, &path, why);
            // The release looks no further into `from`; in other lists it does.
            if name == "from" {
                return;
            }
        }
        for (index, entry) in list.items().enumerate() {
            let path = format!("{path}[{index}]");
            if entry.kind() == NodeKind::Map {
                self.entry(entry, &path, name, top);
            } else {
                self.say(entry, &path, "must be an object");
            }
        }
    }

    /// Why a list must not be there below this reference.
    fn forbidden(&self, list: &str, top: &TargetRef) -> Option<&'static str> {
        let gateways = allowed::includes_gateways(top);
        let by_route_or_gateway = top.kind.is_one_of(&[kinds::GATEWAY, kinds::HTTP_ROUTE]);
        match (*self.policy.kind, list) {
            (kinds::TIMEOUT, "from") if by_route_or_gateway => Some(NOT_DEFINED),
            (kinds::RATE_LIMIT | kinds::FAULT_INJECTION, "to") if !gateways => Some(NOT_DEFINED),
            (kinds::FAULT_INJECTION | kinds::RATE_LIMIT, "from") if gateways => {
                Some(NO_FROM_WITH_GATEWAYS)
            }
            (kinds::RATE_LIMIT, "rules") if gateways => Some(NOT_DEFINED),
            _ => None,
        }
    }

    fn entry(&mut self, entry: View<'a>, path: &str, list: &str, top: Option<&TargetRef>) {
        let kind = self.policy.kind;
        let members: &[&str] = match (list, *kind) {
            ("rules", _) => &["matches", "default"],
            ("to", kinds::HTTP_ROUTE) => &["targetRef", "rules", "hostnames"],
            ("to", kinds::TCP_ROUTE) => &["targetRef", "rules"],
            _ => &["targetRef", "default"],
        };
        self.members(entry, path, members, &|_| None);
        self.conf_shape(entry, path);
        if *kind == kinds::TRAFFIC_PERMISSION && list == "from" {
            self.action(entry, path);
        }
        let target = written(entry, "targetRef");
        let around = Around { list, top, to: target.filter(|_| list != "rules") };
        self.conf_rules(entry, path, &around);
        if list == "rules" {
            return;
        }
        let path = format!("{path}.targetRef");
        if target.is_some_and(|target| !self.reference_shape(target, &path)) {
            return;
        }
        let whole = TargetRef::whole_mesh();
        let (supported_kinds, supported_kinds_error) = match list {
            "from" => (allowed::from(kind), None),
            _ => self.kinds_of_to(entry, top.unwrap_or(&whole)),
        };
        let reference = target.map(TargetRef::from_view).unwrap_or_default();
        let options = TargetRefOptions {
            path: &path,
            supported_kinds,
            supported_kinds_error,
            ..TargetRefOptions::default()
        };
        self.reference(&reference, target.unwrap_or(entry), &options);
        if list == "to" && top.is_some_and(|top| allowed::is_shared(kind, top, &reference)) {
            let kind = target.and_then(|t| t.get("kind")).unwrap_or(entry);
            self.say(kind, &format!("{path}.kind"), ONLY_FOR_ALL);
        }
    }

    /// What is merged must be of the type it has everywhere: something else would take the place of all before it.
    pub(super) fn conf_shape(&mut self, of: View<'a>, path: &str) {
        let members =
            [("default", NodeKind::Map), ("rules", NodeKind::List), ("hostnames", NodeKind::List)];
        for (name, kind) in members {
            let found = written(of, name).filter(|v| v.kind() != kind);
            if let Some(found) = found {
                let what = if kind == NodeKind::Map { "an object" } else { "a list" };
                self.say(found, &format!("{path}.{name}"), format!("must be {what}"));
            }
        }
    }

    /// What an element of `from` does must be known: a deny that is not understood would be none.
    fn action(&mut self, entry: View<'a>, path: &str) {
        const KNOWN: [&str; 3] = ["Allow", "Deny", "AllowWithShadowDeny"];
        let path = format!("{path}.default.action");
        let action = written(entry, "default").and_then(|d| written(d, "action"));
        match action.map(|a| (a, a.scalar_text().unwrap_or(""))) {
            None => self.say(entry, &path, "must be defined"),
            Some((_, text)) if KNOWN.contains(&text) => {}
            Some((at, text)) => {
                let known = KNOWN.join(", ");
                let message =
                    format!("unrecognized action \"{text}\", supported values are: {known}");
                self.say(at, &path, message);
            }
        }
    }

    /// Below a gateway, how requests are spread can only be said for all destinations.
    fn kinds_of_to(
        &self,
        entry: View<'a>,
        top: &TargetRef,
    ) -> (&'static [ResourceKind], Option<&'static str>) {
        let kind = self.policy.kind;
        let conf = written(entry, "default").and_then(|d| written(d, "loadBalancer"));
        let balanced = *kind == kinds::LOAD_BALANCING_STRATEGY && conf.is_some();
        if balanced && top.kind == kinds::GATEWAY {
            // The words name the reference above, as the release does.
            let why =
                "value 'MeshGateway' is not supported, only Mesh is allowed if loadBalancer is set";
            return (&[kinds::MESH], Some(why));
        }
        (allowed::to(kind, top), None)
    }
}
