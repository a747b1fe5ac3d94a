// SPDX-License-Identifier: Apache-2.0
//! In: families, each with types of its own. Out: families that can stand in one list. Not here: anything about one of
//! them.
//!
//! What a family made comes back to the same family, so the types always fit. If they ever did not, the family would
//! have nothing to say.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use overrule_engine::{FamilyWords, NodeId, Resolution};
use overrule_model::{ObjectId, Snapshot, Sym};
use overrule_source::{Code, Diagnostic, Documents};
use overrule_topology::GatewayTopology;
use serde_json::Value;

use crate::{
    Access, Affected, Condition, ContentChange, ControllerMetrics, Derived, Dialect, Extra, Family,
    Ground, OwnKind, Reading, ResolveOptions, Resolved, Setting, SettingValues, Updated, World,
};

/// What some family read besides policies.
pub trait AnyGround: Any + Ground {}

impl<G: Ground> AnyGround for G {}

/// Policies of some family as written.
pub type AnyPolicies = Arc<dyn Any + Send + Sync>;

/// An answer of some family.
#[derive(Debug, Clone)]
pub struct AnyAnswer {
    /// The answer.
    pub resolution: Resolution,
    /// Findings for the user.
    pub diagnostics: Vec<Diagnostic>,
    /// What only this family's answers have.
    pub extra: Arc<dyn AnyExtra>,
}

impl Default for AnyAnswer {
    fn default() -> Self {
        let (resolution, diagnostics) = (Resolution::default(), Vec::new());
        Self { resolution, diagnostics, extra: Arc::new(()) }
    }
}

/// What only the answers of some family have.
pub trait AnyExtra: Any + Extra {}

impl<E: Extra> AnyExtra for E {}

