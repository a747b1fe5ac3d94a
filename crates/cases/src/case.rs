// SPDX-License-Identifier: Apache-2.0
//! What one policy test says, as values that know their line. Not here: reading, running.

use overrule_source::{Input, Position};
use serde_json::Value;

use crate::field::Field;

/// One policy test: manifests, and what must be in force with them.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// Where it begins.
    pub at: Position,
    /// Where the fact comes from.
    pub source: String,
    /// What the expectation rests on.
    pub basis: String,
    /// Why the result is what it is.
    pub notes: String,
    /// The family of its policies.
    pub family: String,
    /// The rule sets for which it holds; none = the default of the family.
    pub profiles: Vec<SpannedWord>,
    /// Settings of the controller.
    pub settings: Vec<CaseSetting>,
    /// The manifests: written in the test, or in files it names; descriptors of kinds included.
    pub inputs: Vec<Input>,
    /// Names of inputs that may hold descriptors of policy kinds only.
    pub kind_sources: Vec<String>,
    /// Whether effective policies that are not listed are allowed.
    pub partial: bool,
    /// Effective policies; complete unless `partial`.
    pub expect: Option<Given<Expectation>>,
    /// Paths that have no policy of a kind.
    pub none: Vec<Nothing>,
    /// Paths that do not exist.
    pub absent: Vec<Walk>,
    /// Conditions of policies.
    pub status: Vec<Status>,
    /// Conditions of targets.
    pub affected: Option<Given<ExpectedAffected>>,
    /// Policies that lost against one that does not merge.
    pub conflicted: Option<Given<Conflicted>>,
    /// Policies that an API server refuses.
    pub invalid: Option<Given<Invalid>>,
    /// Findings; complete for errors.
    pub diagnostics: Option<Given<ExpectedFinding>>,
    /// Decisions.
    pub can: Vec<Can>,
    /// The kinds for which `expect` and `status` are complete; none = all.
    pub complete_for: Vec<String>,
    /// Paths about which the test says nothing.
    pub unasserted: Vec<Walk>,
}

/// A word and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpannedWord {
    /// The word.
    pub text: String,
    /// Where.
    pub at: Position,
}

/// A setting of a controller.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseSetting {
    /// Which.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Where.
    pub at: Position,
}

/// A path as a test writes it, from the Gateway down: `[infra/edge, web, shop/cart, rule-1]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// Names of the nodes.
    pub steps: Vec<String>,
    /// Where.
    pub at: Position,
}

impl std::fmt::Display for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.steps.join(" > "))
    }
}

/// What is in force at one path for one kind. Only what is given is checked, and what is given is complete unless it is
/// `partial`.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// Where the entry begins.
    pub at: Position,
    /// The path.
    pub path: Walk,
    /// The kind of the policies.
    pub kind: SpannedWord,
    /// Whether what it does not list may be in force too.
    pub partial: bool,
    /// The value in force.
    pub content: Option<ExpectedContent>,
    /// The policies each field comes from, as sets.
    pub sources: Option<Vec<ExpectedSource>>,
    /// What lost.
    pub shadowed: Option<Given<ExpectedLoss>>,
    /// What a built-in took the slot of.
    pub masked: Option<Given<Field>>,
    /// What a lower policy removed.
    pub removed: Option<Given<ExpectedLoss>>,
    /// Blocks that a condition kept out.
    pub skipped: Option<Given<ExpectedSkip>>,
    /// What piles up along the path, in order.
    pub accumulated: Option<Given<Value>>,
    /// Whether the target fails closed.
    pub error: Option<(bool, Position)>,
    /// Hostnames of the path.
    pub hostnames: Option<Given<String>>,
    /// What a match of the last rule must hold.
    pub matching: Option<(Value, Position)>,
    /// Top-level fields in force, as a set. The value is then compared only as far as `fields` goes.
    pub features: Option<Given<String>>,
    /// The policies that make up what is in force, as a set.
    pub policies: Option<Given<String>>,
    /// Where traffic goes.
    pub routing: Option<SpannedWord>,
}

/// The value in force: by field, or whole.
#[derive(Debug, Clone)]
pub enum ExpectedContent {
    /// Every field with its value; together they cover the whole spec.
    Fields(Vec<(Field, Value)>),
    /// The whole spec.
    Spec(Value, Position),
}

/// The policies a field comes from.
#[derive(Debug, Clone)]
pub struct ExpectedSource {
    /// The field.
    pub field: Field,
    /// `namespace/name` of each.
    pub policies: Vec<String>,
}

