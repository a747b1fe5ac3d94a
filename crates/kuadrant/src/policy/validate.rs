// SPDX-License-Identifier: Apache-2.0
//! In: the spec of a policy. Out: what its CRD refuses, in the words of the CRD. Not here: what profiles make of it.

use overrule_gateway::topology::GROUP;
use overrule_model::nearest;
use overrule_source::{Diagnostic, NodeKind, Span, View};

use super::Violation;
use crate::codes;
use crate::kinds::{KindInfo, MergeClass};

/// Checks a spec against the rules of its CRD. `readable`: the target reference has been read without complaint.
pub(super) fn spec(
    info: &'static KindInfo,
    spec: View<'_>,
    at: Span,
    readable: bool,
) -> Vec<Violation> {
    let mut checker = Checker { info, spec, at, found: Vec::new() };
    if readable {
        checker.target();
    }
    match info.class {
        MergeClass::Inherited => {
            checker.exclusive();
            checker.content();
            checker.windows();
        }
        MergeClass::Direct if info.kind == "DNSPolicy" => checker.dns(),
        MergeClass::Direct => checker.tls(),
        MergeClass::Generates { .. } => {}
    }
    checker.found
}

struct Checker<'a> {
    info: &'static KindInfo,
    spec: View<'a>,
    at: Span,
    found: Vec<Violation>,
}

/// Groups of an AuthPolicy that count as content if they have a member.
const NAMED: [&str; 4] = ["authentication", "metadata", "authorization", "callbacks"];

