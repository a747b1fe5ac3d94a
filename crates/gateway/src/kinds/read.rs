// SPDX-License-Identifier: Apache-2.0
//! In: a `PolicyKind` document. Out: a [`Descriptor`], or diagnostics that say what to write instead.
//! Not here: which descriptor holds when two name one kind.

use overrule_engine::{ListRule, MergePlan, MergeRule, Nulls};
use overrule_model::{At, Fields};
use overrule_source::{Diagnostic, View};

use super::descriptor::{
    CrossNamespace, Descriptor, PolicyClass, Provenance, Strategy, TargetKind,
};
use super::paths::FieldPath;
use crate::codes_policy as codes;
use overrule_topology::level;

/// Group of the descriptor document.
pub const GROUP: &str = "overrule";
/// Kind of the descriptor document.
pub const KIND: &str = "PolicyKind";

const SPEC_FIELDS: &[&str] = &[
    "group",
    "kind",
    "class",
    "targets",
    "effectiveAt",
    "references",
    "crossNamespace",
    "body",
    "defaults",
    "overrides",
    "strategy",
    "merge",
];
const LEVELS: &[&str] = &["Gateway", "Listener", "Route", "Rule", "Backend"];
const RULES: &[&str] = &["atomic", "append", "preferredFirst", "preferredLast", "keyed"];

/// Reads one descriptor. Anything wrong refuses the whole descriptor: a half-read one would answer wrongly.
pub fn descriptor(
    root: View<'_>,
    provenance: Provenance,
    out: &mut Vec<Diagnostic>,
) -> Option<Descriptor> {
    let mut reader = Reader { fields: Fields::default() };
    let result = reader.descriptor(root, provenance);
    let bad =
        reader.fields.diagnostics.iter().any(|d| d.severity() == overrule_source::Severity::Error);
    out.append(&mut reader.fields.diagnostics);
    if bad {
        let d = Diagnostic::new(
            &codes::BAD_DESCRIPTOR,
            "this policy kind is not used, because its descriptor has errors",
        );
        out.push(
            d.at(root.span())
                .help("correct the errors reported for it; docs/kinds.md lists every field"),
        );
        return None;
    }
    result
}

struct Reader {
    fields: Fields,
}

impl Reader {
    fn descriptor(&mut self, root: View<'_>, provenance: Provenance) -> Option<Descriptor> {
        if root.get("kind").and_then(View::as_str) != Some(KIND) {
            let message =
                "a file of policy kinds may only contain documents with `kind: PolicyKind`";
            self.fields.report(
                &codes::BAD_DESCRIPTOR,
                &At::ROOT,
                root,
                message.to_owned(),
                "see docs/kinds.md for an example",
            );
            return None;
        }
        self.fields.only(root, &At::ROOT, &["apiVersion", "kind", "metadata", "spec"]);
        let at = At::ROOT.key("spec");
        let Some(spec) = self.fields.map(root, &At::ROOT, "spec") else {
            self.fields.missing(&at, root);
            return None;
        };
        self.fields.only(spec, &at, SPEC_FIELDS);
        let (group, _) = self.fields.required(spec, &at, "group")?;
        let (kind, _) = self.fields.required(spec, &at, "kind")?;
        let class = match self.word(spec, &at, "class", &["Direct", "Inherited"])? {
            "Direct" => PolicyClass::Direct,
            _ => PolicyClass::Inherited,
        };
        let targets = self.targets(spec, &at);
        let mut new = Descriptor::assumed(group, kind, class);
        new.provenance = provenance;
        if spec.get("effectiveAt").is_some() {
            new.effective_at = match self.word(spec, &at, "effectiveAt", LEVELS)? {
                "Gateway" => level::GATEWAY,
                "Listener" => level::LISTENER,
                "Route" => level::ROUTE,
                "Backend" => level::BACKEND,
                _ => level::RULE,
            };
        } else if targets.iter().any(|t| &*t.group != "gateway.networking.k8s.io") {
            // A kind that can be attached to backends acts there.
            new.effective_at = level::BACKEND;
        }
        new.targets = targets;
        if spec.get("crossNamespace").is_some() {
            new.cross_namespace =
                match self.word(spec, &at, "crossNamespace", &["Forbidden", "ReferenceGrant"])? {
                    "ReferenceGrant" => CrossNamespace::ReferenceGrant,
                    _ => CrossNamespace::Forbidden,
                };
        }
        for (key, slot) in [
            ("body", &mut new.body),
            ("defaults", &mut new.defaults),
            ("overrides", &mut new.overrides),
        ] {
            if let Some((text, _)) = self.fields.string(spec, &at, key) {
                *slot = FieldPath::new(text);
            }
        }
        self.references(spec, &at, &mut new);
        self.strategy(spec, &at, &mut new);
        new.plan = self.plan(spec, &at);
        Some(new)
    }

