// SPDX-License-Identifier: Apache-2.0
//! What a family of policies is. Each family has a crate of its own, and this crate has no rules.
//!
//! A family is a value that implements [`Family`], and one line in the list of families. The rest of the
//! product uses that list as [`AnyFamily`] and names no family.
//!
//! ```text
//! read      what it needs besides policies; does not depend on them     Ground
//! connect   its own targets become nodes of the topology
//! policies  its policies as written                                     Policies
//! judge     what is wrong with them by themselves
//! resolve   attach, rank, merge, under one profile                      Resolved
//! ```

mod access;
mod answer;
mod any;
pub mod codes;
mod derived;
mod dialect;
mod profiles;
mod settings;
mod update;
mod words;

use std::fmt::Debug;

use overrule_engine::{FamilyWords, Resolution, Topology};
use overrule_model::{ObjectId, Snapshot, Sym};
use overrule_source::{Code, Diagnostic, Documents};
use overrule_topology::GatewayTopology;

pub use access::{
    Access, CitedClause, Client, ClientSet, ClientTag, FilterSource, Guarded, InboundId,
};
pub use answer::{
    Affected, Ancestor, Condition, ControllerMetrics, Extra, Fit, ResolveOptions, Resolved,
};
pub use any::{AnyAnswer, AnyExtra, AnyFamily, AnyGround, AnyPolicies, ReadWorld};
pub use derived::{Derived, DerivedObject};
pub use dialect::{Conflicts, Dialect, JudgedKind};
pub use settings::{Setting, SettingValues};
pub use update::{
    About, Before, ContentChange, Incremental, Refolded, Replaced, Updated, has_kind, kinds_of,
    position, update,
};
pub use words::{refused_as_shipped, some_of};

