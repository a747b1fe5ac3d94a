// SPDX-License-Identifier: Apache-2.0
//! In: the stages before resolving. Out: one answer per family and profile that is wanted. Not here: any rule; each
//! family has its own crate.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use overrule_engine::{PathId, Resolution};
use overrule_gateway::codes_policy::BAD_REQUIREMENT;
use overrule_gateway::kinds::{Kinds, Strategy};
use overrule_gateway::policy::Policy;
use overrule_gateway::requirements::{Missing, Requirement, report};
use overrule_gateway::resolve::{FAMILY, PROFILE};
use overrule_gateway::topology::GatewayTopology;
use overrule_kgateway::delegation::Match;
use overrule_mesh::topology::MeshTopology;
use overrule_model::{ObjectId, Snapshot, TargetName};
use overrule_source::{Diagnostic, Documents};
use overrule_view::Part;

use crate::Options;

/// A family of policies and the rule sets it can be resolved by.
#[derive(Debug, Clone, Copy)]
pub struct FamilyInfo {
    /// Its name.
    pub name: &'static str,
    /// Its profiles: the default first, what is shipped today last.
    pub profiles: &'static [&'static str],
    /// Policy kinds it knows without being told; those that manifests describe come on top.
    pub kinds: fn() -> Vec<&'static str>,
}

/// The one list of families and profiles; everything that names or chooses them reads it.
static FAMILIES: &[FamilyInfo] = &[GATEWAY, KUADRANT, KGATEWAY, KUMA];

const GATEWAY: FamilyInfo = FamilyInfo { name: FAMILY, profiles: &[PROFILE], kinds: Vec::new };
const KUADRANT: FamilyInfo = FamilyInfo {
    name: overrule_kuadrant::FAMILY,
    profiles: overrule_kuadrant::Profile::NAMES,
    kinds: || overrule_kuadrant::kinds::ALL.iter().map(|k| k.kind).collect(),
};

const KGATEWAY: FamilyInfo = FamilyInfo {
    name: overrule_kgateway::FAMILY,
    profiles: overrule_kgateway::Profile::NAMES,
    kinds: || overrule_kgateway::kinds::ALL.iter().map(|k| k.kind).collect(),
};

const KUMA: FamilyInfo = FamilyInfo {
    name: overrule_mesh::FAMILY,
    profiles: overrule_mesh::Profile::NAMES,
    kinds: || overrule_mesh::kinds::policies().map(|(k, _)| k.name).collect(),
};

/// Every family this version resolves.
pub fn families() -> &'static [FamilyInfo] {
    FAMILIES
}

impl FamilyInfo {
    /// The profile that these choices leave: the one named for this family, else the default.
    pub fn chosen(&self, choices: &BTreeMap<String, String>) -> &'static str {
        let named = choices.get(self.name);
        let named = named.and_then(|name| self.profiles.iter().find(|p| **p == name.as_str()));
        named.or(self.profiles.first()).copied().unwrap_or("")
    }

    /// Whether a profile stands for what is shipped today, while others stand for what is documented.
    pub fn is_shipped(&self, profile: &str) -> bool {
        self.profiles.len() > 1 && self.profiles.last() == Some(&profile)
    }

    /// The profiles to resolve, the one to show first; the others only if they are compared with.
    pub(crate) fn wanted(&self, options: &Options) -> impl Iterator<Item = Wanted> + use<> {
        let chosen = self.chosen(&options.profiles);
        let others = self.profiles.iter().copied().filter(move |p| *p != chosen);
        let others = others.filter({
            let compare = options.compare;
            move |_| compare
        });
        let first = Wanted { profile: chosen, shown: true };
        std::iter::once(first).chain(others.map(|profile| Wanted { profile, shown: false }))
    }
}

/// A profile to resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Its name.
    pub(crate) profile: &'static str,
    /// Whether its answer is shown, or only compared with.
    pub(crate) shown: bool,
}

