// SPDX-License-Identifier: Apache-2.0
//! In: parsed objects. Out: the frozen, sorted set everything below reads, with lookup by identity.
//! Not here: reading documents (`parse.rs`).

use std::cmp::Ordering;
use std::fmt;
use std::hash::BuildHasher;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};
use overrule_source::{CowVec, Diagnostic, Documents, ItemsRun, NodeRef, SourceMap, Span};

use crate::assumed::Assumed;
use crate::definitions;
use crate::deletion::Deleted;
use crate::scope::short_names;
use crate::{Created, GroupKind, Names, Object, ObjectId, Scope, Sym, TargetName};

/// What makes a resource the same resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// Group and kind.
    pub kind: GroupKind,
    /// Namespace, mesh or cluster.
    pub scope: Scope,
    /// Name.
    pub name: Sym,
}

/// Objects by their root, in order.
type ByRoot = Box<[(NodeRef, ObjectId)]>;

/// The frozen set of resources one answer is computed from.
///
/// An object that is being deleted takes no part: no lookup and no list finds it but those that say so. Whatever reads
/// resources from here has it as if it were gone, in every family.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    names: Names,
    objects: CowVec<Object>,
    by_key: Arc<HashTable<ObjectId>>,
    hasher: DefaultHashBuilder,
    /// Ranges of `objects` that share group and kind, in order.
    kinds: Arc<[(GroupKind, u32, u32)]>,
    deleted: Arc<Deleted>,
    by_kind: Arc<KindIndex>,
    /// Every object that was read by where it is written, once somebody has asked for one so.
    by_root: Arc<OnceLock<ByRoot>>,
    /// Objects that no document of the input is.
    assumed: Arc<BTreeMap<ObjectId, Assumed>>,
}

/// Kinds by what they are looked up by.
#[derive(Debug, Default)]
struct KindIndex {
    /// Places in the list of kinds.
    places: HashMap<GroupKind, usize>,
    /// Kinds that share their name, in any case, with one of another group.
    ambiguous: HashSet<GroupKind>,
}

impl KindIndex {
    fn new(names: &Names, kinds: &[(GroupKind, u32, u32)]) -> Self {
        let mut by_name: HashMap<String, Vec<GroupKind>> = HashMap::new();
        for (kind, ..) in kinds {
            by_name.entry(names.text(kind.kind).to_ascii_lowercase()).or_default().push(*kind);
        }
        let shared = by_name.into_values().filter(|same| same.len() > 1);
        Self {
            places: kinds.iter().enumerate().map(|(place, (kind, ..))| (*kind, place)).collect(),
            ambiguous: shared.flatten().collect(),
        }
    }
}

impl Snapshot {
    /// Freezes objects that have been sorted and freed of duplicates by `parse`.
    pub(crate) fn freeze(names: Names, mut objects: Vec<Object>) -> Self {
        let deleted = Deleted::apart(&mut objects);
        let hasher = DefaultHashBuilder::default();
        let mut by_key = HashTable::with_capacity(objects.len());
        let mut kinds: Vec<(GroupKind, u32, u32)> = Vec::new();
        for object in &objects {
            let hash = hasher.hash_one(key_of(object));
            by_key.insert_unique(hash, object.id, |id| {
                objects.get(id.0 as usize).map_or(0, |o| hasher.hash_one(key_of(o)))
            });
            match kinds.last_mut() {
                Some((kind, _, end)) if *kind == object.kind => *end = object.id.0 + 1,
                _ => kinds.push((object.kind, object.id.0, object.id.0 + 1)),
            }
        }
        let by_kind = Arc::new(KindIndex::new(&names, &kinds));
        let (objects, by_key, kinds) = (objects.into(), Arc::new(by_key), kinds.into());
        let (deleted, by_root, assumed) = (Arc::new(deleted), Arc::default(), Arc::default());
        Self { names, objects, by_key, hasher, kinds, deleted, by_kind, by_root, assumed }
    }

