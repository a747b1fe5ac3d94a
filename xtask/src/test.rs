// SPDX-License-Identifier: Apache-2.0
//! In: the workspace. Out: everything CI checks, run. Not here: how a single check works.

use std::path::{Path, PathBuf};

use crate::steps::{Ending, Steps};
use crate::{cargo, conformance, fuzz, scale, schemas, schemathesis, tidy};

/// How much to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Leave out fuzzing, benchmarks and counting instructions
    #[arg(long)]
    fast: bool,
}

/// Cases of our own, and the folder where families keep theirs.
const OWN_CASES: &str = "crates/cases/tests/cases";
const SHARED: &str = "../shared/conformance";

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<(), String> {
    let mut steps = Steps::default();
    let ran = |()| Ending::Ran(String::new());
    steps.run("fmt", || cargo::run(root, &["fmt", "--all", "--check"]).map(ran));
    steps.run("clippy", || {
        cargo::run(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
            .map(ran)
    });
    let mut has_envoy = true;
    steps.run("envoy", || {
        // Without it the tests that need it are left out, and this line says so.
        let install = ["run", "--quiet", "-p", "overrule-proof", "--", "--install"];
        Ok(match cargo::run(root, &install) {
            Ok(()) => Ending::Ran("a real Envoy is there for the tests".to_owned()),
            Err(why) => {
                has_envoy = false;
                Ending::DidNotRun(format!("nothing is proved on a real Envoy: {why}"))
            }
        })
    });
    steps.run("test", || {
        let shared = root.join(SHARED);
        let shared = std::fs::canonicalize(&shared).unwrap_or(shared);
        let shared = shared.to_string_lossy();
        let proof = if has_envoy { "" } else { "skip" };
        let variables = [("OVERRULE_CONFORMANCE", &*shared), ("OVERRULE_PROOF", proof)];
        cargo::test(root, &["test", "--workspace", "--no-fail-fast"], &variables).map(ran)
    });
    steps.run("schemathesis", || schemathesis::step(root));
    steps.run("schemas", || schemas::check(root));
    steps.run("tidy", || tidy::run(root).map(ran));
    steps.run("conformance: own cases", || {
        conformance::tree(&root.join(OWN_CASES)).map(Ending::Ran)
    });
    // Generic kinds, the first family, have no data but our own.
    for family in overrule::families().iter().skip(1).map(|family| family.name()) {
        steps.run(&format!("conformance: {family}"), || shared(root, family));
        for folder in more_of(root, family) {
            steps.run(&format!("conformance: {folder}"), || shared(root, &folder));
        }
    }
    if arguments.fast {
        steps.run("fuzz", || Ok(Ending::DidNotRun("left out by --fast".to_owned())));
        steps.run("bench", || Ok(Ending::DidNotRun("left out by --fast".to_owned())));
        steps.run("scale", || Ok(Ending::DidNotRun("left out by --fast".to_owned())));
    } else {
        steps.run("fuzz", || fuzz::smoke(root));
        steps.run("bench", || bench(root));
        steps.run("scale", || scale::check(root, scale::WIDE_MARGIN));
    }
    steps.finish()
}

/// The data of a family, where it is there.
fn shared(root: &Path, family: &str) -> Result<Ending, String> {
    let folder: PathBuf = root.join(SHARED).join(family);
    if !folder.is_dir() {
        return Ok(Ending::DidNotRun(format!("there is no {SHARED}/{family} beside the clone")));
    }
    conformance::tree(&folder).map(Ending::Ran)
}

/// The folders with more data of a family: `FAMILY-random`.
fn more_of(root: &Path, family: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root.join(SHARED)).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let prefix = format!("{family}-");
    let mut found: Vec<String> = names.filter(|name| name.starts_with(&prefix)).collect();
    found.sort();
    found
}

fn bench(root: &Path) -> Result<Ending, String> {
    if !root.join("crates/overrule/benches").is_dir() {
        return Ok(Ending::DidNotRun("there is no crates/overrule/benches".to_owned()));
    }
    cargo::run(root, &["bench", "-p", "overrule", "--", "--quick"])?;
    Ok(Ending::Ran(String::new()))
}
