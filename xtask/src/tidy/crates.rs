// SPDX-License-Identifier: Apache-2.0
//! In: `cargo metadata`. Out: crates that depend on one they must not know. Not here: dependencies of others.

use std::path::Path;

use serde_json::Value;

use super::Problems;
use crate::cargo;

/// Which of our crates a crate may use. What is not listed is unknown and must be added here.
const MAY_USE: &[(&str, &[&str])] = &[
    ("overrule-source", &[]),
    ("overrule-condition", &["overrule-source"]),
    ("overrule-model", &["overrule-source"]),
    ("overrule-engine", &["overrule-source", "overrule-model"]),
    ("overrule-topology", &["overrule-source", "overrule-model", "overrule-engine"]),
    (
        "overrule-family",
        &[
            "overrule-source",
            "overrule-model",
            "overrule-engine",
            "overrule-topology",
            "overrule-access",
        ],
    ),
    (
        "overrule-gateway",
        &[
            "overrule-source",
            "overrule-model",
            "overrule-engine",
            "overrule-topology",
            "overrule-family",
        ],
    ),
    (
        "overrule-kuadrant",
        &[
            "overrule-source",
            "overrule-model",
            "overrule-engine",
            "overrule-family",
            "overrule-gateway",
            "overrule-condition",
        ],
    ),
    (
        "overrule-kgateway",
        &[
            "overrule-source",
            "overrule-model",
            "overrule-engine",
            "overrule-family",
            "overrule-gateway",
        ],
    ),
    ("overrule-access", &[]),
    ("overrule-envoy", &["overrule-access", "overrule-source"]),
    (
        "overrule-mesh",
        &[
            "overrule-source",
            "overrule-model",
            "overrule-engine",
            "overrule-family",
            "overrule-access",
        ],
    ),
    // No family: explaining is reading, and cannot recompute. Of access it has the reasons of decisions, as data.
    ("overrule-view", &["overrule-source", "overrule-model", "overrule-engine", "overrule-access"]),
    ("overrule", BELOW),
    ("overrule-cases", LIBRARY),
    // Questions and answers: both faces are made of it, so it knows neither.
    ("overrule-ask", LIBRARY),
    // These two know nothing of policies.
    ("overrule-store", &[]),
    ("overrule-guard", &[]),
    ("overrule-server", &["overrule", "overrule-ask", "overrule-store", "overrule-guard"]),
    ("overrule-cli", FACES),
    // The workshop: no crate above names one of these, so the binary links none of them.
    (
        "overrule-conformance",
        &[
            "overrule-source",
            "overrule-engine",
            "overrule-mesh",
            "overrule-access",
            "overrule-envoy",
            "overrule",
            "overrule-cases",
        ],
    ),
    ("overrule-proof", &["overrule-access", "overrule-envoy"]),
    ("overrule-testkit", LIBRARY),
    ("xtask", EVERYTHING),
];

const BELOW: &[&str] = &[
    "overrule-source",
    "overrule-model",
    "overrule-engine",
    "overrule-topology",
    "overrule-family",
    "overrule-gateway",
    "overrule-condition",
    "overrule-kuadrant",
    "overrule-kgateway",
    "overrule-mesh",
    "overrule-access",
    "overrule-envoy",
    "overrule-view",
];
const LIBRARY: &[&str] = &[
    "overrule-source",
    "overrule-model",
    "overrule-engine",
    "overrule-topology",
    "overrule-family",
    "overrule-gateway",
    "overrule-condition",
    "overrule-kuadrant",
    "overrule-kgateway",
    "overrule-mesh",
    "overrule-access",
    "overrule-envoy",
    "overrule-view",
    "overrule",
];
const FACES: &[&str] = &[
    "overrule",
    "overrule-ask",
    "overrule-cases",
    "overrule-envoy",
    "overrule-server",
    // The PostgreSQL of its tests.
    "overrule-store",
];
const EVERYTHING: &[&str] = &[
    "overrule-source",
    "overrule-model",
    "overrule-engine",
    "overrule-topology",
    "overrule-family",
    "overrule-gateway",
    "overrule-condition",
    "overrule-kuadrant",
    "overrule-kgateway",
    "overrule-mesh",
    "overrule-access",
    "overrule-envoy",
    "overrule-view",
    "overrule",
    "overrule-cases",
    "overrule-conformance",
    "overrule-testkit",
    "overrule-server",
];

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
        // The package of the command line may be called like the binary.
        let Some((_, may_use)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
            problems.push(format!("xtask/src/tidy/crates.rs: which crates may `{name}` use?"));
            continue;
        };
        let dependencies =
            package.get("dependencies").and_then(Value::as_array).map_or(&[][..], |list| list);
        let normal = dependencies.iter().filter(|d| d.get("kind").is_none_or(Value::is_null));
        for dependency in normal.map(|d| text(d, "name")).filter(|d| ours.contains(d)) {
            if !may_use.contains(&dependency.as_str()) {
                problems.push(format!(
                    "`{name}` must not depend on `{dependency}` (see ARCHITECTURE.md)"
                ));
            }
        }
    }
    problems
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
