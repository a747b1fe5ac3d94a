// SPDX-License-Identifier: Apache-2.0
//! Kinds that descriptors describe, as a family of policies. Not here: any rule.

use std::sync::Arc;

use overrule_engine::FamilyWords;
use overrule_family::{
    Conflicts, ContentChange, Dialect, Family, Ground, OwnKind, Reading, ResolveOptions, Resolved,
    SettingValues, Updated, position, update,
};
use overrule_model::ObjectId;
use overrule_source::{Code, CowVec, Diagnostic};
use serde_json::Value;

use crate::kinds::{Kinds, Strategy};
use crate::policy::{self, AttachOptions, Policy};
use crate::resolve::{FAMILY, PROFILE};
use crate::{codes_policy, reasons, requirements, resolve, topology};

/// Policies of kinds that descriptors describe, by the rules of GEP-713.
#[derive(Debug, Clone, Copy)]
pub struct Gep713;

/// Everything resolving reads.
pub type World<'a> = overrule_family::World<'a, Gep713>;

/// The policy kinds that are known.
#[derive(Debug, Clone, Default)]
pub struct KnownKinds(pub Arc<Kinds>);

impl Ground for KnownKinds {}

impl FamilyWords for Gep713 {
    fn name(&self) -> &'static str {
        FAMILY
    }

    fn strategy_name(&self, mode: u16) -> &'static str {
        Strategy::from_code(mode).name()
    }
}

impl Family for Gep713 {
    type Profile = ();
    type Ground = KnownKinds;
    type Policies = CowVec<Policy>;
    type Extra = ();

    fn profiles(&self) -> &'static [&'static str] {
        &[PROFILE]
    }

    fn profile(&self, _: &str) {}

    fn kinds(&self) -> Vec<OwnKind> {
        Vec::new()
    }

    /// What stands under policies, in every family.
    fn reads(&self) -> &'static [OwnKind] {
        const fn kind(group: &'static str, kind: &'static str) -> OwnKind {
            OwnKind { group, kind }
        }
        static READ: [OwnKind; 6] = [
            kind(topology::GROUP, "*"),
            kind(topology::X_GROUP, "*"),
            kind(requirements::GROUP, "*"),
            kind("", "Namespace"),
            kind("", "Secret"),
            kind("", "Service"),
        ];
        &READ
    }

    fn codes(&self) -> &'static [Code] {
        codes_policy::ALL
    }

    fn read(&self, reading: Reading<'_>, _: &SettingValues) -> KnownKinds {
        let (kinds, found) =
            Kinds::collect_beside(reading.documents, reading.snapshot, reading.own_kinds);
        reading.diagnostics.extend(found);
        KnownKinds(Arc::new(kinds))
    }

    fn policies(&self, reading: Reading<'_>, kinds: &KnownKinds) -> CowVec<Policy> {
        let (policies, found) = policy::parse(reading.documents, reading.snapshot, &kinds.0);
        reading.diagnostics.extend(found);
        policies.into()
    }

    fn changed_policies(
        &self,
        reading: Reading<'_>,
        kinds: &KnownKinds,
        before: &CowVec<Policy>,
        changed: &[ObjectId],
    ) -> Option<CowVec<Policy>> {
        let Reading { documents, snapshot, diagnostics, .. } = reading;
        let (now, found) = policy::parse_again(documents, snapshot, &kinds.0, before, changed);
        diagnostics.extend(found);
        Some(now.into())
    }

    fn judge(&self, world: World<'_>) -> Vec<Diagnostic> {
        let World { snapshot, ground: KnownKinds(kinds), policies, .. } = world;
        let policies: Vec<Policy> = policies.iter().cloned().collect();
        policy::judge(snapshot, kinds, &policies, AttachOptions::default())
    }

    fn updated(&self, change: ContentChange<'_>) -> Option<Updated<CowVec<Policy>>> {
        update(self, change)
    }

    /// It has the first word wherever nothing else is said.
    fn concerns(&self, _: World<'_>, _: &[String]) -> bool {
        true
    }

    fn resolve(&self, world: World<'_>, options: &ResolveOptions) -> Resolved {
        let World { documents, snapshot, topology, ground: KnownKinds(kinds), policies, .. } =
            world;
        match policies.as_slice() {
            Some(policies) => resolve(documents, snapshot, topology, kinds, policies, options),
            None => {
                let policies: Vec<Policy> = policies.iter().cloned().collect();
                resolve(documents, snapshot, topology, kinds, &policies, options)
            }
        }
    }

    fn is_policy(&self, policies: &CowVec<Policy>, object: ObjectId) -> bool {
        position::<Self>(policies, object).is_some()
    }

    fn refused(&self, world: World<'_>) -> Vec<ObjectId> {
        world.policies.iter().filter(|p| p.content.is_none()).map(|p| p.object).collect()
    }

    fn dialect(&self) -> Dialect {
        let (reason, code) = (reasons::OLDEST_ALONE.id, &codes_policy::CONFLICT);
        Dialect { conflicts: Some(Conflicts { reason, code }), ..Dialect::default() }
    }

    fn content(&self, world: World<'_>, object: ObjectId) -> Option<Value> {
        let policy = world.policies.iter().find(|p| p.object == object)?;
        let descriptor = world.ground.0.iter().nth(policy.kind)?;
        let content = policy.content?;
        let mut value = world.documents.view(content.value).to_json();
        if let Value::Object(members) = &mut value {
            members.retain(|key, _| match content.block {
                "bare" => !descriptor.is_plumbing(key),
                _ => *descriptor.block_strategy != *key,
            });
        }
        Some(value)
    }
}