/// What one family says under one profile.
#[derive(Debug)]
pub struct Answered {
    /// The family.
    pub family: &'static str,
    /// Its rule set.
    pub profile: &'static str,
    /// The answer.
    pub resolution: Resolution,
    /// Whether it is an answer of its own; if not, it is there to be compared with.
    pub shown: bool,
    /// The family's word for the `mode` of a step.
    pub strategy_name: fn(u16) -> &'static str,
    /// What a value of a key of its ranks stands for, in words.
    pub key_value: fn(&str, i64) -> Option<&'static str>,
    /// Requirements checked against it, by number, with the paths on which they are not met.
    pub missing: Vec<(usize, Vec<Missing>)>,
    /// JSON pointers, in a block, at which the family's rules stand; see [`Part::rule_patterns`].
    pub rule_patterns: &'static [&'static str],
    /// Targets whose paths are left out, because they have the same as another target that is there.
    pub alike: usize,
    /// What proxies of Kuma's meshes get, by mesh and place.
    pub proxies: Vec<Vec<Arc<overrule_mesh::resolve::ProxyRules>>>,
    /// Matches of rules that requests reach by others than they have written: those below a delegation.
    pub matches: BTreeMap<PathId, Arc<[Match]>>,
}

impl Answered {
    /// What the family `gateway` says.
    pub(crate) fn gateway(wanted: Wanted, resolution: Resolution) -> Self {
        Self {
            family: GATEWAY.name,
            profile: wanted.profile,
            resolution,
            shown: wanted.shown,
            strategy_name: |code| Strategy::from_code(code).name(),
            key_value: |_, _| None,
            missing: Vec::new(),
            rule_patterns: &[],
            alike: 0,
            proxies: Vec::new(),
            matches: BTreeMap::new(),
        }
    }

    /// What views read.
    pub(crate) fn part<'a>(&'a self, topology: &'a GatewayTopology) -> Part<'a> {
        let info = FAMILIES.iter().find(|f| f.name == self.family);
        Part {
            family: self.family,
            profile: self.profile,
            shipped: info.is_some_and(|f| f.is_shipped(self.profile)),
            topology: &topology.nodes,
            resolution: &self.resolution,
            strategy_name: self.strategy_name,
            key_value: self.key_value,
            rule_patterns: self.rule_patterns,
        }
    }
}

/// For an analysis that has no answer at all.
pub(crate) fn nothing() -> &'static Resolution {
    static NOTHING: LazyLock<Resolution> = LazyLock::new(Resolution::default);
    &NOTHING
}

/// What every family resolves from.
pub(crate) struct Ground<'a> {
    pub(crate) documents: &'a Documents,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) topology: &'a GatewayTopology,
    pub(crate) kinds: &'a Kinds,
    pub(crate) policies: &'a [Policy],
    pub(crate) kuadrant: &'a overrule_kuadrant::Policies,
    pub(crate) kgateway: &'a overrule_kgateway::Policies,
    pub(crate) kuma: &'a overrule_mesh::Resources,
    pub(crate) mesh: &'a MeshTopology,
    pub(crate) requirements: &'a [Requirement],
    /// Kinds to resolve although no policy of them is there: asked for, or required.
    pub(crate) include_kinds: &'a [String],
    pub(crate) options: &'a Options,
    /// Whether nobody reads findings.
    pub(crate) silent: bool,
}

