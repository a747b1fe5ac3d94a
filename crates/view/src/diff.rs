// SPDX-License-Identifier: Apache-2.0
//! In: two states of the world, as scenes. Out: which effective policies differ between them, and why. Not here: which
//! documents differ (`diff_cause.rs`), text (`diff_text.rs`).
//!
//! Paths are the same if they visit nodes of the same names; every path has a hash of them, made of the hash of the path
//! it extends. What is in force on a ladder has a hash too, made once for each distinct ladder, so that a path costs one
//! lookup and one comparison, and what differs is worked out once for each distinct pair of ladders.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashMap;
use overrule_engine::{KindId, LadderId, PathId};

use crate::compare::differences;
use crate::diff_cause::Causes;
use crate::effective::{Result, result};
use crate::field::{is_within, pointer_segments};
use crate::tenancy::{Reader, Sees};
use crate::written::written;
use crate::{Part, Scene, json_line, v1};

/// The effective policies that differ between two states, for one who may read everything.
pub fn changes(before: &Scene<'_>, after: &Scene<'_>) -> v1::EffectiveChanges {
    let mut causes = Causes::new(before, after);
    let mut known: BTreeMap<(usize, LadderId, LadderId), Option<Differs>> = BTreeMap::new();
    let mut items = Vec::new();
    each_difference(before, after, &mut |pair| {
        let key = (pair.number, pair.before.ladder, pair.after.ladder);
        // A path that fails for a reason of its own is told by itself.
        let own = pair.before.fails() || pair.after.fails();
        let differs = match own {
            true => pair.differs(&mut causes),
            false => known.entry(key).or_insert_with(|| pair.differs(&mut causes)).clone(),
        };
        if let Some(differs) = differs {
            items.push(pair.item(differs, &mut causes));
        }
    });
    list(items)
}

/// The same for a reader: as much of it as its answers before and after would tell.
pub fn changes_for(before: &Scene<'_>, after: &Scene<'_>, sees: &dyn Sees) -> v1::EffectiveChanges {
    if sees.everything() {
        return changes(before, after);
    }
    let readers = (Reader::new(before, sees), Reader::new(after, sees));
    let mut causes = Causes::new(before, after);
    let mut items = Vec::new();
    each_difference(before, after, &mut |pair| {
        let told = |reader: &Reader<'_>, side: &Side<'_>| {
            reader.effective(side.part?, side.kind, side.path?)
        };
        let (old, new) = (told(&readers.0, &pair.before), told(&readers.1, &pair.after));
        let (a, b) = (of_told(old.as_ref()), of_told(new.as_ref()));
        let fields = fields(&a, &b);
        let Some(one) = new.as_ref().or(old.as_ref()).filter(|_| !fields.is_empty()) else {
            return;
        };
        let names: BTreeSet<&str> =
            fields.iter().flat_map(|f| f.from.iter().chain(&f.to)).map(String::as_str).collect();
        items.push(v1::EffectiveChange {
            policy_kind: one.policy_kind.clone(),
            policy_group: one.policy_group.clone(),
            family: one.family,
            profile: one.profile,
            target: one.target.clone(),
            path: one.path.clone(),
            because: causes.of_names(&one.policy_kind, &names, sees),
            before: a.spec,
            after: b.spec,
            fields,
        });
    });
    let mut seen = BTreeSet::new();
    items.retain(|item| seen.insert(json_line(item)));
    list(items)
}

fn list(items: Vec<v1::EffectiveChange>) -> v1::EffectiveChanges {
    let mut counts = v1::ChangeCounts::default();
    for item in &items {
        match (&item.before, &item.after) {
            (None, Some(_)) => counts.added += 1,
            (Some(_), None) => counts.removed += 1,
            _ => counts.changed += 1,
        }
    }
    v1::EffectiveChanges { api_version: v1::API_VERSION, kind: "EffectiveChanges", counts, items }
}

/// What is in force as a reader is told it.
fn of_told(policy: Option<&v1::EffectivePolicy>) -> Result {
    policy.map_or_else(Result::default, |p| Result {
        spec: p.spec.clone(),
        origins: p.origins.clone(),
        broken: !p.error.is_empty(),
    })
}

/// One kind at one path in one of the states.
#[derive(Clone, Copy)]
struct Side<'a> {
    scene: &'a Scene<'a>,
    /// None if the family or kind is not there.
    part: Option<&'a Part<'a>>,
    kind: KindId,
    /// None if the path is not there.
    path: Option<PathId>,
    ladder: LadderId,
}

impl Side<'_> {
    fn fails(&self) -> bool {
        let failures = self.part.zip(self.path).map(|(p, path)| p.resolution.failures(path));
        failures.is_some_and(|mut f| f.next().is_some())
    }

    fn result(&self) -> Result {
        let Some(part) = self.part else { return Result::default() };
        let mut found = result(self.scene, part, part.resolution.effective(self.ladder));
        found.broken |= self.fails();
        found
    }
}

