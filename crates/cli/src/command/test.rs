// SPDX-License-Identifier: Apache-2.0
//! `overrule test`: policy tests. The last line of the plain form is `N passed, M failed`.

use std::path::{Component, Path, PathBuf};

use overrule_ask::{AskError, AskResult, Exit, Form, Shared, Sink};
use overrule_cases::{
    CaseResult, InitError, TestRequest, init as new_test, junit, load, plain, run as run_case,
    summary,
};

use crate::args::{Source, Test};
use crate::output::Out;
use crate::world;

pub fn run(source: &Source, shared: &Shared, asked: &Test, out: &mut Out) -> AskResult {
    world::profiles(source)?;
    if shared.form().is_some_and(|form| form != Form::Table) {
        return Err(AskError::Usage(
            "test writes plain lines; for programs there is --junit FILE".to_owned(),
        ));
    }
    if let Some(target) = &asked.init {
        return init(source, shared, asked, target, out);
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
    let styles = out.styles();
    for result in results {
        out.result(&plain(result, shared.verbose, &styles))?;
    }
    out.result(&summary(results))
}

/// Writes a test of what is in force now.
fn init(source: &Source, shared: &Shared, asked: &Test, target: &str, out: &mut Out) -> AskResult {
    let file = match asked.paths.as_slice() {
        [] => None,
        [file] => Some(file),
        _ => return Err(AskError::Usage("--init writes one file; name one PATH".to_owned())),
    };
    if source.server.as_ref().is_some_and(|s| !s.is_empty()) {
        let detail = "a test needs the manifests as files: name them with -f, without --server";
        return Err(AskError::Usage(detail.to_owned()));
    }
    if source.files.iter().any(|path| path == Path::new("-")) {
        let detail = "a test names its manifests by path; -f - has none";
        return Err(AskError::Usage(detail.to_owned()));
    }
    if let Some(file) = file.filter(|file| file.exists()) {
        return Err(AskError::Usage(format!("{} exists; name a new file", file.display())));
    }
    let parent = file.and_then(|file| file.parent()).filter(|parent| *parent != Path::new(""));
    let folder = parent.unwrap_or(Path::new("."));
    let named = |paths: &[PathBuf]| paths.iter().map(|path| relative(folder, path)).collect();
    let read = world::read(source, out)?;
    let exit = read.exit;
    let request = TestRequest {
        target: target.to_owned(),
        namespace: shared.namespace.clone().filter(|_| !shared.all_namespaces),
        files: named(&source.files()),
        kinds: named(&source.kinds),
        profiles: world::profiles(source)?,
        settings: source.settings.read()?,
        assume_created: source.assume_created.as_ref().map(|word| word.to_lowercase()),
        inputs: read.inputs,
        kind_sources: read.kind_sources,
    };
    let text = new_test(&request).map_err(|error| match error {
        InitError::Lookup(error) => AskError::from(error),
        InitError::Nothing(why) => AskError::NotFound(why),
    })?;
    match file {
        None => out.result(&text)?,
        Some(file) => {
            let failed = |e| AskError::World(format!("cannot write {}: {e}", file.display()));
            std::fs::write(file, text).map_err(failed)?;
            out.remark(&format!("wrote {0}; run it: overrule test {0}", file.display()));
        }
    }
    Ok(exit)
}

/// A path as a file in a folder names it.
fn relative(folder: &Path, path: &Path) -> String {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (folder, path) = (whole(folder), whole(path));
    let plain = |path: &Path| -> Vec<PathBuf> {
        let parts = path.components().filter(|part| *part != Component::CurDir);
        parts.map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let (folder, path) = (plain(&folder), plain(&path));
    let common = folder.iter().zip(&path).take_while(|(a, b)| a == b).count();
    let up = folder.iter().skip(common).map(|_| PathBuf::from(".."));
    let parts: PathBuf = up.chain(path.into_iter().skip(common)).collect();
    match parts.to_string_lossy() {
        same if same.is_empty() => ".".to_owned(),
        parts => parts.replace('\\', "/"),
    }
}