    /// Sets of other definitions, in which each object has one, together with the objects of this set that are asked for.
    /// With each comes where these definitions stand, in order.
    pub fn of_variants(
        &self,
        documents: &Documents,
        variants: Vec<Object>,
        besides: impl Fn(&Object) -> bool,
    ) -> Vec<(Vec<Span>, Self)> {
        let mut rounds: Vec<Vec<Object>> = Vec::new();
        let mut last: Option<(ObjectKey, usize)> = None;
        for object in variants {
            let key = key_of(&object);
            let round = last.filter(|(before, _)| *before == key).map_or(0, |(_, round)| round + 1);
            last = Some((key, round));
            match rounds.get_mut(round) {
                Some(objects) => objects.push(object),
                None => rounds.push(vec![object]),
            }
        }
        if rounds.is_empty() {
            return Vec::new();
        }
        let besides: Vec<Object> =
            self.written(documents).filter(|o| besides(o)).cloned().collect();
        let rounds = rounds.into_iter().map(|mut objects| {
            let mut spans: Vec<Span> =
                objects.iter().map(|object| documents.view(object.root).span()).collect();
            spans.sort_unstable();
            let own: HashSet<ObjectKey> = objects.iter().map(key_of).collect();
            objects.extend(besides.iter().filter(|o| !own.contains(&key_of(o))).cloned());
            definitions::sort(&self.names, &documents.sources, &mut objects);
            (spans, Self::freeze(self.names.clone(), objects))
        });
        rounds.collect()
    }

    /// Everything that was read, without what is only assumed.
    fn written(&self, documents: &Documents) -> impl Iterator<Item = &Object> {
        self.all_read().filter(|object| documents.get(object.root.doc).is_some())
    }

    /// The same set with other definitions of some of its objects.
    pub fn choosing(&self, documents: &Documents, chosen: &[&Object]) -> Self {
        let own: HashSet<ObjectKey> = chosen.iter().map(|object| key_of(object)).collect();
        let others = self.written(documents).filter(|object| !own.contains(&key_of(object)));
        let mut objects: Vec<Object> = others.chain(chosen.iter().copied()).cloned().collect();
        definitions::sort(&self.names, &documents.sources, &mut objects);
        Self::freeze(self.names.clone(), objects)
    }

    /// The same set with other words of some of its objects, and which these are; none if one of them is not in it, or
    /// from elsewhere.
    pub(crate) fn with(&self, names: Names, objects: Vec<Object>) -> Option<(Self, Vec<ObjectId>)> {
        let mut next = Self {
            names,
            objects: self.objects.clone(),
            by_key: Arc::clone(&self.by_key),
            hasher: self.hasher.clone(),
            kinds: Arc::clone(&self.kinds),
            deleted: Arc::clone(&self.deleted),
            by_kind: Arc::clone(&self.by_kind),
            // Roots stay where they are, as is seen to below.
            by_root: Arc::clone(&self.by_root),
            assumed: Arc::clone(&self.assumed),
        };
        let mut changed = Vec::with_capacity(objects.len());
        for mut object in objects {
            let known = next.find(key_of(&object))?;
            object.id = known.id;
            let same = known.root == object.root && known.kind == object.kind;
            changed.push(object.id);
            same.then(|| next.objects.set(object.id.0 as usize, object))?;
        }
        Some((next, changed))
    }

    /// The same set with objects that no document of the input is.
    pub(crate) fn with_assumed(self, more: Vec<(Object, Assumed)>) -> Self {
        let assumed: Vec<(ObjectKey, Assumed)> =
            more.iter().map(|(object, assumed)| (key_of(object), *assumed)).collect();
        let before = self.assumed.iter().filter_map(|(id, a)| Some((key_of(self.get(*id)?), *a)));
        let assumed: Vec<(ObjectKey, Assumed)> = before.chain(assumed).collect();
        let all = self.all_read().cloned().chain(more.into_iter().map(|(object, _)| object));
        let mut all: Vec<Object> = all.collect();
        all.sort_by(|a, b| by_identity(&self.names, a, b));
        let mut next = Self::freeze(self.names, all);
        let ids = assumed.into_iter().filter_map(|(key, a)| Some((next.find(key)?.id, a)));
        next.assumed = Arc::new(ids.collect());
        next
    }

