// SPDX-License-Identifier: Apache-2.0
//! In: bytes. Out: their whole analysis. Not here: files, printing.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};

use overrule_engine::{LadderId, Resolution, Unresolved};
use overrule_family::{AnyGround, AnyPolicies, Derived, Family, Reading};
use overrule_gateway::kinds::{self, Kinds};
use overrule_gateway::requirements::{self, Requirement};
use overrule_gateway::topology::{self, Assumptions, GatewayResources, GatewayTopology};
use overrule_gateway::{Gep713, KnownKinds};
use overrule_model::{GroupKind, Object, ObjectId, Parsed, Snapshot};
use overrule_source::{Diagnostic, Documents, Input, Passed, Read, SourceId};
use overrule_view::{Other, PlacedFindings, Scene, ScenePart};

use crate::answers::{Answered, Resolving, nothing};
use crate::concerns::concerns;
use crate::families::own_kinds;
use crate::finding_set::FindingSet;
use crate::judged::judge_variants;
use crate::options::{Assume, Options};
use crate::patch::Patch;
use crate::{derived, families, placeholders, worlds};

/// The progress of an analysis.
pub trait Stages: Sync {
    /// This many more bytes were read.
    fn read(&self, _bytes: usize) {}
}

impl Stages for () {}

/// The results of all stages. Immutable; views borrow it.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Texts and trees.
    pub documents: Documents,
    /// Resources.
    pub snapshot: Snapshot,
    pub(crate) base: Arc<Base>,
    /// Policies as written, by family.
    pub(crate) written: Vec<Written>,
    /// The answers: `gateway` first, then the other families; under each family the profile shown first.
    pub answers: Vec<Arc<Answered>>,
    /// Every finding of every stage, by place, none twice.
    pub diagnostics: FindingSet,
    /// Whether some findings were about values that are filled in later.
    pub(crate) has_placeholders: bool,
    /// What may differ from the previous analysis. A [`Workspace`](crate::live::Workspace) makes each
    /// analysis of the one before.
    pub touched: Touched,
}

/// The effective policies that may differ between an analysis and the one it was made of. All others are the same, on the
/// same paths, and come from the same policies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Touched {
    /// Any of them: everything was resolved again, and earlier ids are no longer valid.
    #[default]
    Everything,
    /// Those of these ladders, in order. A number before a ladder is the place of its answer in [`Analysis::answers`].
    Ladders(Vec<(usize, LadderId)>),
}

/// The policies of a family as written.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) policies: AnyPolicies,
    /// What was found while reading them.
    pub(crate) diagnostics: FindingSet,
}

impl Written {
    /// Other policies, of which these texts were read again.
    pub(crate) fn with(
        &self,
        policies: AnyPolicies,
        texts: &BTreeSet<SourceId>,
        found: Vec<Diagnostic>,
    ) -> Self {
        let mut diagnostics = self.diagnostics.clone();
        self.diagnostics.concerning(texts).iter().for_each(|d| diagnostics.remove(d));
        found.into_iter().for_each(|d| diagnostics.insert(d));
        Self { policies, diagnostics }
    }
}

/// What does not depend on policies.
#[derive(Debug, Default)]
pub struct Base {
    /// Gateway API topology, with the nodes of all families.
    pub topology: GatewayTopology,
    /// What each family read besides policies.
    pub(crate) grounds: Vec<Box<dyn AnyGround>>,
    /// Documents that are none of ours, and in which texts they are, beyond those that reading passed over.
    pub(crate) passed: Vec<(SourceId, Passed)>,
    /// Texts with other definitions of resources.
    pub(crate) variants: BTreeSet<SourceId>,
    /// Policies that must exist.
    pub requirements: Vec<Requirement>,
    /// What was found on the way here.
    pub(crate) diagnostics: FindingSet,
    /// Policies that no family resolves; found when somebody first asks.
    unresolved: OnceLock<Vec<Unresolved>>,
}

impl Deref for Analysis {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl Base {
    fn of(
        documents: &Documents,
        derived: Derived,
        options: &Options,
    ) -> (Snapshot, Arc<Self>, Vec<Object>) {
        let namespace = options.default_namespace();
        let mut parsed = overrule_model::parse_for(documents, concerns(), namespace);
        derived::note(documents, &mut parsed.snapshot, &derived.objects);
        parsed.diagnostics.extend(derived.diagnostics);
        let (variants, passed) =
            (std::mem::take(&mut parsed.variants), std::mem::take(&mut parsed.passed));
        let (snapshot, mut base) = Self::connected(documents, parsed, options);
        base.passed = passed;
        base.variants = variants.iter().map(|object| object.at.source).collect();
        let found = judge_variants(documents, &snapshot, &variants, options);
        found.into_iter().for_each(|d| base.diagnostics.insert(d));
        (snapshot, Arc::new(base), variants)
    }

