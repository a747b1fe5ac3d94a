// SPDX-License-Identifier: Apache-2.0
//! In: a number of routes. Out: resolving all of a workspace, a change of a policy of all routes of a Gateway, and changes
//! of policies of single routes. Not here: whether the answers are right (the tests of `overrule`).
//!
//! There is a change for every hundredth route: if one costs the same however large the fleet is, instructions are linear.

use overrule::Options;
use overrule::live::{Edit, KeyedText, Workspace};
use overrule::source::Input;
use overrule_testkit::fleet::{FleetSpec, ManifestFormat};

use crate::{Task, gateway, stage};

/// Everything once, then changes that affect one route each.
pub fn live(task: &Task) -> Option<()> {
    // A text for each resource, as a store has them.
    let spec = FleetSpec { per_file: 1, ..gateway::spec(task.size) };
    let inputs = task.inputs(&spec, ManifestFormat::Yaml)?;
    let wide = inputs.iter().find(|input| is_on(input, "Gateway")).map(changed)?;
    let on_routes = inputs.iter().filter(|input| is_on(input, "HTTPRoute"));
    let edits: Vec<Edit> = on_routes.map(changed).take((task.size / 100).max(1) as usize).collect();
    let asked = edits.len();
    let texts = inputs.into_iter().map(given).collect();
    let mut workspace = Workspace::new(texts, Options::default());
    drop(stage("live", "whole", || workspace.resolve()));
    drop(stage("live", "again", || workspace.change(vec![wide])));
    // What was published is let go before the next change, as readers do.
    let changed = stage("live", "changes", || {
        edits.into_iter().map(|edit| drop(workspace.change(vec![edit]))).count()
    });
    assert_eq!(changed, asked);
    Some(())
}

fn text(input: &Input) -> &str {
    std::str::from_utf8(&input.bytes).expect("text")
}

/// Whether it is a policy on a target of a kind.
fn is_on(input: &Input, kind: &str) -> bool {
    text(input).contains("targetRef:") && text(input).contains(&format!("kind: {kind}\n"))
}

/// The same policy with one label more.
fn changed(input: &Input) -> Edit {
    let text = text(input).replace("spec:", "  labels:\n    change: once\nspec:");
    Edit::Put(given(Input::new(input.name.clone(), text.into_bytes())))
}

fn given(input: Input) -> KeyedText {
    KeyedText { key: input.name.clone(), input, created: None }
}
