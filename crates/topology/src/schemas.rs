// SPDX-License-Identifier: Apache-2.0
//! In: Gateway API objects. Out: what an API server with the CRDs of the Gateway API refuses or drops. Not here: how an
//! object is checked (`overrule_schema`), what objects mean (`parse`).
//!
//! `schemas/gateway-api.json` has the facts, `cargo xtask schemas` writes it; `schemas/words.txt` has what is said.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use overrule_model::Snapshot;
use overrule_schema::SchemaTable;
use overrule_source::{Diagnostic, Documents, Severity, Span, View};
use rayon::prelude::*;

use crate::codes;
use crate::{GROUP, X_GROUP};

static TABLE: LazyLock<SchemaTable> = LazyLock::new(|| {
    let (table, words) =
        (include_str!("../schemas/gateway-api.json"), include_str!("../schemas/words.txt"));
    // A test sees to it that both can be read.
    SchemaTable::read(table, words).unwrap_or_else(|_| SchemaTable::empty())
});

/// The schemas of all kinds of the Gateway API, in every version that is served.
pub fn table() -> &'static SchemaTable {
    &TABLE
}

/// Whether there is a schema of an object of this kind.
pub(crate) fn has(group: &str, kind: &str, root: View<'_>) -> bool {
    let version = || Some(root.get("apiVersion")?.as_str()?.split_once('/')?.1);
    matches!(group, GROUP | X_GROUP)
        && version().is_some_and(|v| TABLE.find(group, kind, v).is_some())
}

/// Checks every Gateway API object against the schema of its kind and version.
pub fn validate(documents: &Documents, snapshot: &Snapshot) -> Vec<Diagnostic> {
    let ours = |o: &&overrule_model::Object| matches!(snapshot.text(o.kind.group), GROUP | X_GROUP);
    let objects: Vec<_> = snapshot.objects().filter(ours).map(|object| object.root).collect();
    objects.par_iter().flat_map_iter(|root| TABLE.check(documents.view(*root))).collect()
}

/// What readers of these objects say about what a schema forbids too, in words of their own.
static RESTATED: [&str; 4] = [
    codes::DUPLICATE_LISTENER.id,
    codes::DUPLICATE_PARENT.id,
    codes::INVALID_HOSTNAME.id,
    codes::UNKNOWN_PROTOCOL.id,
];

/// Whether a finding about how objects fit together may be about something that a schema forbids.
pub fn restates(found: &Diagnostic) -> bool {
    found.code.id == codes::CONFLICTING_LISTENERS.id
}

/// Whether it says more about the same mistake.
pub fn says_more(found: &Diagnostic, forbidden: &Diagnostic) -> bool {
    let place = |d: &Diagnostic| d.primary.as_ref().map(|label| label.span);
    restates(found)
        && forbidden.code.id == overrule_schema::codes::BROKEN_RULE.id
        && place(found) == place(forbidden)
}

/// What readers found and what schemas forbid, no mistake twice: of two findings about one place, that of the reader
/// says more if it is an error, and the API server refuses what to the reader is only doubtful.
pub fn merged(mut read: Vec<Diagnostic>, mut forbidden: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let place = |d: &Diagnostic| d.primary.as_ref().map(|label| label.span);
    let restated = |d: &Diagnostic| RESTATED.contains(&d.code.id);
    let is_error = |d: &Diagnostic| d.severity() == Severity::Error;
    let places = |all: &[Diagnostic], of: &dyn Fn(&Diagnostic) -> bool| -> BTreeSet<Span> {
        all.iter().filter(|d| of(d)).filter_map(place).collect()
    };
    let told = places(&read, &|d| restated(d) && is_error(d));
    forbidden.retain(|d| place(d).is_none_or(|at| !told.contains(&at)));
    let refused = places(&forbidden, &is_error);
    read.retain(|d| {
        is_error(d) || !restated(d) || place(d).is_none_or(|at| !refused.contains(&at))
    });
    read.extend(forbidden);
    read
}
