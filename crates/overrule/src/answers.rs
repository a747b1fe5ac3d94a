// SPDX-License-Identifier: Apache-2.0
//! In: the stages before resolving. Out: one answer per family and profile that is wanted. Not here: any rule; each
//! family has its own crate.

use std::sync::{Arc, LazyLock};

use overrule_engine::{PathId, Resolution};
use overrule_family::{
    Access, AnyExtra, AnyFamily, AnyPolicies, Before, Family, Fit, ReadWorld,
    ResolveOptions as FamilyOptions,
};
use overrule_gateway::codes_policy::BAD_REQUIREMENT;
use overrule_gateway::requirements::{Missing, report};
use overrule_gateway::topology::{GatewayTopology, HttpRequest};
use overrule_model::{ObjectId, Snapshot, TargetName};
use overrule_source::{Diagnostic, Documents};
use overrule_view::ScenePart;

use crate::{Base, Options, families};

/// A profile to resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Its name.
    pub(crate) profile: &'static str,
    /// Whether its answer is shown, or only compared with.
    pub(crate) shown: bool,
}

impl Wanted {
    /// The profiles of a family to resolve, the one to show first; the others only if they are compared with.
    fn of(family: &'static dyn AnyFamily, options: &Options) -> impl Iterator<Item = Self> + use<> {
        let chosen = family.chosen(&options.profiles);
        let others = family.profiles().iter().copied().filter(move |p| *p != chosen);
        let others = others.take(if options.compare { usize::MAX } else { 0 });
        let first = Self { profile: chosen, shown: true };
        std::iter::once(first).chain(others.map(|profile| Self { profile, shown: false }))
    }
}

/// The answer of one family under one profile.
#[derive(Debug)]
pub struct Answered {
    /// The family.
    pub family: &'static dyn AnyFamily,
    /// Its rule set.
    pub profile: &'static str,
    /// The answer.
    pub resolution: Resolution,
    /// Whether it is the answer; otherwise it is only there for comparison.
    pub shown: bool,
    /// Requirements checked against it, by number, with the paths on which they are not met.
    pub missing: Vec<(usize, Vec<Missing>)>,
    extra: Arc<dyn AnyExtra>,
}

impl Answered {
    /// The same answer with another resolution, and with what else of it changed.
    pub(crate) fn with(&self, resolution: Resolution, extra: Option<Arc<dyn AnyExtra>>) -> Self {
        let Self { family, profile, shown, .. } = *self;
        let extra = extra.unwrap_or_else(|| Arc::clone(&self.extra));
        Self { family, profile, resolution, shown, missing: Vec::new(), extra }
    }

    /// What its family goes on from.
    pub(crate) fn before(&self) -> Before<'_> {
        let Self { profile, shown, resolution, extra, .. } = self;
        Before { profile, shown: *shown, resolution, extra: &**extra }
    }

    /// What only answers of one family have; none if this is an answer of another.
    pub fn extra<F: Family>(&self) -> Option<&F::Extra> {
        self.extra.typed()
    }

    /// Targets whose paths are left out, because they equal those of another target.
    pub fn alike(&self) -> usize {
        self.extra.alike()
    }

    /// Whether requests reach some rules by other matches than they have written.
    pub fn redirects(&self) -> bool {
        self.extra.redirects()
    }

    /// The matches by which requests come to the end of a path, where these are not what its rule has written.
    pub fn matches(&self, path: PathId) -> Option<Vec<serde_json::Value>> {
        self.extra.matches(path)
    }

    /// What else is settled at a path, by the name that tests use.
    pub fn fact(&self, path: PathId, name: &str) -> Option<String> {
        self.extra.fact(path, name)
    }

    /// How a request meets a path of this answer.
    pub fn fit(&self, path: PathId, request: &HttpRequest) -> Fit {
        self.extra.fit(path, request)
    }

    /// Who may call whom, if the family says so.
    pub(crate) fn access<'a>(&'a self, known: ReadWorld<'a>) -> Option<Box<dyn Access<'a> + 'a>> {
        self.family.access(known, self.profile, &self.resolution, &*self.extra)
    }

    /// What views read.
    pub(crate) fn part<'a>(&'a self, topology: &'a GatewayTopology) -> ScenePart<'a> {
        ScenePart {
            family: self.family.name(),
            profile: self.profile,
            shipped: self.family.is_shipped(self.profile),
            topology: &topology.nodes,
            resolution: &self.resolution,
            words: self.family,
        }
    }
}

