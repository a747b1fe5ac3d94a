// SPDX-License-Identifier: Apache-2.0
//! In: two snapshots. Out: which objects were added, changed or removed, in words. Not here: what that changed.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use overrule_model::{Object, ObjectId, ObjectKey, Scope, Snapshot};
use overrule_source::{NodeKind, View};

use crate::tenancy::Sees;
use crate::{Scene, v1};

/// More than these are counted.
const NAMED: usize = 3;

/// Every object that changed between two states; worked out when it is first asked, and then known to all who ask.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    all: OnceLock<Vec<ChangedObject>>,
    /// Whether every resource has the same id in both states, so that only documents that were read anew can differ.
    in_place: bool,
}

#[derive(Debug)]
struct ChangedObject {
    is_after: bool,
    id: ObjectId,
    kind: String,
    name: String,
    sentence: String,
}

impl Changed {
    /// For two states in which ids mean the same.
    pub(crate) fn in_place() -> Self {
        Self { all: OnceLock::new(), in_place: true }
    }

    /// The objects that may have changed.
    fn candidates(&self, before: &Scene<'_>, after: &Scene<'_>, of: &Scene<'_>) -> Vec<ObjectId> {
        let anew = || after.documents.changed_since(before.documents);
        let anew = self.in_place.then(anew).flatten();
        let may = |o: &&Object| anew.as_ref().is_none_or(|d| d.binary_search(&o.root.doc).is_ok());
        of.snapshot.objects().filter(may).map(|o| o.id).collect()
    }
}

/// What was written differently.
pub(crate) struct Causes<'a> {
    before: &'a Scene<'a>,
    after: &'a Scene<'a>,
    /// What became of objects that were asked about, by whether they are of the state after.
    known: HashMap<(bool, ObjectId), Option<&'static str>>,
    changed: &'a Changed,
}

impl<'a> Causes<'a> {
    pub(crate) fn new(before: &'a Scene<'a>, after: &'a Scene<'a>, changed: &'a Changed) -> Self {
        Self { before, after, known: HashMap::new(), changed }
    }

    /// An object, and whether it is of the state after; none if it did not change.
    pub(crate) fn of_object(
        &mut self,
        scene: &Scene<'_>,
        object: ObjectId,
    ) -> Option<(bool, ObjectId)> {
        let is_after = std::ptr::eq(scene.snapshot, self.after.snapshot);
        self.word(is_after, object).map(|_| (is_after, object))
    }

    /// A changed object as data. Of one that is in both states, the later one.
    pub(crate) fn cause(&self, of: (bool, ObjectId)) -> Option<v1::ChangeCause> {
        let (is_after, object) = of;
        let word = self.known.get(&of).copied().flatten()?;
        let home = if is_after { self.after } else { self.before };
        let found = home.snapshot.get(object)?;
        if !is_after && let Some(now) = same_object(home.snapshot, found, self.after.snapshot) {
            let at = self.after.place_of_object(now.id);
            return Some(v1::ChangeCause { resource: named(home, found), change: word, at });
        }
        let (at, change) = (home.place_of_object(object), word);
        Some(v1::ChangeCause { resource: named(home, found), change, at })
    }

    /// `TimeoutPolicy infra/gw-timeouts was changed`.
    pub(crate) fn sentence_of(&self, of: (bool, ObjectId)) -> String {
        let home = if of.0 { self.after } else { self.before };
        let name = home.snapshot.get(of.1).map(|found| named(home, found)).unwrap_or_default();
        match self.known.get(&of).copied().flatten() {
            Some(DELETED) => format!("{name} was deleted, and only waits for its finalizers"),
            word => format!("{name} was {}", word.unwrap_or("changed")),
        }
    }

    /// Every resource that changed, each once.
    pub(crate) fn all_causes(&mut self) -> Vec<v1::ChangeCause> {
        let all: Vec<(bool, ObjectId)> = self.all().iter().map(|o| (o.is_after, o.id)).collect();
        for (is_after, id) in &all {
            self.word(*is_after, *id);
        }
        let causes: BTreeSet<_> = all.into_iter().filter_map(|of| self.cause(of)).collect();
        causes.into_iter().collect()
    }