    /// Everything that does not depend on policies.
    pub(crate) fn connected(
        documents: &Documents,
        parsed: Parsed,
        options: &Options,
    ) -> (Snapshot, Self) {
        let (mut snapshot, resources, mut base) = Self::unconnected(documents, parsed, options);
        let built = resources.connect(&snapshot);
        for found in built.diagnostics {
            base.forget_what_it_restates(&found);
            base.diagnostics.insert(found);
        }
        base.topology = built.topology;
        for ground in &mut base.grounds {
            ground.connect(documents, &mut snapshot, &mut base.topology.nodes);
        }
        (snapshot, base)
    }

    /// Removes what schemas say about a mistake of which a link between objects says more.
    fn forget_what_it_restates(&mut self, found: &Diagnostic) {
        let Some(at) = found.primary.as_ref().filter(|_| topology::restates(found)) else { return };
        let here = self.diagnostics.within(at.span).into_iter();
        let less: Vec<_> = here.filter(|d| topology::says_more(found, d)).cloned().collect();
        less.iter().for_each(|d| self.diagnostics.remove(d));
    }

    /// Everything that is read without asking how resources belong together. The topology is empty.
    pub(crate) fn unconnected(
        documents: &Documents,
        parsed: Parsed,
        options: &Options,
    ) -> (Snapshot, GatewayResources, Self) {
        let (mut snapshot, mut diagnostics) = (parsed.snapshot, parsed.diagnostics);
        assume(&mut snapshot, documents, options);
        diagnostics.extend(misplaced(documents, &snapshot, &options.kind_sources));
        let mut assumed = Assumptions::default();
        if options.assume_missing {
            assumed = topology::assume(documents, &mut snapshot);
            diagnostics.append(&mut assumed.diagnostics);
        }
        let (resources, found) = topology::parse_assuming(documents, &mut snapshot, &assumed);
        diagnostics.extend(topology::merged(found, topology::validate(documents, &snapshot)));
        let mut grounds: Vec<Box<dyn AnyGround>> = Vec::new();
        for family in families() {
            let (snapshot, diagnostics) = (&mut snapshot, &mut diagnostics);
            let own_kinds = own_kinds();
            let reading = Reading { documents, snapshot, diagnostics, own_kinds };
            grounds.push(family.read(reading, &options.settings));
        }
        let (requirements, found) = requirements::parse(documents, &mut snapshot);
        diagnostics.extend(found);
        let (topology, diagnostics) = (GatewayTopology::default(), diagnostics.into());
        let base = Self { topology, grounds, requirements, diagnostics, ..Self::default() };
        (snapshot, resources, base)
    }

    /// The policies of every family.
    pub(crate) fn read_policies(
        &self,
        documents: &Documents,
        snapshot: &mut Snapshot,
    ) -> Vec<Written> {
        let mut written = Vec::new();
        for (family, ground) in families().iter().zip(&self.grounds) {
            let (snapshot, mut found, own_kinds) = (&mut *snapshot, Vec::new(), own_kinds());
            let diagnostics = &mut found;
            let reading = Reading { documents, snapshot, diagnostics, own_kinds };
            let policies = family.policies(reading, &**ground);
            written.push(Written { policies, diagnostics: found.into() });
        }
        written
    }

    /// What a family read besides policies.
    pub fn ground<F: Family>(&self) -> Option<&F::Ground> {
        self.grounds.iter().find_map(|ground| ground.typed())
    }

    /// The policy kinds that descriptors describe.
    pub fn kinds(&self) -> &Kinds {
        static NONE: LazyLock<Kinds> = LazyLock::new(Kinds::default);
        self.ground::<Gep713>().map_or(&NONE, |KnownKinds(kinds)| kinds)
    }
}

/// Gives resources without a creation time the one that is to be assumed.
fn assume(snapshot: &mut Snapshot, documents: &Documents, options: &Options) {
    match &options.assume_created {
        Assume::Newest => {}
        Assume::FileOrder => snapshot.assume_file_order(&documents.sources),
        Assume::Time(time) => snapshot.assume_created_at(*time),
        Assume::Kept(times) => snapshot.assume_created_by(&documents.sources, times),
    }
}

impl Analysis {
    /// Runs the pipeline.
    pub fn new(inputs: Vec<Input>, options: &Options) -> Self {
        Self::with_progress(inputs, options, &())
    }