/// For an analysis that has no answer at all.
pub(crate) fn nothing() -> &'static Resolution {
    static NOTHING: LazyLock<Resolution> = LazyLock::new(Resolution::default);
    &NOTHING
}

/// What every family resolves from.
pub(crate) struct Resolving<'a> {
    pub(crate) documents: &'a Documents,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) base: &'a Base,
    /// By family.
    pub(crate) policies: &'a [AnyPolicies],
    /// Kinds to resolve even if the input has no policy of them: in the question, or required.
    pub(crate) include_kinds: &'a [String],
    pub(crate) options: &'a Options,
}

impl Resolving<'_> {
    /// Every family under every profile wanted.
    pub(crate) fn resolve(&self, diagnostics: &mut Vec<Diagnostic>) -> Vec<Answered> {
        let Self { documents, snapshot, base, .. } = *self;
        let mut options = FamilyOptions {
            include: self.include_kinds.to_vec(),
            silent: false,
            focus: self.options.focus.iter().flat_map(|name| self.named(name)).collect(),
            compare: self.options.compare,
        };
        let mut answers = Vec::new();
        let read = base.grounds.iter().zip(self.policies);
        for (family, (ground, policies)) in families().iter().zip(read) {
            let topology = &base.topology;
            let known = ReadWorld { documents, snapshot, topology, ground: &**ground, policies };
            // A family without policies says nothing, unless one of its kinds is asked for.
            if !family.concerns(known, self.include_kinds) {
                continue;
            }
            for Wanted { profile, shown } in Wanted::of(*family, self.options) {
                // Findings come from the answers that are shown.
                options.silent = !shown;
                let found = family.resolve(known, profile, &options);
                if shown {
                    diagnostics.extend(found.diagnostics);
                }
                let (resolution, extra) = (found.resolution, found.extra);
                let missing = Vec::new();
                answers.push(Answered {
                    family: *family,
                    profile,
                    resolution,
                    shown,
                    missing,
                    extra,
                });
            }
        }
        self.requirements(&mut answers, diagnostics);
        answers
    }

    /// Every requirement is checked against the answers that are shown; one about a kind that none of them has is of no
    /// use.
    fn requirements(&self, answers: &mut [Answered], diagnostics: &mut Vec<Diagnostic>) {
        let Self { documents, snapshot, base: Base { topology, requirements, .. }, .. } = *self;
        let mut known = vec![false; requirements.len()];
        for answer in answers.iter_mut().filter(|a| a.shown) {
            let resolution = &answer.resolution;
            answer.missing =
                report(documents, snapshot, topology, resolution, requirements, diagnostics);
            for (index, _) in &answer.missing {
                known.iter_mut().skip(*index).take(1).for_each(|k| *k = true);
            }
        }
        let unknown = requirements.iter().zip(known).filter(|(_, known)| !known);
        diagnostics.extend(unknown.map(|(r, _)| {
            let message =
                format!("no policy kind `{}` is known; the requirement is not checked", r.kind);
            let d = Diagnostic::new(&BAD_REQUIREMENT, message).at(r.kind_at);
            d.field("spec.policy.kind")
                .help("check the spelling, or describe the kind with --kinds")
        }));
    }

    /// The objects that a typed name may refer to.
    fn named(&self, name: &str) -> Vec<ObjectId> {
        if let Some((object, _)) = self.base.identified(name) {
            return vec![object];
        }
        let name: Result<TargetName, _> = name.parse();
        let found = name.map(|name| self.snapshot.resolve(&name)).unwrap_or_default();
        found.into_iter().map(|object| object.id).collect()
    }
}