    /// Notes what objects are derived from, and where that is written.
    pub fn note_derived(&mut self, derived: Vec<(ObjectId, ObjectKey, Span)>) {
        let mut assumed = BTreeMap::clone(&self.assumed);
        for (id, from, at) in derived {
            if let Some(object) = self.get(id).cloned() {
                self.objects.set(id.0 as usize, Object { at, ..object });
                assumed.insert(id, Assumed::Derived(from));
            }
        }
        self.assumed = Arc::new(assumed);
    }

    /// From now on copies share everything, and differences between this one and what it is a copy of cost nothing more.
    pub fn compact(&mut self) {
        self.names.compact();
        self.objects.compact();
    }

    /// Gives an object without a creation time this one.
    pub fn assume_created_of(&mut self, id: ObjectId, time: Created) {
        let object = self.get(id).filter(|o| o.created == Created::Absent);
        if let Some(object) = object.map(|o| Object { created: time, ..o.clone() }) {
            self.objects.set(id.0 as usize, object);
        }
    }

    /// Gives every object without a creation time the same one.
    pub fn assume_created_at(&mut self, time: Created) {
        for object in self.objects.edit().iter_mut().filter(|o| o.created == Created::Absent) {
            object.created = time;
        }
    }

    /// Gives objects without a creation time the one that is known for their source.
    pub fn assume_created_by(&mut self, sources: &SourceMap, times: &BTreeMap<Box<str>, Created>) {
        for object in self.objects.edit().iter_mut().filter(|o| o.created == Created::Absent) {
            let name = sources.get(object.at.source).map_or("", |s| s.name());
            if let Some(time) = times.get(name) {
                object.created = *time;
            }
        }
    }

    /// Gives objects without a creation time one by file name and position: what is written first is oldest.
    pub fn assume_file_order(&mut self, sources: &SourceMap) {
        let mut order: Vec<usize> = (0..self.objects.len()).collect();
        let place = |o: &Object| (sources.get(o.at.source).map_or("", |s| s.name()), o.at.start);
        order.sort_by_key(|i| self.objects.get(*i).map(place));
        let objects = self.objects.edit();
        for (n, index) in (0..).zip(order) {
            if let Some(object) = objects.get_mut(index).filter(|o| o.created == Created::Absent) {
                object.created = Created::Assumed(n);
            }
        }
    }

    /// The interner of all names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The interner, for families that parse specs against this snapshot.
    pub fn names_mut(&mut self) -> &mut Names {
        &mut self.names
    }

