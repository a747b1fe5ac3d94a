// SPDX-License-Identifier: Apache-2.0
//! `overrule test`: policy tests. The last line of the plain form is `N passed, M failed`.

use std::path::Path;

use overrule_ask::{AskError, AskResult, Exit, Form, Shared, Sink};
use overrule_cases::{CaseResult, junit, load, plain, run as run_case, summary};

use crate::args::{Source, Test};
use crate::output::Out;
use crate::world;

pub fn run(source: &Source, shared: &Shared, asked: &Test, out: &mut Out) -> AskResult {
    world::profiles(source)?;
    if shared.output.is_some_and(|form| form != Form::Table) {
        return Err(AskError::Usage(
            "test writes plain lines; for programs there is --junit FILE".to_owned(),
        ));
    }
    let loaded = load(&asked.paths);
    let mut exit = Exit::Fine;
    for error in &loaded.errors {
        if error.fatal {
            exit = Exit::World;
        }
        out.problem(&error.to_string());
    }
    let mut results = loaded.broken;
    for case in &loaded.cases {
        // A profile is of a family: tests of others run as they say.
        let of_family = |p: &&String| p.split_once('=').is_some_and(|(f, _)| f == case.family);
        let profile = source.profile.iter().find(of_family).map(String::as_str);
        results.extend(run_case(case, profile));
    }
    if results.is_empty() && exit == Exit::Fine {
        return Err(AskError::NotFound(
            "no policy tests there; docs/testing.md shows how to write one".to_owned(),
        ));
    }
    write(shared, asked, &results, out)?;
    let failed = results.iter().any(|r| !r.passed());
    Ok(if failed { exit.worst(Exit::Findings) } else { exit })
}

fn write(
    shared: &Shared,
    asked: &Test,
    results: &[CaseResult],
    out: &mut Out,
) -> Result<(), AskError> {
    if let Some(path) = &asked.junit {
        let xml = junit(results);
        if path == Path::new("-") {
            return out.result(&xml);
        }
        std::fs::write(path, xml)
            .map_err(|e| AskError::World(format!("cannot write {}: {e}", path.display())))?;
    }
    for result in results {
        out.result(&plain(result, shared.verbose))?;
    }
    out.result(&summary(results))
}
