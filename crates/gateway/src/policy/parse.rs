// SPDX-License-Identifier: Apache-2.0
//! In: an object and the descriptor of its kind. Out: a [`Policy`]. Not here: whether its targets exist.

use overrule_model::{At, Fields, Object, ObjectId, Selector, SelectorClause, Snapshot, Sym};
use overrule_source::{CowVec, Diagnostic, Documents, NodeKind, NodeRef, Span, View};
use smallvec::SmallVec;

use super::{Policy, PolicyContent, RefField, Reference, Who};
use crate::codes_policy as codes;
use crate::kinds::{Descriptor, FieldPath, Kinds, Strategy};

/// Reads every policy of every kind, by kind, namespace, name.
pub fn parse(
    documents: &Documents,
    snapshot: &mut Snapshot,
    kinds: &Kinds,
) -> (Vec<Policy>, Vec<Diagnostic>) {
    let mut found: Vec<(usize, Place)> = Vec::new();
    for (kind, descriptor) in kinds.iter().enumerate() {
        // A described kind nobody uses yet still has a name in answers.
        snapshot.names_mut().intern(&descriptor.group);
        snapshot.names_mut().intern(&descriptor.kind);
        let objects = snapshot.of_kind(&descriptor.group, &descriptor.kind);
        found.extend(objects.iter().map(|o| (kind, Place::of(o))));
    }
    let mut parser = Parser { fields: Fields::default(), snapshot };
    let descriptors: Vec<&Descriptor> = kinds.iter().collect();
    let mut policies = Vec::with_capacity(found.len());
    for (kind, place) in found {
        if let Some(descriptor) = descriptors.get(kind) {
            let root = documents.view(place.root);
            policies.push(parser.policy(kind, descriptor, place, root));
        }
    }
    (policies, parser.fields.diagnostics)
}

/// Reads some of the policies again, when nothing else changed: the kinds and all objects are the same as `before`.
pub fn parse_again(
    documents: &Documents,
    snapshot: &mut Snapshot,
    kinds: &Kinds,
    before: &CowVec<Policy>,
    changed: &[ObjectId],
) -> (Vec<Policy>, Vec<Diagnostic>) {
    let mut policies: Vec<Policy> = before.iter().cloned().collect();
    let mut diagnostics = Vec::new();
    for policy in policies.iter_mut().filter(|p| changed.contains(&p.object)) {
        if let Some((now, found)) = reparse(documents, snapshot, kinds, policy) {
            *policy = now;
            diagnostics.extend(found);
        }
    }
    (policies, diagnostics)
}

/// Reads one policy again.
pub fn reparse(
    documents: &Documents,
    snapshot: &mut Snapshot,
    kinds: &Kinds,
    before: &Policy,
) -> Option<(Policy, Vec<Diagnostic>)> {
    let place = snapshot.get(before.object).map(Place::of)?;
    let descriptor = kinds.iter().nth(before.kind)?;
    let mut parser = Parser { fields: Fields::default(), snapshot };
    let policy = parser.policy(before.kind, descriptor, place, documents.view(place.root));
    Some((policy, parser.fields.diagnostics))
}

/// Reads the target references of one policy. What is wrong is collected in `fields`.
pub fn references(
    fields: &mut Fields,
    snapshot: &mut Snapshot,
    descriptor: &Descriptor,
    root: View<'_>,
) -> Vec<Reference> {
    let mut parser = Parser { fields: std::mem::take(fields), snapshot };
    let found = parser.references(descriptor, root);
    *fields = parser.fields;
    found
}

/// Reads a label selector. A clause that cannot be read makes it match nothing.
pub fn selector(
    fields: &mut Fields,
    snapshot: &mut Snapshot,
    item: View<'_>,
    at: &At<'_>,
) -> Selector {
    let mut parser = Parser { fields: std::mem::take(fields), snapshot };
    let found = parser.selector(item, at);
    *fields = parser.fields;
    found
}

/// Which policy is read, and where it stands.
#[derive(Clone, Copy)]
struct Place {
    object: ObjectId,
    root: NodeRef,
    at: Span,
}

impl Place {
    fn of(object: &Object) -> Self {
        Self { object: object.id, root: object.root, at: object.at }
    }
}

struct Parser<'s> {
    fields: Fields,
    snapshot: &'s mut Snapshot,
}

