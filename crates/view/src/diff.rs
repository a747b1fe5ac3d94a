// SPDX-License-Identifier: Apache-2.0
//! In: two states of the world, as scenes. Out: which effective policies differ between them, and why, as far as a reader
//! may know. Not here: where to look (`diff_pairs.rs`), which documents differ (`diff_cause.rs`), text (`diff_text.rs`).
//!
//! Where something differs is worked out once, whoever asks. A reader of everything is told what differs once for each
//! distinct pair of ladders; any other reader as much of it as its answers before and after would tell.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::LadderId;
use overrule_model::ObjectId;

use crate::compare::differences;
use crate::diff_cause::{Causes, Changed};
use crate::diff_pairs::{self, Pair, Side};
use crate::effective::Result;
use crate::field::{is_within, pointer_segments};
use crate::tenancy::{Reader, Sees};
use crate::{Scene, json_line, v1};

/// The effective policies that differ between two states, for one who may read everything.
pub fn changes(before: &Scene<'_>, after: &Scene<'_>) -> v1::EffectiveChanges {
    EffectiveDiff::between(before, after).told(before, after)
}

/// The same for a reader: as much of it as its answers before and after would tell.
pub fn changes_for(before: &Scene<'_>, after: &Scene<'_>, sees: &dyn Sees) -> v1::EffectiveChanges {
    EffectiveDiff::between(before, after).told_to(before, after, sees)
}

/// Where two states differ. Tell it with scenes of the same two states.
#[derive(Debug, Default)]
pub struct EffectiveDiff {
    pairs: Vec<Pair>,
    changed: Changed,
}

impl EffectiveDiff {
    /// Compares everything.
    pub fn between(before: &Scene<'_>, after: &Scene<'_>) -> Self {
        Self { pairs: diff_pairs::all(before, after), changed: Changed::default() }
    }

