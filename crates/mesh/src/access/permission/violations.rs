// SPDX-License-Identifier: Apache-2.0
//! In: the spec of a MeshTrafficPermission. Out: what the release says is wrong with it, in its words and order.
//! Not here: what the founding documents allow (`read`), where it is written (`validate`).

use serde_json::Value;

use super::spiffe;
use crate::kinds::{ResourceKind, TRAFFIC_PERMISSION};
use crate::labels::PolicyRole;
use crate::targetref::TargetRef;
use crate::targetref::validate::{TargetRefOptions, TargetRefViolation, validate};
use crate::validate::allowed;

/// The lists of a rule in the order they are checked, which is not the order a proxy looks at them.
const LISTS: [&str; 3] = ["allow", "allowWithShadowDeny", "deny"];

/// Everything the release finds: in the reference, in which lists there are, in `from`, in `rules`. Fields it does not
/// know it passes over.
pub fn violations(spec: &Value) -> Vec<TargetRefViolation> {
    let mut found = Found(Vec::new());
    let (from, rules) = (list(spec, "from"), list(spec, "rules"));
    if let Some(target) = member(spec, "targetRef") {
        let is_inbound_policy = !(from.is_empty() && rules.is_empty());
        found.reference(
            Some(target),
            "spec.targetRef",
            &allowed::top(&TRAFFIC_PERMISSION, PolicyRole::System),
            is_inbound_policy,
        );
    }
    if !from.is_empty() && !rules.is_empty() {
        found.say("spec", "field 'from' must be empty when 'rules' is defined");
    }
    if from.is_empty() && rules.is_empty() {
        found.say("spec", "at least one of 'from' or 'rules' has to be defined");
    }
    for (i, entry) in from.iter().enumerate() {
        found.from(entry, &format!("spec.from[{i}]"));
    }
    for (i, rule) in rules.iter().enumerate() {
        found.rule(rule, &format!("spec.rules[{i}]"));
    }
    found.0
}

/// A member that is there and not null.
fn member<'v>(of: &'v Value, key: &str) -> Option<&'v Value> {
    of.get(key).filter(|value| !value.is_null())
}

fn list<'v>(of: &'v Value, key: &str) -> &'v [Value] {
    of.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text; empty if it is not written.
fn text<'v>(of: &'v Value, key: &str) -> &'v str {
    of.get(key).and_then(Value::as_str).unwrap_or("")
}

struct Found(Vec<TargetRefViolation>);

impl Found {
    fn say(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(TargetRefViolation { field: field.into(), message: message.into() });
    }

    fn reference(
        &mut self,
        written: Option<&Value>,
        path: &str,
        supported_kinds: &[ResourceKind],
        is_inbound_policy: bool,
    ) {
        let target = written.map_or_else(|| Ok(TargetRef::default()), TargetRef::read);
        match target {
            Ok(target) => {
                let options = TargetRefOptions {
                    path,
                    supported_kinds,
                    is_inbound_policy,
                    ..TargetRefOptions::default()
                };
                self.0.extend(validate(&target, &options));
            }
            Err(wrong) => {
                let dot = if wrong.field.is_empty() { "" } else { "." };
                let field = format!("{path}{dot}{}", wrong.field);
                self.say(field, format!("must be {}", wrong.expected));
            }
        }
    }

    fn from(&mut self, entry: &Value, path: &str) {
        self.reference(
            member(entry, "targetRef"),
            &format!("{path}.targetRef"),
            allowed::from(&TRAFFIC_PERMISSION),
            false,
        );
        if member(entry, "default").is_none_or(|conf| text(conf, "action").is_empty()) {
            self.say(format!("{path}.default.action"), "must be defined");
        }
    }

    /// Fields are told without the `default` they are below.
    fn rule(&mut self, rule: &Value, path: &str) {
        let conf = member(rule, "default").unwrap_or(&Value::Null);
        if LISTS.iter().all(|name| list(conf, name).is_empty()) {
            let message =
                "at least one of 'allow', 'allowWithShadowDeny', 'deny' has to be defined";
            return self.say(path, message);
        }
        for name in LISTS {
            for (j, one) in list(conf, name).iter().enumerate() {
                self.one_match(one, &format!("{path}.{name}[{j}]"));
            }
        }
    }

    fn one_match(&mut self, one: &Value, path: &str) {
        if let Some(id) = member(one, "spiffeID")
            && spiffe::flaw(text(id, "value")).is_some()
        {
            self.say(format!("{path}.spiffeID"), "must be a valid Spiffe ID");
        }
    }
}
