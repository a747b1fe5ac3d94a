// SPDX-License-Identifier: Apache-2.0
//! In: the kinds of a family with rules of its own. Out: its policies, read one after another. Not here: what one says;
//! the family reads it.

use std::sync::Arc;

use overrule_engine::{KindId, Resolution};
use overrule_family::{OwnKind, kinds_of};
use overrule_model::{Fields, Object, ObjectId, Snapshot};
use overrule_source::{CowVec, Diagnostic};

use crate::kinds::{Descriptor, Kinds};

/// What a family knows of one of its kinds.
pub trait FamilyKind: 'static {
    /// Its names.
    fn own(&self) -> OwnKind;

    /// The same as a generic kind, for reading and attaching target references.
    fn descriptor(&self) -> Descriptor;

    /// Whether there are objects of it; if not, other objects say it themselves.
    fn has_objects(&self) -> bool {
        true
    }
}

/// A kind of a family that takes part in an answer.
#[derive(Debug)]
pub struct ActiveKind<K: 'static> {
    /// Its number in the answer.
    pub id: KindId,
    /// Its place in the family's table of kinds.
    pub index: usize,
    /// What is known of it.
    pub info: &'static K,
}

impl<K: FamilyKind> ActiveKind<K> {
    /// Those of the table that take part, numbered in its order.
    pub fn all(kinds: &'static [K], takes_part: impl Fn(usize, &K) -> bool) -> Vec<Self> {
        let active = kinds.iter().enumerate().filter(|(index, info)| takes_part(*index, info));
        (0..).map(KindId).zip(active).map(|(id, (index, info))| Self { id, index, info }).collect()
    }

    /// Those of a resolution.
    pub fn of(kinds: &'static [K], snapshot: &Snapshot, resolution: &Resolution) -> Vec<Self> {
        let names = |info: &K| {
            let OwnKind { group, kind } = info.own();
            (group, kind)
        };
        let known = kinds_of(snapshot, resolution).filter_map(|(id, name)| {
            let (index, info) = kinds.iter().enumerate().find(|(_, info)| names(info) == name)?;
            Some(Self { id, index, info })
        });
        known.collect()
    }
}

/// A policy to read.
#[derive(Debug)]
pub struct ToRead<'a, K: 'static> {
    /// The number of its kind.
    pub kind: usize,
    /// What is known of its kind.
    pub info: &'static K,
    /// The same as a generic kind.
    pub descriptor: &'a Descriptor,
    /// The object.
    pub object: &'a Object,
}

/// Reads every policy of a family, by kind, namespace and name, with the kinds as generic attachment wants them.
pub fn read_all<K: FamilyKind, P>(
    snapshot: &mut Snapshot,
    kinds: &'static [K],
    mut read: impl FnMut(&mut Snapshot, &mut Fields, ToRead<'_, K>) -> P,
) -> (CowVec<Arc<P>>, Arc<Kinds>, Vec<Diagnostic>) {
    let mut found: Vec<(usize, &'static K, Object)> = Vec::new();
    for (kind, info) in kinds.iter().enumerate() {
        // A kind nobody uses yet still has a name in answers.
        let OwnKind { group, kind: name } = info.own();
        snapshot.names_mut().intern(group);
        snapshot.names_mut().intern(name);
        if info.has_objects() {
            found.extend(snapshot.of_kind(group, name).iter().map(|o| (kind, info, o.clone())));
        }
    }
    // Most worlds have policies of one family; the kinds of the others need no descriptors.
    let used = if found.is_empty() { &[][..] } else { kinds };
    let descriptors: Vec<Descriptor> = used.iter().map(K::descriptor).collect();
    let mut fields = Fields::default();
    let mut list = Vec::with_capacity(found.len());
    for (kind, info, object) in &found {
        if let Some(descriptor) = descriptors.get(*kind) {
            let policy = ToRead { kind: *kind, info: *info, descriptor, object };
            list.push(Arc::new(read(snapshot, &mut fields, policy)));
        }
    }
    (list.into(), Arc::new(Kinds::of(descriptors)), fields.diagnostics)
}

/// Reads one policy again: an object of the kind with this number, which is one of those it was read with.
pub fn read_again<K: FamilyKind, P>(
    snapshot: &mut Snapshot,
    kinds: &Kinds,
    (kind, info, object): (usize, &'static K, ObjectId),
    read: impl FnOnce(&mut Snapshot, &mut Fields, ToRead<'_, K>) -> P,
) -> Option<(P, Vec<Diagnostic>)> {
    let object = &snapshot.get(object)?.clone();
    let descriptor = kinds.iter().nth(kind)?;
    let mut fields = Fields::default();
    let policy = read(snapshot, &mut fields, ToRead { kind, info, descriptor, object });
    Some((policy, fields.diagnostics))
}
