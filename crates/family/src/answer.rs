// SPDX-License-Identifier: Apache-2.0
//! What every family is asked, and answers. Not here: the resolution itself (`engine`).

use std::collections::BTreeSet;
use std::fmt::Debug;

use overrule_engine::{NodeId, PathId, PolicyId, Resolution};
use overrule_model::ObjectId;
use overrule_source::Diagnostic;
use overrule_topology::{HttpRequest, Weight};
use serde_json::Value;

/// What a run wants beyond its input.
#[derive(Debug, Clone, Default)]
pub struct ResolveOptions {
    /// Kinds to resolve although no policy of them exists (to list what they do not cover), lower case.
    pub include: Vec<String>,
    /// Leave findings out, if nobody reads them.
    pub silent: bool,
    /// Objects whose paths must be there, however many there are of others.
    pub focus: BTreeSet<ObjectId>,
    /// Whether the answer is compared with those of other profiles: what policies name under them has paths too.
    pub compare: bool,
}

impl ResolveOptions {
    /// Whether the question names a kind.
    pub fn includes(&self, kind: &str) -> bool {
        self.include.iter().any(|name| name.eq_ignore_ascii_case(kind))
    }
}

/// What a family answers under one profile.
#[derive(Debug, Default)]
pub struct Resolved<E = ()> {
    /// The answer.
    pub resolution: Resolution,
    /// Findings for the user.
    pub diagnostics: Vec<Diagnostic>,
    /// What only this family's answers have.
    pub extra: E,
}

/// What only the answers of one family have. Most have nothing more: `()` is enough.
pub trait Extra: Debug + Send + Sync + 'static {
    /// Targets whose paths are left out, because they equal those of another target.
    fn alike(&self) -> usize {
        0
    }

    /// Whether requests reach some rules by other matches than they have written.
    fn redirects(&self) -> bool {
        false
    }

    /// The matches by which requests come to the end of a path, where these are not what its rule has written.
    fn matches(&self, _path: PathId) -> Option<Vec<Value>> {
        None
    }

    /// What else is settled at a path, by a name that tests use; none if nothing of that name is.
    fn fact(&self, _path: PathId, _name: &str) -> Option<String> {
        None
    }

    /// How a request meets a path.
    fn fit(&self, _path: PathId, _request: &HttpRequest) -> Fit {
        Fit::AsWritten
    }
}

impl Extra for () {}

/// How a request meets a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The rule at the end of the path matches as it is written.
    AsWritten,
    /// Requests reach the rule by other matches than it has written, and this one does not.
    No,
    /// They do, and this one does; greater is more specific.
    Yes(Weight),
}

/// A condition on a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What it is about, where a controller writes one condition per ancestor.
    pub ancestor: Option<Ancestor>,
    /// `Accepted`, `Enforced`, `Attached`.
    pub kind: &'static str,
    /// Whether it is true.
    pub status: bool,
    /// Why, in one word.
    pub reason: &'static str,
    /// Why, in a sentence.
    pub message: String,
}

/// What a condition is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ancestor {
    /// A node.
    Node(NodeId),
    /// An object or a section of it by its names, because it does not exist.
    Named {
        /// Its kind.
        kind: &'static str,
        /// Its namespace; empty for a cluster-scoped one.
        namespace: String,
        /// Its name.
        name: String,
        /// A section of it; empty for all of it.
        section: String,
    },
}

impl Ancestor {
    /// Its name as people write targets; `name` names a node.
    pub fn target_name(&self, name: impl FnOnce(NodeId) -> String) -> String {
        match self {
            Self::Node(node) => name(*node),
            Self::Named { kind, namespace, name, section } => {
                let places = [kind.to_lowercase(), namespace.clone(), name.clone()];
                let object: Vec<&str> =
                    places.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
                let hash = if section.is_empty() { "" } else { "#" };
                format!("{}{hash}{section}", object.join("/"))
            }
        }
    }
}

impl From<NodeId> for Ancestor {
    fn from(node: NodeId) -> Self {
        Self::Node(node)
    }
}

/// A condition on a target that names the policies in reach of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected {
    /// The target; a listener has its own node.
    pub node: NodeId,
    /// The kind of the policies.
    pub policy_kind: &'static str,
    /// The policies in reach.
    pub policies: Vec<PolicyId>,
    /// `kuadrant.io/AuthPolicyAffected`.
    pub condition_type: String,
    /// The policies, in the controller's words.
    pub message: String,
}

/// Metrics as a family's controller has them: name and help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControllerMetrics {
    /// Policies by kind.
    pub policies: (&'static str, &'static str),
    /// Policies by kind and whether they are enforced.
    pub enforced: (&'static str, &'static str),
}
