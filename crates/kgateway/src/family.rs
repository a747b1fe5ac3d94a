// SPDX-License-Identifier: Apache-2.0
//! kgateway as a family of policies. Not here: any rule.

use std::collections::BTreeMap;
use std::sync::Arc;

use overrule_engine::{FamilyWords, PathId, Resolution};
use overrule_family::{
    Condition, ContentChange, Dialect, Extra, Family, Fit, Ground, OwnKind, Reading,
    ResolveOptions, Resolved, Setting, SettingValues as Given, Updated, position, update,
};
use overrule_gateway::policy::FamilyKind;
use overrule_gateway::topology::{GatewayClass, HttpRequest, http_weight};
use overrule_model::{GroupKind, ObjectId};
use overrule_source::{Code, Diagnostic, Input, ReadOptions, read};
use serde_json::{Value, json};

use crate::delegation::RuleMatch;
use crate::resolve::mode_name;
use crate::resolve::{Masks, Plans};
use crate::{Policies, Profile, Settings, codes, kinds, policy, resolve, status};

/// The family's name.
pub const FAMILY: &str = "kgateway";

/// The controller whose classes the family serves; what it names its own classes begins like this.
pub const CONTROLLER: &str = "kgateway.dev/";

/// kgateway's policies: priority, delegation, levels and tiers.
#[derive(Debug, Clone, Copy)]
pub struct Kgateway;

/// Everything resolving reads.
pub type World<'a> = overrule_family::World<'a, Kgateway>;

/// What only kgateway's answers have.
#[derive(Debug)]
pub struct Matches {
    /// The matches of rules below a delegation; those of other rules are as written.
    pub(crate) by_path: BTreeMap<PathId, Arc<[RuleMatch]>>,
    pub(crate) masks: Masks,
    /// How values are merged, under the profile of the answer.
    pub(crate) plans: Plans,
    /// Paths whose rules answer by themselves.
    pub(crate) answering: Vec<PathId>,
}

impl Matches {
    /// The matches of the rule of a path, if it is below a delegation.
    pub fn get(&self, path: PathId) -> Option<&[RuleMatch]> {
        self.by_path.get(&path).map(|matches| &**matches)
    }

    /// How many paths are below a delegation.
    pub fn delegated(&self) -> usize {
        self.by_path.len()
    }
}

impl Extra for Matches {
    fn redirects(&self) -> bool {
        !self.by_path.is_empty()
    }

    fn matches(&self, path: PathId) -> Option<Vec<Value>> {
        self.get(path).map(|matches| matches.iter().map(|m| m.to_json()).collect())
    }

    fn fit(&self, path: PathId, request: &HttpRequest) -> Fit {
        let Some(matches) = self.get(path) else { return Fit::AsWritten };
        // Matches of a chain are computed, so they are written down to be read like any other.
        let text: Vec<String> = matches.iter().map(|m| m.to_json().to_string()).collect();
        let inputs = vec![Input::new("matches.json", format!("[{}]", text.join(",")))];
        let documents = read(inputs, &ReadOptions::default()).documents;
        let roots = documents.ids().map(|id| documents.root(id));
        let items = roots.flat_map(|root| root.items());
        items.filter_map(|m| http_weight(m, request)).max().map_or(Fit::No, Fit::Yes)
    }
}

impl Ground for Settings {}

impl FamilyWords for Kgateway {
    fn name(&self) -> &'static str {
        FAMILY
    }

    fn strategy_name(&self, mode: u16) -> &'static str {
        mode_name(mode)
    }
}

impl Family for Kgateway {
    type Profile = Profile;
    type Ground = Settings;
    type Policies = Policies;
    type Extra = Matches;

    fn profiles(&self) -> &'static [&'static str] {
        Profile::NAMES
    }

    fn profile(&self, name: &str) -> Profile {
        Profile::from_name(name).unwrap_or_default()
    }

    fn kinds(&self) -> Vec<OwnKind> {
        kinds::ALL.iter().map(FamilyKind::own).collect()
    }

    fn groups(&self) -> &'static [&'static str] {
        &[kinds::GROUP]
    }

    fn codes(&self) -> &'static [Code] {
        codes::ALL
    }

    fn settings(&self) -> &'static [Setting] {
        Settings::OPTIONS
    }

    fn check(&self, key: &str, value: &Value) -> Result<(), String> {
        Settings::default().set(key, value)
    }

    fn read(&self, _: Reading<'_>, given: &Given) -> Settings {
        given.read(FAMILY, Settings::set)
    }

    fn policies(&self, reading: Reading<'_>, settings: &Settings) -> Policies {
        let (policies, found) = policy::parse(reading.documents, reading.snapshot, settings);
        reading.diagnostics.extend(found);
        policies
    }

    fn judge(&self, world: World<'_>) -> Vec<Diagnostic> {
        resolve::judge(world)
    }

    fn updated(&self, change: ContentChange<'_>) -> Option<Updated<Policies>> {
        update(self, change)
    }

    /// An object of kgateway's, a class of its controller, a rule that delegates, or a kind of the family that is asked for.
    fn concerns(&self, world: World<'_>, asked: &[String]) -> bool {
        let is_ours = |kind: &String| kinds::ALL.iter().any(|k| k.kind.eq_ignore_ascii_case(kind));
        let group = |kind: GroupKind| world.snapshot.text(kind.group) == kinds::GROUP;
        let class =
            |class: &GatewayClass| world.snapshot.text(class.controller).starts_with(CONTROLLER);
        !world.policies.list.is_empty()
            || world.snapshot.kinds().any(|(kind, _)| group(kind))
            || world.topology.classes.iter().any(class)
            || !world.topology.delegations.is_empty()
            || asked.iter().any(is_ours)
    }

    fn resolve(&self, world: World<'_>, options: &ResolveOptions) -> Resolved<Matches> {
        resolve(world, options)
    }

    fn is_policy(&self, policies: &Policies, object: ObjectId) -> bool {
        position::<Self>(policies, object).is_some()
    }

    fn conditions(&self, world: World<'_>, resolution: &Resolution) -> Vec<Vec<Condition>> {
        status::conditions(world, resolution)
    }

    fn refused(&self, world: World<'_>) -> Vec<ObjectId> {
        let refused = world.policies.list.iter().filter(|p| p.problem.is_some() || !p.admitted);
        refused.map(|p| p.object).collect()
    }

    fn dialect(&self) -> Dialect {
        let status_profile = Some(Profile::Shipped.name());
        Dialect { status_profile, has_all_kinds: true, delegates: true, ..Dialect::default() }
    }

    /// What is switched off is that, whatever providers are listed beside it.
    fn normal(&self, value: &Value) -> Value {
        match value.get("disable") {
            Some(Value::Bool(true)) => json!({"disable": true}),
            _ => value.clone(),
        }
    }
}
