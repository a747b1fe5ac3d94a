// SPDX-License-Identifier: Apache-2.0
//! Real repositories, made by git itself.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::path::Path;
use std::process::Command;

use overrule_revision::{Repository, RevisionError, RevisionManifests};
use tempfile::TempDir;

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || arguments.contains(&"merge"), "git {arguments:?}: {error}");
    text
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn commit(folder: &Path, files: &[(&str, &str)]) {
    write(folder, files);
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "-m", "change"]);
}

/// Two commits: `a.yaml` changes, and the second one adds what is not read.
fn repository() -> TempDir {
    let folder = TempDir::new().unwrap();
    git(folder.path(), &["init", "-q", "-b", "main"]);
    commit(folder.path(), &[("deploy/a.yaml", "one: 1\n"), ("b.yml", "two: 2\n")]);
    let second = [
        ("deploy/a.yaml", "one: 11\n"),
        ("deploy/deep/c.json", "{}\n"),
        ("deploy/notes.md", "# no\n"),
        ("deploy/.hidden/x.yaml", "x: 1\n"),
        ("deploy/node_modules/x.yaml", "x: 1\n"),
        ("deploy/out/.overruleignore", "generated*\n!generated-kept.yaml\n"),
        ("deploy/out/generated-1.yaml", "x: 1\n"),
        ("deploy/out/generated-kept.yaml", "x: 1\n"),
    ];
    commit(folder.path(), &second);
    folder
}

fn read(folder: &Path, revision: &str, paths: &[&str]) -> Result<RevisionManifests, RevisionError> {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    Repository::discover(folder).unwrap().manifests(revision, &paths)
}

fn names(manifests: &RevisionManifests) -> Vec<&str> {
    manifests.inputs.iter().map(|input| &*input.name).collect()
}

#[test]
fn a_revision_has_what_the_same_folder_would_have() {
    let folder = repository();
    let now = read(folder.path(), "HEAD", &[]).unwrap();
    let files = ["b.yml", "deploy/a.yaml", "deploy/deep/c.json", "deploy/out/generated-kept.yaml"];
    assert_eq!(names(&now), files);
    let found = overrule::files::find(&[folder.path().to_path_buf()]).files;
    let root = format!("{}/", folder.path().display());
    let found: Vec<&str> = found.iter().map(|f| f.name.strip_prefix(&root).unwrap()).collect();
    assert_eq!(names(&now), found, "a checkout has the same");
    let before = read(folder.path(), "main~1", &[]).unwrap();
    assert_eq!(names(&before), ["b.yml", "deploy/a.yaml"]);
    assert_eq!(before.inputs.last().unwrap().bytes, b"one: 1\n");
    assert!(now.remarks.is_empty() && now.errors.is_empty());
}

#[test]
fn paths_are_those_of_the_current_folder() {
    let folder = repository();
    let deploy = folder.path().join("deploy");
    assert_eq!(names(&read(&deploy, "HEAD~1", &[]).unwrap()), ["a.yaml"]);
    assert_eq!(
        names(&read(&deploy, "HEAD", &["deep", "../b.yml"]).unwrap()),
        ["../b.yml", "deep/c.json"]
    );
    assert_eq!(names(&read(&deploy, "HEAD", &["/b.yml"]).unwrap()), ["../b.yml"]);
    // A file that is named is read whatever its ending.
    assert_eq!(names(&read(&deploy, "HEAD", &["notes.md"]).unwrap()), ["notes.md"]);
    let missing = read(&deploy, "HEAD~1", &["deep"]).unwrap_err();
    assert_eq!(missing.to_string(), "`deep` does not exist in revision `HEAD~1`");
    let outside = read(&deploy, "HEAD", &["../../x"]).unwrap_err();
    assert!(matches!(outside, RevisionError::OutsidePath { .. }), "{outside}");
}

