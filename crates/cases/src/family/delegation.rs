// SPDX-License-Identifier: Apache-2.0
//! In: the answer of a family in which routes delegate to routes. Out: the same with paths as tests name them, and with
//! what rules say themselves apart from what competes. Not here: which route delegates to which.

use serde_json::{Value, json};

use super::ActualPolicy;
use super::answer::Answer;

impl Answer {
    /// Paths need not be listed if they have no fields, are single backends of a rule, or have only what rules say
    /// themselves.
    pub(super) fn leave_out(&mut self) {
        let Some(resolution) = self.resolution() else { return };
        let documents = &self.analysis.documents;
        let mut counts = Vec::with_capacity(self.targets.len());
        for (target, (kind, path)) in self.targets.iter().zip(&self.ids) {
            let effective = resolution.effective(resolution.ladder(*kind, *path));
            let value = effective.and_then(|e| e.value.as_ref());
            let has_fields = value.is_some_and(|v| !v.entries(documents).is_empty());
            let nodes = self.paths.get(target.path).map_or(&[][..], Vec::as_slice);
            let below_rule = nodes.iter().rev().nth(1).is_some_and(|n| n.index.is_some());
            let route =
                nodes.last().is_some_and(|n| n.kind.ends_with("Route") || n.index.is_some());
            counts.push(has_fields && !self.is_implicit(*kind) && (route || !below_rule));
        }
        for (target, counts) in self.targets.iter_mut().zip(counts) {
            target.reached = counts;
        }
    }

    /// Tests name the routes of a chain, not the rules by which one hands over to the next.
    pub(super) fn name_chains(&mut self) {
        self.full.clone_from(&self.paths);
        for path in &mut self.paths {
            // A rule that is followed by a route hands over to it.
            let routes: Vec<bool> =
                path.iter().skip(1).map(|n| n.kind.ends_with("Route")).collect();
            let mut routes = routes.into_iter();
            path.retain(|node| {
                let hands_over = routes.next().unwrap_or(false);
                !(node.index.is_some() && hands_over)
            });
        }
    }

    /// What a rule says itself comes from `namespace/name#index`: the route, and the rule of it on this path.
    fn rule_of(&self, target: usize, route: &str) -> String {
        let nodes = self.ids.get(target).and_then(|(_, p)| self.full.get(p.0 as usize));
        let nodes = nodes.map_or(&[][..], Vec::as_slice);
        let at = nodes.iter().position(|n| n.name == route && n.index.is_none());
        let rule = at.and_then(|at| nodes.get(at + 1)).and_then(|n| n.index);
        rule.map_or_else(|| route.to_owned(), |rule| format!("{route}#{rule}"))
    }

    /// Header changes and mirrors apart from what competes for slots.
    pub(super) fn as_accumulated(&self, target: usize, effective: &mut ActualPolicy) {
        for (_, policies) in &mut effective.sources {
            for policy in policies {
                *policy = self.rule_of(target, policy);
            }
        }
        let filters = effective.spec.as_mut().and_then(Value::as_object_mut);
        let filters = filters.and_then(|spec| spec.remove("filters"));
        let Some(Value::Array(filters)) = filters else {
            effective.accumulated = Some(Vec::new());
            return;
        };
        let piled = filters.iter().enumerate().map(|(i, filter)| {
            let index = i.to_string();
            let from = effective.sources.iter().find(|(at, _)| {
                at.first().is_some_and(|k| k == "filters") && at.get(1) == Some(&index)
            });
            let from = from.and_then(|(_, policies)| policies.first()).cloned().unwrap_or_default();
            let kind = filter.get("type").and_then(Value::as_str).unwrap_or("");
            let value = filter.get(member(kind)).cloned().unwrap_or(Value::Null);
            json!({"from": from, "type": kind, "value": value})
        });
        effective.accumulated = Some(piled.collect());
        effective.sources.retain(|(at, _)| at.first().is_none_or(|k| k != "filters"));
    }
}

/// The member of a filter that holds what its type does: `RequestMirror` -> `requestMirror`.
fn member(kind: &str) -> String {
    let mut letters = kind.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::member;

    #[test]
    fn members_of_filters_begin_with_a_small_letter() {
        assert_eq!(member("RequestHeaderModifier"), "requestHeaderModifier");
        assert_eq!(member(""), "");
    }
}
