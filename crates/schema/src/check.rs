// SPDX-License-Identifier: Apache-2.0
//! In: the root of an object, and the schema of its kind. Out: findings. Not here: elements that must differ
//! (`duplicates`), how rules are evaluated (`cel`).

use overrule_model::{At, Fields, UNKNOWN_SHOWN, codes as model_codes};
use overrule_source::{Diagnostic, NodeKind, View};
use serde_json::Value;

use crate::cel::Verdict;
use crate::choices::{equals, fits, unformatted};
use crate::codes;
use crate::duplicates::repeated;
use crate::format;
use crate::table::{KindSchema, NodeIx, SchemaNode, SchemaTable, ValueType, WordedRule};
use crate::words::Words;

impl SchemaTable {
    /// What an API server refuses or drops of an object, if the object is of a kind of this table.
    pub fn check(&self, root: View<'_>) -> Vec<Diagnostic> {
        let text = |key| root.get(key).and_then(View::as_str);
        let (Some(api), Some(kind)) = (text("apiVersion"), text("kind")) else { return Vec::new() };
        let Some((group, version)) = api.split_once('/') else { return Vec::new() };
        let known = || self.kinds().iter().filter(|k| *k.kind == *kind && *k.group == *group);
        match self.find(group, kind, version) {
            Some(schema) => self.check_both(root, schema),
            None => self.version(root, known().map(|k| &*k.version).collect()),
        }
    }

    fn version(&self, root: View<'_>, known: Vec<&str>) -> Vec<Diagnostic> {
        let Some(view) = root.get("apiVersion").filter(|_| !known.is_empty()) else {
            return Vec::new();
        };
        let kind = root.get("kind").and_then(View::as_str).unwrap_or_default();
        let written = view.as_str().unwrap_or_default();
        let message =
            format!("no release serves `{kind}` as `{written}`; its schema is not checked");
        let help = format!("change the version to {}", known.join(" or "));
        let d = Diagnostic::new(&codes::UNKNOWN_VERSION, message);
        vec![d.at(view.span()).field("apiVersion").help(help)]
    }

    /// What both channels refuse is wrong; where they differ is a note. What is sound in the standard channel is looked
    /// at again only where the experimental channel differs.
    fn check_both(&self, root: View<'_>, schema: &KindSchema) -> Vec<Diagnostic> {
        let (Some(standard), Some(wider)) = (schema.standard, schema.experimental) else {
            let only = schema.standard.or(schema.experimental);
            return only.map_or_else(Vec::new, |only| self.check_against(root, only, None));
        };
        let narrow = self.check_against(root, standard, None);
        let known = narrow.is_empty().then_some(standard);
        let wide = self.check_against(root, wider, known);
        if narrow.is_empty() && wide.is_empty() {
            return narrow;
        }
        let within = |all: &[Diagnostic], d: &Diagnostic| {
            all.iter().any(|same| same.primary == d.primary && same.code == d.code)
        };
        let only_narrow = narrow.iter().filter(|d| !within(&wide, d)).map(|d| {
            let message = match std::ptr::eq(d.code, &model_codes::UNKNOWN_FIELD) {
                true => format!("`{}` is only in the experimental channel of the API", d.field),
                false => {
                    format!("only the experimental channel of the API takes this: {}", d.message)
                }
            };
            differing(
                d,
                message,
                "clusters with the CRDs of the standard channel drop or refuse it",
            )
        });
        let only_wide = wide.iter().filter(|d| !within(&narrow, d)).map(|d| {
            let message =
                format!("the experimental channel of the API refuses this: {}", d.message);
            differing(d, message, "clusters with the CRDs of the standard channel take it")
        });
        let both = narrow.iter().filter(|d| within(&wide, d)).cloned();
        both.chain(only_narrow).chain(only_wide).collect()
    }

    fn check_against(
        &self,
        root: View<'_>,
        schema: NodeIx,
        known: Option<NodeIx>,
    ) -> Vec<Diagnostic> {
        let mut checker = Checker::new(self);
        checker.value(root, schema, known, &At::ROOT);
        checker.fields.diagnostics
    }
}

