// SPDX-License-Identifier: Apache-2.0
//! Kuma as a family of policies. Not here: any rule.

use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use overrule_engine::{FamilyWords, NodeId, Resolution, Topology};
use overrule_family::{
    Access, ContentChange, Derived, Dialect, Extra, Family, Ground, NamedIdentity, OwnKind,
    Reading, ResolveOptions as Asked, Resolved as Answer, Setting, SettingValues as Given, Updated,
    World as Known,
};
use overrule_model::{ObjectId, Snapshot, Sym};
use overrule_source::{Code, Documents};
use serde_json::Value;

use crate::conf::Plan;
use crate::conf::duration::canonical;
use crate::gate::Gates;
use crate::inbounds::Lookup;
use crate::kri::Kri;
use crate::policy::Policy;
use crate::read::derive;
use crate::resolve::{FAMILY, ProxyRules, update};
use crate::resources::MeshResources;
use crate::topology::{self, MeshTopology};
use crate::{
    GROUP, Profile, ProxyOptions, Resources, Settings, World, codes, concerns, kinds, parse,
    report, resolve,
};

/// Kuma's policies: rules and resource rules for proxies of meshes.
#[derive(Debug, Clone, Copy)]
pub struct Kuma;

/// Everything that is read of meshes; their policies are resources like any other.
#[derive(Debug, Default)]
pub struct Meshes {
    /// Resources as a control plane would have them.
    pub resources: Resources,
    /// Their nodes.
    pub nodes: MeshTopology,
    /// Objects by their KRI; made when one is first asked for.
    by_kri: OnceLock<HashMap<Kri, ObjectId>>,
    /// Mesh and place of every policy.
    policies: HashMap<ObjectId, (u32, u32)>,
    /// Place of every proxy in its mesh.
    dataplanes: HashMap<NodeId, u32>,
}

impl Meshes {
    /// A policy, and its mesh.
    pub(crate) fn policy(&self, object: ObjectId) -> Option<(&MeshResources, &Policy)> {
        let (mesh, place) = self.policies.get(&object)?;
        let mesh = self.resources.meshes.get(*mesh as usize)?;
        Some((mesh, mesh.policies.get(*place as usize)?))
    }

    /// The place in its mesh of the proxy that a node stands for.
    pub(crate) fn dataplane(&self, node: NodeId) -> Option<u32> {
        self.dataplanes.get(&node).copied()
    }

    fn object_of(&self, kri: &Kri) -> Option<ObjectId> {
        let by_kri = self.by_kri.get_or_init(|| {
            let mut found = HashMap::new();
            for (object, meta) in &self.resources.metas {
                found.entry(meta.kri()).or_insert(*object);
            }
            found
        });
        by_kri.get(kri).copied()
    }
}

/// What only answers about meshes have.
#[derive(Debug, Default)]
pub struct Proxies {
    /// What each proxy gets, by mesh and place.
    pub rules: Arc<Vec<Vec<Arc<ProxyRules>>>>,
    /// Proxies whose paths to destinations are left out, because one that sends by the same rules has them.
    pub alike: usize,
    /// What decides about clients at each inbound, once for all with the same permissions.
    pub gates: Gates,
    /// How confs of each kind become one.
    pub plans: Arc<Vec<Plan>>,
}

impl Proxies {
    /// The same when permissions say something else.
    pub(crate) fn without_gates(&self) -> Self {
        let Self { rules, alike, gates, plans } = self;
        let (rules, plans) = (Arc::clone(rules), Arc::clone(plans));
        Self { rules, alike: *alike, gates: gates.fresh(), plans }
    }
}

impl Extra for Proxies {
    fn alike(&self) -> usize {
        self.alike
    }
}

impl Ground for Meshes {
    fn connect(&mut self, documents: &Documents, snapshot: &mut Snapshot, nodes: &mut Topology) {
        self.nodes = topology::build(documents, snapshot, &self.resources, nodes);
        for (number, mesh) in (0..).zip(&self.resources.meshes) {
            let places = (0..).zip(&mesh.policy_objects);
            self.policies.extend(places.map(|(place, object)| (*object, (number, place))));
        }
        for mesh in &self.nodes.meshes {
            let places = (0..).zip(&mesh.dataplanes);
            self.dataplanes.extend(places.map(|(place, (node, _))| (*node, place)));
        }
    }

    /// A KRI.
    fn identify(&self, text: &str) -> NamedIdentity {
        if !text.starts_with("kri_") {
            return NamedIdentity::Other;
        }
        let kri = match Kri::parse(text) {
            Ok(kri) => kri,
            Err(why) => return NamedIdentity::Malformed(why.to_string()),
        };
        match self.object_of(&kri.without_section()) {
            Some(object) => NamedIdentity::Object(object, kri.section),
            None => NamedIdentity::Unknown,
        }
    }

    fn identities(&self) -> Vec<(ObjectId, String)> {
        let metas = self.resources.metas.iter();
        metas.map(|(object, meta)| (*object, meta.kri().to_string())).collect()
    }

    fn nodes(&self, object: ObjectId) -> Vec<(Option<Sym>, NodeId)> {
        let own = self.nodes.object_node(object).map(|node| (None, node));
        let sections = self.nodes.sections_of(object).map(|(section, node)| (Some(section), node));
        own.into_iter().chain(sections).collect()
    }
}

