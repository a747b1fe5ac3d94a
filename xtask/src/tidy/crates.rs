// SPDX-License-Identifier: Apache-2.0
//! In: `cargo metadata`. Out: crates that depend on one they must not know; crates for others that cannot be published.
//! Not here: dependencies of others.

use std::path::Path;

use serde_json::Value;

use super::Problems;
use crate::cargo;

/// Which of our crates a crate may use, by their names without `overrule-`. What is not listed is unknown and must be
/// added here.
const MAY_USE: &[(&str, &[&str])] = &[
    ("source", &[]),
    ("condition", &["source"]),
    ("model", &["source"]),
    ("engine", &["source model"]),
    ("schema", &["source model"]),
    ("topology", &[CORE, "schema"]),
    ("family", &[CORE, "topology access"]),
    ("gateway", &[CORE, "topology family"]),
    ("kuadrant", &[CORE, "family gateway condition"]),
    ("kgateway", &[CORE, "family gateway"]),
    ("envoy-gateway", &[CORE, "family gateway"]),
    ("access", &[]),
    ("envoy", &["access source"]),
    ("mesh", &[CORE, "family access"]),
    // No family: explaining is reading, and cannot recompute. Of access it has the reasons of decisions, as data.
    ("view", &[CORE, "access"]),
    ("overrule", &[BELOW]),
    ("cases", &[BELOW, "overrule"]),
    // Questions and answers: both faces are made of it, so it knows neither.
    ("ask", &[BELOW, "overrule"]),
    ("revision", &["overrule source"]),
    ("diff", &["overrule source"]),
    // These two know nothing of policies.
    ("store", &[]),
    ("guard", &[]),
    ("server", &["overrule ask store guard"]),
    ("kuma-api", &["overrule ask mesh store server"]),
    // Of the store it has the PostgreSQL of its tests.
    ("cli", &["overrule ask cases diff revision server store kuma-api"]),
    // The workshop: no crate above names one of these, so the binary links none of them.
    ("conformance", &["source engine mesh access envoy overrule cases"]),
    ("proof", &["access envoy"]),
    ("testkit", &[BELOW, "overrule cli"]),
    ("xtask", &[BELOW, "overrule cases conformance testkit server kuma-api"]),
];

const CORE: &str = "source model engine";
const BELOW: &str = "source model engine schema topology family gateway condition kuadrant kgateway envoy-gateway mesh access envoy view";

pub(super) fn check(root: &Path, problems: &mut Problems) -> Result<(), String> {
    let output =
        cargo::output(root, &["metadata", "--no-deps", "--format-version", "1", "--offline"])?;
    let metadata: Value =
        serde_json::from_slice(&output).map_err(|e| format!("cargo metadata: {e}"))?;
    problems.extend(violations(&metadata));
    problems.extend(unpublishable(&metadata));
    Ok(())
}

fn violations(metadata: &Value) -> Problems {
    let mut problems = Problems::new();
    let ours: Vec<&str> = list(metadata, "packages").iter().map(|p| text(p, "name")).collect();
    for package in list(metadata, "packages") {
        let name = text(package, "name");
        let Some((_, may_use)) = MAY_USE.iter().find(|(known, _)| *known == short(name)) else {
            problems.push(format!("xtask/src/tidy/crates.rs: which crates may `{name}` use?"));
            continue;
        };
        let may_use: Vec<&str> = may_use.iter().flat_map(|words| words.split(' ')).collect();
        for dependency in needed(package).map(|d| text(d, "name")).filter(|d| ours.contains(d)) {
            if !may_use.contains(&short(dependency)) {
                problems.push(format!(
                    "`{name}` must not depend on `{dependency}` (see ARCHITECTURE.md)"
                ));
            }
        }
    }
    problems
}

/// Crates for others that crates.io would refuse, or show without a word about them.
fn unpublishable(metadata: &Value) -> Problems {
    let for_others = |package: &&Value| package.get("publish").is_none_or(Value::is_null);
    let packages = || list(metadata, "packages").iter().filter(for_others);
    let known: Vec<&str> = packages().map(|package| text(package, "name")).collect();
    let mut problems = Problems::new();
    for package in packages() {
        let name = text(package, "name");
        let described = ["description", "license", "repository", "readme"]
            .into_iter()
            .map(|field| (field, !text(package, field).is_empty()))
            .chain([("keywords", !list(package, "keywords").is_empty())]);
        for (field, _) in described.filter(|(_, is_there)| !is_there) {
            problems.push(format!("`{name}` is for others and has no {field}"));
        }
        let ours = needed(package).filter(|d| d.get("path").is_some_and(Value::is_string));
        for other in ours.filter(|d| !known.contains(&text(d, "name")) || text(d, "req") == "*") {
            let other = text(other, "name");
            problems.push(format!(
                "`{name}` is for others and needs `{other}`, which is not, or names no version of it"
            ));
        }
    }
    problems
}

/// What a package depends on to be used, not to be tested or built.
fn needed(package: &Value) -> impl Iterator<Item = &Value> {
    list(package, "dependencies").iter().filter(|d| d.get("kind").is_none_or(Value::is_null))
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], |list| list)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

fn short(name: &str) -> &str {
    name.strip_prefix("overrule-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn crates_for_others_have_what_others_need() {
        let package = |name: &str, publish: Value, dependencies: Value| {
            json!({"name": name, "publish": publish, "description": "a", "license": "a", "repository": "a",
                   "readme": "a", "keywords": ["a"], "dependencies": dependencies})
        };
        let needs = |name: &str| json!([{"name": name, "path": "/a", "req": "^1", "kind": null}]);
        let good = json!({"packages": [
            package("one", Value::Null, json!([])),
            package("two", Value::Null, needs("one")),
            json!({"name": "tool", "publish": []}),
        ]});
        assert!(unpublishable(&good).is_empty(), "{:?}", unpublishable(&good));
        let bad = json!({"packages": [
            package("one", Value::Null, needs("tool")),
            json!({"name": "two", "publish": null}),
            json!({"name": "tool", "publish": []}),
        ]});
        assert_eq!(unpublishable(&bad).len(), 6, "{:?}", unpublishable(&bad));
    }

    #[test]
    fn directions_are_kept() {
        let package = |name: &str, dependencies: &[(&str, Value)]| {
            let dependencies: Vec<Value> = dependencies
                .iter()
                .map(|(name, kind)| json!({"name": name, "kind": kind}))
                .collect();
            json!({"name": name, "dependencies": dependencies})
        };
        let good = json!({"packages": [
            package("overrule-source", &[("serde", Value::Null)]),
            package("overrule-gateway", &[("overrule-source", Value::Null), ("overrule-testkit", json!("dev"))]),
            package("overrule-testkit", &[("overrule-gateway", Value::Null)]),
            package("xtask", &[("overrule-testkit", Value::Null)]),
        ]});
        assert!(violations(&good).is_empty(), "{:?}", violations(&good));
        let bad = json!({"packages": [
            package("overrule-source", &[("overrule-gateway", Value::Null)]),
            package("overrule-gateway", &[("overrule-testkit", Value::Null)]),
            package("overrule-testkit", &[]),
            package("overrule-new", &[]),
        ]});
        assert_eq!(violations(&bad).len(), 3, "{:?}", violations(&bad));
    }
}