impl Ground<'_> {
    /// Every family under every profile wanted, `gateway` first.
    pub(crate) fn resolve(&self, diagnostics: &mut Vec<Diagnostic>) -> Vec<Answered> {
        let mut answers = Vec::new();
        for wanted in GATEWAY.wanted(self.options) {
            self.gateway(wanted, &mut answers, diagnostics);
        }
        // A family without policies says nothing, unless one of its kinds is asked for.
        if overrule_kuadrant::concerns(self.kuadrant, self.include_kinds) {
            for wanted in KUADRANT.wanted(self.options) {
                self.kuadrant(wanted, &mut answers, diagnostics);
            }
        }
        let Self { kgateway, snapshot, topology, include_kinds, .. } = *self;
        if overrule_kgateway::concerns(kgateway, snapshot, topology, include_kinds) {
            for wanted in KGATEWAY.wanted(self.options) {
                self.kgateway(wanted, &mut answers, diagnostics);
            }
        }
        if overrule_mesh::concerns(self.kuma, self.include_kinds) {
            for wanted in KUMA.wanted(self.options) {
                self.kuma(wanted, &mut answers, diagnostics);
            }
        }
        self.requirements(&mut answers, diagnostics);
        answers
    }

    /// Every requirement is checked against the answers that are shown; one about a kind that none of them has is of no
    /// use.
    fn requirements(&self, answers: &mut [Answered], diagnostics: &mut Vec<Diagnostic>) {
        let mut known = vec![false; self.requirements.len()];
        for answer in answers.iter_mut().filter(|a| a.shown) {
            let Self { documents, snapshot, topology, requirements, .. } = *self;
            let resolution = &answer.resolution;
            answer.missing =
                report(documents, snapshot, topology, resolution, requirements, diagnostics);
            for (index, _) in &answer.missing {
                known.iter_mut().skip(*index).take(1).for_each(|k| *k = true);
            }
        }
        let unknown = self.requirements.iter().zip(known).filter(|(_, known)| !known);
        diagnostics.extend(unknown.map(|(r, _)| {
            let message =
                format!("no policy kind `{}` is known; the requirement is not checked", r.kind);
            let d = Diagnostic::new(&BAD_REQUIREMENT, message).at(r.kind_at);
            d.field("spec.policy.kind")
                .help("check the spelling, or describe the kind with --kinds")
        }));
    }

    /// Findings come from the answers that are shown.
    fn is_silent(&self, wanted: Wanted) -> bool {
        self.silent || !wanted.shown
    }

    fn gateway(
        &self,
        wanted: Wanted,
        answers: &mut Vec<Answered>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let Self { documents, snapshot, topology, kinds, policies, .. } = *self;
        let (include, silent) = (self.include_kinds.to_vec(), self.is_silent(wanted));
        let options = overrule_gateway::Options { include, silent };
        let resolved =
            overrule_gateway::resolve(documents, snapshot, topology, kinds, policies, &options);
        if wanted.shown {
            diagnostics.extend(resolved.diagnostics);
        }
        answers.push(Answered::gateway(wanted, resolved.resolution));
    }

    fn kuadrant(
        &self,
        wanted: Wanted,
        answers: &mut Vec<Answered>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let world = overrule_kuadrant::World {
            documents: self.documents,
            snapshot: self.snapshot,
            topology: self.topology,
            policies: self.kuadrant,
            profile: overrule_kuadrant::Profile::from_name(wanted.profile).unwrap_or_default(),
        };
        let (include, silent) = (self.include_kinds.to_vec(), self.is_silent(wanted));
        let options = overrule_kuadrant::Options { include, silent };
        let resolved = overrule_kuadrant::resolve(world, &options);
        if wanted.shown {
            diagnostics.extend(resolved.diagnostics);
        }
        answers.push(Answered {
            family: KUADRANT.name,
            profile: wanted.profile,
            resolution: resolved.resolution,
            shown: wanted.shown,
            strategy_name: overrule_kuadrant::strategy_name,
            key_value: |_, _| None,
            missing: Vec::new(),
            rule_patterns: overrule_kuadrant::kinds::RULE_PATTERNS,
            alike: 0,
            proxies: Vec::new(),
            matches: BTreeMap::new(),
        });
    }

    fn kgateway(
        &self,
        wanted: Wanted,
        answers: &mut Vec<Answered>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let world = overrule_kgateway::World {
            documents: self.documents,
            snapshot: self.snapshot,
            topology: self.topology,
            policies: self.kgateway,
            profile: overrule_kgateway::Profile::from_name(wanted.profile).unwrap_or_default(),
            settings: &self.options.kgateway,
        };
        let (include, silent) = (self.include_kinds.to_vec(), self.is_silent(wanted));
        let options = overrule_kgateway::Options { include, silent };
        let resolved = overrule_kgateway::resolve(world, &options);
        if wanted.shown {
            diagnostics.extend(resolved.diagnostics);
        }
        answers.push(Answered {
            family: KGATEWAY.name,
            profile: wanted.profile,
            resolution: resolved.resolution,
            shown: wanted.shown,
            strategy_name: overrule_kgateway::strategy_name,
            key_value: |_, _| None,
            missing: Vec::new(),
            rule_patterns: &[],
            alike: 0,
            proxies: Vec::new(),
            matches: resolved.matches,
        });
    }

    fn kuma(&self, wanted: Wanted, answers: &mut Vec<Answered>, diagnostics: &mut Vec<Diagnostic>) {
        let Self { documents, snapshot, kuma, mesh, .. } = *self;
        let profile = overrule_mesh::Profile::from_name(wanted.profile, &kuma.settings);
        let world = overrule_mesh::World {
            documents,
            snapshot,
            resources: kuma,
            topology: mesh,
            profile: &profile,
        };
        let focus = self.options.focus.iter();
        let focus = focus.flat_map(|name| self.named(name)).collect();
        let include = self.include_kinds.to_vec();
        let named = |name: &&str| overrule_mesh::Profile::from_name(name, &kuma.settings);
        let beside = match self.options.compare {
            true => KUMA.profiles.iter().map(named).collect(),
            false => Vec::new(),
        };
        let options = overrule_mesh::Options { include, focus, beside, ..Default::default() };
        let resolved = overrule_mesh::resolve(world, &options);
        if !self.is_silent(wanted) {
            diagnostics.extend(overrule_mesh::report(world, &resolved));
        }
        answers.push(Answered {
            family: KUMA.name,
            profile: wanted.profile,
            resolution: resolved.resolution,
            shown: wanted.shown,
            strategy_name: overrule_mesh::strategy_name,
            key_value: overrule_mesh::key_value,
            missing: Vec::new(),
            rule_patterns: &[],
            alike: resolved.alike,
            proxies: resolved.proxies,
            matches: BTreeMap::new(),
        });
    }

    /// The objects that a name somebody typed may mean.
    fn named(&self, name: &str) -> Vec<ObjectId> {
        if let Some((object, _)) = crate::mesh::find(self.kuma, name) {
            return vec![object];
        }
        let name: Result<TargetName, _> = name.parse();
        let found = name.map(|name| self.snapshot.resolve(&name)).unwrap_or_default();
        found.into_iter().map(|object| object.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{FamilyInfo, Wanted};
    use crate::Options;

    const TWO: FamilyInfo =
        FamilyInfo { name: "two", profiles: &["paper", "real"], kinds: Vec::new };

    fn wanted(choice: Option<&str>, compare: bool) -> Vec<Wanted> {
        let profiles = choice.map(|c| ("two".to_owned(), c.to_owned())).into_iter().collect();
        TWO.wanted(&Options { profiles, compare, ..Options::default() }).collect()
    }

    #[test]
    fn the_default_alone_unless_another_is_chosen_or_compared_with() {
        let (paper, real) = ("paper", "real");
        let shown = |profile| Wanted { profile, shown: true };
        let beside = |profile| Wanted { profile, shown: false };
        assert_eq!(wanted(None, false), [shown(paper)]);
        assert_eq!(wanted(Some(real), false), [shown(real)]);
        assert_eq!(wanted(None, true), [shown(paper), beside(real)]);
        assert_eq!(wanted(Some(real), true), [shown(real), beside(paper)]);
        assert_eq!(wanted(Some("unknown"), false), [shown(paper)]);
    }

    #[test]
    fn only_the_last_of_several_profiles_is_the_shipped_one() {
        assert!(TWO.is_shipped("real") && !TWO.is_shipped("paper"));
        let one = FamilyInfo { name: "one", profiles: &["only"], kinds: Vec::new };
        assert!(!one.is_shipped("only"));
    }
}