impl FamilyWords for Kuma {
    fn name(&self) -> &'static str {
        FAMILY
    }

    fn strategy_name(&self, _: u16) -> &'static str {
        "merge"
    }

    fn path_owners(&self) -> &'static [&'static str] {
        &[kinds::DATAPLANE.name]
    }
}

impl Family for Kuma {
    /// The name; what it stands for depends on settings.
    type Profile = &'static str;
    type Ground = Meshes;
    type Policies = ();
    type Extra = Proxies;

    fn profiles(&self) -> &'static [&'static str] {
        Profile::NAMES
    }

    fn profile(&self, name: &str) -> &'static str {
        let known = Profile::NAMES.iter().find(|known| **known == name);
        known.or(Profile::NAMES.first()).copied().unwrap_or("")
    }

    fn kinds(&self) -> Vec<OwnKind> {
        kinds::policies().map(|(k, _)| OwnKind { group: GROUP, kind: k.name }).collect()
    }

    fn groups(&self) -> &'static [&'static str] {
        &[GROUP]
    }

    /// What proxies run beside: where the input has none, they are derived from these.
    fn derives_from(&self) -> &'static [OwnKind] {
        static READ: [OwnKind; 5] = [
            OwnKind { group: "apps", kind: "DaemonSet" },
            OwnKind { group: "apps", kind: "Deployment" },
            OwnKind { group: "apps", kind: "StatefulSet" },
            OwnKind { group: "batch", kind: "Job" },
            OwnKind { group: "", kind: "Pod" },
        ];
        &READ
    }

    fn types(&self) -> Vec<&'static str> {
        kinds::KINDS.iter().map(|kind| kind.name).collect()
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

    fn derived(&self, documents: &Documents, snapshot: &Snapshot) -> Derived {
        derive::derived(documents, snapshot)
    }

    fn read(&self, reading: Reading<'_>, given: &Given) -> Meshes {
        let settings: Settings = given.read(FAMILY, Settings::set);
        let (resources, found) = parse(reading.documents, reading.snapshot, &settings);
        reading.diagnostics.extend(found);
        Meshes { resources, ..Meshes::default() }
    }

    fn policies(&self, _: Reading<'_>, _: &Meshes) {}

    fn concerns(&self, world: Known<'_, Self>, asked: &[String]) -> bool {
        concerns(&world.ground.resources, asked)
    }

    fn resolve(&self, world: Known<'_, Self>, asked: &Asked) -> Answer<Proxies> {
        let Known { documents, snapshot, ground, .. } = world;
        let Meshes { resources, nodes, .. } = ground;
        let named = |name: &str| Profile::from_name(name, &resources.settings);
        let profile = &named(world.profile);
        let world = World { documents, snapshot, resources, topology: nodes, profile };
        let beside = if asked.compare {
            Profile::NAMES.iter().map(|name| named(name)).collect()
        } else {
            Vec::new()
        };
        let (include, focus) = (asked.include.clone(), asked.focus.clone());
        let options = ProxyOptions { include, focus, beside, ..Default::default() };
        let resolved = resolve(world, &options);
        let diagnostics = if asked.silent { Vec::new() } else { report(world, &resolved) };
        let extra = Proxies {
            rules: Arc::new(resolved.proxies),
            alike: resolved.alike,
            gates: Gates::new(resolved.permission_lists),
            plans: Arc::new(resolved.plans),
        };
        Answer { resolution: resolved.resolution, diagnostics, extra }
    }

    fn access<'a>(
        &self,
        world: Known<'a, Self>,
        resolution: &'a Resolution,
        proxies: &'a Proxies,
    ) -> Option<Box<dyn Access<'a> + 'a>> {
        let Known { documents, snapshot, ground, profile, .. } = world;
        let Meshes { resources, nodes, .. } = ground;
        Some(Box::new(Lookup {
            documents,
            snapshot,
            resources,
            topology: nodes,
            resolution,
            proxies: &proxies.rules,
            gates: &proxies.gates,
            profile: Profile::from_name(profile, &resources.settings),
        }))
    }

    fn refused(&self, world: Known<'_, Self>) -> Vec<ObjectId> {
        let meshes = world.ground.resources.meshes.iter();
        let refused = meshes.flat_map(|mesh| {
            mesh.refused.keys().filter_map(|place| mesh.policy_objects.get(*place as usize))
        });
        refused.copied().collect()
    }

    fn dialect(&self) -> Dialect {
        Dialect { root_kind: Some("Mesh"), ..Dialect::default() }
    }

    /// Durations as Go prints them.
    fn normal(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => canonical(text).map_or_else(|| value.clone(), Value::String),
            Value::Array(items) => items.iter().map(|item| self.normal(item)).collect(),
            Value::Object(members) => {
                let members = members.iter();
                members.map(|(key, value)| (key.clone(), self.normal(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// They are read with everything else of a mesh, so a change of one is a change of more than policies.
    fn is_policy(&self, (): &(), _: ObjectId) -> bool {
        false
    }

    fn may_update(&self, meshes: &Meshes, (): &(), object: ObjectId) -> bool {
        meshes.policy(object).is_some()
    }

    fn updated(&self, change: ContentChange<'_>) -> Option<Updated<()>> {
        update(change)
    }
}
