// SPDX-License-Identifier: Apache-2.0
//! One file per command: what was asked, a pure call, and how the answer is written.

pub mod can;
pub mod check;
pub mod docs;
pub mod effective;
pub mod envoy;
pub mod explain;
pub mod get;
pub mod graph;
pub mod reach;
pub mod request;
pub mod rule;
pub mod test;

use overrule::engine::{NodeId, Paths};
use overrule::source::Diagnostic;
use overrule::view;
use serde::Serialize;

use crate::args::{Form, Shared};
use crate::output::{Failure, Out};
use crate::world::World;

/// The form asked for, or the one the command is best read in. Pictures are for `graph`.
fn form(shared: &Shared, default: Form) -> Result<Form, Failure> {
    match shared.output.unwrap_or(default) {
        Form::Tree | Form::Dot | Form::Mermaid | Form::Svg => Err(Failure::Usage(
            "this form of output is for `overrule graph`; use table, wide, yaml or json".to_owned(),
        )),
        Form::Csv => Err(Failure::Usage(
            "csv is for `overrule can`; use table, wide, yaml or json".to_owned(),
        )),
        form => Ok(form),
    }
}

/// Writes a value of the versioned model as JSON or YAML.
fn write_value(out: &mut Out, form: Form, value: &impl Serialize) -> Result<(), Failure> {
    match form {
        Form::Yaml => out.result(&view::yaml(value)),
        _ => out.line(&view::json(value)),
    }
}

/// Text from a renderer; writing to memory cannot fail.
fn text(render: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut text = String::new();
    let _ = render(&mut text);
    text
}

/// A target no path passes through has a reason, and the findings about it usually say which.
fn mention_unreached(world: &World, node: NodeId, out: &mut Out) {
    let analysis = &world.analysis;
    let on_path = |paths: &Paths| paths.ids().any(|p| paths.node(p) == Some(node));
    if analysis.shown().any(|a| on_path(&a.resolution.paths)) {
        return;
    }
    let object = analysis
        .topology
        .nodes
        .get(node)
        .and_then(|n| n.object)
        .and_then(|o| analysis.snapshot.get(o));
    let Some(object) = object else { return };
    let span = analysis.documents.view(object.root).span();
    let findings = view::Findings::new(&analysis.diagnostics);
    let found: Vec<Diagnostic> = findings.within(span).cloned().collect();
    let listed =
        view::diagnostics_short(&analysis.documents.sources, &found, &view::Styles::plain());
    out.remark(&format!(
        "{} is attached to nothing, so no path passes through it\n{}",
        analysis.snapshot.display(object.id),
        listed.trim_end()
    ));
}
