// SPDX-License-Identifier: Apache-2.0
//! In: a snapshot and a resolution. Out: lists of what is there and what became of it, as data.
//! Not here: tables (`get_text.rs`), which objects are asked for (the caller says by `keep`).

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{KindId, LadderId, Outcome, PolicyId, StepId, Tally};
use overrule_model::{Created, Object, ObjectId, Scope};

use crate::losses::{Losses, Sorted};
use crate::{Scene, ScenePart, assumed, rules, v1};

/// The policies of a part whose object is kept, with what became of them.
pub fn policies(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    keep: &dyn Fn(&Object) -> bool,
) -> v1::PolicyList {
    let kinds: Vec<KindId> = part.resolution.kinds().map(|(id, _)| id).collect();
    let kept: BTreeSet<PolicyId> = part
        .resolution
        .declared()
        .filter(|(_, entry)| scene.snapshot.get(entry.object).is_some_and(keep))
        .map(|(id, _)| id)
        .collect();
    let lister = Lister {
        scene,
        part,
        strategies: strategies(part),
        losers: losers(scene, part),
        rules: rules::collect(scene, part, &kinds, &|p| kept.contains(&p)),
        assumed: assumed::by_policy(scene, part),
    };
    let summaries = part.resolution.declared().filter_map(|(id, entry)| {
        let object = scene.snapshot.get(entry.object)?;
        kept.contains(&id).then(|| lister.policy(id, entry.kind, object))
    });
    v1::PolicyList::new(summaries.collect())
}

/// What is being deleted and a policy, of which no resolution knows. `of` tells the family and the profile of an object, if
/// it is a policy and asked for.
pub fn deleted_policies(
    scene: &Scene<'_>,
    of: &dyn Fn(&Object) -> Option<(&'static str, &'static str)>,
) -> Vec<v1::PolicySummary> {
    let text = |sym| scene.snapshot.text(sym).to_owned();
    let policies = scene.snapshot.deleted().iter().filter_map(|o| Some((o, of(o)?)));
    let summary = |(object, (family, profile)): (&Object, _)| v1::PolicySummary {
        policy_kind: text(object.kind.kind),
        policy_group: text(object.kind.group),
        family,
        profile,
        target: scene.snapshot.display(object.id).to_string(),
        namespace: namespace(scene, object),
        mesh: mesh(scene, object),
        name: text(object.name),
        targets: Vec::new(),
        outcome: "being deleted",
        counts: v1::Counts::from(Tally::default()),
        created: known(object.created).map(|_| object.created.to_string()),
        created_seconds: known(object.created),
        assumptions: Vec::new(),
        strategy: None,
        why: Vec::new(),
        deleted: object.deleted.map(text),
        conditions: Vec::new(),
        rules: Vec::new(),
        other_profiles: Vec::new(),
        at: scene.place(object.at),
    };
    policies.map(summary).collect()
}

/// The resources that are kept; those that are being deleted come last.
pub fn resources(scene: &Scene<'_>, keep: &dyn Fn(&Object) -> bool) -> v1::ResourceList {
    let text = |sym| scene.snapshot.text(sym).to_owned();
    let kept = scene.snapshot.all_read().filter(|o| keep(o)).map(|object| v1::Resource {
        group: text(object.kind.group),
        version: text(object.version),
        kind: text(object.kind.kind),
        target: scene.snapshot.display(object.id).to_string(),
        namespace: namespace(scene, object),
        mesh: mesh(scene, object),
        name: text(object.name),
        created: known(object.created).map(|_| object.created.to_string()),
        deleted: object.deleted.map(text),
        assumed: scene.snapshot.assumed(object.id).is_some(),
        derived_from: scene
            .snapshot
            .assumed(object.id)
            .and_then(|why| assumed::derived_from(scene.snapshot, why)),
        conditions: Vec::new(),
        at: scene.place(object.at),
    });
    v1::ResourceList { api_version: v1::API_VERSION, kind: "ResourceList", items: kept.collect() }
}

/// The paths at which a kind could have an effective policy and no policy reaches.
pub fn without(scene: &Scene<'_>, part: &ScenePart<'_>, kind: KindId) -> v1::UncoveredList {
    let text = |sym| scene.snapshot.text(sym).to_owned();
    let result = part.resolution.kind(kind);
    let mut paths = 0;
    let mut items = Vec::new();
    for (path, _) in part.resolution.contexts(kind) {
        paths += 1;
        if !part.resolution.is_covered(kind, path) {
            items.push(v1::Uncovered {
                target: part.path_target(scene, path),
                path: part.path_elements(scene, path),
            });
        }
    }
    v1::UncoveredList {
        api_version: v1::API_VERSION,
        kind: "UncoveredList",
        policy_kind: result.map(|k| text(k.kind)).unwrap_or_default(),
        policy_group: result.map(|k| text(k.group)).unwrap_or_default(),
        paths,
        items,
    }
}

fn namespace(scene: &Scene<'_>, object: &Object) -> Option<String> {
    let scope = object.scope.name();
    (!scope.is_empty()).then(|| scene.snapshot.text(scope).to_owned())
}

pub(crate) fn mesh(scene: &Scene<'_>, object: &Object) -> Option<String> {
    match object.scope {
        Scope::Mesh(mesh) => Some(scene.snapshot.text(mesh).to_owned()),
        Scope::Namespace(_) | Scope::Cluster => None,
    }
}

fn known(created: Created) -> Option<i64> {
    match created {
        Created::At(seconds) => Some(seconds),
        Created::Absent | Created::Assumed(_) => None,
    }
}