/// A finding of one channel as a note.
fn differing(d: &Diagnostic, message: String, help: &'static str) -> Diagnostic {
    Diagnostic { code: &codes::EXPERIMENTAL, message: message.into(), ..d.clone() }.help(help)
}

struct Checker<'t> {
    table: &'t SchemaTable,
    fields: Fields,
    /// How many findings are about fields that are only dropped.
    dropped: usize,
}

impl<'t> Checker<'t> {
    fn new(table: &'t SchemaTable) -> Self {
        Self { table, fields: Fields::default(), dropped: 0 }
    }

    /// How many findings refuse the object.
    fn refusals(&self) -> usize {
        self.fields.diagnostics.len().saturating_sub(self.dropped)
    }

    /// Whether a value is sound, everything below it included. `known` is a schema that it fits.
    fn value(&mut self, view: View<'_>, ix: NodeIx, known: Option<NodeIx>, at: &At<'_>) -> bool {
        let Some(node) = self.table.node(ix).filter(|_| known != Some(ix)) else { return true };
        let known = known.and_then(|known| self.table.node(known));
        let before = self.refusals();
        match node.kind {
            Some(ValueType::Object) if view.kind() == NodeKind::Map => {
                self.map(view, node, known, at);
            }
            Some(ValueType::Array) if view.kind() == NodeKind::List => {
                self.list(view, node, known, at);
            }
            Some(wanted) => self.scalar(view, wanted, node, at),
            None => {}
        }
        if self.refusals() > before {
            return false;
        }
        if !node.allowed.is_empty() && !node.allowed.iter().any(|value| equals(view, value)) {
            self.not_allowed(view, node, at);
            return false;
        }
        if !fits(self.table, view, node) {
            self.no_choice(view, node, at);
            return false;
        }
        self.rules(view, ix, (node, known), at)
    }

    /// Whether a sound value keeps the rules about it.
    fn rules(
        &mut self,
        view: View<'_>,
        ix: NodeIx,
        (node, known): (&SchemaNode, Option<&SchemaNode>),
        at: &At<'_>,
    ) -> bool {
        let mut kept = true;
        let mut guard = None;
        let is_new = |rule: &&usize| known.is_none_or(|known| !known.rules.contains(rule));
        for rule in node.rules.iter().filter(is_new).filter_map(|rule| self.table.rule(*rule)) {
            let Some(parsed) = rule.rule() else { continue };
            let verdict = parsed.judge(self.table, view, ix, &mut guard);
            // One mistake often breaks several rules about a mapping: the first one is told. Lists are many things.
            if !kept && view.kind() != NodeKind::List {
                break;
            }
            kept &= verdict == Verdict::Kept;
            match verdict {
                Verdict::Kept => {}
                // Whoever reads these objects tells it.
                _ if rule.words.told => {}
                Verdict::Broken => self.broken(view, at, rule),
                Verdict::BrokenAt(elements) if view.kind() == NodeKind::List => {
                    for (index, item) in picked(view.items(), &elements) {
                        self.broken(item, &at.index(index), rule);
                    }
                }
                Verdict::BrokenAt(elements) => {
                    for (_, (key, _)) in picked(view.entries(), &elements) {
                        self.broken(key, &at.key(key.key_text()), rule);
                    }
                }
            }
        }
        kept
    }

    fn broken(&mut self, view: View<'_>, at: &At<'_>, rule: &WordedRule) {
        let Words { says, help, at: field, .. } = &rule.words;
        let message = match says.is_empty() {
            true => format!("`{at}` breaks the rule `{}`", rule.text()),
            false => format!("`{at}`: {says}"),
        };
        match field.as_deref().and_then(|field| Some((field, view.get(field)?))) {
            Some((field, member)) => {
                self.fields.report(&codes::BROKEN_RULE, &at.key(field), member, message, help);
            }
            None => self.fields.report(&codes::BROKEN_RULE, at, view, message, help),
        }
    }

