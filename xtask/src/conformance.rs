// SPDX-License-Identifier: Apache-2.0
//! In: folders of cases in any of the four layouts. Out: a line per area, what was left out or is disputed, the
//! count.
//! Not here: reading and running a case (the `cases` crate).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use overrule_cases::{CaseResult, plain, run as run_case, summary};

use crate::disputed::evidence;
use crate::lines;
use crate::manifest::{self, Admission};

/// Which cases.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Folders of cases; those with MANIFEST.tsv are read by it, and .jsonl files line by line
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Only areas (or cases) that this glob matches; repeatable
    #[arg(long, value_name = "GLOB")]
    area: Vec<String>,
    /// Without areas (or cases) that this glob matches; repeatable
    #[arg(long, value_name = "GLOB")]
    except: Vec<String>,
    /// Only this profile: a name, or family=name
    #[arg(long)]
    profile: Option<String>,
    /// Show cases that pass, and every failure
    #[arg(short, long)]
    verbose: bool,
}

/// Failures an area shows.
const SHOWN: usize = 5;

/// A case that ran, and where it belongs.
struct Ran {
    area: String,
    result: CaseResult,
}

/// What was left out, by reason.
#[derive(Default)]
struct Excluded(BTreeMap<String, usize>);

/// Runs and prints, the count last; false if a case failed or there is none.
pub(crate) fn run(arguments: &Arguments) -> Result<bool, String> {
    let mut excluded = Excluded::default();
    let mut ran = Vec::new();
    let mut disputed: Vec<(String, &'static str)> = Vec::new();
    for folder in &arguments.folders {
        let root = root_name(folder);
        for one in cases(folder, arguments, &mut excluded)? {
            match evidence(&root, &one.result) {
                Some(why) => disputed.push((one.result.name, why)),
                None => ran.push(one),
            }
        }
    }
    let mut areas: BTreeMap<&str, Vec<&CaseResult>> = BTreeMap::new();
    for one in &ran {
        areas.entry(&one.area).or_default().push(&one.result);
    }
    for (area, results) in &areas {
        print_area(area, results, arguments.verbose);
    }
    for (reason, count) in &excluded.0 {
        println!("excluded: {count} cases {reason}");
    }
    for (case, why) in &disputed {
        println!("disputed: {case}: {why}");
    }
    if !disputed.is_empty() {
        println!("{} disputed", disputed.len());
    }
    let results: Vec<CaseResult> = ran.into_iter().map(|one| one.result).collect();
    if results.is_empty() {
        println!("no case ran");
    }
    print!("{}", summary(&results));
    Ok(!results.is_empty() && results.iter().all(CaseResult::passed))
}

/// Runs one folder, as a step of `test`.
pub(crate) fn tree(folder: &Path) -> Result<String, String> {
    let folders = vec![folder.to_path_buf()];
    let arguments = Arguments { folders, ..Arguments::default() };
    match run(&arguments)? {
        true => Ok("all passed".to_owned()),
        false => Err("not all cases passed".to_owned()),
    }
}

fn print_area(area: &str, results: &[&CaseResult], verbose: bool) {
    let passed = results.iter().filter(|r| r.passed()).count();
    println!("{area}: {passed} passed, {} failed", results.len() - passed);
    let mut texts = results
        .iter()
        .map(|r| plain(r, verbose, &overrule::view::Styles::plain()))
        .filter(|text| !text.is_empty());
    let most = if verbose { usize::MAX } else { SHOWN };
    for text in texts.by_ref().take(most) {
        for line in text.lines() {
            println!("  {line}");
        }
    }
    let more = texts.count();
    if more > 0 {
        println!("  ... and {more} more failures; --verbose shows all");
    }
}

fn cases(
    folder: &Path,
    arguments: &Arguments,
    excluded: &mut Excluded,
) -> Result<Vec<Ran>, String> {
    if !folder.exists() {
        return Err(format!("{}: no such file or folder", folder.display()));
    }
    let wanted = Wanted::new(arguments)?;
    let mut ran = Vec::new();
    let named = arguments.profile.as_deref().map(|p| p.rsplit('=').next().unwrap_or(p));
    let admits = |area: &str, case: &str, excluded: &mut Excluded| {
        if named.is_some_and(|p| p != manifest::PROFILE) {
            excluded.add("that do not name the profile");
            return Admission::Skip;
        }
        match wanted.includes(folder, area, case, excluded) {
            true => Admission::Run,
            false => Admission::Skip,
        }
    };
    let manifests = found(folder, |path| path.file_name().is_some_and(|n| n == manifest::NAME));
    for path in &manifests {
        let below = relative(path.parent().unwrap_or(path), folder);
        let mut admit = |area: &str, case: &str| admits(&join(&below, area), case, excluded);
        let mut cannot: Vec<String> = Vec::new();
        let results = manifest::cases(path, &mut admit, &mut |why| cannot.push(why.to_owned()))?;
        cannot.iter().for_each(|why| excluded.add(&format!("because {why}")));
        ran.extend(
            results.into_iter().map(|(area, result)| Ran { area: join(&below, &area), result }),
        );
    }
    for path in found(folder, |path| path.extension().is_some_and(|e| e == lines::ENDING)) {
        let name = relative(&path, folder);
        let area = name.rsplit_once('.').map_or(&*name, |(stem, _)| stem);
        let mut admit = |case: &str| admits(area, case, excluded);
        let results = lines::cases(&path, &mut admit)?.into_iter();
        ran.extend(results.map(|result| Ran { area: area.to_owned(), result }));
    }
    let roots: Vec<&Path> = manifests.iter().filter_map(|path| path.parent()).collect();
    let (files, errors) = files(folder, &roots);
    if let Some(error) = errors.first() {
        return Err(error.clone());
    }
    for file in files {
        ran.extend(one_file(&file, folder, arguments, &wanted, excluded)?);
    }
    Ok(ran)
}

fn one_file(
    file: &Path,
    folder: &Path,
    arguments: &Arguments,
    wanted: &Wanted,
    excluded: &mut Excluded,
) -> Result<Vec<Ran>, String> {
    let area = area(&relative(file, folder));
    let parent = file.parent().map(Path::to_path_buf);
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|e| format!("{name}: {e}"))?;
    let input = overrule_source::Input::new(name, bytes);
    let (cases, broken) = overrule_cases::read_file(input, parent.as_deref());
    let mut ran = Vec::new();
    for case in &cases {
        if !wanted.includes(folder, &area, &case.name, excluded) {
            continue;
        }
        let results = run_case(case, arguments.profile.as_deref());
        if results.is_empty() {
            excluded.add("that do not name the profile");
        }
        ran.extend(results.into_iter().map(|result| Ran { area: area.clone(), result }));
    }
    for result in broken {
        if wanted.includes(folder, &area, &result.name, excluded) {
            ran.push(Ran { area: area.clone(), result });
        }
    }
    Ok(ran)
}