impl Parser<'_> {
    fn policy(
        &mut self,
        kind: usize,
        descriptor: &Descriptor,
        place: Place,
        root: View<'_>,
    ) -> Policy {
        let references = self.references(descriptor, root);
        let content = self.content(descriptor, place, root);
        Policy { object: place.object, kind, references: references.into(), content, at: place.at }
    }

    fn references(&mut self, descriptor: &Descriptor, root: View<'_>) -> Vec<Reference> {
        let mut found = Vec::new();
        if let Some(one) = descriptor.target_ref.find(root) {
            let field = RefField { path: descriptor.target_ref.clone(), index: None };
            found.push(with_path(&descriptor.target_ref, |p| self.reference(one, p, field, false)));
        }
        for (path, labelled) in
            [(&descriptor.target_refs, false), (&descriptor.target_selectors, true)]
        {
            let Some(list) = path.find(root) else { continue };
            if list.kind() != NodeKind::List {
                with_path(path, |p| self.fields.wrong_type(p, list, "a list"));
                continue;
            }
            with_path(path, |at| {
                for (i, item) in list.items().enumerate() {
                    let field = RefField { path: path.clone(), index: u32::try_from(i).ok() };
                    found.push(self.reference(item, &at.index(i), field, labelled));
                }
            });
        }
        found
    }

    fn reference(
        &mut self,
        item: View<'_>,
        at: &At<'_>,
        field: RefField,
        labelled: bool,
    ) -> Reference {
        let readable = self.readable(item, at, &field, labelled);
        readable.unwrap_or_else(|| Reference {
            group: Sym::EMPTY,
            kind: Sym::EMPTY,
            namespace: None,
            who: Who::Unreadable,
            section: None,
            at: item.span(),
            field,
        })
    }

    fn readable(
        &mut self,
        item: View<'_>,
        at: &At<'_>,
        field: &RefField,
        labelled: bool,
    ) -> Option<Reference> {
        if item.kind() != NodeKind::Map {
            self.fields.wrong_type(at, item, "a mapping");
            return None;
        }
        let before = self.fields.diagnostics.len();
        let (kind, _) = self.fields.required(item, at, "kind")?;
        // GEP-713 wants the group written; where it is not, the Gateway API's own kinds are meant.
        let group = match self.fields.string(item, at, "group") {
            Some((group, _)) => group,
            None if matches!(kind, "Service" | "Namespace" | "Secret" | "ConfigMap") => "",
            None => "gateway.networking.k8s.io",
        };
        let section = self.fields.string(item, at, "sectionName");
        let namespace = self.fields.string(item, at, "namespace");
        // What narrows a reference and cannot be read must not widen it.
        if self.fields.diagnostics.len() > before {
            return None;
        }
        let who = if labelled {
            Who::Labelled(self.selector(item, at))
        } else {
            let (name, view) = self.fields.required(item, at, "name")?;
            Who::Named(self.intern(name), view.span())
        };
        Some(Reference {
            group: self.intern(group),
            kind: self.intern(kind),
            namespace: namespace.map(|(text, view)| (self.intern(text), view.span())),
            who,
            section: section
                .filter(|(text, _)| !text.is_empty())
                .map(|(text, view)| (self.intern(text), view.span())),
            at: item.span(),
            field: field.clone(),
        })
    }

    fn intern(&mut self, text: &str) -> Sym {
        self.snapshot.names_mut().intern(text)
    }

    /// `matchLabels` and `matchExpressions`. A clause that cannot be read makes the selector match nothing.
    fn selector(&mut self, item: View<'_>, at: &At<'_>) -> Selector {
        let mut requirements = Vec::new();
        if let Some(map) = self.fields.map(item, at, "matchLabels") {
            let at = at.key("matchLabels");
            for (key, value) in map.entries() {
                match value.as_str() {
                    Some(text) => requirements.push(SelectorClause::Equals(
                        self.intern(key.key_text()),
                        self.intern(text),
                    )),
                    None => {
                        self.fields.wrong_type(&at.key(key.key_text()), value, "a string");
                        requirements.push(never());
                    }
                }
            }
        }
        if let Some(list) = self.fields.list(item, at, "matchExpressions") {
            let at = at.key("matchExpressions");
            for (i, clause) in list.items().enumerate() {
                let clause = self.clause(clause, &at.index(i));
                requirements.push(clause.unwrap_or_else(never));
            }
        }
        Selector { requirements }
    }

    fn clause(&mut self, item: View<'_>, at: &At<'_>) -> Option<SelectorClause> {
        const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];
        let (key, _) = self.fields.required(item, at, "key")?;
        let (operator, view) = self.fields.required(item, at, "operator")?;
        let key = self.intern(key);
        let values: SmallVec<[Sym; 2]> = item
            .get("values")
            .into_iter()
            .flat_map(View::items)
            .filter_map(View::as_str)
            .map(|text| self.snapshot.names_mut().intern(text))
            .collect();
        let needs_values = matches!(operator, "In" | "NotIn");
        if OPERATORS.contains(&operator) && needs_values == values.is_empty() {
            let (message, help) = match needs_values {
                true => (format!("`{operator}` needs values"), "add `values`"),
                false => (format!("`{operator}` takes no values"), "remove `values`"),
            };
            let (at, code) = (at.key("values"), &overrule_model::codes::BAD_VALUE);
            self.fields.report(code, &at, view, message, help);
            return None;
        }
        match operator {
            "In" => Some(SelectorClause::In(key, values)),
            "NotIn" => Some(SelectorClause::NotIn(key, values)),
            "Exists" => Some(SelectorClause::Exists(key)),
            "DoesNotExist" => Some(SelectorClause::Absent(key)),
            other => {
                self.fields.bad_value(&at.key("operator"), view, other, &OPERATORS);
                None
            }
        }
    }

    /// Which block holds the policy, and by which strategy. GEP-713: a policy names at most one.
    fn content(
        &mut self,
        descriptor: &Descriptor,
        place: Place,
        root: View<'_>,
    ) -> Option<PolicyContent> {
        let Some(body) = descriptor.body.find(root) else {
            with_path(&descriptor.body, |at| self.fields.missing(at, root));
            return None;
        };
        if body.kind() != NodeKind::Map {
            with_path(&descriptor.body, |at| self.fields.wrong_type(at, body, "a mapping"));
            return None;
        }
        let named = descriptor.strategy_field.find(root);
        let named_strategy = match named {
            Some(view) => Some(self.named_strategy(descriptor, view)?),
            None => None,
        };
        let defaults = descriptor.defaults.find(root).map(|v| ("defaults", v));
        let overrides = descriptor.overrides.find(root).map(|v| ("overrides", v));
        let bare = bare_content(descriptor, body);
        let blocks: SmallVec<[(&'static str, View<'_>); 3]> =
            defaults.into_iter().chain(overrides).chain(bare.map(|v| ("bare", v))).collect();
        if let [first, second, ..] = blocks.as_slice() {
            let message = format!(
                "this policy has both `{}` and `{}`, but a policy can have only one strategy, so it is rejected",
                first.0, second.0
            );
            let d = Diagnostic::new(&codes::TWO_STRATEGIES, message)
                .at_with(second.1.span(), "a second strategy")
                .see(first.1.span(), "the first one")
                .field(descriptor.body.to_string())
                .help("keep one of them; put the other into a policy of its own");
            self.fields.diagnostics.push(d);
            return None;
        }
        let (block, view) = match blocks.first() {
            Some((block, view)) if *block != "bare" => (*block, *view),
            Some(_) => ("bare", body),
            None => {
                let d = Diagnostic::new(&codes::EMPTY_POLICY, "this policy sets nothing");
                self.fields.diagnostics.push(
                    d.at(place.at)
                        .field(descriptor.body.to_string())
                        .help("add what it should set, or remove it"),
                );
                ("bare", body)
            }
        };
        if let Some(named) = named.filter(|_| block != "bare") {
            let message = format!(
                "this policy sets its strategy twice, in `{}` and in `{block}`, so it is rejected",
                descriptor.strategy_field
            );
            let d = Diagnostic::new(&codes::TWO_STRATEGIES, message)
                .at_with(named.span(), "a second strategy")
                .see(view.span(), "the first one")
                .field(descriptor.strategy_field.to_string())
                .help(format!(
                    "remove one; inside `{block}` the strategy is `{}: atomic` or `merge`",
                    descriptor.block_strategy
                ));
            self.fields.diagnostics.push(d);
            return None;
        }
        let strategy = match (block, named_strategy) {
            (_, Some(strategy)) => strategy,
            ("bare", None) => descriptor.strategy,
            (block, None) => self.block_strategy(descriptor, block, view)?,
        };
        let value = NodeRef { doc: place.root.doc, node: view.id() };
        Some(PolicyContent { block, value, strategy })
    }

    fn named_strategy(&mut self, descriptor: &Descriptor, view: View<'_>) -> Option<Strategy> {
        let text = view.as_str().unwrap_or_default();
        let own =
            descriptor.strategy_words.iter().find(|(word, _)| **word == *text).map(|(_, s)| *s);
        if let Some(strategy) = own.or_else(|| Strategy::parse(text)) {
            return Some(strategy);
        }
        let mut known: Vec<&str> = descriptor.strategy_words.iter().map(|(w, _)| &**w).collect();
        known.extend(Strategy::ALL.map(Strategy::id));
        self.unknown_strategy(&known, &descriptor.strategy_field.to_string(), view);
        None
    }

    /// `defaults` alone are Atomic defaults, `overrides` alone Atomic overrides; a member may say `merge`.
    fn block_strategy(
        &mut self,
        descriptor: &Descriptor,
        block: &str,
        view: View<'_>,
    ) -> Option<Strategy> {
        let word = view.get(&descriptor.block_strategy).filter(|v| !v.is_null());
        let text = word.map_or("atomic", |v| v.as_str().unwrap_or(""));
        match (block, text.to_ascii_lowercase().as_str()) {
            ("defaults", "atomic") => Some(Strategy::AtomicDefaults),
            ("defaults", "merge" | "patch") => Some(Strategy::PatchDefaults),
            ("overrides", "atomic") => Some(Strategy::AtomicOverrides),
            ("overrides", "merge" | "patch") => Some(Strategy::PatchOverrides),
            _ => {
                let field = format!("{}.{block}.{}", descriptor.body, descriptor.block_strategy);
                self.unknown_strategy(&["atomic", "merge", "patch"], &field, word.unwrap_or(view));
                None
            }
        }
    }

    fn unknown_strategy(&mut self, known: &[&str], field: &str, view: View<'_>) {
        let text = view.scalar_text().unwrap_or("?");
        let d = Diagnostic::new(
            &codes::UNKNOWN_STRATEGY,
            format!("`{text}` is not a merge strategy; the policy is rejected"),
        );
        self.fields.diagnostics.push(
            d.at(view.span())
                .field(field.to_owned())
                .help(format!("use one of: {}", known.join(", "))),
        );
    }
}