    fn map(&mut self, view: View<'_>, node: &SchemaNode, known: Option<&SchemaNode>, at: &At<'_>) {
        let (mut members, mut unknown) = (0, 0);
        let mut first_untold = None;
        for (key, value) in view.entries() {
            let name = key.key_text();
            match node.field(name) {
                // The API server drops a null and takes the default.
                Some(_) if value.is_null() => continue,
                Some(child) => {
                    let known = known.and_then(|known| known.field(name));
                    self.value(value, child, known, &at.key(name));
                }
                None if node.open => {}
                None => {
                    unknown += 1;
                    match unknown <= UNKNOWN_SHOWN {
                        true => self.unknown(key, node, &at.key(name)),
                        false => _ = first_untold.get_or_insert(key),
                    }
                }
            }
            members += 1;
        }
        if let Some(first) = first_untold {
            let more = unknown - UNKNOWN_SHOWN;
            let message = format!("{more} more fields of `{at}` are not of this API");
            let help = known_fields(node);
            self.fields.report(&model_codes::UNKNOWN_FIELD, at, first, message, &help);
            self.dropped += 1;
        }
        for name in &node.required {
            let written = view.get(name).is_some_and(|member| !member.is_null());
            let default = || {
                let child = self.table.node(node.named(name)?)?;
                child.default.as_ref()
            };
            if !written && default().is_none() {
                self.fields.missing(&at.key(name), view);
            }
        }
        self.count(view, members, node, at, "members");
    }

    /// Dropped before anything else is looked at.
    fn unknown(&mut self, key: View<'_>, node: &SchemaNode, at: &At<'_>) {
        let names = node.fields.iter().map(|(name, _)| &**name);
        let help = match overrule_model::nearest(key.key_text(), names, 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => known_fields(node),
        };
        let message = format!(
            "`{at}` is not a field of this API; `kubectl apply` refuses it, others drop it"
        );
        self.fields.report(&model_codes::UNKNOWN_FIELD, at, key, message, &help);
        self.dropped += 1;
    }

    fn list(&mut self, view: View<'_>, node: &SchemaNode, known: Option<&SchemaNode>, at: &At<'_>) {
        let length = view.len();
        self.count(view, length, node, at, "elements");
        // What is too many is not looked at: the API allows few.
        let most = node.count.1.unwrap_or(usize::MAX);
        if let Some(items) = node.items {
            for (index, item) in view.items().take(most).enumerate() {
                let known = known.and_then(|known| known.items);
                self.value(item, items, known, &at.index(index));
            }
        }
        for repeated in repeated(self.table, node, view, most) {
            let at = at.index(repeated.index);
            let message = format!("`{at}` repeats {}", repeated.what);
            let d = Diagnostic::new(&codes::DUPLICATE_ELEMENT, message);
            let d = d.at(repeated.at).see(repeated.first, "the first one").field(at.to_string());
            self.fields.diagnostics.push(d.help("remove one of the two, or tell them apart"));
        }
    }

    fn count(&mut self, view: View<'_>, n: usize, node: &SchemaNode, at: &At<'_>, what: &str) {
        let (least, most) = node.count;
        let (message, help) = match (least, most) {
            (Some(least), _) if n < least => {
                (format!("`{at}` has {n} {what}, at least {least} must be there"), "add some")
            }
            (_, Some(most)) if n > most => {
                (format!("`{at}` has {n} {what}, at most {most} are allowed"), "remove some")
            }
            _ => return,
        };
        self.fields.report(&codes::WRONG_LENGTH, at, view, message, help);
    }

    fn scalar(&mut self, view: View<'_>, wanted: ValueType, node: &SchemaNode, at: &At<'_>) {
        let wanted = match wanted {
            ValueType::String => match view.as_str() {
                Some(text) => return self.text(view, text, node, at),
                None => "a string",
            },
            ValueType::Integer => match view.as_i64() {
                Some(number) => return self.number(view, number, node, at),
                None => "an integer",
            },
            ValueType::Number if matches!(view.kind(), NodeKind::Int | NodeKind::Float) => return,
            ValueType::Number => "a number",
            ValueType::Boolean if view.kind() == NodeKind::Bool => return,
            ValueType::Boolean => "a boolean",
            ValueType::Object => "a mapping",
            ValueType::Array => "a list",
        };
        self.fields.wrong_type(at, view, wanted);
    }