impl<'a> Checker<'a> {
    fn has(&self, key: &str) -> Option<View<'a>> {
        self.spec.get(key).filter(|v| !v.is_null())
    }

    fn refuse(&mut self, shipped_only: bool, at: Span, field: &str, message: &str, help: &str) {
        let diagnostic = Diagnostic::new(&codes::INVALID, message)
            .at(at)
            .field(field.to_owned())
            .help(help.to_owned());
        self.found.push(Violation { shipped_only, diagnostic });
    }

    fn target(&mut self) {
        let Some(target) = self.has("targetRef") else { return };
        let group = target.get("group").filter(|v| !v.is_null());
        if group.is_none_or(|g| g.as_str() != Some(GROUP)) {
            let message =
                "Invalid targetRef.group. The only supported value is 'gateway.networking.k8s.io'";
            let at = group.map_or(target.span(), View::span);
            let help = "write `group: gateway.networking.k8s.io`";
            self.refuse(group.is_none(), at, "spec.targetRef.group", message, help);
        }
        let Some(kind) = target.get("kind") else { return };
        let word = kind.as_str().unwrap_or("");
        if !self.info.targets.contains(&word) {
            let help = match nearest(word, self.info.targets.iter().copied(), 1).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("target one of: {}", self.info.targets.join(", ")),
            };
            self.refuse(false, kind.span(), "spec.targetRef.kind", self.info.bad_target, &help);
        }
    }

    /// Whether the spec itself has rules, as the CRD counts it: `when` alone counts for AuthPolicies only.
    fn bare(&self) -> Option<View<'a>> {
        let fields: &[&str] = match self.info.content {
            "rules" => &["rules", "patterns", "when"],
            content => &[content],
        };
        fields
            .iter()
            .find_map(|f| self.spec.get_entry(f).filter(|(_, v)| !v.is_null()))
            .map(|e| e.0)
    }

    fn exclusive(&mut self) {
        let (defaults, overrides) = (self.has("defaults"), self.has("overrides"));
        let pairs = [(self.bare(), defaults), (self.bare(), overrides), (defaults, overrides)];
        let help = "keep one of the two, or put the other into a policy of its own; the design allows both, the shipped CRD does not";
        for ((one, other), message) in pairs.into_iter().zip(self.info.exclusive) {
            if let (Some(_), Some(second)) = (one, other) {
                self.refuse(true, second.span(), "spec", message, help);
            }
        }
    }

    fn content(&mut self) {
        match (self.has("defaults"), self.has("overrides")) {
            (None, None) => self.filled(self.spec, "", self.at),
            (defaults, overrides) => {
                if let Some(block) = defaults {
                    self.filled(block, "defaults.", block.span());
                }
                if let Some(block) = overrides {
                    self.filled(block, "overrides.", block.span());
                }
            }
        }
    }

    fn filled(&mut self, block: View<'_>, prefix: &str, at: Span) {
        if !self.some(block) {
            let field = format!("spec.{prefix}{}", self.info.content);
            let message = format!("At least one {field} must be defined");
            let help = format!("add a rule to `{field}`, or remove the policy");
            self.refuse(true, at, &field, &message, &help);
        }
    }

    /// Whether a block has content, as the CRD counts it.
    fn some(&self, block: View<'_>) -> bool {
        let filled = |v: Option<View<'_>>| v.is_some_and(|v| !v.is_empty());
        if self.info.content != "rules" {
            return filled(block.get(self.info.content));
        }
        let Some(rules) = block.get("rules") else { return false };
        let response = rules.get("response");
        let denied = |key: &str| response.and_then(|r| r.get(key)).is_some_and(|v| !v.is_null());
        let success = response.and_then(|r| r.get("success"));
        NAMED.iter().any(|group| filled(rules.get(group)))
            || denied("unauthenticated")
            || denied("unauthorized")
            || ["headers", "filters"].iter().any(|g| filled(success.and_then(|s| s.get(g))))
    }

    /// Windows of rates: one to four times one to five digits and a unit.
    fn windows(&mut self) {
        const PATTERN: &str = "^([0-9]{1,5}(h|m|s|ms)){1,4}$";
        let blocks = [
            (Some(self.spec), "spec"),
            (self.has("defaults"), "spec.defaults"),
            (self.has("overrides"), "spec.overrides"),
        ];
        for (block, prefix) in blocks {
            let limits = block.and_then(|b| b.get("limits"));
            for (name, limit) in limits.into_iter().flat_map(View::entries) {
                let field = format!("{prefix}.limits.{}", name.key_text());
                let rates = limit.get("rates").filter(|v| !v.is_null());
                self.of_type(limit, &field, NodeKind::Map, "object");
                if let Some(rates) = rates {
                    self.of_type(rates, &format!("{field}.rates"), NodeKind::List, "array");
                }
                for (i, rate) in rates.into_iter().flat_map(View::items).enumerate() {
                    if let Some(limit) = rate.get("limit") {
                        let field = format!("{field}.rates[{i}].limit");
                        self.of_type(limit, &field, NodeKind::Int, "integer");
                    }
                }
                for (i, rate) in rates.into_iter().flat_map(View::items).enumerate() {
                    let Some(window) = rate.get("window") else { continue };
                    let text = window.scalar_text().unwrap_or("");
                    if is_window(text) {
                        continue;
                    }
                    let field = format!("{prefix}.limits.{}.rates[{i}].window", name.key_text());
                    let message = format!(
                        "Invalid value: \"{text}\": {field} in body should match '{PATTERN}'"
                    );
                    let help = "write hours, minutes, seconds or milliseconds: `24h`, `1m30s`, `500ms`; days are not supported";
                    self.refuse(true, window.span(), &field, &message, help);
                }
            }
        }
    }

    /// What a structural schema says about a value of another type.
    fn of_type(&mut self, view: View<'_>, field: &str, kind: NodeKind, word: &str) {
        let is = match view.kind() {
            NodeKind::Null => return,
            found if found == kind => return,
            NodeKind::Map => "object",
            NodeKind::List => "array",
            NodeKind::Int => "integer",
            NodeKind::Float => "number",
            NodeKind::Bool => "boolean",
            _ => "string",
        };
        let message =
            format!("Invalid value: \"{is}\": {field} in body must be of type {word}: \"{is}\"");
        self.refuse(true, view.span(), field, &message, "change the value to the expected type");
    }

    fn dns(&mut self) {
        let delegate = self.has("delegate");
        let providers = self.has("providerRefs");
        if let (Some(delegate), Some(_)) =
            (delegate.filter(|d| d.as_bool() == Some(true)), providers)
        {
            let message = "delegate=true and providerRefs are mutually exclusive";
            let help = "a delegating policy uses the provider of the primary cluster: remove `providerRefs`";
            self.refuse(false, delegate.span(), "spec.delegate", message, help);
        }
        for (field, most) in [("providerRefs", 1), ("excludeAddresses", 20)] {
            let Some(list) = self.has(field).filter(|v| v.kind() == NodeKind::List) else {
                continue;
            };
            if list.len() > most {
                let message = format!("Too many: {}: must have at most {most} items", list.len());
                let help = format!("keep {most} of them");
                self.refuse(false, list.span(), &format!("spec.{field}"), &message, &help);
            }
        }
    }

    fn tls(&mut self) {
        let kind = self.has("issuerRef").and_then(|i| i.get("kind")).filter(|v| !v.is_null());
        let Some(kind) = kind else { return };
        if !matches!(kind.as_str(), Some("" | "Issuer" | "ClusterIssuer")) {
            let message = "Invalid issuerRef.kind. The only supported values are blank, 'Issuer' and 'ClusterIssuer'";
            self.refuse(
                false,
                kind.span(),
                "spec.issuerRef.kind",
                message,
                "use one of these kinds",
            );
        }
    }
}

/// Whether a text is a duration as rates have it.
fn is_window(text: &str) -> bool {
    let mut rest = text;
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (Some(_), Some(after)) = (rest.get(..digits), rest.get(digits..)) else { return false };
        // The longest unit first: `ms` begins with `m`.
        let unit = ["ms", "h", "m", "s"].iter().find_map(|unit| after.strip_prefix(unit));
        let Some(after) = unit else { return false };
        parts += 1;
        if !(1..=5).contains(&digits) {
            return false;
        }
        rest = after;
    }
    (1..=4).contains(&parts)
}

#[cfg(test)]
mod tests {
    use super::is_window;

    #[test]
    fn windows_are_as_the_crd_has_them() {
        for good in ["1s", "10m", "24h", "500ms", "1h30m", "1h2m3s4ms", "99999s"] {
            assert!(is_window(good), "{good}");
        }
        for bad in ["", "1d", "s", "100000s", "1h2m3s4ms5s", "1", "1 s", "-1s", "1sm"] {
            assert!(!is_window(bad), "{bad}");
        }
    }
}
