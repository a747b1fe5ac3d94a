// SPDX-License-Identifier: Apache-2.0
//! Out: Envoy Gateway as a family of policies. Not here: any rule.

use overrule_engine::{FamilyWords, Resolution};
use overrule_family::{
    Condition, Dialect, Family, Ground, JudgedKind, OwnKind, Reading, ResolveOptions, Resolved,
    Setting, SettingValues as Given,
};
use overrule_gateway::topology::GatewayClass;
use overrule_model::{GroupKind, ObjectId};
use overrule_source::{Code, Diagnostic};
use serde_json::Value;

use crate::kinds::{ALL, GROUP, KindInfo};
use crate::policy::MergeType;
use crate::translate::refs::MULTI_CLUSTER;
use crate::{CONTROLLER, Policies, Profile, Routing, Settings, codes, findings, policy, resolve};

/// The family's name.
pub const FAMILY: &str = "envoygateway";

/// Envoy Gateway's policies: the first one takes a rule whole, unless it asks to be merged.
#[derive(Debug, Clone, Copy)]
pub struct EnvoyGateway;

/// Everything resolving reads.
pub type World<'a> = overrule_family::World<'a, EnvoyGateway>;

/// Fields that policy tests judge, by kind.
static JUDGED: &[JudgedKind] = &[
    JudgedKind { kind: "BackendTrafficPolicy", fields: ALL_FIELDS, counts_empty: true },
    JudgedKind {
        kind: "ClientTrafficPolicy",
        fields: Some(&[
            "clientIPDetection",
            "connection",
            "headers",
            "healthCheck",
            "http1",
            "http2",
            "http3",
            "proxyProtocol",
            "tcpKeepalive",
            "timeout",
        ]),
        counts_empty: false,
    },
    JudgedKind { kind: "EnvoyExtensionPolicy", fields: ALL_FIELDS, counts_empty: true },
    JudgedKind { kind: "EnvoyPatchPolicy", fields: Some(&[]), counts_empty: false },
    JudgedKind { kind: "EnvoyProxy", fields: ALL_FIELDS, counts_empty: false },
    JudgedKind { kind: "SecurityPolicy", fields: ALL_FIELDS, counts_empty: true },
];
const ALL_FIELDS: Option<&[&str]> = None;

impl Ground for Settings {}

impl FamilyWords for EnvoyGateway {
    fn name(&self) -> &'static str {
        FAMILY
    }

    fn strategy_name(&self, mode: u16) -> &'static str {
        match mode {
            1 => MergeType::Strategic.name(),
            2 => MergeType::Json.name(),
            3 => MergeType::Replace.name(),
            _ => "whole",
        }
    }
}

impl Family for EnvoyGateway {
    type Profile = Profile;
    type Ground = Settings;
    type Policies = Policies;
    type Extra = Routing;

    fn profiles(&self) -> &'static [&'static str] {
        Profile::NAMES
    }

    fn profile(&self, name: &str) -> Profile {
        Profile::from_name(name).unwrap_or_default()
    }

    fn kinds(&self) -> Vec<OwnKind> {
        ALL.iter().map(KindInfo::own).collect()
    }

    fn groups(&self) -> &'static [&'static str] {
        &[GROUP]
    }

    /// What its policies refer to, besides what every family reads.
    fn reads(&self) -> &'static [OwnKind] {
        static READ: [OwnKind; 2] = [
            OwnKind { group: "", kind: "ConfigMap" },
            OwnKind { group: MULTI_CLUSTER, kind: "ServiceImport" },
        ];
        &READ
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
        Settings::read(given.of(FAMILY))
    }

    fn policies(&self, reading: Reading<'_>, _: &Settings) -> Policies {
        policy::parse(reading.documents, reading.snapshot)
    }

    fn judge(&self, world: World<'_>) -> Vec<Diagnostic> {
        findings::judge(world)
    }

    /// An object of its group, a class of its controller, or a kind of the family that is asked for.
    fn concerns(&self, world: World<'_>, asked: &[String]) -> bool {
        let is_ours = |kind: &String| ALL.iter().any(|k| k.kind.eq_ignore_ascii_case(kind));
        let group = |kind: GroupKind| world.snapshot.text(kind.group) == GROUP;
        let class = |class: &GatewayClass| world.snapshot.text(class.controller) == CONTROLLER;
        !world.policies.list.is_empty()
            || world.snapshot.kinds().any(|(kind, _)| group(kind))
            || world.topology.classes.iter().any(class)
            || asked.iter().any(is_ours)
    }

    fn resolve(&self, world: World<'_>, options: &ResolveOptions) -> Resolved<Routing> {
        resolve(world, options)
    }

    fn is_policy(&self, policies: &Policies, object: ObjectId) -> bool {
        policies.list.iter().any(|policy| policy.object == object)
    }

    fn conditions(&self, world: World<'_>, _: &Resolution) -> Vec<Vec<Condition>> {
        crate::plan::Plan::with_statuses(world).conditions()
    }

    fn refused(&self, world: World<'_>) -> Vec<ObjectId> {
        findings::refused(world)
    }

    fn content(&self, world: World<'_>, object: ObjectId) -> Option<Value> {
        let policy = world.policies.list.iter().find(|policy| policy.object == object)?;
        Some(world.documents.view(policy.spec).to_json())
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            status_profile: Some(Profile::Shipped.name()),
            has_all_kinds: true,
            judged: JUDGED,
            aliases: &[("compression", "compressor"), ("enableProxyProtocol", "proxyProtocol")],
            keyed: &[("compression", "type"), ("compressor", "type"), ("httpUpgrade", "type")],
            settings: &[("closedWorld", true)],
            ..Dialect::default()
        }
    }
}