    fn number(&mut self, view: View<'_>, number: i64, node: &SchemaNode, at: &At<'_>) {
        let (least, most) = node.range;
        let (low, high) =
            node.format.as_deref().and_then(format::range).unwrap_or((i64::MIN, i64::MAX));
        let (least, most) = (least.unwrap_or(low).max(low), most.unwrap_or(high).min(high));
        if (least..=most).contains(&number) {
            return;
        }
        let message = match most {
            i64::MAX => format!("`{at}` is {number}, less than {least}"),
            _ => format!("`{at}` is {number}, outside of {least} to {most}"),
        };
        let help = "use a number in that range";
        self.fields.report(&model_codes::BAD_VALUE, at, view, message, help);
    }

    fn text(&mut self, view: View<'_>, text: &str, node: &SchemaNode, at: &At<'_>) {
        let (least, most) = node.length;
        if least.is_some() || most.is_some() {
            let n = text.chars().count();
            let message = match (least, most) {
                (Some(least), _) if n < least => match n {
                    0 => format!("`{at}` is empty"),
                    _ => format!("`{at}` has {n} characters, at least {least} must be there"),
                },
                (_, Some(most)) if n > most => {
                    format!("`{at}` has {n} characters, at most {most} are allowed")
                }
                _ => String::new(),
            };
            if !message.is_empty() {
                let help = match (n, most) {
                    (0, _) => "give it a value, or remove it",
                    (_, Some(most)) if n > most => "shorten it",
                    _ => "make it longer",
                };
                self.fields.report(&codes::WRONG_LENGTH, at, view, message, help);
                return;
            }
        }
        if let Some(what) = node.format.as_deref().and_then(|name| format::flaw(name, text)) {
            let message = format!("`{at}` is `{text}`, which is not {what}");
            self.fields.report(
                &codes::WRONG_FORM,
                at,
                view,
                message,
                "write it as digits, as in `10.0.0.1` or `2001:db8::1`",
            );
        }
        let pattern = node.pattern.and_then(|pattern| self.table.pattern(pattern));
        if let Some(pattern) = pattern.filter(|pattern| !pattern.matches(text)) {
            let words = &pattern.words;
            let message = format!("`{at}` is `{text}`, which is not {}", words.says);
            self.fields.report(&codes::WRONG_FORM, at, view, message, &words.help);
        }
    }

    fn not_allowed(&mut self, view: View<'_>, node: &SchemaNode, at: &At<'_>) {
        let allowed: Vec<String> = node.allowed.iter().map(plain).collect();
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
        self.fields.bad_value(at, view, view.scalar_text().unwrap_or_default(), &allowed);
    }

    fn no_choice(&mut self, view: View<'_>, node: &SchemaNode, at: &At<'_>) {
        let Some((name, member, formats)) = unformatted(self.table, view, node) else {
            let message = format!("`{at}` is none of the forms that are allowed here");
            let help = "the fields do not fit together; see the documentation of the kind";
            return self.fields.report(&codes::WRONG_FORM, at, view, message, help);
        };
        let at = at.key(name);
        let text = member.as_str().unwrap_or_default();
        let message = format!("`{at}` is `{text}`, which is not {formats}");
        let help = "correct it, or change the type of the value";
        self.fields.report(&codes::WRONG_FORM, &at, member, message, help);
    }
}

/// Some of the elements, with their positions.
fn picked<T>(
    all: impl Iterator<Item = T>,
    positions: &[usize],
) -> impl Iterator<Item = (usize, T)> {
    all.enumerate().filter(|(index, _)| positions.contains(index))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn known_fields(node: &SchemaNode) -> String {
    let names: Vec<&str> = node.fields.iter().map(|(name, _)| &**name).collect();
    format!("known fields: {}", names.join(", "))
}
