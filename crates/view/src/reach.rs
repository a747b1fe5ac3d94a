// SPDX-License-Identifier: Apache-2.0
//! In: a policy, or one field of it. Out: where it is in force, partly, or shadowed by whom, as data.
//! Not here: text (`reach_text.rs`), deciding anything again.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{KindId, LadderId, Outcome, PolicyId, Reason, StepId, Tally};
use overrule_source::Span;

use crate::focus::{Meant, is_block, known, meant, node_at, outcome_at, suggestions};
use crate::losses::Losses;
use crate::words::and;
use crate::written::is_content;
use crate::{Scene, ScenePart, assumed, escape, field, rules, v1, words};

/// Where a policy is in force; with `rule` (a dotted path or a JSON pointer), where that field of it is.
pub fn reach(
    scene: &Scene<'_>,
    part: &ScenePart<'_>,
    policy: PolicyId,
    rule: Option<&str>,
) -> v1::Reach {
    let entry = part.resolution.policy(policy);
    let kind = entry.map_or(KindId(u16::MAX), |p| p.kind);
    let asker = Asker { scene, part, policy, kind };
    let asked = rule.is_some();
    let rule = rule.map(|asked| asker.rule(asked));
    let (counts, targets) = match &rule {
        Some(rule) if !rule.exists => Default::default(),
        rule => asker.targets(rule.as_ref()),
    };
    let unknown = rule.as_ref().is_some_and(|r| !r.exists);
    let result = part.resolution.kind(kind);
    let text = |sym| scene.snapshot.text(sym).to_owned();
    let landed = part.resolution.attachments_of(policy).next().is_some();
    let outcome = if landed { counts.outcome() } else { Outcome::Rejected };
    let mut reach = v1::Reach {
        api_version: v1::API_VERSION,
        kind: "Reach",
        policy: part.policy_name(scene, policy),
        policy_kind: result.map(|k| text(k.kind)).unwrap_or_default(),
        policy_group: result.map(|k| text(k.group)).unwrap_or_default(),
        family: result.map_or("", |k| k.family),
        profile: result.map_or("", |k| k.profile),
        at: entry.and_then(|p| scene.place_of_object(p.object)),
        rule: rule.as_ref().map(|r| r.pointer.clone()),
        block: rule.as_ref().and_then(|r| r.block.clone()),
        suggestions: rule.map(|r| r.suggestions).unwrap_or_default(),
        outcome: outcome.word(),
        verdict: String::new(),
        assumptions: assumed::told(
            scene,
            assumed::by_policy(scene, part).remove(&policy).iter().flatten(),
        ),
        references: asker.references(),
        counts: counts.into(),
        targets,
        rules: if asked { Vec::new() } else { rules(scene, part, policy) },
    };
    reach.verdict = verdict(&reach, landed, unknown);
    reach
}

struct Asker<'a> {
    scene: &'a Scene<'a>,
    part: &'a ScenePart<'a>,
    policy: PolicyId,
    kind: KindId,
}

/// The field asked about.
struct Rule {
    pointer: String,
    /// The block it was asked for in, if one was named.
    block: Option<String>,
    /// Whether the policy has it.
    exists: bool,
    /// Near ones, if it does not.
    suggestions: Vec<String>,
}

/// What became of the policy on one ladder.
#[derive(Clone)]
struct Here {
    outcome: Outcome,
    by: Vec<String>,
    reasons: Vec<Reason>,
}

impl<'a> Asker<'a> {
    /// Ladders with the policy on it, each once, in order.
    fn ladders(&self) -> BTreeSet<LadderId> {
        let contexts = self.part.resolution.contexts(self.kind).map(|(_, ladder)| ladder);
        contexts.filter(|l| self.outcome(*l).is_some()).collect()
    }

    fn outcome(&self, ladder: LadderId) -> Option<Outcome> {
        let outcomes = self.part.resolution.outcomes(ladder);
        outcomes.iter().find(|(p, _)| *p == self.policy).map(|(_, outcome)| *outcome)
    }