    /// The text of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        self.names.text(sym)
    }

    /// Every object that was read: those that take part, and then those that are being deleted.
    pub fn all_read(&self) -> impl Iterator<Item = &Object> {
        self.objects().chain(self.deleted())
    }

    /// The object that is written around a place. The documents must be those it was parsed from.
    pub fn written_at(&self, documents: &Documents, place: Span) -> Option<ObjectId> {
        let doc = documents.at(place)?;
        let all = self.by_root.get_or_init(|| {
            let mut all: Vec<_> = self.all_read().map(|o| (o.root, o.id)).collect();
            all.sort_unstable();
            all.into()
        });
        let from = all.partition_point(|(root, _)| root.doc < doc);
        let here = all.get(from..)?;
        let here = here.get(..here.partition_point(|(root, _)| root.doc == doc))?;
        let span = |root: NodeRef| documents.view(root).span();
        let before = here.partition_point(|(root, _)| span(*root).start <= place.start);
        let (root, object) = here.get(before.checked_sub(1)?)?;
        let span = span(*root);
        (place.start < span.end && place.end <= span.end).then_some(*object)
    }

    /// Objects that are being deleted, in the same order. They take no part, and are told so.
    pub fn deleted(&self) -> &[Object] {
        &self.deleted.objects
    }

    /// The object with this identity, if it is being deleted.
    pub fn find_deleted(&self, key: ObjectKey) -> Option<&Object> {
        self.deleted.find(key)
    }

    /// That an object is being deleted, in words: why it is not found, and not assumed to exist elsewhere.
    pub fn deletion(&self, object: &Object) -> Option<String> {
        let since = self.text(object.deleted?);
        let name = self.display(object.id);
        Some(format!("`{name}` is being deleted since {since}; it takes no part in any answer"))
    }

    /// A finding about a reference that leads nowhere, which says if that is because of a deletion.
    pub fn with_deletion(&self, found: Diagnostic, key: ObjectKey) -> Diagnostic {
        let Some(object) = self.find_deleted(key) else { return found };
        match self.deletion(object) {
            Some(help) => found.see(object.at, "it is being deleted").help(help),
            None => found,
        }
    }

    /// Why an object is here that no document of the input is; none if one is.
    pub fn assumed(&self, id: ObjectId) -> Option<Assumed> {
        self.assumed.get(&id).copied()
    }

    /// Every object that no document of the input is, in order.
    pub fn all_assumed(&self) -> impl Iterator<Item = (&Object, Assumed)> {
        self.assumed.iter().filter_map(|(id, assumed)| Some((self.get(*id)?, *assumed)))
    }

    /// Whether the input has an object of a kind that takes part.
    pub fn was_read(&self, kind: GroupKind) -> bool {
        let of_kind = self.by_kind.places.get(&kind).and_then(|place| self.kinds.get(*place));
        let mut of_kind = of_kind.map_or(0..0, |(_, start, end)| *start..*end).map(ObjectId);
        of_kind.any(|id| self.assumed(id).is_none())
    }

    /// Every object, by group, kind, namespace, name.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = &Object> {
        self.objects.iter()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// `namespace/name` of an object; the name alone if it is cluster-scoped.
    pub fn full_name(&self, id: ObjectId) -> String {
        let Some(object) = self.get(id) else { return String::new() };
        let (scope, name) = (self.text(object.scope.name()), self.text(object.name));
        if scope.is_empty() { name.to_owned() } else { format!("{scope}/{name}") }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The object of an id of this snapshot, also of one that is being deleted: its ids come after all others.
    pub fn get(&self, id: ObjectId) -> Option<&Object> {
        let at = id.0 as usize;
        self.objects
            .get(at)
            .or_else(|| self.deleted.objects.get(at.checked_sub(self.objects.len())?))
    }

    /// Every kind there is, with its objects.
    pub fn kinds(&self) -> impl Iterator<Item = (GroupKind, ItemsRun<'_, Object>)> {
        let run = |start: u32, end: u32| self.objects.range(start as usize..end as usize);
        self.kinds.iter().map(move |(kind, start, end)| (*kind, run(*start, *end)))
    }

    /// The objects of one kind, by namespace and name.
    pub fn of_kind(&self, group: &str, kind: &str) -> ItemsRun<'_, Object> {
        let named = self.names.lookup(group).zip(self.names.lookup(kind));
        let named = named.map(|(group, kind)| GroupKind { group, kind });
        let place = named.and_then(|named| self.by_kind.places.get(&named));
        let found = place.and_then(|place| self.kinds.get(*place));
        let range = found.map_or(0..0, |(_, start, end)| *start as usize..*end as usize);
        self.objects.range(range)
    }

    /// The object with this identity.
    pub fn find(&self, key: ObjectKey) -> Option<&Object> {
        let hash = self.hasher.hash_one(key);
        let id = self.by_key.find(hash, |id| self.get(*id).is_some_and(|o| key_of(o) == key))?;
        self.get(*id)
    }

    /// Every kind whose name, plural or short name is `word` (any case), even if all of it is being deleted; the group, if
    /// given, must fit too.
    pub fn kinds_called(&self, word: &str, group: Option<&str>) -> Vec<GroupKind> {
        let word = word.to_lowercase();
        let live = self.kinds().map(|(kind, _)| kind);
        let is_live = |kind: &GroupKind| self.kinds.iter().any(|(live, _, _)| live == kind);
        let deleted = self.deleted.kinds().filter(|kind| !is_live(kind));
        live.chain(deleted)
            .filter(|k| is_called(self.text(k.kind), &word))
            .filter(|k| group.is_none_or(|g| self.text(k.group) == g))
            .collect()
    }

    /// The objects a target name can refer to: none, one, or several if a kind is ambiguous.
    pub fn resolve(&self, target: &TargetName) -> Vec<&Object> {
        self.keys_of(target).into_iter().filter_map(|key| self.find(key)).collect()
    }

    /// The same among objects that are being deleted.
    pub fn resolve_deleted(&self, target: &TargetName) -> Vec<&Object> {
        self.keys_of(target).into_iter().filter_map(|key| self.find_deleted(key)).collect()
    }

    fn keys_of(&self, target: &TargetName) -> Vec<ObjectKey> {
        let mut found = Vec::new();
        for kind in self.kinds_called(&target.kind, target.group.as_deref()) {
            let Some(name) = self.names.lookup(&target.name) else { continue };
            let scopes = match &target.namespace {
                None => vec![Scope::Cluster],
                Some(ns) => match self.names.lookup(ns) {
                    Some(ns) => vec![Scope::Namespace(ns), Scope::Mesh(ns)],
                    None => Vec::new(),
                },
            };
            found.extend(scopes.into_iter().map(|scope| ObjectKey { kind, scope, name }));
        }
        found
    }

    /// `kind/namespace/name` (or `kind.group/...` where two kinds share a name), escaped by nobody yet.
    pub fn display(&self, id: ObjectId) -> Display<'_> {
        Display { snapshot: self, id }
    }

    /// Whether two groups of this snapshot have a kind of this name.
    fn is_ambiguous(&self, kind: GroupKind) -> bool {
        self.by_kind.ambiguous.contains(&kind)
    }
}