/// Rules by which policies of some kinds become effective policies.
pub trait Family: FamilyWords + Sized + 'static {
    /// A rule set.
    type Profile: Debug + Copy + Send + Sync;
    /// What it reads besides policies.
    type Ground: Ground;
    /// Its policies as written.
    type Policies: Debug + Default + Send + Sync;
    /// What only its own answers have.
    type Extra: Extra;

    /// Names of its profiles: the default first, that of the released controller last.
    fn profiles(&self) -> &'static [&'static str];

    /// The profile with this name; the default if there is none.
    fn profile(&self, name: &str) -> Self::Profile;

    /// Policy kinds it knows by itself; manifests may describe more.
    fn kinds(&self) -> Vec<OwnKind>;

    /// API groups whose policies are its own.
    fn groups(&self) -> &'static [&'static str] {
        &[]
    }

    /// Kinds outside of its groups that it reads besides policies; `*` is every kind of a group. Resources that no family
    /// reads take no part in any answer, and nothing is said about them.
    fn reads(&self) -> &'static [OwnKind] {
        &[]
    }

    /// Kinds of resources that take no part in answers, but that others are made of where the input lacks those: what
    /// [`Family::derived`] looks at.
    fn derives_from(&self) -> &'static [OwnKind] {
        &[]
    }

    /// What its resources say in `type`, if they have that and a `name` instead of `apiVersion` and `kind`.
    fn types(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The codes of its findings.
    fn codes(&self) -> &'static [Code];

    /// The page of one of its codes, if it does not stand with those of the product (`docs/rules`).
    fn page(&self, _code: &str) -> Option<&'static str> {
        None
    }

    /// Settings of its controller that change answers.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Whether it can read the value of a setting; if not, what it expects.
    fn check(&self, key: &str, _: &serde_json::Value) -> Result<(), String> {
        Err(format!("there is no setting `{key}`"))
    }

    /// Metrics of its controller that can be computed from answers, so that dashboards work.
    fn metrics(&self) -> Option<ControllerMetrics> {
        None
    }

    /// Objects that its controller makes of others, and that the input lacks.
    fn derived(&self, _: &Documents, _: &Snapshot) -> Derived {
        Derived::default()
    }

    /// Reads what does not depend on policies.
    fn read(&self, reading: Reading<'_>, settings: &SettingValues) -> Self::Ground;

    /// Reads its policies.
    fn policies(&self, reading: Reading<'_>, ground: &Self::Ground) -> Self::Policies;

    /// Its policies when only these objects changed. None if all of them must be read again.
    fn changed_policies(
        &self,
        _: Reading<'_>,
        _: &Self::Ground,
        _before: &Self::Policies,
        _changed: &[ObjectId],
    ) -> Option<Self::Policies> {
        None
    }

    /// What is wrong with its policies whatever else there is, beyond what reading them found. The topology is empty.
    fn judge(&self, _: World<'_, Self>) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Its answers when only the content of some policies changed, made from the previous ones. None if everything must
    /// be resolved again. Families that are [`Incremental`] call [`update`].
    fn updated(&self, _: ContentChange<'_>) -> Option<Updated<Self::Policies>> {
        None
    }

    /// Whether it has anything to say: a policy, or a kind of its own that is asked for. Kinds are in lower case. The
    /// profile does not matter.
    fn concerns(&self, world: World<'_, Self>, asked: &[String]) -> bool;

    /// Resolves every kind under one profile.
    fn resolve(&self, world: World<'_, Self>, options: &ResolveOptions) -> Resolved<Self::Extra>;

    /// Whether an object is one of its policies.
    fn is_policy(&self, policies: &Self::Policies, object: ObjectId) -> bool;

    /// Whether [`Family::updated`] may serve a change of an object: it is a policy, wherever the family keeps it.
    fn may_update(&self, _: &Self::Ground, policies: &Self::Policies, object: ObjectId) -> bool {
        self.is_policy(policies, object)
    }

    /// The conditions its controller would write on each policy, in the order of policies.
    fn conditions(&self, _: World<'_, Self>, resolution: &Resolution) -> Vec<Vec<Condition>> {
        vec![Vec::new(); resolution.policies().count()]
    }

    /// The conditions its controller would write on targets.
    fn affected(&self, _: World<'_, Self>, _: &Resolution) -> Vec<Affected> {
        Vec::new()
    }

    /// Who may call whom; none if its targets have no identities.
    fn access<'a>(
        &self,
        _: World<'a, Self>,
        _: &'a Resolution,
        _: &'a Self::Extra,
    ) -> Option<Box<dyn Access<'a> + 'a>> {
        None
    }

    /// The policies that are refused for what they say themselves, whatever else is there.
    fn refused(&self, _: World<'_, Self>) -> Vec<ObjectId> {
        Vec::new()
    }

    /// How policy tests speak of its answers.
    fn dialect(&self) -> Dialect {
        Dialect::default()
    }

    /// Whether policies of a kind are one rule each, so that tests have one name for all of it.
    fn is_one_rule(&self, _kind: &str) -> bool {
        false
    }

    /// What a policy says besides where it acts, for a test about one that lost as a whole.
    fn content(&self, _: World<'_, Self>, _: ObjectId) -> Option<serde_json::Value> {
        None
    }

    /// A value in the form in which values that mean the same are equal.
    fn normal(&self, value: &serde_json::Value) -> serde_json::Value {
        value.clone()
    }
}

/// What a family reads besides policies. Most read nothing: `()` is a ground.
pub trait Ground: Debug + Send + Sync + 'static {
    /// Adds its own targets to the nodes of the topology.
    fn connect(&mut self, _: &Documents, _: &mut Snapshot, _: &mut Topology) {}

    /// What a name refers to, if it is an identity of the family.
    fn identify(&self, _: &str) -> NamedIdentity {
        NamedIdentity::Other
    }

    /// The identities of its own that objects have.
    fn identities(&self) -> Vec<(ObjectId, String)> {
        Vec::new()
    }

    /// Nodes of an object, with their sections; the object itself has none.
    fn nodes(&self, _: ObjectId) -> Vec<(Option<Sym>, overrule_engine::NodeId)> {
        Vec::new()
    }
}

impl Ground for () {}

/// What a name refers to that may be an identity of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedIdentity {
    /// It is a name of another form.
    Other,
    /// It looks like one, but is invalid; why.
    Malformed(String),
    /// No object in the input has it.
    Unknown,
    /// An object, and the section of it that is named; empty for all of it.
    Object(ObjectId, String),
}

/// The input of a stage of reading.
#[derive(Debug)]
pub struct Reading<'a> {
    /// Texts and trees.
    pub documents: &'a Documents,
    /// Resources; a stage may add names to it.
    pub snapshot: &'a mut Snapshot,
    /// Findings for the user.
    pub diagnostics: &'a mut Vec<Diagnostic>,
    /// The policy kinds of all families.
    pub own_kinds: &'a [OwnKind],
}

/// A policy kind that a family knows without being told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnKind {
    /// Its API group.
    pub group: &'static str,
    /// Its name.
    pub kind: &'static str,
}

/// Everything resolving reads.
#[derive(Debug)]
pub struct World<'a, F: Family> {
    /// Texts and trees.
    pub documents: &'a Documents,
    /// Resources.
    pub snapshot: &'a Snapshot,
    /// The Gateway API topology.
    pub topology: &'a GatewayTopology,
    /// What the family read besides policies.
    pub ground: &'a F::Ground,
    /// Its policies as written.
    pub policies: &'a F::Policies,
    /// The rule set.
    pub profile: F::Profile,
}

// Derived, these would ask the same of the family.
impl<F: Family> Clone for World<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Family> Copy for World<'_, F> {}