    fn losses(&self, ladder: LadderId) -> Option<Losses<'a>> {
        let effective = self.part.resolution.effective(ladder)?;
        Some(Losses { scene: self.scene, part: self.part, effective })
    }

    /// The policy's own steps on a ladder.
    fn steps(&self, ladder: LadderId) -> Vec<StepId> {
        let steps = self.part.resolution.ladders.steps(ladder);
        steps.into_iter().filter(|s| self.part.policy_of(*s) == Some(self.policy)).collect()
    }

    fn rule(&self, asked: &str) -> Rule {
        let mut fields = BTreeSet::new();
        for ladder in self.ladders() {
            let Some(losses) = self.losses(ladder) else { continue };
            let steps = self.steps(ladder);
            if let Some(Meant { pointer, block }) = meant(&losses, &steps, asked) {
                let found = Rule { pointer, block, exists: true, suggestions: Vec::new() };
                if steps.iter().any(|s| self.has(&losses, *s, &found)) {
                    return found;
                }
            }
            let own = |p: &String| steps.iter().any(|s| node_at(&losses, *s, p).is_some());
            fields.extend(known(&losses).into_iter().filter(own));
        }
        if let Some(block) = self.entry_written(asked) {
            let pointer = String::new();
            return Rule { pointer, block: Some(block), exists: true, suggestions: Vec::new() };
        }
        let pointer = field::pointer(field::segments(asked).iter().map(String::as_str));
        Rule { pointer, block: None, exists: false, suggestions: suggestions(&fields, asked) }
    }

    /// The entry of a list that is asked about, if the policy has it although it is on no ladder: `to[2]`.
    fn entry_written(&self, asked: &str) -> Option<String> {
        let segments = field::segments(asked);
        let mut left = segments.iter().map(String::as_str).skip_while(|s| *s == "spec");
        let (list, index) = (left.next()?, left.next()?);
        let object = self.part.resolution.policy(self.policy)?.object;
        let root = self.scene.documents.view(self.scene.snapshot.get(object)?.root);
        let entries = root.get("spec")?.get(list)?;
        entries.items().nth(index.parse().ok()?)?;
        Some(format!("{list}[{index}]"))
    }

    /// Whether a step has a field: it wrote it, or implies what is in force there.
    fn has(&self, losses: &Losses<'_>, step: StepId, rule: &Rule) -> bool {
        let Some(found) = self.part.resolution.ladders.get_step(step) else { return false };
        if rule.block.as_ref().is_some_and(|b| !is_block(found, b)) {
            return false;
        }
        let own = field::pointer_segments(&rule.pointer).next();
        let content = own.is_none_or(|key| is_content(found.block, &key));
        let written = content && node_at(losses, step, &rule.pointer).is_some();
        written || losses.in_force(&rule.pointer).contains(&step)
    }

    fn targets(&self, rule: Option<&Rule>) -> (Tally, Vec<v1::ReachTarget>) {
        let resolution = self.part.resolution;
        let mut here: BTreeMap<LadderId, Option<Here>> = BTreeMap::new();
        let mut by_node: BTreeMap<_, (Tally, Vec<v1::ReachPath>)> = BTreeMap::new();
        let mut all = Tally::default();
        for (path, ladder) in resolution.contexts(self.kind) {
            let known = here.entry(ladder).or_insert_with(|| self.here(ladder, rule));
            let Some(found) = known else { continue };
            let Some(node) = resolution.paths.node(path) else { continue };
            let (tally, paths) = by_node.entry(node).or_default();
            tally.add(found.outcome, 1);
            all.add(found.outcome, 1);
            paths.push(v1::ReachPath {
                path: self.part.path_elements(self.scene, path),
                outcome: found.outcome.word(),
                by: found.by.clone(),
                reasons: found.reasons.iter().map(|r| r.id).collect(),
                because: found.reasons.iter().map(|r| r.sentence).collect(),
            });
        }
        let target = |(node, (tally, paths))| v1::ReachTarget {
            target: self.part.target_name(self.scene, node),
            counts: Tally::into(tally),
            paths,
        };
        (all, by_node.into_iter().map(target).collect())
    }

    /// What became of the policy on a ladder; none if it is not on it.
    fn here(&self, ladder: LadderId, rule: Option<&Rule>) -> Option<Here> {
        let outcome = self.outcome(ladder)?;
        let Some(losses) = self.losses(ladder) else {
            return Some(Here { outcome, by: Vec::new(), reasons: Vec::new() });
        };
        let mut by = BTreeSet::new();
        let mut reasons: Vec<Reason> = Vec::new();
        let mut tally = Tally::default();
        let pointer = rule.map_or("", |r| r.pointer.as_str());
        let steps: Vec<StepId> = match rule {
            None => self.steps(ladder),
            Some(rule) => {
                self.steps(ladder).into_iter().filter(|s| self.has(&losses, *s, rule)).collect()
            }
        };
        if steps.is_empty() && rule.is_some() {
            return None;
        }
        for step in steps {
            let Some(result) = outcome_at(&losses, step, pointer) else { continue };
            tally.add(result.outcome, 1);
            by.extend(losses.names(&result.by));
            reasons.extend(result.reasons);
        }
        reasons.sort_by_key(|r| r.id);
        reasons.dedup();
        let outcome = if rule.is_some() { tally.outcome() } else { outcome };
        Some(Here { outcome, by: by.into_iter().collect(), reasons })
    }

    fn references(&self) -> Vec<v1::ReachReference> {
        let mut found: BTreeMap<u32, (Span, Vec<String>, Option<Reason>)> = BTreeMap::new();
        for attachment in self.part.resolution.attachments_of(self.policy) {
            let name = self.part.target_name(self.scene, attachment.node);
            let entry = found.entry(attachment.reference);
            entry.or_insert_with(|| (attachment.at, Vec::new(), None)).1.push(name);
        }
        for rejection in self.part.resolution.rejections_of(self.policy) {
            let entry = found.entry(rejection.reference);
            entry.or_insert_with(|| (rejection.at, Vec::new(), None)).2 = Some(rejection.reason);
        }
        let reference =
            |(reference, (at, landed, reason)): (_, (_, _, Option<Reason>))| v1::ReachReference {
                reference,
                at: Some(self.scene.place(at)),
                landed,
                reason: reason.map(|r| r.id),
                because: reason.map(|r| r.sentence),
            };
        found.into_iter().map(reference).collect()
    }
}

