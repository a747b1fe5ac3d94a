// SPDX-License-Identifier: Apache-2.0
//! In: manifests as text. Out: a scene, by the same stages a run goes through. Not here: files to check.
#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::path::PathBuf;

use overrule_engine::{KindId, LadderId, PathId, Resolution};
use overrule_gateway::kinds::Kinds;
use overrule_gateway::topology::{self, GatewayTopology};
use overrule_gateway::{ResolveOptions, policy};
use overrule_model::Snapshot;
use overrule_source::{Diagnostic, Documents, Input, ReadOptions};
use overrule_view::{Findings, Scene, ScenePart};

/// The results of all stages.
pub struct World {
    pub documents: Documents,
    pub snapshot: Snapshot,
    pub topology: GatewayTopology,
    pub resolution: Resolution,
    pub diagnostics: Vec<Diagnostic>,
}

/// Runs the stages over named texts.
pub fn world(inputs: &[(&str, &str)]) -> World {
    let inputs = inputs.iter().map(|(name, text)| Input::new(*name, *text)).collect();
    let read = overrule_source::read(inputs, &ReadOptions::default());
    let documents = read.documents;
    let mut diagnostics = read.diagnostics;
    let parsed = overrule_model::parse(&documents);
    diagnostics.extend(parsed.diagnostics);
    let mut snapshot = parsed.snapshot;
    let (resources, found) = topology::parse(&documents, &mut snapshot);
    diagnostics.extend(found);
    let (kinds, found) = Kinds::collect(&documents, &snapshot);
    diagnostics.extend(found);
    let (policies, found) = policy::parse(&documents, &mut snapshot, &kinds);
    diagnostics.extend(found);
    let built = resources.connect(&snapshot);
    diagnostics.extend(built.diagnostics);
    let (options, topology) = (ResolveOptions::default(), built.topology);
    let resolved =
        overrule_gateway::resolve(&documents, &snapshot, &topology, &kinds, &policies, &options);
    diagnostics.extend(resolved.diagnostics);
    World { documents, snapshot, topology, resolution: resolved.resolution, diagnostics }
}

/// A fixture of this crate.
pub fn fixture(name: &str) -> World {
    let path = root().join("tests/fixtures").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    world(&[(name, &text)])
}

/// The folder of this crate.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

impl World {
    /// Calls with the scene and its part.
    pub fn see<R>(&self, look: impl FnOnce(&Scene<'_>, &ScenePart<'_>) -> R) -> R {
        let parts = [ScenePart {
            family: "gateway",
            profile: "gep713",
            shipped: false,
            topology: &self.topology.nodes,
            resolution: &self.resolution,
            words: &overrule_gateway::Gep713,
        }];
        let findings = Findings::new(&self.diagnostics);
        let scene = Scene::new(&self.documents, &self.snapshot, &parts);
        let scene = Scene { findings: Some(&findings), ..scene };
        look(&scene, &parts[0])
    }

    /// Every path of a kind, with what reaches it.
    pub fn contexts(&self) -> Vec<(KindId, PathId, LadderId)> {
        let kinds = self.resolution.kinds().map(|(id, _)| id);
        let all = kinds.flat_map(|k| self.resolution.contexts(k).map(move |(p, l)| (k, p, l)));
        all.collect()
    }

    /// Kind and path of the target of this name, the first of them.
    pub fn find(&self, kind: &str, target: &str) -> (KindId, PathId) {
        self.see(|scene, part| {
            let fits = |(k, p): &(KindId, PathId)| {
                let name = self.resolution.kind(*k).map(|k| self.snapshot.text(k.kind));
                name == Some(kind) && part.path_target(scene, *p) == target
            };
            let found = self.contexts().into_iter().map(|(k, p, _)| (k, p)).find(fits);
            found.unwrap_or_else(|| panic!("no {kind} at {target}"))
        })
    }
}

/// Compares with a golden file; `OVERRULE_BLESS=1` writes it.
#[track_caller]
pub fn golden(name: &str, text: &str) {
    compare(root().join("tests/golden").join(name), text);
}

#[track_caller]
#[allow(clippy::disallowed_methods, reason = "a test may ask its environment")]
pub fn compare(path: PathBuf, text: &str) {
    if std::env::var("OVERRULE_BLESS").is_ok() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    if known != text {
        let differs = known.lines().zip(text.lines()).position(|(a, b)| a != b);
        let line = differs.unwrap_or_else(|| known.lines().count().min(text.lines().count()));
        panic!(
            "{} differs from line {}:\n  expected: {:?}\n  got:      {:?}\nOVERRULE_BLESS=1 accepts what was got",
            path.display(),
            line + 1,
            known.lines().nth(line),
            text.lines().nth(line),
        );
    }
}
