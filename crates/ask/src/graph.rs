// SPDX-License-Identifier: Apache-2.0
//! `overrule graph`: the topology with its policies.

use overrule::view::Graph as Drawing;

use crate::select::{self, Target};
use crate::{
    AskError, AskResult, Exit, Form, Graph, Known, Needs, Shared, Sink, beside, text, write_value,
};

pub(crate) fn needs(asked: &Graph) -> Needs<'_> {
    Needs { targets: asked.target.as_deref().into_iter().collect(), ..Needs::default() }
}

pub(crate) fn validate(shared: &Shared, asked: &Graph) -> Result<(), AskError> {
    if shared.selector.is_some() || (shared.namespace.is_some() && asked.target.is_none()) {
        let message =
            "graph shows everything, or what passes through a TARGET; -n and -l do not narrow it";
        return Err(AskError::Usage(message.to_owned()));
    }
    Ok(())
}

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Graph,
    sink: &mut dyn Sink,
) -> AskResult {
    let stage = known.analysis.stage();
    let scene = needs(asked).scene(&stage, shared);
    let focus = match &asked.target {
        None => None,
        Some(target) => match select::target(known, &scene, shared, target)? {
            Target::Node(node) => Some(node),
            Target::Policy(..) => {
                return Err(AskError::NotFound(format!(
                    "`{target}` is a policy; `overrule reach {target}` shows where it acts"
                )));
            }
        },
    };
    let focus = beside::focus(known, focus);
    let graph = match known.reader(&scene) {
        None => Drawing::of(&scene, scene.parts, &focus),
        Some(reader) => reader.graph(&focus),
    };
    match shared.form().unwrap_or(Form::Tree) {
        form @ (Form::Json | Form::Yaml) => write_value(sink, form, graph.json())?,
        Form::Tree | Form::Table | Form::Wide => {
            let styles = sink.styles();
            sink.result(&text(|s| graph.tree(&styles, s)))?;
        }
        Form::Dot => sink.result(&graph.dot())?,
        Form::Mermaid => sink.result(&graph.mermaid())?,
        Form::Svg => sink.result(&graph.svg())?,
        Form::Csv | Form::Name | Form::Markdown => {
            let detail = "graph has the forms tree, dot, mermaid, svg, json and yaml";
            return Err(AskError::Usage(detail.to_owned()));
        }
    }
    Ok(Exit::Fine)
}
