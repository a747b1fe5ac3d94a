// SPDX-License-Identifier: Apache-2.0
//! In: the fuzz targets. Out: each run for a short while, or a loud word that only its property test ran.
//! Not here: the targets (`fuzz/`), their twins under proptest (part of `cargo test`).

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cargo;
use crate::steps::Ending;

/// How long each target runs.
const SECONDS: u32 = 20;

/// Runs every target. The stable compiler does it with `RUSTC_BOOTSTRAP`; no sanitizer, since there is no unsafe code.
pub(crate) fn smoke(root: &Path) -> Result<Ending, String> {
    if !root.join("fuzz/Cargo.toml").is_file() {
        return Ok(Ending::DidNotRun("there is no fuzz/Cargo.toml".to_owned()));
    }
    let targets = targets(root)?;
    if let Some(why) = obstacle(root) {
        return Ok(twin(&why));
    }
    let corpus = std::env::temp_dir().join(format!("overrule-fuzz-{}", std::process::id()));
    let result = targets.iter().try_for_each(|target| one(root, target, &corpus.join(target)));
    // Leaving a corpus in the temporary folder would only cost space, so a failure to remove it is no failure.
    drop(std::fs::remove_dir_all(&corpus));
    result.map(|()| {
        Ending::Ran(format!("{} targets, {SECONDS} s each, with cargo-fuzz", targets.len()))
    })
}

/// Names of the targets: the programs `fuzz/Cargo.toml` declares.
fn targets(root: &Path) -> Result<Vec<String>, String> {
    let path = root.join("fuzz/Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let programs = text.split("[[bin]]").skip(1);
    let name = |program: &str| {
        let line = program.lines().find_map(|line| line.strip_prefix("name = "))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    Ok(programs.filter_map(name).collect())
}

/// Why fuzzing is not possible here, if it is not: no C++ compiler for libFuzzer, no cargo-fuzz to be had.
fn obstacle(root: &Path) -> Option<String> {
    let runs = |name: &str| {
        let mut command = Command::new(name);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|s| s.success())
    };
    if !["c++", "clang++", "g++"].into_iter().any(runs) {
        return Some("there is no C++ compiler, which libFuzzer needs".to_owned());
    }
    if !cargo::has(root, "fuzz") {
        let installed = cargo::run(root, &["install", "cargo-fuzz", "--locked"]);
        return installed.err().filter(|_| !cargo::has(root, "fuzz"));
    }
    None
}

fn twin(why: &str) -> Ending {
    let line = "!".repeat(72);
    println!("{line}\nNO FUZZING: {why}.");
    println!("The same entry points ran under proptest in the step `test` instead.\n{line}");
    Ending::DidNotRun(format!("{why}; the property tests of the same entry points ran instead"))
}

fn one(root: &Path, target: &str, corpus: &Path) -> Result<(), String> {
    std::fs::create_dir_all(corpus).map_err(|e| format!("{}: {e}", corpus.display()))?;
    let corpus = corpus.to_string_lossy();
    let seeds = ["seeds", "corpus"].map(|folder| format!("fuzz/{folder}/{target}"));
    let limit = format!("-max_total_time={SECONDS}");
    let mut arguments = vec!["fuzz", "run", "--sanitizer", "none", target, &corpus];
    arguments.extend(seeds.iter().map(String::as_str).filter(|folder| root.join(folder).is_dir()));
    arguments.extend(["--", &limit, "-print_final_stats=1"]);
    cargo::run_with(root, &arguments, &[("RUSTC_BOOTSTRAP", "1")])
}