    fn word(&mut self, is_after: bool, object: ObjectId) -> Option<&'static str> {
        let (before, after) = (self.before, self.after);
        *self.known.entry((is_after, object)).or_insert_with(|| {
            let (here, there) = if is_after { (after, before) } else { (before, after) };
            let own = here.snapshot.get(object)?;
            match same_object(here.snapshot, own, there.snapshot) {
                None if is_after => Some("added"),
                None if was_deleted(here.snapshot, own, there.snapshot) => Some(DELETED),
                None => Some("removed"),
                Some(other) => {
                    let a = here.documents.view(own.root);
                    let b = there.documents.view(other.root);
                    let same = own.created == other.created
                        && (one_tree(here, own, there, other) || alike(a, b));
                    (!same).then_some("changed")
                }
            }
        })
    }

    /// One sentence of what concerns a target; where nothing does, of all that changed.
    pub(crate) fn sentence(&mut self, because: Vec<String>) -> String {
        let all = if because.is_empty() { self.everything() } else { because };
        if all.is_empty() {
            return "nothing in the input changed".to_owned();
        }
        let mut named: Vec<String> = all.iter().take(NAMED).cloned().collect();
        if let Some(more @ 1..) = all.len().checked_sub(NAMED) {
            named.push(format!("{more} more changed"));
        }
        named.join(", ")
    }

    /// All that changed, in words.
    fn everything(&mut self) -> Vec<String> {
        let all: BTreeSet<&String> = self.all().iter().map(|o| &o.sentence).collect();
        all.into_iter().cloned().collect()
    }

    fn all(&mut self) -> &'a [ChangedObject] {
        let changed = self.changed;
        changed.all.get_or_init(|| {
            let mut found = Vec::new();
            for (is_after, scene) in [(false, self.before), (true, self.after)] {
                for id in changed.candidates(self.before, self.after, scene) {
                    let Some(of) = self.of_object(scene, id) else { continue };
                    let sentence = self.sentence_of(of);
                    let kind = scene.snapshot.get(id).map(|o| scene.snapshot.text(o.kind.kind));
                    let kind = kind.unwrap_or_default().to_owned();
                    let name = scene.snapshot.full_name(id);
                    found.push(ChangedObject { is_after, id, kind, name, sentence });
                }
            }
            found
        })
    }

    /// For one who may not read everything: what became of policies whose values it is told anyway.
    pub(crate) fn of_names(
        &mut self,
        kind: &str,
        names: &BTreeSet<&str>,
        sees: &dyn Sees,
    ) -> String {
        let (before, after) = (self.before.snapshot, self.after.snapshot);
        let told = |o: &&ChangedObject| {
            let snapshot = if o.is_after { after } else { before };
            let may_read = || snapshot.get(o.id).is_some_and(|own| sees.object(snapshot, own));
            o.kind == kind && (names.contains(o.name.as_str()) || may_read())
        };
        let because = self.all().iter().filter(told).map(|o| o.sentence.clone());
        let because: BTreeSet<String> = because.collect();
        if because.is_empty() {
            return "something changed that you may not read".to_owned();
        }
        self.sentence(because.into_iter().collect())
    }
}

/// What became of an object that is there, and is being deleted.
const DELETED: &str = "deleted";

/// `TimeoutPolicy infra/gw-timeouts`.
fn named(home: &Scene<'_>, object: &Object) -> String {
    let kind = home.snapshot.text(object.kind.kind);
    format!("{kind} {}", home.snapshot.full_name(object.id))
}

/// The object of the same identity in another snapshot.
fn same_object<'s>(here: &Snapshot, object: &Object, there: &'s Snapshot) -> Option<&'s Object> {
    there.find(same_key(here, object, there)?)
}

/// Whether it is being deleted there.
fn was_deleted(here: &Snapshot, object: &Object, there: &Snapshot) -> bool {
    same_key(here, object, there).is_some_and(|key| there.find_deleted(key).is_some())
}

/// The identity of an object in the names of another snapshot.
fn same_key(here: &Snapshot, object: &Object, there: &Snapshot) -> Option<ObjectKey> {
    let same = |sym| there.names().lookup(here.text(sym));
    let mut kind = object.kind;
    (kind.group, kind.kind) = (same(kind.group)?, same(kind.kind)?);
    let scope = match object.scope {
        Scope::Cluster => Scope::Cluster,
        Scope::Namespace(n) => Scope::Namespace(same(n)?),
        Scope::Mesh(n) => Scope::Mesh(same(n)?),
    };
    Some(ObjectKey { kind, scope, name: same(object.name)? })
}

/// Whether two objects are one, as it was read once.
fn one_tree(here: &Scene<'_>, own: &Object, there: &Scene<'_>, other: &Object) -> bool {
    let (a, b) = (here.documents.get(own.root.doc), there.documents.get(other.root.doc));
    let trees = a.zip(b).is_some_and(|(a, b)| Arc::ptr_eq(&a.tree, &b.tree));
    trees && own.root.node == other.root.node
}

/// Whether two trees say the same, whatever they look like. Recursion is bounded by the depth that reading allows.
fn alike(a: View<'_>, b: View<'_>) -> bool {
    match (a.kind(), b.kind()) {
        (NodeKind::Map, NodeKind::Map) => {
            a.len() == b.len()
                && a.entries().all(|(key, value)| {
                    b.get(key.key_text()).is_some_and(|other| alike(value, other))
                })
        }
        (NodeKind::List, NodeKind::List) => {
            a.len() == b.len() && a.items().zip(b.items()).all(|(a, b)| alike(a, b))
        }
        (one, other) => one == other && a.scalar_text() == b.scalar_text(),
    }
}
