// SPDX-License-Identifier: Apache-2.0
//! In: a number of dataplanes. Out: the stages of a mesh. Not here: gateways, access rules on their own.
//!
//! Dataplanes grow, and nothing else: rules are about each shape and each service, so with more of all of them the answer
//! would not be linear.

use overrule::engine::Topology;
use overrule::kuma::{self, Profile, ProxyOptions, Settings, World, topology};
use overrule::source::{ReadOptions, read};
use overrule_testkit::fleet::{ManifestFormat, MeshSpec};

use crate::{Task, stage};

/// Reading and resolving Kuma's resources.
pub fn mesh(task: &Task) -> Option<()> {
    let spec = MeshSpec { dataplanes: task.size, ..MeshSpec::bar8() };
    let inputs = task.inputs(&spec, ManifestFormat::Json)?;
    let documents = read(inputs, &ReadOptions::default()).documents;
    let mut snapshot = overrule::model::parse(&documents).snapshot;
    let (resources, _) =
        stage("mesh", "resources", || kuma::parse(&documents, &snapshot, &Settings::default()));
    let mut nodes = Topology::default();
    let topology = stage("mesh", "topology", || {
        topology::build(&documents, &mut snapshot, &resources, &mut nodes)
    });
    let profile = Profile::from_name("design", &resources.settings);
    let world = World {
        documents: &documents,
        snapshot: &snapshot,
        resources: &resources,
        topology: &topology,
        profile: &profile,
    };
    let resolved = stage("mesh", "resolve", || kuma::resolve(world, &ProxyOptions::default()));
    assert!(resolved.resolution.folds() > 0);
    Some(())
}
