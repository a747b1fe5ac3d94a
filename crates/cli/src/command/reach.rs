// SPDX-License-Identifier: Apache-2.0
//! `overrule reach`: where a policy, or a part of it, is in force.

use overrule::engine::PolicyId;
use overrule::view::{self, Part, Scene};

use super::{form, text, write_value};
use crate::args::{Form, Reach, Shared};
use crate::output::{Exit, Failure, Out, Outcome};
use crate::select;
use crate::world::{self, Needs};

pub fn run(shared: &Shared, asked: &Reach, out: &mut Out) -> Outcome {
    let world = world::load(shared, out, &Needs::default())?;
    let stage = world.analysis.stage();
    let scene = stage.scene();
    let policy = select::policy(&world.analysis, &scene, shared, &asked.policy)?;
    let known = write(shared, &scene, policy, asked.rule.as_deref(), out)?;
    Ok(if known { world.exit } else { world.exit.worst(Exit::Findings) })
}

/// Also what `explain POLICY` shows. Whether the policy has the part asked about.
pub fn write(
    shared: &Shared,
    scene: &Scene<'_>,
    (part, policy): (&Part<'_>, PolicyId),
    rule: Option<&str>,
    out: &mut Out,
) -> Result<bool, Failure> {
    let reach = view::reach(scene, part, policy, rule);
    match form(shared, Form::Table)? {
        form @ (Form::Table | Form::Wide) => {
            let wide = shared.verbose || form == Form::Wide;
            let styles = out.styles;
            out.result(&text(|s| view::reach_text(&reach, wide, &styles, s)))?;
        }
        form => write_value(out, form, &reach)?,
    }
    Ok(rule.is_none() || !reach.targets.is_empty())
}