/// A family in the list of families; see [`Family`] for what its functions are.
#[expect(missing_docs, reason = "each is the function of `Family` with the same name")]
pub trait AnyFamily: FamilyWords {
    fn profiles(&self) -> &'static [&'static str];
    fn kinds(&self) -> Vec<OwnKind>;
    fn groups(&self) -> &'static [&'static str];
    fn reads(&self) -> &'static [OwnKind];
    fn derives_from(&self) -> &'static [OwnKind];
    fn types(&self) -> Vec<&'static str>;
    fn codes(&self) -> &'static [Code];
    fn page(&self, code: &str) -> Option<&'static str>;
    fn settings(&self) -> &'static [Setting];
    fn check(&self, key: &str, value: &Value) -> Result<(), String>;
    fn metrics(&self) -> Option<ControllerMetrics>;
    fn derived(&self, documents: &Documents, snapshot: &Snapshot) -> Derived;
    fn read(&self, reading: Reading<'_>, settings: &SettingValues) -> Box<dyn AnyGround>;
    fn policies(&self, reading: Reading<'_>, ground: &dyn AnyGround) -> AnyPolicies;
    fn changed_policies(
        &self,
        reading: Reading<'_>,
        ground: &dyn AnyGround,
        before: &AnyPolicies,
        changed: &[ObjectId],
    ) -> Option<AnyPolicies>;
    fn updated(&self, change: ContentChange<'_>) -> Option<Updated<AnyPolicies>>;
    fn is_policy(&self, policies: &AnyPolicies, object: ObjectId) -> bool;
    fn may_update(&self, ground: &dyn AnyGround, policies: &AnyPolicies, object: ObjectId) -> bool;
    fn judge(&self, known: ReadWorld<'_>, profile: &str) -> Vec<Diagnostic>;
    fn concerns(&self, known: ReadWorld<'_>, asked: &[String]) -> bool;
    fn resolve(&self, known: ReadWorld<'_>, profile: &str, options: &ResolveOptions) -> AnyAnswer;
    fn conditions(
        &self,
        known: ReadWorld<'_>,
        profile: &str,
        of: &Resolution,
    ) -> Vec<Vec<Condition>>;
    fn affected(&self, known: ReadWorld<'_>, profile: &str, of: &Resolution) -> Vec<Affected>;
    fn access<'a>(
        &self,
        known: ReadWorld<'a>,
        profile: &str,
        resolution: &'a Resolution,
        extra: &'a dyn AnyExtra,
    ) -> Option<Box<dyn Access<'a> + 'a>>;
    fn refused(&self, known: ReadWorld<'_>, profile: &str) -> Vec<ObjectId>;
    fn dialect(&self) -> Dialect;
    fn is_one_rule(&self, kind: &str) -> bool;
    fn content(&self, known: ReadWorld<'_>, object: ObjectId) -> Option<Value>;
    fn normal(&self, value: &Value) -> Value;
}

/// Everything that was read of a world, for one of its families.
#[derive(Debug, Clone, Copy)]
pub struct ReadWorld<'a> {
    /// Texts and trees.
    pub documents: &'a Documents,
    /// Resources.
    pub snapshot: &'a Snapshot,
    /// The Gateway API topology.
    pub topology: &'a GatewayTopology,
    /// What the family read besides policies.
    pub ground: &'a dyn AnyGround,
    /// Its policies.
    pub policies: &'a AnyPolicies,
}

impl<'a> ReadWorld<'a> {
    /// The same, as a family wants it. None if this is about another family.
    pub fn typed<F: Family>(self, profile: F::Profile) -> Option<World<'a, F>> {
        let Self { documents, snapshot, topology, ground, policies } = self;
        let (ground, policies) = (of::<F>(ground)?, policies.downcast_ref()?);
        Some(World { documents, snapshot, topology, ground, policies, profile })
    }
}

fn of<F: Family>(ground: &dyn AnyGround) -> Option<&F::Ground> {
    let any: &dyn Any = ground;
    any.downcast_ref()
}

impl<F: Family> AnyFamily for F {
    fn profiles(&self) -> &'static [&'static str] {
        Family::profiles(self)
    }

    fn kinds(&self) -> Vec<OwnKind> {
        Family::kinds(self)
    }

    fn groups(&self) -> &'static [&'static str] {
        Family::groups(self)
    }

    fn derives_from(&self) -> &'static [OwnKind] {
        Family::derives_from(self)
    }

    fn reads(&self) -> &'static [OwnKind] {
        Family::reads(self)
    }

    fn types(&self) -> Vec<&'static str> {
        Family::types(self)
    }

    fn codes(&self) -> &'static [Code] {
        Family::codes(self)
    }

    fn page(&self, code: &str) -> Option<&'static str> {
        Family::page(self, code)
    }

    fn settings(&self) -> &'static [Setting] {
        Family::settings(self)
    }

    fn check(&self, key: &str, value: &Value) -> Result<(), String> {
        Family::check(self, key, value)
    }

    fn metrics(&self) -> Option<ControllerMetrics> {
        Family::metrics(self)
    }

    fn derived(&self, documents: &Documents, snapshot: &Snapshot) -> Derived {
        Family::derived(self, documents, snapshot)
    }

    fn read(&self, reading: Reading<'_>, settings: &SettingValues) -> Box<dyn AnyGround> {
        Box::new(Family::read(self, reading, settings))
    }

    fn policies(&self, reading: Reading<'_>, ground: &dyn AnyGround) -> AnyPolicies {
        let policies = of::<F>(ground).map(|ground| Family::policies(self, reading, ground));
        Arc::new(policies.unwrap_or_default())
    }

    fn changed_policies(
        &self,
        reading: Reading<'_>,
        ground: &dyn AnyGround,
        before: &AnyPolicies,
        changed: &[ObjectId],
    ) -> Option<AnyPolicies> {
        let (ground, before) = (of::<F>(ground)?, before.downcast_ref()?);
        Some(Arc::new(Family::changed_policies(self, reading, ground, before, changed)?))
    }

    fn updated(&self, change: ContentChange<'_>) -> Option<Updated<AnyPolicies>> {
        let Updated { policies, read, answers, extras, findings, replaced } =
            Family::updated(self, change)?;
        let policies: AnyPolicies = Arc::new(policies);
        Some(Updated { policies, read, answers, extras, findings, replaced })
    }

    fn is_policy(&self, policies: &AnyPolicies, object: ObjectId) -> bool {
        let policies = policies.downcast_ref();
        policies.is_some_and(|policies| Family::is_policy(self, policies, object))
    }

    fn may_update(&self, ground: &dyn AnyGround, policies: &AnyPolicies, object: ObjectId) -> bool {
        let known = of::<F>(ground).zip(policies.downcast_ref());
        known.is_some_and(|(ground, policies)| Family::may_update(self, ground, policies, object))
    }

    fn judge(&self, known: ReadWorld<'_>, profile: &str) -> Vec<Diagnostic> {
        let world = known.typed(self.profile(profile));
        world.map(|world| Family::judge(self, world)).unwrap_or_default()
    }

    fn concerns(&self, known: ReadWorld<'_>, asked: &[String]) -> bool {
        let world = known.typed(self.profile(""));
        world.is_some_and(|world| Family::concerns(self, world, asked))
    }

    fn resolve(&self, known: ReadWorld<'_>, profile: &str, options: &ResolveOptions) -> AnyAnswer {
        match known.typed(self.profile(profile)) {
            Some(world) => {
                let Resolved { resolution, diagnostics, extra } =
                    Family::resolve(self, world, options);
                AnyAnswer { resolution, diagnostics, extra: Arc::new(extra) }
            }
            None => AnyAnswer::default(),
        }
    }

    fn conditions(
        &self,
        known: ReadWorld<'_>,
        profile: &str,
        of: &Resolution,
    ) -> Vec<Vec<Condition>> {
        let world = known.typed(self.profile(profile));
        world.map(|world| Family::conditions(self, world, of)).unwrap_or_default()
    }

    fn affected(&self, known: ReadWorld<'_>, profile: &str, of: &Resolution) -> Vec<Affected> {
        let world = known.typed(self.profile(profile));
        world.map(|world| Family::affected(self, world, of)).unwrap_or_default()
    }

    fn access<'a>(
        &self,
        known: ReadWorld<'a>,
        profile: &str,
        resolution: &'a Resolution,
        extra: &'a dyn AnyExtra,
    ) -> Option<Box<dyn Access<'a> + 'a>> {
        let world = known.typed(self.profile(profile))?;
        Family::access(self, world, resolution, extra.typed()?)
    }

    fn refused(&self, known: ReadWorld<'_>, profile: &str) -> Vec<ObjectId> {
        let world = known.typed(self.profile(profile));
        world.map(|world| Family::refused(self, world)).unwrap_or_default()
    }

    fn dialect(&self) -> Dialect {
        Family::dialect(self)
    }

    fn is_one_rule(&self, kind: &str) -> bool {
        Family::is_one_rule(self, kind)
    }

    fn content(&self, known: ReadWorld<'_>, object: ObjectId) -> Option<Value> {
        Family::content(self, known.typed(self.profile(""))?, object)
    }

    fn normal(&self, value: &Value) -> Value {
        Family::normal(self, value)
    }
}

