// SPDX-License-Identifier: Apache-2.0
//! In: two snapshots. Out: which objects were added, changed or removed, in words. Not here: what that changed.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use overrule_model::{Object, ObjectId, ObjectKey, Scope, Snapshot};
use overrule_source::{Kind, View};

use crate::Scene;
use crate::tenancy::Sees;

/// More than these are counted.
const NAMED: usize = 3;

/// What was written differently.
pub(crate) struct Causes<'a> {
    before: &'a Scene<'a>,
    after: &'a Scene<'a>,
    /// What became of objects that were asked about, by whether they are of the state after.
    known: HashMap<(bool, ObjectId), Option<&'static str>>,
    /// Everything that changed; worked out when it is first asked.
    all: Option<Vec<String>>,
}

impl<'a> Causes<'a> {
    pub(crate) fn new(before: &'a Scene<'a>, after: &'a Scene<'a>) -> Self {
        Self { before, after, known: HashMap::new(), all: None }
    }

    /// `TimeoutPolicy infra/gw-timeouts was changed`; none if it was not.
    pub(crate) fn of_object(&mut self, scene: &Scene<'_>, object: ObjectId) -> Option<String> {
        let is_after = std::ptr::eq(scene.snapshot, self.after.snapshot);
        let word = self.word(is_after, object)?;
        let home = if is_after { self.after } else { self.before };
        let found = home.snapshot.get(object)?;
        let kind = home.snapshot.text(found.kind.kind);
        Some(format!("{kind} {} was {word}", home.snapshot.full_name(object)))
    }

    fn word(&mut self, is_after: bool, object: ObjectId) -> Option<&'static str> {
        let (before, after) = (self.before, self.after);
        *self.known.entry((is_after, object)).or_insert_with(|| {
            let (here, there) = if is_after { (after, before) } else { (before, after) };
            let own = here.snapshot.get(object)?;
            match same_object(here.snapshot, own, there.snapshot) {
                None if is_after => Some("added"),
                None => Some("removed"),
                Some(other) => {
                    let a = here.documents.view(own.root);
                    let b = there.documents.view(other.root);
                    let same = own.created == other.created && alike(a, b);
                    (!same).then_some("changed")
                }
            }
        })
    }

    /// One sentence of what concerns a target; where nothing does, of all that changed.
    pub(crate) fn sentence(&mut self, because: Vec<String>) -> String {
        let all = if because.is_empty() { self.all().to_vec() } else { because };
        if all.is_empty() {
            return "nothing in the input changed".to_owned();
        }
        let mut named: Vec<String> = all.iter().take(NAMED).cloned().collect();
        if let Some(more @ 1..) = all.len().checked_sub(NAMED) {
            named.push(format!("{more} more changed"));
        }
        named.join(", ")
    }

    fn all(&mut self) -> &[String] {
        if self.all.is_none() {
            let mut found = BTreeSet::new();
            for scene in [self.before, self.after] {
                let ids: Vec<ObjectId> = scene.snapshot.objects().map(|o| o.id).collect();
                found.extend(ids.into_iter().filter_map(|id| self.of_object(scene, id)));
            }
            self.all = Some(found.into_iter().collect());
        }
        self.all.as_deref().unwrap_or(&[])
    }

    /// For one who may not read everything: what became of policies whose values it is told anyway.
    pub(crate) fn of_names(
        &mut self,
        kind: &str,
        names: &BTreeSet<&str>,
        sees: &dyn Sees,
    ) -> String {
        let mut because = BTreeSet::new();
        for scene in [self.before, self.after] {
            let is_kind = |o: &&Object| scene.snapshot.text(o.kind.kind) == kind;
            let named = |o: &&Object| {
                names.contains(scene.snapshot.full_name(o.id).as_str())
                    || sees.object(scene.snapshot, o)
            };
            let objects = scene.snapshot.objects().filter(is_kind).filter(named);
            let ids: Vec<ObjectId> = objects.map(|o| o.id).collect();
            because.extend(ids.into_iter().filter_map(|id| self.of_object(scene, id)));
        }
        match because.is_empty() {
            true => "something changed that you may not read".to_owned(),
            false => self.sentence(because.into_iter().collect()),
        }
    }
}

/// The object of the same identity in another snapshot.
fn same_object<'s>(here: &Snapshot, object: &Object, there: &'s Snapshot) -> Option<&'s Object> {
    let same = |sym| there.names().lookup(here.text(sym));
    let mut kind = object.kind;
    (kind.group, kind.kind) = (same(kind.group)?, same(kind.kind)?);
    let scope = match object.scope {
        Scope::Cluster => Scope::Cluster,
        Scope::Namespace(n) => Scope::Namespace(same(n)?),
        Scope::Mesh(n) => Scope::Mesh(same(n)?),
    };
    there.find(ObjectKey { kind, scope, name: same(object.name)? })
}

/// Whether two trees say the same, whatever they look like. Recursion is bounded by the depth that reading allows.
fn alike(a: View<'_>, b: View<'_>) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::Map, Kind::Map) => {
            a.len() == b.len()
                && a.entries().all(|(key, value)| {
                    b.get(key.key_text()).is_some_and(|other| alike(value, other))
                })
        }
        (Kind::List, Kind::List) => {
            a.len() == b.len() && a.items().zip(b.items()).all(|(a, b)| alike(a, b))
        }
        (one, other) => one == other && a.scalar_text() == b.scalar_text(),
    }
}