/// The body, if it holds anything besides references, blocks and the strategy.
fn bare_content<'a>(descriptor: &Descriptor, body: View<'a>) -> Option<View<'a>> {
    body.entries().find(|(key, _)| !descriptor.is_plumbing(key.key_text())).map(|(_, value)| value)
}

impl Descriptor {
    /// Whether a member of the body is not policy but plumbing: references, blocks, the strategy.
    pub fn is_plumbing(&self, member: &str) -> bool {
        self.plumbing().any(|known| known == member)
    }

    /// The members of the body that are plumbing.
    pub(crate) fn plumbing(&self) -> impl Iterator<Item = &str> {
        let plumbing = [
            &self.target_ref,
            &self.target_refs,
            &self.target_selectors,
            &self.defaults,
            &self.overrides,
            &self.strategy_field,
        ];
        plumbing.into_iter().filter_map(|path| path.member_of(&self.body))
    }
}

/// A clause that no labels meet: a selector with an unreadable clause must not widen.
fn never() -> SelectorClause {
    SelectorClause::In(Sym::EMPTY, SmallVec::new())
}

/// Builds the stack of path frames for a descriptor's path and calls with it.
fn with_path<R>(path: &FieldPath, call: impl FnOnce(&At<'_>) -> R) -> R {
    let segments: SmallVec<[&str; 4]> = path.segments().collect();
    nest(&At::ROOT, &segments, call)
}

fn nest<R>(at: &At<'_>, segments: &[&str], call: impl FnOnce(&At<'_>) -> R) -> R {
    match segments.split_first() {
        None => call(at),
        Some((first, rest)) => nest(&at.key(first), rest, call),
    }
}