#[test]
fn a_revision_that_is_not_there_is_named() {
    let folder = repository();
    for wrong in ["nothing", "", "--help", "HEAD~9", "main..HEAD", "@{nope", "HEAD:deploy/a.yaml"] {
        let error = read(folder.path(), wrong, &[]).unwrap_err();
        assert!(matches!(&error, RevisionError::NoRevision { .. }), "{wrong}: {error}");
        assert!(error.to_string().contains(wrong), "{error}");
    }
    let empty = TempDir::new().unwrap();
    git(empty.path(), &["init", "-q", "-b", "main"]);
    assert!(read(empty.path(), "HEAD", &[]).is_err(), "no commit yet");
}

#[test]
fn bare_and_shallow_clones_are_read() {
    let folder = repository();
    let place = TempDir::new().unwrap();
    let url = format!("file://{}", folder.path().display());
    git(place.path(), &["clone", "-q", "--bare", &url, "bare"]);
    git(place.path(), &["clone", "-q", "--depth=1", &url, "shallow"]);
    let bare = place.path().join("bare");
    assert_eq!(names(&read(&bare, "main~1", &[]).unwrap()), ["b.yml", "deploy/a.yaml"]);
    assert_eq!(names(&read(&bare, "main", &["deploy/a.yaml"]).unwrap()), ["deploy/a.yaml"]);
    let shallow = place.path().join("shallow");
    assert_eq!(names(&read(&shallow, "HEAD", &[]).unwrap()).len(), 4);
    let error = read(&shallow, "HEAD~1", &[]).unwrap_err().to_string();
    assert!(error.contains("shallow clone") && error.contains("git fetch"), "{error}");
}

#[test]
fn submodules_and_links_are_named_and_a_merge_in_progress_changes_nothing() {
    let (folder, other) = (repository(), repository());
    let url = format!("file://{}", other.path().display());
    git(folder.path(), &["submodule", "--quiet", "add", &url, "lib"]);
    std::os::unix::fs::symlink("deploy/a.yaml", folder.path().join("link.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("out.yaml")).unwrap();
    std::os::unix::fs::symlink("loop.yaml", folder.path().join("loop.yaml")).unwrap();
    commit(folder.path(), &[]);
    let read_now = || read(folder.path(), "HEAD", &[]).unwrap();
    let now = read_now();
    assert!(names(&now).contains(&"deploy/a.yaml"));
    assert!(!names(&now).contains(&"link.yaml"), "one file is read once");
    for part in [
        "lib is a submodule",
        "out.yaml is a link that leads out",
        "loop.yaml is nested too deeply",
    ] {
        assert!(
            now.remarks.iter().any(|remark| remark.contains(part)),
            "{part}: {:?}",
            now.remarks
        );
    }
    git(folder.path(), &["checkout", "-q", "-b", "side", "HEAD~1"]);
    commit(folder.path(), &[("deploy/a.yaml", "one: side\n")]);
    git(folder.path(), &["checkout", "-q", "main"]);
    commit(folder.path(), &[("deploy/a.yaml", "one: main\n")]);
    git(folder.path(), &["merge", "-q", "side"]);
    assert!(folder.path().join(".git/MERGE_HEAD").exists(), "there is a conflict");
    let text = |m: &RevisionManifests| {
        m.inputs.iter().find(|i| &*i.name == "deploy/a.yaml").unwrap().bytes.clone()
    };
    assert_eq!(text(&read_now()), b"one: main\n");
}

#[test]
fn a_missing_object_is_an_error_and_the_rest_is_read() {
    let folder = repository();
    let blob = git(folder.path(), &["rev-parse", "HEAD:deploy/a.yaml"]);
    let (first, rest) = blob.split_at(2);
    let object = folder.path().join(".git/objects").join(first).join(rest);
    std::fs::remove_file(object).unwrap();
    let now = read(folder.path(), "HEAD", &[]).unwrap();
    assert_eq!(names(&now).len(), 3);
    assert!(now.errors.iter().any(|e| e.to_string().contains("deploy/a.yaml")), "{:?}", now.errors);
}
