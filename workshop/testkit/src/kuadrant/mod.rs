// SPDX-License-Identifier: Apache-2.0
//! In: resources as JSON. Out: Kuadrant's effective policies, computed the slow way; and worlds to compute them for.
//! Not here: anything shared with the engine, statuses, direct kinds (DNSPolicy, TLSPolicy).
//!
//! Written from the flowcharts of the design, one function per chart. Documents stay JSON, every path scans every
//! policy, every path is folded anew, and a condition always sees the whole policy converted.
//!
//! ```text
//!  paths       gateway > listener > route > rule, by trying all pairs
//!  policy      a policy as written: blocks of rules, removal list, target
//!  fold        the charts: lowest policy first, block by block
//!  condition   what a `when` sees, and the plain CEL interpreter for expressions we wrote ourselves
//!  world       small random worlds          fleet       one gateway, as big as wanted
//! ```

mod condition;
mod fleet;
mod fold;
mod paths;
mod policy;
#[cfg(test)]
mod tests;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use fleet::{With, fleet};
pub use world::{WorldShape, equal_names, world};

/// The kinds that merge.
pub const KINDS: [&str; 3] = ["AuthPolicy", "RateLimitPolicy", "TokenRateLimitPolicy"];

/// The rule set in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// The text the project was founded on: all blocks of a policy count; `remove`, and `unset` as the pictures say.
    Design,
    /// The text of today: bare rules count only without explicit blocks; `unset`.
    Latest,
    /// What ships: one block per policy, no conditions, no removal; its own idea of paths.
    Operator,
}

/// The effective policy of one kind on one path, and what did not make it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OracleEffective {
    /// Rules in force, by rule id.
    pub rules: BTreeMap<String, OracleRule>,
    /// Rules of blocks that took part, but are not in force.
    pub overridden: BTreeSet<OracleLoss>,
    /// Default rules that a removal list of a lower policy took out; also those that would have lost anyway.
    pub removed: BTreeSet<OracleLoss>,
    /// Blocks that a condition kept out. Their rules are in neither of the sets above.
    pub skipped: BTreeSet<OracleSkip>,
}

/// A rule in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OracleRule {
    /// What it says.
    pub value: Value,
    /// Whose it is, `namespace/name`.
    pub policy: String,
    /// `defaults`, `bare` or `overrides`.
    pub block: &'static str,
}

/// A rule that was declared and is not in force.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OracleLoss {
    /// Whose it is, `namespace/name`.
    pub policy: String,
    /// `defaults`, `bare` or `overrides`.
    pub block: &'static str,
    /// Its id.
    pub rule: String,
    /// Overridden: the source of the rule in force under this id, else everybody who contributes.
    /// Removed: the lowest policy whose removal list names the rule.
    pub by: BTreeSet<String>,
}

/// A block whose condition was not met.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OracleSkip {
    /// Whose it is, `namespace/name`.
    pub policy: String,
    /// `defaults` or `overrides`.
    pub block: &'static str,
    /// Whether the condition failed, or was just false.
    pub failed: bool,
}

/// Policy kind; gateway `ns/name`, listener, route `ns/name`, rule; route kind.
pub type OracleKey = (String, Vec<String>, String);

/// Every effective policy: one for each path and kind that any policy of the kind reaches.
pub fn effective(objects: &[Value], profile: Profile) -> BTreeMap<OracleKey, OracleEffective> {
    let objects = &crate::deletion::present(objects);
    let policies = policy::read(objects, profile);
    let mut answers = BTreeMap::new();
    for path in paths::all(objects, profile) {
        for kind in KINDS {
            if kind == "TokenRateLimitPolicy" && path.route_kind != "HTTPRoute" {
                continue;
            }
            let ladder = policy::ladder(&policies, kind, &path);
            if !ladder.is_empty() {
                let key = (kind.to_owned(), path.names(), path.route_kind.clone());
                answers.insert(key, fold::fold(&ladder));
            }
        }
    }
    answers
}

/// The text at a JSON pointer, empty if there is none.
fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

/// The list at a JSON pointer, empty if there is none.
fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn namespace(object: &Value) -> &str {
    match text(object, "/metadata/namespace") {
        "" => "default",
        written => written,
    }
}

/// `namespace/name`.
fn full_name(object: &Value) -> String {
    format!("{}/{}", namespace(object), text(object, "/metadata/name"))
}