/// One kind at one path in both.
struct Pair<'a> {
    /// Which kind, counted.
    number: usize,
    before: Side<'a>,
    after: Side<'a>,
}

/// What differs between two ladders.
#[derive(Clone)]
struct Differs {
    before: Option<v1::Value>,
    after: Option<v1::Value>,
    fields: Vec<v1::FieldChange>,
    /// Changed policies on either ladder.
    because: Vec<String>,
}

impl Pair<'_> {
    fn differs(&self, causes: &mut Causes<'_>) -> Option<Differs> {
        let (a, b) = (self.before.result(), self.after.result());
        let fields = fields(&a, &b);
        if fields.is_empty() {
            return None;
        }
        let mut because = Vec::new();
        for side in [&self.before, &self.after] {
            let Some(part) = side.part else { continue };
            for (policy, _) in part.resolution.outcomes(side.ladder) {
                let object = part.resolution.policy(*policy).map(|p| p.object);
                because.extend(object.and_then(|o| causes.of_object(side.scene, o)));
            }
        }
        because.sort();
        because.dedup();
        Some(Differs { before: a.spec, after: b.spec, fields, because })
    }

    fn item(&self, differs: Differs, causes: &mut Causes<'_>) -> v1::EffectiveChange {
        let side = if self.after.path.is_some() { &self.after } else { &self.before };
        let result = side.part.and_then(|p| p.resolution.kind(side.kind));
        let text = |sym| side.scene.snapshot.text(sym).to_owned();
        let (part, path) = (side.part, side.path);
        let at = part.zip(path);
        let mut because = differs.because;
        if because.is_empty() {
            for side in [&self.before, &self.after] {
                let nodes =
                    side.part.zip(side.path).map(|(p, path)| (p, p.resolution.paths.nodes(path)));
                let Some((part, nodes)) = nodes else { continue };
                let objects = nodes.iter().filter_map(|n| part.topology.get(*n)?.object);
                because.extend(objects.filter_map(|o| causes.of_object(side.scene, o)));
            }
            because.sort();
            because.dedup();
        }
        v1::EffectiveChange {
            policy_kind: result.map(|k| text(k.kind)).unwrap_or_default(),
            policy_group: result.map(|k| text(k.group)).unwrap_or_default(),
            family: part.map_or("", |p| p.family),
            profile: part.map_or("", |p| p.profile),
            target: at.map(|(p, path)| p.path_target(side.scene, path)).unwrap_or_default(),
            path: at.map(|(p, path)| p.path_elements(side.scene, path)).unwrap_or_default(),
            before: differs.before,
            after: differs.after,
            fields: differs.fields,
            because: causes.sentence(because),
        }
    }
}

/// The fields that differ in value or in who set them.
fn fields(a: &Result, b: &Result) -> Vec<v1::FieldChange> {
    let policies = |result: &Result, pointer: &str| -> Vec<String> {
        let near = |at: &str| is_within(at, pointer) || is_within(pointer, at);
        let within = result.origins.iter().filter(|(at, _)| near(at)).flat_map(|(_, list)| list);
        let names: BTreeSet<&String> = within.map(|o| &o.policy).collect();
        names.into_iter().cloned().collect()
    };
    let at = |result: &Result, pointer: &str| {
        let path: Vec<_> = pointer_segments(pointer).collect();
        result.spec.as_ref().and_then(|s| s.at(path.iter().map(|s| &**s))).cloned()
    };
    let differs = differences(a, b).into_iter();
    let field = |pointer: String| v1::FieldChange {
        before: at(a, &pointer),
        after: at(b, &pointer),
        from: policies(a, &pointer),
        to: policies(b, &pointer),
        pointer,
    };
    differs.map(field).collect()
}

/// Visits every kind and path at which what is in force may differ: those of the state after in their order, then those
/// that are gone.
fn each_difference<'a>(
    before: &'a Scene<'a>,
    after: &'a Scene<'a>,
    visit: &mut dyn FnMut(&Pair<'a>),
) {
    let sides = (Hashed::all(before), Hashed::all(after));
    let mut kinds: Vec<(&str, String, String)> = Vec::new();
    for side in [&sides.1, &sides.0] {
        for kind in side.iter().flat_map(Hashed::kinds) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    for (number, kind) in kinds.iter().enumerate() {
        let find = |side: &'_ [Hashed<'a>]| side.iter().position(|h| h.kind(kind).is_some());
        let old = find(&sides.0).and_then(|i| sides.0.get(i));
        let new = find(&sides.1).and_then(|i| sides.1.get(i));
        of_kind(number, kind, (before, old), (after, new), visit);
    }
}

/// Family, group, kind.
type KindName<'a> = (&'a str, String, String);