    /// Runs the pipeline and reports progress.
    pub fn with_progress(mut inputs: Vec<Input>, options: &Options, stages: &dyn Stages) -> Self {
        // Names, not the order of arguments, decide everything that depends on order.
        inputs.sort_by(|a, b| a.name.cmp(&b.name));
        let reading = options.reading_of(&inputs);
        let read = overrule_source::read_with(inputs, &reading, &|bytes| stages.read(bytes));
        Self::of(read, options)
    }

    /// Runs the pipeline on texts that were read with the same options. Give them by name: where two texts have the same
    /// resource, the first one counts.
    pub fn of(read: Read, options: &Options) -> Self {
        let Read { mut documents, diagnostics } = read;
        let derived = derived::add(&mut documents, options);
        let (mut snapshot, base, variants) = Base::of(&documents, derived, options);
        let written = base.read_policies(&documents, &mut snapshot);
        let mut analysis = Self::on(base, documents, snapshot, written, diagnostics, options);
        worlds::confirm(&mut analysis, &variants, options);
        analysis
    }

    /// The same, when these texts changed and have nothing but policies. What does not depend on policies is taken from
    /// before. `read` is what was found while reading. None if more changed than policies.
    pub(crate) fn again(
        &self,
        patch: Patch,
        read: Vec<Diagnostic>,
        options: &Options,
    ) -> Option<Self> {
        let texts = patch.texts();
        let policies = patch.objects.iter().all(|object| self.is_policy(*object));
        if !policies
            || !self.base.variants.is_empty()
            || !self.base.diagnostics.concerning(&texts).is_empty()
        {
            return None;
        }
        let Patch { mut documents, mut snapshot, objects, .. } = patch;
        documents.compact();
        snapshot.compact();
        let mut written = Vec::new();
        for ((family, ground), before) in families().iter().zip(&self.grounds).zip(&self.written) {
            let (snapshot, mut found, own_kinds) = (&mut snapshot, Vec::new(), own_kinds());
            let (documents, diagnostics) = (&documents, &mut found);
            let reading = Reading { documents, snapshot, diagnostics, own_kinds };
            let now = family.changed_policies(reading, &**ground, &before.policies, &objects);
            written.push(match now {
                Some(policies) => before.with(policies, &texts, found),
                None => {
                    let diagnostics = &mut found;
                    let reading = Reading { documents, snapshot, diagnostics, own_kinds };
                    let policies = family.policies(reading, &**ground);
                    Written { policies, diagnostics: found.into() }
                }
            });
        }
        let base = Arc::clone(&self.base);
        Some(Self::on(base, documents, snapshot, written, read, options))
    }

    fn is_policy(&self, object: ObjectId) -> bool {
        let mut all = families().iter().zip(&self.written);
        all.any(|(family, written)| family.is_policy(&written.policies, object))
    }

    /// Resolves everything.
    fn on(
        base: Arc<Base>,
        documents: Documents,
        mut snapshot: Snapshot,
        written: Vec<Written>,
        mut diagnostics: Vec<Diagnostic>,
        options: &Options,
    ) -> Self {
        let answers =
            Self::answers_on(&base, &documents, &snapshot, &written, options, &mut diagnostics);
        let has_placeholders = placeholders::soften(&documents.sources, &mut diagnostics);
        let diagnostics = diagnostics.into();
        // Whatever is made of this one shares its names with it.
        snapshot.compact();
        let answers = answers.into_iter().map(Arc::new).collect();
        let touched = Touched::Everything;
        Self { documents, snapshot, base, written, answers, diagnostics, has_placeholders, touched }
    }

    /// What is found when everything is resolved.
    pub(crate) fn findings_on(
        base: &Base,
        documents: &Documents,
        snapshot: &Snapshot,
        written: &[Written],
        options: &Options,
    ) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        Self::answers_on(base, documents, snapshot, written, options, &mut found);
        found
    }