/// Sentences by kind and name of the policy.
type Losers = BTreeMap<(KindId, String), BTreeSet<String>>;

struct Lister<'a> {
    scene: &'a Scene<'a>,
    part: &'a ScenePart<'a>,
    strategies: BTreeMap<PolicyId, &'static str>,
    losers: Losers,
    rules: BTreeMap<PolicyId, Vec<v1::RuleSummary>>,
    /// What answers about each policy rest on.
    assumed: BTreeMap<PolicyId, BTreeSet<ObjectId>>,
}

impl Lister<'_> {
    fn policy(&self, id: PolicyId, kind: KindId, object: &Object) -> v1::PolicySummary {
        let resolution = self.part.resolution;
        let text = |sym| self.scene.snapshot.text(sym).to_owned();
        let result = resolution.kind(kind);
        let outcome = resolution.outcome(id);
        let attached = resolution.attachments_of(id);
        let targets: BTreeSet<_> = attached.map(|a| a.node).collect();
        v1::PolicySummary {
            policy_kind: text(object.kind.kind),
            policy_group: text(object.kind.group),
            family: result.map_or("", |k| k.family),
            profile: result.map_or("", |k| k.profile),
            target: self.scene.snapshot.display(object.id).to_string(),
            namespace: namespace(self.scene, object),
            mesh: mesh(self.scene, object),
            name: text(object.name),
            targets: targets.into_iter().map(|n| self.part.target_name(self.scene, n)).collect(),
            outcome: outcome.word(),
            counts: resolution.tally(id).into(),
            created: known(object.created).map(|_| object.created.to_string()),
            created_seconds: known(object.created),
            assumptions: assumed::told(self.scene, self.assumed.get(&id).into_iter().flatten()),
            strategy: self.strategies.get(&id).copied(),
            why: self.why(id, kind, outcome),
            deleted: None,
            conditions: Vec::new(),
            rules: self.rules.get(&id).cloned().unwrap_or_default(),
            other_profiles: self.other_profiles(id, object),
            at: self.scene.place(object.at),
        }
    }

    /// What other profiles make of a policy, where it is something else.
    fn other_profiles(&self, id: PolicyId, object: &Object) -> Vec<v1::OtherOutcome> {
        let here = (Some(self.part.resolution.outcome(id)), self.part.resolution.tally(id));
        let others = self.scene.others_of(self.part).filter_map(|other| {
            let resolution = other.part.resolution;
            let policy = resolution.policy_of(object.id);
            let outcome = policy.map(|p| resolution.outcome(p));
            let tally = policy.map(|p| resolution.tally(p)).unwrap_or_default();
            ((outcome, tally) != here).then(|| v1::OtherOutcome {
                profile: other.part.profile,
                outcome: outcome.map(Outcome::word),
                counts: tally.into(),
            })
        });
        others.collect()
    }

    fn why(&self, id: PolicyId, kind: KindId, outcome: Outcome) -> Vec<String> {
        let rejections = self.part.resolution.rejections_of(id);
        let mut why: Vec<String> = rejections
            .map(|r| format!("reference {} rejected: {}", r.reference + 1, r.reason.sentence))
            .collect();
        let name = self.part.policy_name(self.scene, id);
        why.extend(self.losers.get(&(kind, name)).into_iter().flatten().cloned());
        if outcome == Outcome::Inert && self.part.resolution.tally(id).paths() == 0 {
            why.push("no path passes through its targets".to_owned());
        }
        why
    }
}

/// The strategy of each policy that is on a ladder.
fn strategies(part: &ScenePart<'_>) -> BTreeMap<PolicyId, &'static str> {
    let mut found = BTreeMap::new();
    let steps = (0..).map(StepId).map_while(|id| part.resolution.ladders.get_step(id));
    for step in steps {
        found.entry(step.policy).or_insert_with(|| part.words.strategy_name(step.mode));
    }
    found
}

/// Why each policy is not in force where it is not, in one pass over the distinct ladders.
fn losers(scene: &Scene<'_>, part: &ScenePart<'_>) -> Losers {
    let mut found = Losers::new();
    let ladders = u32::try_from(part.resolution.ladders.len()).unwrap_or(u32::MAX);
    for ladder in (0..ladders).map(LadderId) {
        let Some(effective) = part.resolution.effective(ladder) else { continue };
        let steps = part.resolution.ladders.steps(ladder);
        // All policies of a ladder are of one kind.
        let policy = steps.first().and_then(|s| part.policy_of(*s));
        let Some(kind) = policy.and_then(|p| part.resolution.policy(p)).map(|p| p.kind) else {
            continue;
        };
        let Sorted { shadowed, masked, removed, skipped } =
            Losses { scene, part, effective }.sorted(&steps);
        for (step, reason) in effective.poison() {
            let name = part.step_name(scene, *step);
            let sentence = format!("broken: {}", reason.sentence);
            found.entry((kind, name)).or_default().insert(sentence);
        }
        let lists = [
            ("shadowed", shadowed),
            ("masked", masked),
            ("removed", removed),
            ("skipped", skipped),
        ];
        for (word, list) in lists {
            for lost in list {
                let by = match lost.by.as_slice() {
                    [] => String::new(),
                    by => format!(" by {}", by.join(", ")),
                };
                let sentence = format!("{word}{by}: {}", lost.because);
                found.entry((kind, lost.policy)).or_default().insert(sentence);
            }
        }
    }
    found
}