/// Files of cases, those below the folder of a manifest left out.
fn files(folder: &Path, roots: &[&Path]) -> (Vec<PathBuf>, Vec<String>) {
    let found = overrule::files::find(&[folder.to_path_buf()]);
    let errors = found.errors.iter().filter(|e| e.fatal).map(ToString::to_string).collect();
    let files = found.files.into_iter().map(|file| file.path);
    (files.filter(|path| !roots.iter().any(|root| path.starts_with(root))).collect(), errors)
}

/// Every file of a sort at or below a folder.
fn found(folder: &Path, is_one: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let walker = ignore::WalkBuilder::new(folder).standard_filters(false).build();
    let entries = walker.flatten().filter(|entry| is_one(entry.path()));
    let paths: BTreeSet<PathBuf> = entries.map(ignore::DirEntry::into_path).collect();
    paths.into_iter().collect()
}

/// The name of a folder of cases.
fn root_name(folder: &Path) -> String {
    folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A path below a folder, with `/` between its parts.
fn relative(path: &Path, folder: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    let parts = below.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    parts.collect::<Vec<String>>().join("/")
}

/// The area of a file: its folder, and its name up to the first `-`.
fn area(file: &str) -> String {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    join(folder, stem.split('-').next().unwrap_or(stem))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The globs of the command line.
struct Wanted {
    area: Vec<GlobMatcher>,
    except: Vec<GlobMatcher>,
}

impl Wanted {
    fn new(arguments: &Arguments) -> Result<Self, String> {
        let compile = |globs: &[String]| -> Result<Vec<GlobMatcher>, String> {
            let compiled = globs.iter().map(|glob| Glob::new(glob).map(|g| g.compile_matcher()));
            compiled.collect::<Result<_, _>>().map_err(|e| e.to_string())
        };
        Ok(Self { area: compile(&arguments.area)?, except: compile(&arguments.except)? })
    }

    /// A glob matches an area, with or without the name of its folder, or a case of it.
    fn includes(&self, folder: &Path, area: &str, case: &str, excluded: &mut Excluded) -> bool {
        let root = root_name(folder);
        let names = [area.to_owned(), join(&root, area), case.to_owned(), join(area, case)];
        let matched = |globs: &'_ [GlobMatcher]| {
            globs
                .iter()
                .find(|glob| names.iter().any(|name| glob.is_match(name)))
                .map(|g| g.glob().to_string())
        };
        if !self.area.is_empty() && matched(&self.area).is_none() {
            excluded.add("outside of --area");
            return false;
        }
        if let Some(glob) = matched(&self.except) {
            excluded.add(&format!("by --except {glob}"));
            return false;
        }
        true
    }
}

impl Excluded {
    fn add(&mut self, reason: &str) {
        *self.0.entry(reason.to_owned()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_folders_and_prefixes() {
        assert_eq!(area("op-path-x.yaml"), "op");
        assert_eq!(area("kuadrant/rfc-a1.yaml"), "kuadrant/rfc");
        assert_eq!(area("single.yaml"), "single");
    }

    fn count(arguments: &Arguments) -> (usize, BTreeMap<String, usize>) {
        let mut excluded = Excluded::default();
        let ran = cases(&arguments.folders[0], arguments, &mut excluded).unwrap();
        (ran.len(), excluded.0)
    }

    #[test]
    fn all_layouts_are_found_and_filtered() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("one/a-1.yaml", "input: []\nexpect: []\n");
        write("one/a-2.yaml", "input: []\nexpekt: []\n");
        write("one/b-1.yaml", "input: []\nexpect: []\nprofiles: [other]\n");
        write("one/manifest.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n");
        write(
            "two/MANIFEST.tsv",
            "area\tcase\tfiles\nrules/from\t01\trules/from/01.yaml\nkri\tx\tnone.yaml\n",
        );
        write("two/rules/from/01.yaml", "not: [a case");
        write(
            "three/validation.jsonl",
            "{\"resource\": {}, \"accepted\": true}\nnot: [a case\n\n{\"id\": \"w\", \"objects\": []}\n",
        );
        let all = Arguments { folders: vec![folder.path().to_path_buf()], ..Arguments::default() };
        assert_eq!(count(&all).0, 8);
        let area = Arguments {
            folders: all.folders.clone(),
            area: vec!["one/*".to_owned()],
            ..Arguments::default()
        };
        assert_eq!(count(&area), (3, BTreeMap::from([("outside of --area".to_owned(), 5)])));
        let except = Arguments {
            folders: all.folders.clone(),
            except: vec!["one/a".to_owned()],
            ..Arguments::default()
        };
        assert_eq!(count(&except), (6, BTreeMap::from([("by --except one/a".to_owned(), 2)])));
        let profile = Arguments {
            folders: all.folders,
            profile: Some("gep713".to_owned()),
            ..Arguments::default()
        };
        assert_eq!(
            count(&profile),
            (2, BTreeMap::from([("that do not name the profile".to_owned(), 6)]))
        );
    }
}