impl dyn AnyFamily {
    /// The profile that these choices leave: the one named for this family, else the default.
    pub fn chosen(&self, choices: &BTreeMap<String, String>) -> &'static str {
        let named = choices.get(self.name());
        let named = named.and_then(|name| self.profiles().iter().find(|p| **p == name.as_str()));
        named.or(self.profiles().first()).copied().unwrap_or("")
    }

    /// Whether a profile is the behaviour of the released controller, while others are the documented behaviour.
    pub fn is_shipped(&self, profile: &str) -> bool {
        self.profiles().len() > 1 && self.profiles().last() == Some(&profile)
    }
}

impl dyn AnyExtra {
    /// The same, as a family knows it.
    pub fn typed<E: Extra>(&self) -> Option<&E> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}

impl dyn AnyGround {
    /// The same, as a family knows it.
    pub fn typed<G: Ground>(&self) -> Option<&G> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }

    /// The node of an object.
    pub fn object_node(&self, object: ObjectId) -> Option<NodeId> {
        self.nodes(object).into_iter().find(|(section, _)| section.is_none()).map(|(_, n)| n)
    }

    /// The sections of an object.
    pub fn sections_of(&self, object: ObjectId) -> impl Iterator<Item = (Sym, NodeId)> + use<> {
        self.nodes(object).into_iter().filter_map(|(section, node)| Some((section?, node)))
    }
}
