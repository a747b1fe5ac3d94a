// SPDX-License-Identifier: Apache-2.0
//! In: proxies and services as written. Out: fields of another type than they must have, which would be read as if they
//! were not there. Not here: policies (`validate`).

use overrule_source::{NodeKind, View};

use crate::kinds;

/// A field that is not what it must be.
pub(crate) struct Flaw<'d> {
    /// What is there, or what lacks it.
    pub(crate) at: View<'d>,
    /// The field.
    pub(crate) field: String,
    /// What it must be.
    pub(crate) message: String,
}

/// Everything wrong with the shape of a proxy or a service; `spec` is the part that is its own.
pub(crate) fn flaws<'d>(
    kind: Option<&kinds::ResourceKind>,
    spec: View<'d>,
    path: &str,
) -> Vec<Flaw<'d>> {
    let mut found = Found(Vec::new());
    match kind {
        Some(&kinds::DATAPLANE) => found.dataplane(spec, path),
        Some(&kinds::SERVICE | &kinds::MULTI_ZONE_SERVICE) => found.ports(spec, path, "ports"),
        Some(&kinds::EXTERNAL_SERVICE) => {
            let field = format!("{path}match");
            if let Some(of) = found.member(spec, "match", &field, NodeKind::Map) {
                found.port(of, &field);
            }
        }
        _ => {}
    }
    found.0
}

struct Found<'d>(Vec<Flaw<'d>>);

impl<'d> Found<'d> {
    fn say(&mut self, at: View<'d>, field: String, message: &str) {
        self.0.push(Flaw { at, field, message: message.to_owned() });
    }

    /// A member of a type; none if it is not there or of another one, which is told.
    fn member(&mut self, of: View<'d>, key: &str, field: &str, kind: NodeKind) -> Option<View<'d>> {
        let found = of.get(key).filter(|v| !v.is_null())?;
        if found.kind() != kind {
            let what = if kind == NodeKind::Map { "must be an object" } else { "must be a list" };
            self.say(found, field.to_owned(), what);
            return None;
        }
        Some(found)
    }

    fn dataplane(&mut self, spec: View<'d>, path: &str) {
        let field = format!("{path}networking");
        if spec.get("networking").is_none_or(View::is_null) {
            return self.say(spec, field, "must be defined");
        }
        let Some(networking) = self.member(spec, "networking", &field, NodeKind::Map) else {
            return;
        };
        self.ports(networking, &format!("{field}."), "inbound");
        self.ports(networking, &format!("{field}."), "listeners");
    }

    /// A list of things with ports.
    fn ports(&mut self, of: View<'d>, path: &str, key: &str) {
        let field = format!("{path}{key}");
        let Some(list) = self.member(of, key, &field, NodeKind::List) else { return };
        for (index, item) in list.items().enumerate() {
            let field = format!("{field}[{index}]");
            match item.kind() {
                NodeKind::Map => self.port(item, &field),
                _ => self.say(item, field, "must be an object"),
            }
        }
    }

    fn port(&mut self, of: View<'d>, path: &str) {
        let field = format!("{path}.port");
        let Some(port) = of.get("port").filter(|v| !v.is_null()) else {
            return self.say(of, field, "must be defined");
        };
        if !port.as_i64().is_some_and(|number| (1..=65_535).contains(&number)) {
            self.say(port, field, "must be a number from 1 to 65535");
        }
    }
}
