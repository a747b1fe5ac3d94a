// SPDX-License-Identifier: Apache-2.0
//! In: `cargo metadata`. Out: crates that depend on one they must not know. Not here: dependencies of others.

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
    ("access", &[]),
    ("envoy", &["access source"]),
    ("mesh", &[CORE, "family access"]),
    // No family: explaining is reading, and cannot recompute. Of access it has the reasons of decisions, as data.
    ("view", &[CORE, "access"]),
    ("overrule", &[BELOW]),
    ("cases", &[BELOW, "overrule"]),
    // Questions and answers: both faces are made of it, so it knows neither.
    ("ask", &[BELOW, "overrule"]),
    // These two know nothing of policies.
    ("store", &[]),
    ("guard", &[]),
    ("server", &["overrule ask store guard"]),
    ("kuma-api", &["overrule ask mesh store server"]),
    // Of the store it has the PostgreSQL of its tests.
    ("cli", &["overrule ask cases envoy server store kuma-api"]),
    // The workshop: no crate above names one of these, so the binary links none of them.
    ("conformance", &["source engine mesh access envoy overrule cases"]),
    ("proof", &["access envoy"]),
    ("testkit", &[BELOW, "overrule cli"]),
    ("xtask", &[BELOW, "overrule cases conformance testkit server kuma-api"]),
];

const CORE: &str = "source model engine";
const BELOW: &str = "source model engine schema topology family gateway condition kuadrant kgateway mesh access envoy view";

pub(super) fn check(root: &Path, problems: &mut Problems) -> Result<(), String> {
    let output =
        cargo::output(root, &["metadata", "--no-deps", "--format-version", "1", "--offline"])?;
    let metadata: Value =
        serde_json::from_slice(&output).map_err(|e| format!("cargo metadata: {e}"))?;
    problems.extend(violations(&metadata));
    Ok(())
}

fn violations(metadata: &Value) -> Problems {
    let mut problems = Problems::new();
    let packages = metadata.get("packages").and_then(Value::as_array).map_or(&[][..], |list| list);
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let ours: Vec<String> = packages.iter().map(|package| text(package, "name")).collect();
    for package in packages {
        let name = text(package, "name");
        let Some((_, may_use)) = MAY_USE.iter().find(|(known, _)| *known == short(&name)) else {
            problems.push(format!("xtask/src/tidy/crates.rs: which crates may `{name}` use?"));
            continue;
        };
        let may_use: Vec<&str> = may_use.iter().flat_map(|words| words.split(' ')).collect();
        let dependencies =
            package.get("dependencies").and_then(Value::as_array).map_or(&[][..], |list| list);
        let normal = dependencies.iter().filter(|d| d.get("kind").is_none_or(Value::is_null));
        for dependency in normal.map(|d| text(d, "name")).filter(|d| ours.contains(d)) {
            if !may_use.contains(&short(&dependency)) {
                problems.push(format!(
                    "`{name}` must not depend on `{dependency}` (see ARCHITECTURE.md)"
                ));
            }
        }
    }
    problems
}

fn short(name: &str) -> &str {
    name.strip_prefix("overrule-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