    fn answers_on(
        base: &Base,
        documents: &Documents,
        snapshot: &Snapshot,
        written: &[Written],
        options: &Options,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Answered> {
        let reading = written.iter().flat_map(|written| written.diagnostics.iter());
        diagnostics.extend(base.diagnostics.iter().chain(reading).cloned());
        // What must exist is asked about, whether a policy of the kind is there or not.
        let mut include_kinds = options.include_kinds.clone();
        include_kinds.extend(base.requirements.iter().map(|r| r.kind.to_lowercase()));
        let policies: Vec<AnyPolicies> = written.iter().map(|w| Arc::clone(&w.policies)).collect();
        let resolving = Resolving {
            documents,
            snapshot,
            base,
            policies: &policies,
            include_kinds: &include_kinds,
            options,
        };
        let answers = resolving.resolve(diagnostics);
        derived::forget(documents, diagnostics);
        answers
    }

    /// Objects that look like policies and that no family resolves.
    pub fn unresolved(&self) -> &[Unresolved] {
        let find = || {
            let Self { documents, snapshot, base, .. } = self;
            kinds::unresolved(documents, snapshot, &base.topology, own_kinds(), base.kinds())
        };
        self.base.unresolved.get_or_init(find)
    }

    /// How many texts were read; not what was derived from them.
    pub fn texts_read(&self) -> usize {
        derived::texts_read(&self.documents)
    }

    /// The policies of a family as written.
    pub fn policies<F: Family>(&self) -> Option<&F::Policies> {
        self.written.iter().find_map(|written| written.policies.downcast_ref())
    }

    /// The answer of the family `gateway`.
    pub fn gateway(&self) -> &Resolution {
        self.answers.first().map_or(nothing(), |a| &a.resolution)
    }

    /// The answers that are shown, one per family; the order of a scene's parts.
    pub fn shown(&self) -> impl Iterator<Item = &Answered> {
        self.answers.iter().map(|a| &**a).filter(|a| a.shown)
    }

    /// The family that reads objects of a kind as policies, and its profile that is shown.
    pub fn policy_family(&self, kind: GroupKind) -> Option<(&'static str, &'static str)> {
        let (group, name) = (self.snapshot.text(kind.group), self.snapshot.text(kind.kind));
        let own = |answer: &&Answered| {
            answer.family.kinds().iter().any(|k| (k.group, k.kind) == (group, name))
        };
        let described = || self.kinds().find(self.snapshot.names(), kind).is_some();
        let first = || self.shown().next().filter(|_| described());
        let answer = self.shown().find(own).or_else(first)?;
        Some((answer.family.name(), answer.profile))
    }

    /// What views read, with the storage it borrows from.
    pub fn stage(&self) -> Stage<'_> {
        Stage { findings: Some(&self.diagnostics), ..self.bare_stage() }
    }

    /// The same without findings.
    pub fn bare_stage(&self) -> Stage<'_> {
        let beside = self.answers.iter().filter(|a| !a.shown);
        Stage {
            parts: self.shown().map(|a| a.part(&self.topology)).collect(),
            others: beside.map(|a| Other::new(a.part(&self.topology))).collect(),
            findings: None,
            analysis: self,
        }
    }
}

/// Holds the parts of a scene; keep it while you read the scene.
pub struct Stage<'a> {
    parts: Vec<ScenePart<'a>>,
    others: Vec<Other<'a>>,
    findings: Option<&'a FindingSet>,
    analysis: &'a Analysis,
}

impl<'a> Stage<'a> {
    /// What views read.
    pub fn scene(&'a self) -> Scene<'a> {
        let scene = Scene::new(&self.analysis.documents, &self.analysis.snapshot, &self.parts);
        let findings = self.findings.map(|findings| findings as &dyn PlacedFindings);
        let unresolved = self.analysis.unresolved();
        Scene { findings, others: &self.others, unresolved, ..scene }
    }
}

/// Files given as policy kinds that contain something else.
fn misplaced(documents: &Documents, snapshot: &Snapshot, sources: &[String]) -> Vec<Diagnostic> {
    let is_kind_source = |o: &&Object| {
        let name = documents.sources.get(o.at.source).map_or("", |s| s.name());
        sources.iter().any(|s| s == name)
    };
    let other = snapshot
        .objects()
        .filter(is_kind_source)
        .filter(|o| !kinds::is_descriptor(snapshot.names(), o.kind.group, o.kind.kind));
    other
        .map(|o| {
            let message = format!(
                "`{}` is not a policy kind; --kinds takes documents with `kind: PolicyKind`",
                snapshot.text(o.kind.kind)
            );
            Diagnostic::new(&overrule_gateway::codes_policy::BAD_DESCRIPTOR, message)
                .at(o.at)
                .field("kind")
                .help("pass manifests with -f; docs/kinds.md describes policy kinds")
        })
        .collect()
}
