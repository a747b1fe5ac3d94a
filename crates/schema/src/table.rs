// SPDX-License-Identifier: Apache-2.0
//! In: schemas as `cargo xtask schemas` writes them. Out: the same, ready to check objects with. Not here: checking.
//!
//! Equal parts of schemas are one node, whatever kind, version or channel they belong to; fields name their nodes by
//! number. Patterns and rules are compiled when the first object needs them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::cel::Rule;
use crate::words::{Words, read};

/// Schemas of kinds.
#[derive(Debug)]
pub struct SchemaTable {
    kinds: Vec<KindSchema>,
    nodes: Vec<SchemaNode>,
    patterns: Vec<Pattern>,
    rules: Vec<WordedRule>,
}

/// The schemas of one version of a kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindSchema {
    /// Its API group.
    pub group: Box<str>,
    /// Its name.
    pub kind: Box<str>,
    /// The version.
    pub version: Box<str>,
    /// The release the schemas are from: the newest that serves this version.
    pub release: Box<str>,
    /// Its schema in the standard channel, if it is there.
    pub(crate) standard: Option<NodeIx>,
    /// Its schema in the experimental channel, if it is there.
    pub(crate) experimental: Option<NodeIx>,
}

/// Index of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct NodeIx(u32);

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ValueType {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// A part of a schema.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SchemaNode {
    #[serde(rename = "type")]
    pub(crate) kind: Option<ValueType>,
    #[serde(deserialize_with = "by_name")]
    pub(crate) fields: Vec<(Box<str>, NodeIx)>,
    pub(crate) required: Vec<Box<str>>,
    /// Values of a mapping whose keys are free.
    pub(crate) values: Option<NodeIx>,
    /// Fields that are not in the schema are kept.
    pub(crate) open: bool,
    pub(crate) items: Option<NodeIx>,
    /// The fields by which elements of a list are told apart.
    pub(crate) keys: Vec<Box<str>>,
    /// Elements differ from each other.
    pub(crate) set: bool,
    #[serde(rename = "enum")]
    pub(crate) allowed: Vec<Value>,
    pub(crate) pattern: Option<usize>,
    pub(crate) format: Option<Box<str>>,
    /// Least and most characters.
    pub(crate) length: (Option<usize>, Option<usize>),
    /// Least and most elements or members.
    pub(crate) count: (Option<usize>, Option<usize>),
    /// Least and greatest number.
    pub(crate) range: (Option<i64>, Option<i64>),
    pub(crate) default: Option<Value>,
    pub(crate) rules: Vec<usize>,
    pub(crate) one_of: Vec<NodeIx>,
    pub(crate) any_of: Vec<NodeIx>,
    pub(crate) all_of: Vec<NodeIx>,
    pub(crate) not: Option<NodeIx>,
}

/// Mappings have few fields of different lengths: going through a list is the fastest way to find one.
fn by_name<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<(Box<str>, NodeIx)>, D::Error> {
    Ok(BTreeMap::deserialize(from)?.into_iter().collect())
}

impl SchemaNode {
    /// The schema of a member.
    pub(crate) fn field(&self, name: &str) -> Option<NodeIx> {
        self.named(name).or(self.values)
    }

    /// The schema of a field.
    pub(crate) fn named(&self, name: &str) -> Option<NodeIx> {
        let is = |field: &&(Box<str>, NodeIx)| field.0.len() == name.len() && *field.0 == *name;
        self.fields.iter().find(is).map(|(_, node)| *node)
    }
}

/// A pattern, and what to say about a text that does not match it.
#[derive(Debug)]
pub(crate) struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
    pub(crate) words: Words,
}

impl Pattern {
    /// Whether a text matches anywhere. A pattern that cannot be read matches everything; a test sees to it that all can.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.text).ok());
        compiled.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }
}

/// A rule, and what to say about an object that breaks it.
#[derive(Debug)]
pub(crate) struct WordedRule {
    text: String,
    compiled: OnceLock<Option<Rule>>,
    pub(crate) words: Words,
}

impl WordedRule {
    /// None if it cannot be evaluated: it compares with the object before, or is beyond the evaluator.
    pub(crate) fn rule(&self) -> Option<&Rule> {
        self.compiled.get_or_init(|| Rule::parse(&self.text)).as_ref()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "about")]
    _about: String,
    kinds: Vec<KindSchema>,
    patterns: Vec<String>,
    rules: Vec<String>,
    nodes: Vec<SchemaNode>,
}

impl SchemaTable {
    /// Reads the schemas of some kinds, and the words for their patterns and rules.
    ///
    /// # Errors
    /// What is wrong with either text.
    pub fn read(table: &str, words: &str) -> Result<Self, String> {
        let written: Written = serde_json::from_str(table).map_err(|e| e.to_string())?;
        let Written { _about, kinds, patterns, rules, nodes } = written;
        let mut words = read(words)?;
        let patterns = patterns.into_iter().map(|text| {
            let words = words.remove(&("pattern", text.clone())).unwrap_or_default();
            Pattern { text, compiled: OnceLock::new(), words }
        });
        let patterns = patterns.collect();
        let rules = rules.into_iter().map(|text| {
            let words = words.remove(&("rule", text.clone())).unwrap_or_default();
            WordedRule { text, compiled: OnceLock::new(), words }
        });
        let rules = rules.collect();
        if let Some((what, text)) = words.keys().next() {
            return Err(format!("words for a {what} that no schema has: {text}"));
        }
        Ok(Self { kinds, nodes, patterns, rules })
    }

    /// A table of nothing.
    pub const fn empty() -> Self {
        Self { kinds: Vec::new(), nodes: Vec::new(), patterns: Vec::new(), rules: Vec::new() }
    }

    /// Every version of every kind it knows.
    pub fn kinds(&self) -> &[KindSchema] {
        &self.kinds
    }

    /// The schemas of a version of a kind.
    pub fn find(&self, group: &str, kind: &str, version: &str) -> Option<&KindSchema> {
        let is = |k: &&KindSchema| *k.version == *version && *k.kind == *kind && *k.group == *group;
        self.kinds.iter().find(is)
    }

    /// The rules that are not evaluated, as they are written.
    pub fn unevaluated(&self) -> Vec<&str> {
        self.rules.iter().filter(|rule| rule.rule().is_none()).map(WordedRule::text).collect()
    }

    /// Patterns that cannot be read, and patterns and rules that have no words.
    pub fn wordless(&self) -> Vec<&str> {
        let unread = self.patterns.iter().filter(|p| Regex::new(&p.text).is_err());
        let patterns = self.patterns.iter().filter(|p| p.words.says.is_empty()).chain(unread);
        let rules = self.rules.iter().filter(|r| r.words.says.is_empty() && r.rule().is_some());
        patterns.map(|p| &*p.text).chain(rules.map(WordedRule::text)).collect()
    }

    pub(crate) fn node(&self, ix: NodeIx) -> Option<&SchemaNode> {
        self.nodes.get(ix.0 as usize)
    }

    pub(crate) fn pattern(&self, ix: usize) -> Option<&Pattern> {
        self.patterns.get(ix)
    }

    pub(crate) fn rule(&self, ix: usize) -> Option<&WordedRule> {
        self.rules.get(ix)
    }
}
