// SPDX-License-Identifier: Apache-2.0
//! Kuadrant as a family of policies. Not here: any rule.

use overrule_engine::{FamilyWords, Resolution};
use overrule_family::{
    Affected, Condition, Conflicts, ContentChange, ControllerMetrics, Dialect, Family, OwnKind,
    Reading, ResolveOptions, Resolved, SettingValues, Updated, position, update,
};
use overrule_gateway::policy::FamilyKind;
use overrule_model::ObjectId;
use overrule_source::{Code, Diagnostic};

use crate::resolve::Mode;
use crate::{Policies, Profile, codes, kinds, policy, reasons, resolve, status};

/// The family's name.
pub const FAMILY: &str = "kuadrant";

/// Kuadrant's policies: defaults and overrides.
#[derive(Debug, Clone, Copy)]
pub struct Kuadrant;

/// Everything resolving reads.
pub type World<'a> = overrule_family::World<'a, Kuadrant>;

impl FamilyWords for Kuadrant {
    fn name(&self) -> &'static str {
        FAMILY
    }

    fn strategy_name(&self, mode: u16) -> &'static str {
        Mode::from_code(mode).name()
    }

    fn rule_patterns(&self) -> &'static [&'static str] {
        kinds::RULE_PATTERNS
    }
}

impl Family for Kuadrant {
    type Profile = Profile;
    type Ground = ();
    type Policies = Policies;
    type Extra = ();

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
        &["kuadrant.io", "extensions.kuadrant.io"]
    }

    fn codes(&self) -> &'static [Code] {
        codes::ALL
    }

    fn metrics(&self) -> Option<ControllerMetrics> {
        Some(ControllerMetrics {
            policies: ("kuadrant_policies_total", "Kuadrant's policies by kind"),
            enforced: (
                "kuadrant_policies_enforced",
                "Kuadrant's policies by kind and whether they are enforced",
            ),
        })
    }

    fn read(&self, _: Reading<'_>, _: &SettingValues) {}

    fn policies(&self, reading: Reading<'_>, (): &()) -> Policies {
        let (policies, found) = policy::parse(reading.documents, reading.snapshot);
        reading.diagnostics.extend(found);
        policies
    }

    fn judge(&self, world: World<'_>) -> Vec<Diagnostic> {
        resolve::judge(world)
    }

    fn updated(&self, change: ContentChange<'_>) -> Option<Updated<Policies>> {
        update(self, change)
    }

    fn concerns(&self, world: World<'_>, asked: &[String]) -> bool {
        let is_ours = |kind: &String| kinds::ALL.iter().any(|k| k.kind.eq_ignore_ascii_case(kind));
        !world.policies.list.is_empty() || asked.iter().any(is_ours)
    }

    fn resolve(&self, world: World<'_>, options: &ResolveOptions) -> Resolved {
        resolve(world, options)
    }

    fn is_policy(&self, policies: &Policies, object: ObjectId) -> bool {
        position::<Self>(policies, object).is_some()
    }

    fn conditions(&self, world: World<'_>, resolution: &Resolution) -> Vec<Vec<Condition>> {
        status::conditions(world, resolution)
    }

    fn affected(&self, world: World<'_>, resolution: &Resolution) -> Vec<Affected> {
        status::affected(world, resolution)
    }

    fn refused(&self, world: World<'_>) -> Vec<ObjectId> {
        let refused = world.policies.list.iter().filter(|p| !p.is_valid(world.profile));
        refused.map(|p| p.object).collect()
    }

    fn dialect(&self) -> Dialect {
        let (reason, code) = (reasons::CONFLICTED.id, &codes::CONFLICTED);
        Dialect {
            status_profile: Some(Profile::Operator.name()),
            has_all_kinds: true,
            conflicts: Some(Conflicts { reason, code }),
            ..Dialect::default()
        }
    }

    fn is_one_rule(&self, kind: &str) -> bool {
        kinds::ALL.iter().any(|info| info.kind == kind && info.is_direct())
    }
}