/// A list that a test gives, and where.
#[derive(Debug, Clone)]
pub struct Given<T> {
    /// Where the list begins.
    pub at: Position,
    /// Its elements.
    pub items: Vec<T>,
}

/// A part of a policy that is not in force.
#[derive(Debug, Clone)]
pub struct ExpectedLoss {
    /// Where.
    pub at: Position,
    /// `namespace/name` of the policy whose part it is.
    pub policy: String,
    /// Which part; none = all of the policy.
    pub field: Option<Field>,
    /// Which block of it.
    pub block: Option<String>,
    /// The policies in force there; none = not checked.
    pub by: Option<Vec<String>>,
}

/// A block that a condition kept out.
#[derive(Debug, Clone)]
pub struct ExpectedSkip {
    /// Where.
    pub at: Position,
    /// `namespace/name`.
    pub policy: String,
    /// Which block; none = not checked.
    pub block: Option<String>,
    /// Why; none = not checked.
    pub reason: Option<String>,
}

/// A path and a kind without an effective policy.
#[derive(Debug, Clone)]
pub struct Nothing {
    /// Where.
    pub at: Position,
    /// The path.
    pub path: Walk,
    /// The kind.
    pub kind: SpannedWord,
    /// Whether the path itself must not exist (`reason: invalid-path`).
    pub no_path: bool,
}

/// Conditions of a policy, in one of the shapes.
#[derive(Debug, Clone)]
pub struct Status {
    /// Where.
    pub at: Position,
    /// Kind of the policy; none if the test does not say.
    pub kind: Option<String>,
    /// `namespace/name`.
    pub policy: String,
    /// The conditions.
    pub conditions: Conditions,
}

/// Conditions of a policy.
#[derive(Debug, Clone)]
pub enum Conditions {
    /// By type: `accepted`, `enforced`.
    ByType(Vec<(String, ExpectedCondition)>),
    /// By ancestor (`Kind namespace/name`), then type, the reason only.
    ByAncestor(Vec<(String, Vec<(String, String)>)>),
    /// By ancestor (`Kind namespace/name#section`), then type, word by word. All there are.
    InFull(Vec<(String, Vec<(String, ExpectedCondition)>)>),
}

/// One condition.
#[derive(Debug, Clone)]
pub struct ExpectedCondition {
    /// `True`, `False`, `Unknown`.
    pub status: String,
    /// Reason.
    pub reason: String,
    /// Message; none = not checked.
    pub message: Option<String>,
}

/// A condition on a target that says which policies act on it.
#[derive(Debug, Clone)]
pub struct ExpectedAffected {
    /// Where.
    pub at: Position,
    /// Kind of the target.
    pub kind: String,
    /// `namespace/name` of the target.
    pub name: String,
    /// Listener of it.
    pub section: Option<String>,
    /// Kind of the policies.
    pub policy_kind: String,
    /// Their names, as a set.
    pub policies: Vec<String>,
}

/// A policy refused because another one does not merge.
#[derive(Debug, Clone)]
pub struct Conflicted {
    /// Where.
    pub at: Position,
    /// Kind.
    pub kind: String,
    /// `namespace/name`.
    pub policy: String,
    /// `namespace/name` of the one in force.
    pub by: Vec<String>,
    /// Message; none = not checked.
    pub message: Option<String>,
}

/// A policy that is invalid in itself.
#[derive(Debug, Clone)]
pub struct Invalid {
    /// Where.
    pub at: Position,
    /// Kind.
    pub kind: String,
    /// `namespace/name`.
    pub policy: String,
    /// A part of the message.
    pub message: Option<String>,
}

/// A finding that must be made.
#[derive(Debug, Clone)]
pub struct ExpectedFinding {
    /// Where.
    pub at: Position,
    /// `OV` and four digits.
    pub code: String,
    /// A part of its message.
    pub message: Option<String>,
    /// The field it is about.
    pub field: Option<String>,
    /// The line it points at.
    pub line: Option<u32>,
}

/// A decision that must be made.
#[derive(Debug, Clone)]
pub struct Can {
    /// Where.
    pub at: Position,
    /// Who calls.
    pub from: String,
    /// Whom.
    pub to: String,
    /// HTTP method.
    pub method: Option<String>,
    /// HTTP path.
    pub path: Option<String>,
    /// TLS server name.
    pub sni: Option<String>,
    /// `allow` or `deny`.
    pub verdict: String,
    /// The policies that say so.
    pub by: Option<Vec<String>>,
}
