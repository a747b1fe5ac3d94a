// SPDX-License-Identifier: Apache-2.0
//! In: fleets. Out: whether they are what their numbers say, and the same each time. Not here: how fast they are resolved.

use std::collections::BTreeSet;

use overrule::{Analysis, Options};
use overrule_source::{Input, Severity};

use super::*;
use crate::run::run;

fn inputs<S: Spec>(spec: &S, format: ManifestFormat) -> Vec<Input> {
    manifests(spec, format).map(|(name, text)| Input::new(name, text)).collect()
}

#[test]
fn a_fleet_is_clean_and_resolves() {
    for spec in [
        FleetSpec::small(),
        FleetSpec::medium(),
        FleetSpec::bar1().divided_by(100),
        FleetSpec::bar2(20),
        FleetSpec::bar8().divided_by(100),
        FleetSpec::bar8_one_gateway().divided_by(100),
    ] {
        let run = run(inputs(&spec, ManifestFormat::Yaml));
        assert_eq!(run.snapshot.len() as u64, spec.resources());
        let errors: Vec<_> = run
            .diagnostics
            .iter()
            .filter(|d| d.severity() == Severity::Error && d.code.id != "OV1307")
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert!(run.resolution.rejections.is_empty(), "{:?}", run.resolution.rejections);
        assert_eq!(run.resolution.policies().count() as u64, u64::from(spec.policies.sum()));
        let answers = run.answers();
        assert!(answers.values().flatten().count() * 3 > answers.len(), "most paths have policies");
    }
}

#[test]
fn the_scale_bar_has_its_sizes() {
    for (spec, gateways) in [(FleetSpec::bar8(), 100), (FleetSpec::bar8_one_gateway(), 1)] {
        assert_eq!((spec.gateways, spec.routes, spec.kinds), (gateways, 100_000, 3));
        assert_eq!(spec.policies.sum(), 20_000);
    }
}

#[test]
fn yaml_and_json_say_the_same() {
    let spec = FleetSpec::small();
    let (yaml, json) =
        (run(inputs(&spec, ManifestFormat::Yaml)), run(inputs(&spec, ManifestFormat::Json)));
    assert_eq!(yaml.answers(), json.answers());
}

/// FNV-1a over names and texts: a number for the bytes of a fleet.
fn fingerprint<S: Spec>(spec: &S) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (name, text) in manifests(spec, ManifestFormat::Yaml) {
        for byte in name.bytes().chain(text.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

#[test]
fn a_fleet_is_its_seed() {
    let gateway = |seed| FleetSpec { seed, ..FleetSpec::small() };
    let mesh = |seed| MeshSpec { seed, ..MeshSpec::small() };
    assert_eq!(fingerprint(&gateway(7)), fingerprint(&gateway(7)));
    assert_eq!(fingerprint(&mesh(7)), fingerprint(&mesh(7)));
    let seeds = [7, 8, 9];
    let prints = seeds.iter().flat_map(|&seed| {
        let (kuadrant, kgateway) = (gateway(seed).kuadrant(), gateway(seed).kgateway(2));
        [
            fingerprint(&gateway(seed)),
            fingerprint(&kuadrant),
            fingerprint(&kgateway),
            fingerprint(&mesh(seed)),
        ]
    });
    assert_eq!(prints.collect::<BTreeSet<_>>().len(), 12, "each seed and family is another fleet");
}

#[test]
fn the_bytes_of_a_seed_stay() {
    // Counts of instructions are kept and compared; with other bytes they would be of another fleet. Who changes one of
    // these numbers counts anew: `cargo xtask scale`.
    let gateway = FleetSpec::bar8().divided_by(100);
    let prints = [
        fingerprint(&gateway),
        fingerprint(&gateway.clone().kuadrant()),
        fingerprint(&gateway.kgateway(2)),
        fingerprint(&MeshSpec::medium()),
    ];
    assert_eq!(
        prints,
        [
            10_268_838_226_948_611_788,
            4_916_577_362_902_945_008,
            3_979_283_844_682_617_570,
            10_403_204_565_386_919_892,
        ]
    );
}

#[test]
fn a_fleet_can_have_a_million_resources() {
    for resources in [FleetSpec::million().resources(), MeshSpec::million().resources()] {
        assert!((999_000..=1_001_000).contains(&resources), "{resources}");
    }
    // The last ones are made without the others.
    let policies = FleetSpec::million();
    assert_eq!(policies.iter().take(3).count(), 3);
}

/// Everything the whole pipeline says about a fleet.
fn analysed<S: Spec>(spec: &S) -> Analysis {
    let analysis = Analysis::new(inputs(spec, ManifestFormat::Yaml), &Options::default());
    assert_eq!(analysis.snapshot.len() as u64, spec.resources(), "no name twice");
    analysis
}

/// Errors, without those of released controllers about what only the designs have.
fn errors(analysis: &Analysis) -> Vec<String> {
    let errors = analysis.diagnostics.iter().filter(|d| d.severity() == Severity::Error);
    let errors = errors.filter(|d| d.code.id != "OV1040");
    errors.map(|d| format!("{} {}", d.code.id, d.message)).collect()
}

/// Outcomes of all policies of a family, as words.
fn outcomes(analysis: &Analysis, family: &str) -> Vec<&'static str> {
    let stage = analysis.stage();
    let scene = stage.scene();
    let mut words = Vec::new();
    for (answer, part) in analysis.shown().zip(scene.parts) {
        if answer.family.name() == family {
            let list = overrule::view::policies(&scene, part, &|_| true);
            words.extend(list.items.into_iter().map(|p| p.outcome));
        }
    }
    words
}

#[test]
fn the_big_gateway_has_all_its_paths() {
    let spec = FleetSpec::bar2(20);
    let run = run(inputs(&spec, ManifestFormat::Yaml));
    let kind = run.resolution.kinds().next().unwrap().0;
    assert_eq!(run.resolution.contexts(kind).count(), 64 * 20 * 16);
}

/// No errors, no policy lost, and more than half of them in force somewhere.
fn assert_lively(analysis: &Analysis, family: &str, policies: u32) -> Vec<&'static str> {
    let errors = errors(analysis);
    assert!(errors.is_empty(), "{} errors: {:?}", errors.len(), errors.first());
    let outcomes = outcomes(analysis, family);
    assert_eq!(outcomes.len() as u64, u64::from(policies));
    let working = outcomes.iter().filter(|o| ["in force", "partly"].contains(o)).count();
    assert!(working * 2 > outcomes.len(), "{working} of {}", outcomes.len());
    outcomes
}