/// The answer in one sentence.
pub(crate) fn verdict(reach: &v1::Reach, landed: bool, unknown: bool) -> String {
    let name = format!("{} {}", reach.policy_kind, reach.policy);
    let field = reach.rule.as_deref().filter(|r| !r.is_empty()).map(field::name);
    let of_block = match &reach.block {
        Some(block) => format!("{block} of {name}"),
        None => name.clone(),
    };
    let who = match &field {
        Some(field) => format!("{field} of {of_block}"),
        None => of_block,
    };
    if !landed {
        let why: BTreeSet<&str> = reach.references.iter().filter_map(|r| r.because).collect();
        let why: Vec<&str> = why.into_iter().collect();
        return format!("{name} is {}: {}", words::outcome("rejected"), why.join("; "));
    }
    if let (Some(field), true) = (&field, unknown) {
        let near = match reach.suggestions.as_slice() {
            [] => String::new(),
            near => format!("; nearest: {}", near.join(", ")),
        };
        return format!("{name} has no field {field}{near}");
    }
    let counts = &reach.counts;
    if counts.paths == 0 && reach.block.is_some() {
        return format!("{who} has no effect: nothing it matches is on any path");
    }
    if counts.paths == 0 {
        return format!("{name} has no effect: no path passes through its targets");
    }
    let all = match counts.paths {
        1 => "the one path".to_owned(),
        2 => "both paths".to_owned(),
        n => format!("all {n} paths"),
    };
    match counts.words().as_slice() {
        [(_, "partly")] => format!("{who} is partly in force on {all} it reaches"),
        [(_, "inert")] => {
            let why: BTreeSet<&str> =
                reach.paths().flat_map(|p| p.because.iter().copied()).collect();
            let why = why.into_iter().map(|w| format!(": {w}")).collect::<String>();
            format!("{who} adds nothing on {all} it reaches{why}")
        }
        [(_, word)] => {
            format!("{who} is {} on {all} it reaches{}", words::outcome(word), by_whom(reach))
        }
        several => {
            let parts = several.iter().map(|(n, word)| match *word {
                "partly" => format!("partly in force on {n}"),
                word => format!("{} on {n}", words::outcome(word)),
            });
            let parts: Vec<String> = parts.collect();
            format!("{who} is {} of the {} paths it reaches", and(&parts), counts.paths)
        }
    }
}

/// Who stands in its place, if it is the same everywhere or few.
fn by_whom(reach: &v1::Reach) -> String {
    let by: BTreeSet<&str> = reach.paths().flat_map(|p| &p.by).map(String::as_str).collect();
    let by: Vec<&str> = by.into_iter().collect();
    match by.len() {
        0 => String::new(),
        1..=4 => format!(", by {}", and(&by)),
        n => format!(", by {n} policies"),
    }
}

impl v1::Reach {
    fn paths(&self) -> impl Iterator<Item = &v1::ReachPath> {
        self.targets.iter().flat_map(|t| &t.paths)
    }

    /// The verdict, escaped for a terminal.
    pub(crate) fn verdict_line(&self) -> String {
        escape::terminal(&self.verdict).into_owned()
    }
}
