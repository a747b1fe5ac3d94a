// SPDX-License-Identifier: Apache-2.0
//! In: names people typed. Out: nodes, kinds, policies and the paths they mean, as far as flags and the one who asks
//! allow. Not here: what names mean (`overrule::lookup`), what is said about them.

use overrule::engine::{NodeId, PolicyId};
use overrule::lookup::{self, Finder, LookupError};
use overrule::model::{GroupKind, Object};
use overrule::view::{Scene, ScenePart};

use crate::filter::Filter;
use crate::{AskError, Known, Shared};

pub(crate) use overrule::lookup::{Elsewhere, FamilyPolicyKind, PolicyContext, Target, kind_words};

impl From<LookupError> for AskError {
    fn from(error: LookupError) -> Self {
        match error.is_misuse() {
            true => Self::Usage(error.to_string()),
            false => Self::NotFound(error.to_string()),
        }
    }
}

/// Finds names as the one who asks may.
pub(crate) fn finder<'a>(known: &Known<'a>, shared: &'a Shared) -> Finder<'a> {
    let namespace = shared.namespace.as_deref().filter(|_| !shared.all_namespaces);
    Finder { namespace, ..unscoped(known) }
}

fn unscoped<'a>(known: &Known<'a>) -> Finder<'a> {
    Finder { analysis: known.analysis, sees: known.sees, namespace: None }
}

/// Finds what a target name means.
pub(crate) fn target<'a>(
    known: &Known<'_>,
    scene: &Scene<'a>,
    shared: &Shared,
    text: &str,
) -> Result<Target<'a>, AskError> {
    Ok(finder(known, shared).target(scene, text)?)
}

/// The object a name means, and the section it names.
pub(crate) fn named<'a>(
    known: &Known<'a>,
    shared: &'a Shared,
    text: &str,
) -> Result<(&'a Object, Option<String>), AskError> {
    Ok(finder(known, shared).object(text)?)
}

/// Finds what a target name means that must be no policy.
pub(crate) fn node(
    known: &Known<'_>,
    scene: &Scene<'_>,
    shared: &Shared,
    text: &str,
) -> Result<NodeId, AskError> {
    Ok(finder(known, shared).node(scene, text)?)
}

/// Finds a policy by name.
pub(crate) fn policy<'a>(
    known: &Known<'_>,
    scene: &Scene<'a>,
    shared: &Shared,
    text: &str,
) -> Result<(&'a ScenePart<'a>, PolicyId), AskError> {
    Ok(finder(known, shared).policy(scene, text)?)
}

/// The kinds a word means of which something may be read.
pub(crate) fn kinds_called(known: &Known<'_>, word: &str, group: Option<&str>) -> Vec<GroupKind> {
    unscoped(known).kinds_called(word, group)
}

/// Nothing of a kind was read; the nearest kinds, or all there are.
pub(crate) fn unknown_kind(known: &Known<'_>, word: &str) -> AskError {
    unscoped(known).unknown_kind(word).into()
}

/// The policy kinds that a word means; all if there is none.
pub(crate) fn kinds<'a>(
    known: &Known<'_>,
    scene: &Scene<'a>,
    word: Option<&str>,
) -> Result<Vec<FamilyPolicyKind<'a>>, AskError> {
    Ok(unscoped(known).kinds(scene, word)?)
}

/// Paths of the given kinds that only other profiles have, as far as the scene compares with some.
pub(crate) fn elsewhere<'a>(
    known: &Known<'_>,
    scene: &'a Scene<'a>,
    kinds: &[FamilyPolicyKind<'a>],
    through: &[NodeId],
    filter: &Filter,
) -> Vec<Elsewhere<'a>> {
    let sees = |o: &Object| known.sees(o);
    let mut found = lookup::elsewhere(scene, kinds, through);
    found.retain(|e| filter.path(scene, &e.other.part, e.path, &sees));
    found
}