#[test]
fn kuadrant_policies_work_with_conditions_and_removals() {
    let spec = FleetSpec { removals: 30, conditions: 60, ..FleetSpec::medium().kuadrant() };
    let analysis = analysed(&spec);
    let outcomes = assert_lively(&analysis, "kuadrant", spec.policies.sum());
    assert!(outcomes.contains(&"removed"), "{outcomes:?}");
    assert!(outcomes.contains(&"skipped"), "{outcomes:?}");
    let without = FleetSpec { removals: 0, conditions: 0, ..spec };
    let outcomes = assert_lively(&analysed(&without), "kuadrant", without.policies.sum());
    assert!(!outcomes.contains(&"removed") && !outcomes.contains(&"skipped"), "{outcomes:?}");
}

#[test]
fn kgateway_routes_are_behind_as_many_as_wanted() {
    for depth in 0..3 {
        let spec = FleetSpec { namespaces: 20, ..FleetSpec::medium().kgateway(depth) };
        let analysis = analysed(&spec);
        assert_lively(&analysis, "kgateway", spec.policies.sum());
        let answer = analysis.shown().find(|a| a.family.name() == "kgateway").unwrap();
        let (kind, _) = answer.resolution.kinds().next().unwrap();
        let stage = analysis.stage();
        let scene = stage.scene();
        let part = scene.parts.iter().find(|p| std::ptr::eq(p.resolution, &answer.resolution));
        let part = part.unwrap();
        let names: BTreeSet<String> =
            part.resolution.contexts(kind).map(|(path, _)| part.path_name(&scene, path)).collect();
        // The gateway and each route are written with their namespace, nothing else is.
        let routes = |name: &String| name.matches('/').count() - 1;
        let with_backends = names.iter().filter(|n| routes(n) == depth as usize + 1).count();
        assert!(with_backends >= 2 * 500, "depth {depth}: {with_backends} of {:?}", names.first());
    }
}

#[test]
fn mesh_policies_work_and_shapes_are_few() {
    let spec = MeshSpec::medium();
    let analysis = analysed(&spec);
    assert_lively(&analysis, "kuma", spec.policies.sum());
    let refused: usize =
        analysis.meshes().resources.meshes.iter().map(|mesh| mesh.refused.len()).sum();
    assert_eq!(refused, 0);
    let labels = |v: &Value| {
        let mut labels = v["labels"].clone();
        labels["kuma.io/display-name"] = Value::Null;
        labels.to_string()
    };
    let dataplanes: Vec<Value> = spec.iter().filter(|v| v["type"] == "Dataplane").collect();
    let shapes: BTreeSet<String> = dataplanes.iter().map(labels).collect();
    assert_eq!((dataplanes.len(), shapes.len()), (500, 50));
    let permissions = spec.iter().filter(|v| v["type"] == "MeshTrafficPermission");
    let rules = permissions.map(|p| {
        let lists = p["spec"]["rules"][0]["default"].as_object().unwrap().clone();
        lists.values().map(|l| l.as_array().unwrap().len()).sum::<usize>()
    });
    assert!(rules.into_iter().all(|count| count == 3));
}
