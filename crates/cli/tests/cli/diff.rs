// SPDX-License-Identifier: Apache-2.0
//! `overrule diff` as it is typed: folders, standard input, revisions, gates, wrong words.

use std::path::Path;
use std::process::Command;

use crate::GOOD;
use crate::common::{Ran, finish, folder, overrule, run, write};

/// The same with a longer timeout.
fn longer() -> String {
    GOOD.replace("request: 5s", "request: 9s")
}

/// The same without the policy.
fn bare() -> String {
    let policy = GOOD.rfind("---\n").unwrap();
    GOOD[..policy].to_owned()
}

fn diff(dir: &Path, line: &str) -> Ran {
    let words = std::iter::once("diff").chain(line.split_whitespace());
    finish(overrule(words).current_dir(dir))
}

fn git(dir: &Path, line: &str) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(line.split_whitespace())
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {line}: {output:?}");
}

#[test]
fn two_folders_are_compared() {
    let dir = folder(&[("old/a.yaml", GOOD), ("new/a.yaml", &longer())]);
    let ran = diff(dir.path(), "old new");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in [
        "changed: TimeoutPolicy at httproute/shop/cart#rule-1",
        "timeouts.request: 5s → 9s",
        "because TimeoutPolicy shop/timeouts was changed (new/a.yaml:",
        "1 of 1 routes",
    ] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    let same = diff(dir.path(), "old old");
    assert_eq!(
        (same.code, &*same.out),
        (Some(0), "Nothing in force changes. No resource was edited.\n")
    );
}

#[test]
fn json_has_the_changes_and_the_report() {
    let dir = folder(&[("old/a.yaml", GOOD), ("new/a.yaml", &bare())]);
    let json = diff(dir.path(), "old new -o json").json();
    assert_eq!(json["kind"], "EffectiveChanges");
    assert_eq!(json["counts"]["removed"], 1);
    let group = &json["report"]["groups"][0];
    assert_eq!((&group["change"], &group["uncovered"]), (&"removed".into(), &true.into()));
    assert_eq!(group["causes"][0]["resource"], "TimeoutPolicy shop/timeouts");
    assert_eq!(group["causes"][0]["at"]["file"], "old/a.yaml");
    assert_eq!(json["report"]["radius"]["routes"], serde_json::json!({"affected": 1, "of": 1}));
}

#[test]
fn gates_decide_the_exit_code_whatever_the_form() {
    let dir = folder(&[("old/a.yaml", GOOD), ("new/a.yaml", &longer()), ("none/a.yaml", &bare())]);
    for (line, code) in [
        ("old new", 1),
        ("old new --fail-on removed", 0),
        ("old new --fail-on removed,changed", 1),
        ("old new --fail-on uncovered --max-routes 0", 1),
        ("old new --max-routes 1", 0),
        ("old none --fail-on uncovered", 1),
        ("old none --fail-on added,new-error", 0),
        ("none old --fail-on added", 1),
        ("none old --fail-on uncovered,removed,requirement", 0),
    ] {
        for form in ["table", "json", "yaml", "markdown"] {
            let ran = diff(dir.path(), &format!("{line} -o {form}"));
            assert_eq!(ran.code, Some(code), "{line} -o {form}: {ran:?}");
        }
    }
}

#[test]
fn revisions_are_compared_without_a_checkout() {
    let dir = folder(&[("deploy/a.yaml", GOOD)]);
    git(dir.path(), "init -q -b main");
    git(dir.path(), "add -A");
    git(dir.path(), "commit -q -m one");
    git(dir.path(), "checkout -q -b side");
    write(&dir.path().join("deploy/a.yaml"), longer().as_bytes());
    git(dir.path(), "commit -q -a -m two");
    for line in [
        "main..side",
        "main...side",
        "main..HEAD -- deploy",
        "git:main",
        "git:main deploy",
        "git:main:deploy deploy",
        "git:main:deploy git:side:deploy",
        "HEAD~1..",
    ] {
        let ran = diff(dir.path(), line);
        assert_eq!(ran.code, Some(1), "{line}: {ran:?}");
        assert!(
            ran.out.contains("5s → 9s") && ran.out.contains("deploy/a.yaml:"),
            "{line}: {ran:?}"
        );
    }
    // What is not committed yet is compared with the last commit.
    write(&dir.path().join("deploy/a.yaml"), bare().as_bytes());
    let ran = diff(&dir.path().join("deploy"), "git:HEAD");
    assert!(ran.out.contains("removed: TimeoutPolicy") && ran.out.contains("(a.yaml:"), "{ran:?}");
    assert_eq!(diff(dir.path(), "main..main").code, Some(0));
}

#[test]
fn what_cannot_be_compared_is_named() {
    let dir = folder(&[("old/a.yaml", GOOD), ("new/a.yaml", &longer())]);
    for (line, code, part) in [
        ("", 2, "STATE"),
        ("a b c", 2, "c"),
        ("- -", 2, "not both"),
        ("old new --fail-on sometimes", 2, "uncovered"),
        ("old new --max-routes few", 2, "few"),
        ("old new -o svg", 2, "markdown"),
        ("old new -- deploy", 2, "of a revision"),
        ("old nowhere", 3, "nowhere: no such file or folder"),
        ("git:main", 3, "not in a git repository"),
    ] {
        let ran = diff(dir.path(), line);
        assert_eq!(ran.code, Some(code), "{line}: {ran:?}");
        assert!(ran.err.contains(part), "{line}: {ran:?}");
    }
    // The rest is compared all the same.
    let ran = diff(dir.path(), "old nowhere");
    assert!(ran.out.contains("removed: TimeoutPolicy"), "{ran:?}");
    git(dir.path(), "init -q -b main");
    let ran = diff(dir.path(), "git:main");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("`main` not found"), "{ran:?}");
    assert_eq!(run("diff --help").code, Some(0));
}

#[test]
fn owners_of_what_is_affected_are_named() {
    let dir = folder(&[
        (
            "deploy/platform/gateway.yaml",
            &GOOD[..GOOD
                .find("---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute")
                .unwrap()],
        ),
        (
            "deploy/shop/route.yaml",
            &GOOD
                [GOOD.find("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute").unwrap()..],
        ),
        (
            "CODEOWNERS",
            "* @everybody\n/deploy/platform/ @platform\n/deploy/shop/ @shop-team # theirs\n",
        ),
    ]);
    git(dir.path(), "init -q -b main");
    git(dir.path(), "add -A");
    git(dir.path(), "commit -q -m one");
    let policy = dir.path().join("deploy/shop/route.yaml");
    let text = std::fs::read_to_string(&policy).unwrap();
    let (route, timeouts) = text.split_at(text.rfind("---\n").unwrap());
    write(&policy, route.as_bytes());
    write(&dir.path().join("deploy/platform/more.yaml"), timeouts.replace("5s", "9s").as_bytes());
    let json = diff(dir.path(), "git:HEAD -o json").json();
    let owners = json["report"]["owners"].as_array().unwrap();
    let named: Vec<(&str, bool)> = owners
        .iter()
        .map(|o| (o["owner"].as_str().unwrap(), o["edited"].as_bool().unwrap()))
        .collect();
    assert_eq!(named, [("@platform", true), ("@shop-team", false)], "{json}");
}
