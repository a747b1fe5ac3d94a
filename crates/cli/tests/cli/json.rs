// SPDX-License-Identifier: Apache-2.0
//! `-o json` answers one document of the published schema; `-o yaml` says the same.

use serde_json::Value;

use crate::common::{finish, folder, overrule, root, run};

/// Every command that has JSON, on every example it makes sense for.
const COMMANDS: &[&str] = &[
    "check -f examples/shop",
    "check -f examples/teams",
    "check -f examples/broken",
    "get -f examples/shop",
    "get -f examples/teams",
    "get -f examples/broken",
    "get all -f examples/shop",
    "get httproutes -f examples/shop",
    "get policies -f examples/broken",
    "get --without BackendTLSPolicy -f examples/shop",
    "effective -f examples/shop",
    "effective -f examples/teams",
    "effective -f examples/broken",
    "effective -f examples/shop httproute/shop/cart",
    "effective -f examples/shop httproute/shop/cart#checkout",
    "effective -f examples/shop gateway/infra/edge#web --kind TimeoutPolicy",
    "effective -f examples/shop --request https://shop.example.com/cart",
    "explain -f examples/shop httproute/shop/cart#checkout",
    "explain -f examples/shop httproute/shop/catalog",
    "explain -f examples/shop gateway/infra/edge",
    "explain -f examples/shop service/shop/payments",
    "explain -f examples/shop service/shop/cart",
    "explain -f examples/teams httproute/team-b/reports --field limits",
    "explain -f examples/teams quotapolicy/team-b/reports-quota",
    "reach -f examples/shop timeoutpolicy/infra/gw-timeouts",
    "reach -f examples/teams quotapolicy/team-b/reports-quota",
    "reach -f examples/broken timeoutpolicy/infra/wrong-section",
    "graph -f examples/shop",
    "graph -f examples/teams httproute/team-a/search",
    "graph -f examples/broken",
];

fn schema() -> Value {
    run("schema").json()
}

#[test]
fn every_answer_fits_the_schema() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut wrong = Vec::new();
    for line in COMMANDS {
        let ran = run(&format!("{line} -o json"));
        match serde_json::from_str::<Value>(&ran.out) {
            Err(e) => wrong.push(format!("{line}: not one JSON document: {e}")),
            Ok(answer) => {
                let kind = answer["kind"].as_str().unwrap_or("");
                wrong.extend(
                    validator
                        .iter_errors(&answer)
                        .map(|e| format!("{line}: {kind}: {}", short(&e.to_string()))),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn short(text: &str) -> String {
    text.chars().take(400).collect()
}

#[test]
fn the_schema_is_strict_enough_to_notice() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let good = run("effective -f examples/shop -o json").json();
    assert!(validator.is_valid(&good));
    for (pointer, bad) in [
        ("/kind", Value::from("Nonsense")),
        ("/apiVersion", Value::from("v0")),
        ("/items", Value::from(3)),
        ("/items/0/spec", Value::Null),
        ("/items/0/target", Value::from(1)),
    ] {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = bad;
        // An effective policy without a spec is possible: nothing may be in force.
        let possible = pointer == "/items/0/spec";
        assert!(possible || !validator.is_valid(&changed), "{pointer} is not checked");
    }
}

#[test]
fn the_published_schema_is_the_one_printed() {
    let path = root().join("docs/schema/overrule-v1.json");
    let Ok(text) = std::fs::read_to_string(&path) else { return };
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), schema());
}

#[test]
fn yaml_says_what_json_says() {
    let mut wrong = Vec::new();
    for line in COMMANDS.iter().filter(|line| !line.starts_with("effective")) {
        let (json, yaml) = (run(&format!("{line} -o json")), run(&format!("{line} -o yaml")));
        let Ok(expected) = serde_json::from_str::<Value>(&json.out) else { continue };
        match documents(&yaml.out) {
            Ok(found) if found == [expected] => {}
            Ok(found) => wrong.push(format!("{line}: {} documents, or other values", found.len())),
            Err(e) => wrong.push(format!("{line}: {e}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn effective_yaml_is_yaml_of_the_values() {
    let yaml = run("effective -f examples/shop -o yaml").out;
    let json = run("effective -f examples/shop -o json").json();
    let specs: Vec<Value> =
        json["items"].as_array().unwrap().iter().map(|i| i["spec"].clone()).collect();
    assert_eq!(documents(&yaml).unwrap(), specs);
}

#[test]
fn odd_values_survive_both_forms() {
    let odd = crate::GOOD.replace(
        "timeouts: {request: 5s}",
        "a: \"yes\"\n  b: \"0777\"\n  c: \"a: b # c\"\n  d: \"line\\nline\"\n  e: [1.5, true, \"\", \"~\", -3]\n  f: \"*x\"\n  \"1\": {\"- x\": \"{y}\"}",
    );
    let dir = folder(&[("a.yaml", &odd)]);
    let path = dir.path().to_str().unwrap();
    let json = finish(&mut overrule(["effective", "-o", "json", "-f", path])).json();
    let spec = &json["items"][0]["spec"];
    assert_eq!(spec["d"], "line\nline");
    assert_eq!(spec["e"], serde_json::json!([1.5, true, "", "~", -3]));
    let yaml = finish(&mut overrule(["effective", "-o", "yaml", "-f", path])).out;
    assert_eq!(documents(&yaml).unwrap(), std::slice::from_ref(spec), "{yaml}");
}

/// YAML documents as JSON, read by our own reader; comments and empty documents left out.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    use overrule::source::{NodeKind, ReadOptions, Severity, View, read_one};
    fn value(view: View<'_>) -> Value {
        match view.kind() {
            NodeKind::Null => Value::Null,
            NodeKind::Bool => view.as_bool().unwrap().into(),
            NodeKind::Int => view.as_i64().unwrap().into(),
            NodeKind::Float => view.as_f64().unwrap().into(),
            NodeKind::String => view.as_str().unwrap().into(),
            NodeKind::List => view.items().map(value).collect(),
            NodeKind::Map => Value::Object(
                view.entries().map(|(k, v)| (k.key_text().to_owned(), value(v))).collect(),
            ),
        }
    }
    let read = read_one("answer.yaml", text, &ReadOptions::default());
    let problem = read.diagnostics.iter().find(|d| d.severity() > Severity::Note);
    match problem {
        Some(d) => Err(format!("{} {}", d.code.id, d.message)),
        None => Ok(read.documents.ids().map(|doc| value(read.documents.root(doc))).collect()),
    }
}
