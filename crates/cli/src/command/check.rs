// SPDX-License-Identifier: Apache-2.0
//! `overrule check`: every finding of every stage.

use overrule::source::{Diagnostic, Severity};
use overrule::view;

use super::{form, write_value};
use crate::args::{Check, FailOn, Form, Shared};
use crate::output::{Exit, Out, Outcome};
use crate::world;

pub fn run(shared: &Shared, check: &Check, out: &mut Out) -> Outcome {
    let world = world::load(shared, out, Vec::new())?;
    let analysis = &world.analysis;
    let sources = &analysis.documents.sources;
    let threshold = match check.fail_on {
        FailOn::Error => Some(Severity::Error),
        FailOn::Warning => Some(Severity::Warning),
        FailOn::Note => Some(Severity::Note),
        FailOn::Never => None,
    };
    let failed = threshold.is_some_and(|t| analysis.diagnostics.iter().any(|d| d.severity() >= t));
    match form(shared, Form::Table)? {
        Form::Table | Form::Wide => {
            let shown: Vec<Diagnostic> = analysis
                .diagnostics
                .iter()
                .filter(|d| !shared.quiet || d.severity() == Severity::Error)
                .cloned()
                .collect();
            let text = if check.short {
                view::diagnostics_short(sources, &shown, &out.styles)
            } else {
                view::diagnostics_text(sources, &shown, &out.styles)
            };
            out.result(&text)?;
            let counted = format!(
                "{} resources in {} files, {} policies of {} kinds",
                analysis.snapshot.len(),
                sources.len(),
                analysis.resolution.policies().count(),
                analysis.resolution.kinds().count(),
            );
            let found = view::summary(&analysis.diagnostics);
            let found = if found.is_empty() { "no findings".to_owned() } else { found };
            out.remark(&format!("{counted}: {found}"));
        }
        form => write_value(out, form, &view::diagnostics(sources, &analysis.diagnostics))?,
    }
    Ok(if failed { world.exit.worst(Exit::Findings) } else { world.exit })
}
