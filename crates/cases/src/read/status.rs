// SPDX-License-Identifier: Apache-2.0
//! In: `status`, `affected`, `conflicted`, `invalid`, `diagnostics`, `can`. Out: what must be said about policies.
//! Not here: what is in force (`expect.rs`).

use overrule_model::At;
use overrule_source::{NodeKind, View};

use super::reader::Reader;
use crate::case::{
    Can, Conditions, Conflicted, ExpectedAffected, ExpectedCondition, ExpectedFinding, Given,
    Invalid, Status,
};

impl Reader<'_> {
    /// Policy -> conditions by type, or policy -> ancestor -> reasons by type.
    pub(super) fn statuses(&mut self, root: View<'_>) -> Vec<Status> {
        let Some(map) = self.fields.map(root, &At::ROOT, "status") else { return Vec::new() };
        let at = At::ROOT.key("status");
        let mut found = Vec::new();
        for (key, value) in map.entries() {
            let policy = key.key_text();
            let at = at.key(policy);
            if value.kind() != NodeKind::Map {
                self.fields.wrong_type(&at, value, "a mapping");
                continue;
            }
            let by_ancestor = value.entries().all(|(key, _)| key.key_text().contains(' '));
            let named = policy.split_once(' ');
            let conditions = match (by_ancestor, named) {
                (true, Some(_)) => Conditions::InFull(self.in_full(value, &at)),
                (true, None) => Conditions::ByAncestor(self.ancestors(value, &at)),
                (false, _) => Conditions::ByType(self.conditions(value, &at)),
            };
            let (kind, policy) = named.map_or((None, policy), |(kind, name)| (Some(kind), name));
            let kind = kind.map(str::to_owned);
            let at = self.position(key);
            found.push(Status { at, kind, policy: policy.to_owned(), conditions });
        }
        found
    }

    /// Ancestor -> type -> condition.
    fn in_full(
        &mut self,
        map: View<'_>,
        at: &At<'_>,
    ) -> Vec<(String, Vec<(String, ExpectedCondition)>)> {
        let mut found = Vec::new();
        for (key, value) in map.entries() {
            let at = at.key(key.key_text());
            let mut conditions = Vec::new();
            for (kind, condition) in value.entries() {
                let at = at.key(kind.key_text());
                if let Some(condition) = self.condition(condition, &at) {
                    conditions.push((kind.key_text().to_owned(), condition));
                }
            }
            found.push((key.key_text().to_owned(), conditions));
        }
        found
    }

    fn condition(&mut self, condition: View<'_>, at: &At<'_>) -> Option<ExpectedCondition> {
        self.only(condition, at, &["status", "reason", "message"]);
        let status = self.required(condition, at, "status");
        let reason = self.required(condition, at, "reason");
        let message = self.text(condition, at, "message");
        Some(ExpectedCondition { status: status?, reason: reason?, message })
    }

    fn ancestors(&mut self, map: View<'_>, at: &At<'_>) -> Vec<(String, Vec<(String, String)>)> {
        let mut found = Vec::new();
        for (key, value) in map.entries() {
            let at = at.key(key.key_text());
            if value.kind() != NodeKind::Map {
                self.fields.wrong_type(&at, value, "a mapping");
                continue;
            }
            let types = ["Accepted", "Attached"];
            self.only(value, &at, &types);
            let reasons =
                types.into_iter().filter_map(|t| Some((t.to_owned(), self.text(value, &at, t)?)));
            found.push((key.key_text().to_owned(), reasons.collect()));
        }
        found
    }

    fn conditions(&mut self, map: View<'_>, at: &At<'_>) -> Vec<(String, ExpectedCondition)> {
        let types = ["accepted", "enforced"];
        self.only(map, at, &types);
        let mut found = Vec::new();
        for name in types {
            let Some(condition) = self.fields.map(map, at, name) else { continue };
            let at = at.key(name);
            found.extend(self.condition(condition, &at).map(|c| (name.to_owned(), c)));
        }
        found
    }

    pub(super) fn affected(&mut self, root: View<'_>) -> Option<Given<ExpectedAffected>> {
        let list = self.fields.list(root, &At::ROOT, "affected")?;
        let known = &["kind", "name", "section", "policyKind", "policies"];
        let items = self.mappings(list, &At::ROOT.key("affected"), known, |reader, item, at| {
            Some(ExpectedAffected {
                at: reader.position(item),
                kind: reader.required(item, at, "kind")?,
                name: reader.required(item, at, "name")?,
                section: reader.text(item, at, "section"),
                policy_kind: reader.required(item, at, "policyKind")?,
                policies: reader.names(item, at, "policies").unwrap_or_default(),
            })
        });
        Some(self.given(list, items))
    }

    pub(super) fn conflicted(&mut self, root: View<'_>) -> Option<Given<Conflicted>> {
        let list = self.fields.list(root, &At::ROOT, "conflicted")?;
        let known = &["kind", "policy", "by", "message"];
        let items = self.mappings(list, &At::ROOT.key("conflicted"), known, |reader, item, at| {
            Some(Conflicted {
                at: reader.position(item),
                kind: reader.required(item, at, "kind")?,
                policy: reader.required(item, at, "policy")?,
                by: reader.names(item, at, "by").unwrap_or_default(),
                message: reader.text(item, at, "message"),
            })
        });
        Some(self.given(list, items))
    }

    pub(super) fn invalid(&mut self, root: View<'_>) -> Option<Given<Invalid>> {
        let list = self.fields.list(root, &At::ROOT, "invalid")?;
        let known = &["kind", "policy", "message"];
        let items = self.mappings(list, &At::ROOT.key("invalid"), known, |reader, item, at| {
            Some(Invalid {
                at: reader.position(item),
                kind: reader.required(item, at, "kind")?,
                policy: reader.required(item, at, "policy")?,
                message: reader.text(item, at, "message"),
            })
        });
        Some(self.given(list, items))
    }

    pub(super) fn findings(&mut self, root: View<'_>) -> Option<Given<ExpectedFinding>> {
        let list = self.fields.list(root, &At::ROOT, "diagnostics")?;
        let known = &["code", "message", "field", "line"];
        let items = self.mappings(list, &At::ROOT.key("diagnostics"), known, |reader, item, at| {
            let line = reader.fields.integer(item, at, "line", 1, i64::from(u32::MAX));
            Some(ExpectedFinding {
                at: reader.position(item),
                code: reader.required(item, at, "code")?,
                message: reader.text(item, at, "message"),
                field: reader.text(item, at, "field"),
                line: line.and_then(|n| u32::try_from(n).ok()),
            })
        });
        Some(self.given(list, items))
    }

    pub(super) fn decisions(&mut self, root: View<'_>) -> Vec<Can> {
        let Some(list) = self.fields.list(root, &At::ROOT, "can") else { return Vec::new() };
        let known = &["from", "to", "method", "path", "sni", "verdict", "by"];
        self.mappings(list, &At::ROOT.key("can"), known, |reader, item, at| {
            Some(Can {
                at: reader.position(item),
                from: reader.required(item, at, "from")?,
                to: reader.required(item, at, "to")?,
                method: reader.text(item, at, "method"),
                path: reader.text(item, at, "path"),
                sni: reader.text(item, at, "sni"),
                verdict: reader.required(item, at, "verdict")?,
                by: reader.names(item, at, "by"),
            })
        })
    }
}
