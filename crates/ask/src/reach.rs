// SPDX-License-Identifier: Apache-2.0
//! `overrule reach`: where a policy, or a part of it, is in force.

use overrule::engine::PolicyId;
use overrule::view::{self, Scene, ScenePart};

use crate::select;
use crate::{
    AskError, AskResult, Exit, Form, Known, Needs, Reach, Shared, Sink, form_or_names, output,
    table_styles, text, write_value,
};

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Reach,
    sink: &mut dyn Sink,
) -> AskResult {
    let stage = known.analysis.stage();
    let scene = Needs::default().scene(&stage, shared);
    let policy = select::policy(known, &scene, shared, &asked.policy)?;
    let has_it = write(known, shared, &scene, policy, asked.rule.as_deref(), sink)?;
    Ok(Exit::findings(!has_it))
}

/// Also what `explain POLICY` shows. Whether the policy has the part asked about.
pub(crate) fn write(
    known: &Known<'_>,
    shared: &Shared,
    scene: &Scene<'_>,
    (part, policy): (&ScenePart<'_>, PolicyId),
    rule: Option<&str>,
    sink: &mut dyn Sink,
) -> Result<bool, AskError> {
    let reach = match known.reader(scene) {
        None => view::reach(scene, part, policy, rule),
        Some(reader) => reader.reach(part, policy, rule),
    };
    match form_or_names(shared, Form::Table)? {
        Form::Name => {
            let targets = reach.targets.iter().map(|target| target.target.clone());
            output::names(targets, sink)?;
        }
        form @ (Form::Table | Form::Wide) => {
            let wide = shared.verbose || form == Form::Wide;
            let styles = table_styles(sink, form);
            sink.result(&text(|s| view::reach_text(&reach, wide, &styles, s)))?;
        }
        form => write_value(sink, form, &reach)?,
    }
    Ok(rule.is_none() || !reach.targets.is_empty())
}