/// Whether `word` (lower case) is a name of the kind: itself, its plural, or a short name.
pub fn is_called(kind: &str, word: &str) -> bool {
    let lower = kind.to_lowercase();
    lower == word || plural(&lower) == word || short_names(kind).contains(&word)
}

fn plural(lower: &str) -> String {
    match lower.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if lower.ends_with(['s', 'x']) => format!("{lower}es"),
        _ => format!("{lower}s"),
    }
}

/// The order of objects: by group, kind, namespace and name, compared as text.
pub(crate) fn by_identity(names: &Names, a: &Object, b: &Object) -> Ordering {
    let text = |sym| names.text(sym);
    // Most neighbours are of one kind and namespace: equal symbols need no look at their texts.
    let by = |a: Sym, b: Sym| if a == b { Ordering::Equal } else { text(a).cmp(text(b)) };
    let scope_rank = |s: Scope| matches!(s, Scope::Mesh(_));
    by(a.kind.group, b.kind.group)
        .then_with(|| by(a.kind.kind, b.kind.kind))
        .then_with(|| by(a.scope.name(), b.scope.name()))
        .then_with(|| by(a.name, b.name))
        .then_with(|| scope_rank(a.scope).cmp(&scope_rank(b.scope)))
}

/// What makes an object the same object.
pub fn key_of(object: &Object) -> ObjectKey {
    ObjectKey { kind: object.kind, scope: object.scope, name: object.name }
}

/// Prints the canonical name of an object.
#[derive(Debug, Clone, Copy)]
pub struct Display<'a> {
    snapshot: &'a Snapshot,
    id: ObjectId,
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(object) = self.snapshot.get(self.id) else { return f.write_str("<unknown>") };
        let text = |sym| self.snapshot.text(sym);
        write!(f, "{}", text(object.kind.kind).to_lowercase())?;
        if self.snapshot.is_ambiguous(object.kind) && !object.kind.group.is_empty() {
            write!(f, ".{}", text(object.kind.group))?;
        }
        if object.scope != Scope::Cluster {
            write!(f, "/{}", text(object.scope.name()))?;
        }
        write!(f, "/{}", text(object.name))
    }
}
