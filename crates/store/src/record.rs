// SPDX-License-Identifier: Apache-2.0
//! The words of the store: keys, records, changes, entries of the history, tokens, audit events.
//! Not here: how they are kept.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Where a resource lives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceScope {
    /// In no namespace and no mesh.
    Cluster,
    /// In a namespace.
    Namespace(String),
    /// In a mesh.
    Mesh(String),
}

/// The identity of a resource. Keys are ordered by group, kind, place, name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceKey {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace or mesh.
    pub place: ResourceScope,
    /// The name.
    pub name: String,
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match &self.place {
            ResourceScope::Cluster => write!(f, " {}", self.name),
            ResourceScope::Namespace(namespace) => write!(f, " {namespace}/{}", self.name),
            ResourceScope::Mesh(mesh) => write!(f, " mesh {mesh}/{}", self.name),
        }
    }
}

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextFormat {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

/// The connections of one instance to its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreConnections {
    /// In use.
    pub used: usize,
    /// Kept open for whoever comes next.
    pub idle: usize,
    /// The most there may be.
    pub most: usize,
}

/// A resource as it is, or was at some revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its identity.
    pub key: ResourceKey,
    /// What was put, byte for byte.
    pub text: String,
    /// The language of the text.
    pub form: TextFormat,
    /// The revision that wrote it last.
    pub version: u64,
    /// When it was created; a resource deleted and put again is created anew.
    pub created: Timestamp,
    /// When it was written last.
    pub modified: Timestamp,
}

/// What a writer believes about a resource; a wrong belief is a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    Any,
    /// That it is not there.
    Absent,
    /// That it is there in this version.
    Version(u64),
}

/// One wish of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Create or replace.
    Put {
        /// Which resource.
        key: ResourceKey,
        /// Its new text.
        text: String,
        /// The language of the text.
        form: TextFormat,
        /// What the writer believes is there.
        expect: Precondition,
    },
    /// Remove.
    Delete {
        /// Which resource.
        key: ResourceKey,
        /// What the writer believes is there.
        expect: Precondition,
    },
}

impl Change {
    /// The resource this is about.
    pub fn key(&self) -> &ResourceKey {
        match self {
            Self::Put { key, .. } | Self::Delete { key, .. } => key,
        }
    }
}

/// Who made a change, for the history.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Author {
    /// A name that people recognise.
    pub name: String,
    /// The id of the token, never the token.
    pub token: Option<String>,
    /// The id of the request.
    pub request: Option<String>,
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It was not there before.
    Created,
    /// It was there with another text.
    Changed,
    /// It was there with this text, so nothing was written. Never in the history.
    Unchanged,
    /// It is gone.
    Deleted,
}

/// The result of one change of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenChange {
    /// Which resource.
    pub key: ResourceKey,
    /// Its version now; for a deletion, the revision that deleted it.
    pub version: u64,
    /// What happened.
    pub done: ChangeKind,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The revision after the commit; the one before it if nothing changed.
    pub revision: u64,
    /// When that revision was made.
    pub at: Timestamp,
    /// One result per change, in the order of the changes.
    pub written: Vec<WrittenChange>,
}

/// Everything that is or was there at one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSnapshot {
    /// The revision.
    pub revision: u64,
    /// The resources, sorted by key.
    pub records: Vec<Record>,
    /// What was there too, but its text has been removed by a redaction; sorted. Empty for the present.
    pub redacted: Vec<ResourceKey>,
}

/// One change in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The revision that made it.
    pub revision: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub author: Author,
    /// Which resource.
    pub key: ResourceKey,
    /// What happened.
    pub done: ChangeKind,
    /// The version of the resource after it; the same number as the revision.
    pub version: u64,
    /// The new text; none after a deletion or a redaction.
    pub text: Option<String>,
    /// Whether the text was removed later.
    pub redacted: bool,
    /// The language of the text; for a deletion, of the text that was deleted.
    pub form: TextFormat,
}

/// Which part of the history is asked for. All conditions hold together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Only this resource.
    pub key: Option<ResourceKey>,
    /// Only resources in this place.
    pub place: Option<ResourceScope>,
    /// Only changes by the author of this name.
    pub author: Option<String>,
    /// Only revisions below this one.
    pub before: Option<u64>,
    /// About how many entries; a revision that is begun is told to its end, so that `before` continues without a gap.
    pub limit: usize,
}

impl Default for HistoryFilter {
    fn default() -> Self {
        Self { key: None, place: None, author: None, before: None, limit: 100 }
    }
}

/// How much history is kept. A part that is none sets no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// At most this many entries.
    pub entries: Option<u64>,
    /// Reads as of any time in this span before now keep working; older entries go.
    pub age: Option<SignedDuration>,
}

/// What pruning did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// The oldest revision that can still be read.
    pub horizon: u64,
    /// How many entries are gone.
    pub entries: u64,
}

/// A token as the store knows it: its hash, never the token.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Public id.
    pub id: String,
    /// A name that people recognise.
    pub name: String,
    /// Hash of the secret.
    pub hash: Vec<u8>,
    /// What it may do, as JSON. The store does not read it.
    pub grants: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
}

impl fmt::Debug for TokenRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenRow")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("grants", &self.grants)
            .field("created", &self.created)
            .field("expires", &self.expires)
            .field("revoked", &self.revoked)
            .finish_non_exhaustive()
    }
}

/// One line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// Its number, given by the store; what the caller sets is ignored.
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub author: Author,
    /// What was tried, in one word.
    pub action: String,
    /// On what.
    pub what: String,
    /// How it ended.
    pub outcome: String,
}
