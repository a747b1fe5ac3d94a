// SPDX-License-Identifier: Apache-2.0
//! In: a number of routes. Out: the stages of a gateway fleet, of the families that share it. Not here: meshes.

use overrule::engine::Resolution;
use overrule::gateway::kinds::Kinds;
use overrule::gateway::resolve::{FAMILY, PROFILE};
use overrule::gateway::topology::{self, GatewayTopology};
use overrule::gateway::{self, policy};
use overrule::kgateway::Settings;
use overrule::model::Snapshot;
use overrule::source::{Diagnostic, Documents, ReadOptions, read};
use overrule::view::{self, Findings, Scene, ScenePart};
use overrule::{kgateway as kgw, kuadrant as kua};
use overrule_testkit::fleet::{FleetSpec, ManifestFormat};
use serde_json::Value;

use crate::{Task, stage};

/// The scale bar with so many routes instead of 100,000.
pub fn spec(routes: u32) -> FleetSpec {
    let whole = FleetSpec::bar8();
    let part = (whole.routes / routes.max(1)).max(1);
    whole.divided_by(part)
}

/// The stages every answer goes through, and a question for every tenth route.
pub fn generic(task: &Task) -> Option<()> {
    let spec = spec(task.size);
    let json = task.inputs(&spec, ManifestFormat::Json);
    let yaml = task.inputs(&spec, ManifestFormat::Yaml)?;
    let json = json?;
    drop(stage("gateway", "serde_json", || -> Vec<Value> {
        json.iter().map(|file| serde_json::from_slice(&file.bytes).expect("JSON")).collect()
    }));
    drop(stage("gateway", "read-json", || read(json, &ReadOptions::default())));
    let documents = stage("gateway", "read-yaml", || read(yaml, &ReadOptions::default())).documents;
    let parsed = stage("gateway", "model", || overrule::model::parse(&documents));
    let mut snapshot = parsed.snapshot;
    let (resources, _) = stage("gateway", "specs", || topology::parse(&documents, &mut snapshot));
    let (kinds, policies) = stage("gateway", "policies", || {
        let (kinds, _) = Kinds::collect(&documents, &snapshot);
        let (policies, _) = policy::parse(&documents, &mut snapshot, &kinds);
        (kinds, policies)
    });
    assert_eq!(policies.len() as u64, u64::from(spec.policies.sum()));
    let built = stage("gateway", "topology", || resources.connect(&snapshot));
    let resolved = stage("gateway", "resolve", || {
        let options = gateway::ResolveOptions::default();
        gateway::resolve(&documents, &snapshot, &built.topology, &kinds, &policies, &options)
    });
    let ground = Ground { documents, snapshot, topology: built.topology };
    questions(&ground, &resolved.resolution, &resolved.diagnostics, spec.routes / 10);
    Some(())
}

/// So many questions, evenly over the paths, each about all kinds.
fn questions(ground: &Ground, resolution: &Resolution, found: &[Diagnostic], asked: u32) {
    let part = ScenePart {
        family: FAMILY,
        profile: PROFILE,
        shipped: false,
        topology: &ground.topology.nodes,
        resolution,
        words: &gateway::Gep713,
    };
    let (parts, findings) = ([part], Findings::new(found));
    let scene = Scene::new(&ground.documents, &ground.snapshot, &parts);
    let scene = Scene { findings: Some(&findings), ..scene };
    let (kind, _) = resolution.kinds().next().expect("a kind");
    let paths: Vec<_> = resolution.contexts(kind).map(|(path, _)| path).collect();
    let asked = asked.max(1) as usize;
    let step = (paths.len() / asked).max(1);
    let said = stage("gateway", "explain", || {
        let questions = paths.iter().step_by(step).take(asked);
        questions.map(|path| view::explain(&scene, &part, *path, None, None)).collect::<Vec<_>>()
    });
    assert_eq!(said.len(), asked);
}

/// What is there before the policies of a family are read.
struct Ground {
    documents: Documents,
    snapshot: Snapshot,
    topology: GatewayTopology,
}

impl Ground {
    fn new(task: &Task, spec: &FleetSpec) -> Option<Self> {
        // JSON is read faster, and how it was written does not matter any more.
        let inputs = task.inputs(spec, ManifestFormat::Json)?;
        let documents = read(inputs, &ReadOptions::default()).documents;
        let mut snapshot = overrule::model::parse(&documents).snapshot;
        let (resources, _) = topology::parse(&documents, &mut snapshot);
        let topology = resources.connect(&snapshot).topology;
        Some(Self { documents, snapshot, topology })
    }
}

/// Reading and resolving Kuadrant's policies.
pub fn kuadrant(task: &Task) -> Option<()> {
    let Ground { documents, mut snapshot, topology } =
        Ground::new(task, &spec(task.size).kuadrant())?;
    let (policies, _) = stage("kuadrant", "policies", || kua::parse(&documents, &mut snapshot));
    let world = kua::World {
        documents: &documents,
        snapshot: &snapshot,
        topology: &topology,
        ground: &(),
        policies: &policies,
        profile: kua::Profile::Design,
    };
    let resolved =
        stage("kuadrant", "resolve", || kua::resolve(world, &kua::ResolveOptions::default()));
    assert!(resolved.resolution.folds() > 0);
    Some(())
}

/// Reading and resolving kgateway's policies, with delegation two routes deep.
pub fn kgateway(task: &Task) -> Option<()> {
    let Ground { documents, mut snapshot, topology } =
        Ground::new(task, &spec(task.size).kgateway(2))?;
    let settings = Settings::default();
    let (policies, _) =
        stage("kgateway", "policies", || kgw::parse(&documents, &mut snapshot, &settings));
    let world = kgw::World {
        documents: &documents,
        snapshot: &snapshot,
        topology: &topology,
        policies: &policies,
        ground: &settings,
        profile: kgw::Profile::Design,
    };
    let resolved =
        stage("kgateway", "resolve", || kgw::resolve(world, &kgw::ResolveOptions::default()));
    assert!(resolved.resolution.folds() > 0);
    Some(())
}
