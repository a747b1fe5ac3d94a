// SPDX-License-Identifier: Apache-2.0
//! `overrule graph`: the topology with its policies.

use overrule::view::Graph as Drawing;

use super::{text, write_value};
use crate::args::{Form, Graph, Shared};
use crate::output::{Failure, Out, Outcome};
use crate::select::{self, Target};
use crate::world::{self, Needs};

pub fn run(shared: &Shared, asked: &Graph, out: &mut Out) -> Outcome {
    if shared.selector.is_some() || (shared.namespace.is_some() && asked.target.is_none()) {
        let message =
            "graph shows everything, or what passes through a TARGET; -n and -l do not narrow it";
        return Err(Failure::Usage(message.to_owned()));
    }
    let world = world::load(
        shared,
        out,
        &Needs { targets: asked.target.as_deref().into_iter().collect(), ..Needs::default() },
    )?;
    let stage = world.analysis.stage();
    let scene = stage.scene();
    let focus = match &asked.target {
        None => None,
        Some(target) => match select::target(&world.analysis, &scene, shared, target)? {
            Target::Node(node) => Some(node),
            Target::Policy(..) => {
                return Err(Failure::NotFound(format!(
                    "`{target}` is a policy; `overrule reach {target}` shows where it acts"
                )));
            }
        },
    };
    let graph = Drawing::of(&scene, scene.parts, focus);
    match shared.output.unwrap_or(Form::Tree) {
        form @ (Form::Json | Form::Yaml) => write_value(out, form, graph.json())?,
        Form::Tree | Form::Table | Form::Wide => {
            let styles = out.styles;
            out.result(&text(|s| graph.tree(&styles, s)))?;
        }
        Form::Dot => out.result(&graph.dot())?,
        Form::Mermaid => out.result(&graph.mermaid())?,
        Form::Svg => out.result(&graph.svg())?,
        Form::Csv => return Err(Failure::Usage("csv is for `overrule can`".to_owned())),
    }
    Ok(world.exit)
}