    /// A string member with one of the given values.
    fn word<'a>(
        &mut self,
        of: View<'a>,
        at: &At<'_>,
        key: &str,
        allowed: &[&str],
    ) -> Option<&'a str> {
        let (text, view) = self.fields.required(of, at, key)?;
        if allowed.contains(&text) {
            return Some(text);
        }
        self.fields.bad_value(&at.key(key), view, text, allowed);
        None
    }

    fn targets(&mut self, spec: View<'_>, at: &At<'_>) -> Vec<TargetKind> {
        let mut targets = Vec::new();
        let Some(list) = self.fields.list(spec, at, "targets") else { return targets };
        let at = at.key("targets");
        for (i, item) in list.items().enumerate() {
            let at = at.index(i);
            self.fields.only(item, &at, &["group", "kind", "sections"]);
            let group = self
                .fields
                .string(item, &at, "group")
                .map_or("gateway.networking.k8s.io", |(g, _)| g);
            let Some((kind, _)) = self.fields.required(item, &at, "kind") else { continue };
            let sections = item.get("sections");
            if let Some(view) = sections.filter(|v| v.as_bool().is_none()) {
                self.fields.wrong_type(&at.key("sections"), view, "a boolean");
            }
            let sections = sections.and_then(View::as_bool).unwrap_or(true);
            targets.push(TargetKind { group: group.into(), kind: kind.into(), sections });
        }
        targets
    }

    fn references(&mut self, spec: View<'_>, at: &At<'_>, new: &mut Descriptor) {
        let Some(map) = self.fields.map(spec, at, "references") else { return };
        let at = at.key("references");
        self.fields.only(map, &at, &["targetRef", "targetRefs", "targetSelectors"]);
        let slots = [
            ("targetRef", &mut new.target_ref),
            ("targetRefs", &mut new.target_refs),
            ("targetSelectors", &mut new.target_selectors),
        ];
        for (key, slot) in slots {
            if let Some((text, _)) = self.fields.string(map, &at, key) {
                *slot = FieldPath::new(text);
            }
        }
    }

    fn strategy(&mut self, spec: View<'_>, at: &At<'_>, new: &mut Descriptor) {
        let Some(map) = self.fields.map(spec, at, "strategy") else { return };
        let at = at.key("strategy");
        self.fields.only(map, &at, &["field", "block", "words", "default"]);
        if let Some((text, _)) = self.fields.string(map, &at, "field") {
            new.strategy_field = FieldPath::new(text);
        }
        if let Some((text, _)) = self.fields.string(map, &at, "block") {
            new.block_strategy = text.into();
        }
        if map.get("default").is_some()
            && let Some(strategy) = self.strategy_name(map, &at, "default")
        {
            new.strategy = strategy;
        }
        if let Some(words) = self.fields.map(map, &at, "words") {
            let at = at.key("words");
            for (key, _) in words.entries() {
                let word = key.key_text();
                if let Some(strategy) = self.strategy_name(words, &at, word) {
                    new.strategy_words.push((word.into(), strategy));
                }
            }
        }
    }

    fn strategy_name(&mut self, of: View<'_>, at: &At<'_>, key: &str) -> Option<Strategy> {
        let names = Strategy::ALL.map(Strategy::id);
        self.word(of, at, key, &names).and_then(Strategy::parse)
    }

    /// `merge:` a list of `{path, rule}`; unlisted paths merge to the scalar, as RFC 7386 does.
    fn plan(&mut self, spec: View<'_>, at: &At<'_>) -> MergePlan {
        let Some(list) = self.fields.list(spec, at, "merge") else {
            return MergePlan::merge_patch();
        };
        let at = at.key("merge");
        let mut rules = Vec::new();
        for (i, item) in list.items().enumerate() {
            let at = at.index(i);
            self.fields.only(item, &at, &["path", "rule", "key"]);
            let path = self.fields.required(item, &at, "path");
            let rule = self.word(item, &at, "rule", RULES);
            let (Some((path, _)), Some(rule)) = (path, rule) else { continue };
            let rule = match rule {
                "atomic" => MergeRule::Atomic,
                "append" => MergeRule::List(ListRule::Append),
                "preferredFirst" => MergeRule::List(ListRule::PreferredFirst),
                "preferredLast" => MergeRule::List(ListRule::PreferredLast),
                _ => {
                    let Some((key, _)) = self.fields.required(item, &at, "key") else { continue };
                    MergeRule::List(ListRule::Keyed { key: key.into(), element: MergePlan::REST })
                }
            };
            rules.push((path.split('.').collect(), rule));
        }
        MergePlan::with_rules(rules, Nulls::Delete)
    }
}

impl Descriptor {
    /// GEP-713's defaults for a class.
    pub fn assumed(group: &str, kind: &str, class: PolicyClass) -> Self {
        let strategy = match class {
            PolicyClass::Direct => Strategy::None,
            PolicyClass::Inherited => Strategy::AtomicDefaults,
        };
        Self {
            group: group.into(),
            kind: kind.into(),
            class,
            provenance: Provenance::Assumed,
            targets: Vec::new(),
            effective_at: level::RULE,
            target_ref: FieldPath::new("spec.targetRef"),
            target_refs: FieldPath::new("spec.targetRefs"),
            target_selectors: FieldPath::new("spec.targetSelectors"),
            cross_namespace: CrossNamespace::ReferenceGrant,
            body: FieldPath::new("spec"),
            defaults: FieldPath::new("spec.defaults"),
            overrides: FieldPath::new("spec.overrides"),
            strategy_field: FieldPath::new("spec.strategy"),
            block_strategy: "strategy".into(),
            strategy_words: Vec::new(),
            strategy,
            plan: MergePlan::merge_patch(),
        }
    }
}