    /// Compares these ladders, each with the place of its part in the scenes. Every id must mean the same in both states,
    /// and all other ladders must say the same.
    pub fn of_ladders(
        before: &Scene<'_>,
        after: &Scene<'_>,
        ladders: &[(usize, LadderId)],
    ) -> Self {
        let pairs = diff_pairs::of_ladders(before, after, ladders);
        Self { pairs, changed: Changed::in_place() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// What differs, for one who may read everything.
    pub fn told(&self, before: &Scene<'_>, after: &Scene<'_>) -> v1::EffectiveChanges {
        self.grouped(before, after).0
    }

    /// The same, and which of the changes are one change at several targets.
    pub fn grouped(
        &self,
        before: &Scene<'_>,
        after: &Scene<'_>,
    ) -> (v1::EffectiveChanges, Vec<v1::ChangeGroup>) {
        let mut told = Telling { before, after, causes: Causes::new(before, after, &self.changed) };
        let mut known: BTreeMap<_, (Option<Differs>, Option<usize>)> = BTreeMap::new();
        let (mut items, mut groups) = (Vec::new(), Vec::<Group>::new());
        for pair in &self.pairs {
            // A target that is gone is not one that nothing is in force on.
            let stays = pair.before.path.is_some() == pair.after.path.is_some();
            let key = (pair.number, pair.before.ladder, pair.after.ladder, stays);
            // A path that fails for a reason of its own is told by itself.
            let own = pair.before.fails(before) || pair.after.fails(after);
            let mut alone = own.then(|| (told.differs(pair), None));
            let entry = match &mut alone {
                Some(alone) => alone,
                None => known.entry(key).or_insert_with(|| (told.differs(pair), None)),
            };
            let Some(differs) = &entry.0 else { continue };
            let (item, objects) = told.item(pair, differs.clone());
            let place = *entry.1.get_or_insert_with(|| {
                groups.push(Group { stays, ..Group::default() });
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(place) {
                group.items.push(items.len());
                group.causes.extend(objects);
            }
            items.push(item);
        }
        let groups = groups.into_iter().map(|group| told.group(group, &items)).collect();
        (list(items), groups)
    }

    /// Every resource that differs between the two states.
    pub fn causes(&self, before: &Scene<'_>, after: &Scene<'_>) -> Vec<v1::ChangeCause> {
        Causes::new(before, after, &self.changed).all_causes()
    }

    /// The same for a reader: as much of it as its answers before and after would tell.
    pub fn told_to(
        &self,
        before: &Scene<'_>,
        after: &Scene<'_>,
        sees: &dyn Sees,
    ) -> v1::EffectiveChanges {
        if sees.everything() {
            return self.told(before, after);
        }
        let readers = (Reader::new(before, sees), Reader::new(after, sees));
        let mut causes = Causes::new(before, after, &self.changed);
        let mut items = Vec::new();
        for pair in &self.pairs {
            let told = |reader: &Reader<'_>, side: &Side, scene: &Scene<'_>| {
                let (part, path) = side.at(scene)?;
                reader.effective(part, side.kind, path)
            };
            let old = told(&readers.0, &pair.before, before);
            let new = told(&readers.1, &pair.after, after);
            let (a, b) = (of_told(old.as_ref()), of_told(new.as_ref()));
            let fields = fields(&a, &b);
            let Some(one) = new.as_ref().or(old.as_ref()).filter(|_| !fields.is_empty()) else {
                continue;
            };
            let names = fields.iter().flat_map(|f| f.from.iter().chain(&f.to));
            let names: BTreeSet<&str> = names.map(String::as_str).collect();
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
        }
        let mut seen = BTreeSet::new();
        items.retain(|item| seen.insert(json_line(item)));
        list(items)
    }
}

fn list(items: Vec<v1::EffectiveChange>) -> v1::EffectiveChanges {
    let mut counts = v1::ChangeCounts::default();
    for item in &items {
        match item.change() {
            "added" => counts.added += 1,
            "removed" => counts.removed += 1,
            _ => counts.changed += 1,
        }
    }
    let (api_version, kind) = (v1::API_VERSION, "EffectiveChanges");
    v1::EffectiveChanges { api_version, kind, counts, items, report: None }
}

/// What is in force as a reader is told it.
fn of_told(policy: Option<&v1::EffectivePolicy>) -> Result {
    policy.map_or_else(Result::default, |p| Result {
        spec: p.spec.clone(),
        origins: p.origins.clone(),
        broken: !p.error.is_empty(),
    })
}

/// What differs between two ladders.
#[derive(Clone)]
struct Differs {
    before: Option<v1::Value>,
    after: Option<v1::Value>,
    fields: Vec<v1::FieldChange>,
    /// Changed policies on either ladder.
    because: Vec<ObjectOf>,
}

/// A resource of the state after, or of the one before.
type ObjectOf = (bool, ObjectId);

/// Changes that are one.
#[derive(Default)]
struct Group {
    stays: bool,
    items: Vec<usize>,
    causes: BTreeSet<ObjectOf>,
}

/// Tells one who may read everything.
struct Telling<'a> {
    before: &'a Scene<'a>,
    after: &'a Scene<'a>,
    causes: Causes<'a>,
}

impl<'a> Telling<'a> {
    fn sides(&self, pair: &'a Pair) -> [(&'a Side, &'a Scene<'a>); 2] {
        [(&pair.before, self.before), (&pair.after, self.after)]
    }

    fn differs(&mut self, pair: &'a Pair) -> Option<Differs> {
        let (a, b) = (pair.before.result(self.before), pair.after.result(self.after));
        let fields = fields(&a, &b);
        if fields.is_empty() {
            return None;
        }
        let mut because = Vec::new();
        for (side, scene) in self.sides(pair) {
            let Some(part) = side.part(scene) else { continue };
            for (policy, _) in part.resolution.outcomes(side.ladder) {
                let object = part.resolution.policy(*policy).map(|p| p.object);
                because.extend(object.and_then(|o| self.causes.of_object(scene, o)));
            }
        }
        because.sort();
        because.dedup();
        Some(Differs { before: a.spec, after: b.spec, fields, because })
    }

    fn item(&mut self, pair: &'a Pair, differs: Differs) -> (v1::EffectiveChange, Vec<ObjectOf>) {
        let [old, new] = self.sides(pair);
        let (side, scene) = if pair.after.path.is_some() { new } else { old };
        let (part, at) = (side.part(scene), side.at(scene));
        let result = part.and_then(|p| p.resolution.kind(side.kind));
        let text = |sym| scene.snapshot.text(sym).to_owned();
        let mut because = differs.because;
        if because.is_empty() {
            for (side, scene) in [old, new] {
                let Some((part, path)) = side.at(scene) else { continue };
                let nodes = part.resolution.paths.nodes(path);
                let objects = nodes.iter().filter_map(|n| part.topology.get(*n)?.object);
                because.extend(objects.filter_map(|o| self.causes.of_object(scene, o)));
            }
            because.sort();
            because.dedup();
        }
        // One resource may stand on both sides.
        let sentences: BTreeSet<String> =
            because.iter().map(|of| self.causes.sentence_of(*of)).collect();
        let item = v1::EffectiveChange {
            policy_kind: result.map(|k| text(k.kind)).unwrap_or_default(),
            policy_group: result.map(|k| text(k.group)).unwrap_or_default(),
            family: part.map_or("", |p| p.family),
            profile: part.map_or("", |p| p.profile),
            target: at.map(|(p, path)| p.path_target(scene, path)).unwrap_or_default(),
            path: at.map(|(p, path)| p.path_elements(scene, path)).unwrap_or_default(),
            before: differs.before,
            after: differs.after,
            fields: differs.fields,
            because: self.causes.sentence(sentences.into_iter().collect()),
        };
        (item, because)
    }

    fn group(&self, group: Group, items: &[v1::EffectiveChange]) -> v1::ChangeGroup {
        let Group { stays, items: places, causes } = group;
        let of = |place: &usize| items.get(*place);
        let change = places.first().and_then(of).map_or("changed", v1::EffectiveChange::change);
        let routes = places.iter().filter_map(of).filter_map(v1::EffectiveChange::route);
        let routes: BTreeSet<_> = routes.collect();
        let causes: BTreeSet<_> = causes.into_iter().filter_map(|o| self.causes.cause(o)).collect();
        v1::ChangeGroup {
            change,
            uncovered: stays && change == "removed",
            routes: routes.len(),
            items: places,
            causes: causes.into_iter().collect(),
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