fn of_kind<'a>(
    number: usize,
    kind: &KindName<'_>,
    (before, old): (&'a Scene<'a>, Option<&Hashed<'a>>),
    (after, new): (&'a Scene<'a>, Option<&Hashed<'a>>),
    visit: &mut dyn FnMut(&Pair<'a>),
) {
    let nothing =
        |scene| Side { scene, part: None, kind: KindId(0), path: None, ladder: LadderId::EMPTY };
    let mut left: HashMap<u128, (PathId, LadderId)> = HashMap::new();
    let old_kind = old.and_then(|h| h.kind(kind));
    if let (Some(old), Some(id)) = (old, old_kind) {
        for (path, ladder) in old.part.resolution.contexts(id) {
            left.insert(old.path(path), (path, ladder));
        }
    }
    let side = |scene: &'a Scene<'a>, hashed: Option<&Hashed<'a>>, id, path, ladder| match hashed {
        Some(h) => Side { scene, part: Some(h.part), kind: id, path: Some(path), ladder },
        None => nothing(scene),
    };
    let mut marks = (HashMap::new(), HashMap::new());
    if let (Some(new), Some(id)) = (new, new.and_then(|h| h.kind(kind))) {
        for (path, ladder) in new.part.resolution.contexts(id) {
            let now = side(after, Some(new), id, path, ladder);
            let then = match left.remove(&new.path(path)) {
                Some((path, ladder)) => {
                    side(before, old, old_kind.unwrap_or(KindId(0)), path, ladder)
                }
                None => nothing(before),
            };
            let same = mark(&then, &mut marks.0) == mark(&now, &mut marks.1);
            if !same || then.fails() != now.fails() {
                visit(&Pair { number, before: then, after: now });
            }
        }
    }
    let (Some(old), Some(id)) = (old, old_kind) else { return };
    for (path, ladder) in old.part.resolution.contexts(id) {
        if ladder != LadderId::EMPTY && left.contains_key(&old.path(path)) {
            let then = side(before, Some(old), id, path, ladder);
            visit(&Pair { number, before: then, after: nothing(after) });
        }
    }
}

/// A hash of what is in force on a ladder and who set it; zero for the empty one.
fn mark(side: &Side<'_>, known: &mut HashMap<LadderId, u128>) -> u128 {
    if side.ladder == LadderId::EMPTY {
        return 0;
    }
    *known.entry(side.ladder).or_insert_with(|| {
        let Some(part) = side.part else { return 0 };
        let Some(found) = part.resolution.effective(side.ladder) else { return 0 };
        let Result { spec, origins, broken } = result(side.scene, part, Some(found));
        if spec.is_none() && origins.is_empty() && !broken {
            return 0;
        }
        let names: Vec<(&String, Vec<&String>)> = origins
            .iter()
            .map(|(at, list)| (at, list.iter().map(|o| &o.policy).collect()))
            .collect();
        let beside: Vec<String> = found
            .beside()
            .iter()
            .filter_map(|s| part.resolution.ladders.get_step(*s))
            .map(|step| json_line(&written(side.scene, step)))
            .collect();
        hash(&(json_line(&spec), names, beside, broken))
    })
}

/// Two hashes of 64 bits each: with a million paths, two that differ still do not meet.
fn hash(value: &impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        value.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// A part with the hashes of its paths.
struct Hashed<'a> {
    scene: &'a Scene<'a>,
    part: &'a Part<'a>,
    paths: Vec<u128>,
}

impl<'a> Hashed<'a> {
    fn all(scene: &'a Scene<'a>) -> Vec<Self> {
        scene.parts.iter().map(|part| Self::new(scene, part)).collect()
    }

    fn new(scene: &'a Scene<'a>, part: &'a Part<'a>) -> Self {
        let text = |sym| scene.snapshot.text(sym);
        let mut nodes: HashMap<u32, u128> = HashMap::new();
        let mut paths: Vec<u128> = Vec::with_capacity(part.resolution.paths.len());
        for path in part.resolution.paths.ids() {
            let above = part.resolution.paths.parent(path);
            let above = above.and_then(|p| paths.get(p.0 as usize)).copied().unwrap_or(0);
            let node = part.resolution.paths.node(path).map_or(0, |id| {
                *nodes.entry(id.0).or_insert_with(|| {
                    part.topology.get(id).map_or(0, |n| {
                        hash(&(text(n.kind), text(n.namespace), text(n.name), text(n.section)))
                    })
                })
            });
            paths.push(hash(&(above, node)));
        }
        Self { scene, part, paths }
    }

    fn path(&self, path: PathId) -> u128 {
        self.paths.get(path.0 as usize).copied().unwrap_or(0)
    }

    fn kinds(&self) -> impl Iterator<Item = KindName<'static>> + '_ {
        let text = |sym| self.scene.snapshot.text(sym).to_owned();
        let kinds = self.part.resolution.kinds();
        kinds.map(move |(_, k)| (self.part.family, text(k.group), text(k.kind)))
    }

    fn kind(&self, (family, group, kind): &KindName<'_>) -> Option<KindId> {
        let text = |sym| self.scene.snapshot.text(sym);
        let same = |k: &overrule_engine::KindResult| text(k.group) == group && text(k.kind) == kind;
        let found = self.part.resolution.kinds().find(|(_, k)| same(k))?;
        (self.part.family == *family).then_some(found.0)
    }
}
