// SPDX-License-Identifier: Apache-2.0
//! An extension that no other crate knows: it is answered, described, and asked about writes.

use std::sync::atomic::{AtomicUsize, Ordering};

use overrule::model::codes::INVALID_NAME;
use overrule::source::Diagnostic;
use overrule_server::extension::{Call, Endpoint, Problem, Reply, Switches};
use overrule_server::{Config, Extension, Extensions, Switch, openapi};
use overrule_store::ResourceKey;
use serde_json::{Value, json};

use crate::client::{config, open};

#[derive(Debug)]
struct Toy;

/// How many resources there were, for each state that was asked about.
struct Counted(usize);

static COUNTED: AtomicUsize = AtomicUsize::new(0);

async fn count(call: Call) -> Result<Reply, Problem> {
    let state = call.app.live.state();
    let counted = state.derived(&call, |state: &overrule_server::extension::State| {
        COUNTED.fetch_add(1, Ordering::Relaxed);
        Counted(state.records.values().count())
    });
    let loud = call.app.extensions.on().is_on("toy-loud");
    Ok(Reply::fine(&json!({"name": call.part("name"), "count": counted.await?.0, "loud": loud})))
}

impl Extension for Toy {
    fn endpoints(&self) -> Vec<Endpoint> {
        vec![Endpoint::reading("toy", "/toy/{name}", "Counts.", |call| Box::pin(count(call)))]
    }

    fn schemas(&self) -> Vec<(&'static str, Value)> {
        vec![("ToyError", json!({"type": "object"}))]
    }

    fn pattern(&self, parameter: &str) -> Option<&'static str> {
        (parameter == "name").then_some("^[a-z]+$")
    }

    fn owns(&self, path: &str) -> bool {
        path.starts_with("/toy")
    }

    fn error(&self, problem: &Problem) -> Value {
        json!({"sorry": problem.status.as_u16()})
    }

    fn error_schema(&self) -> &'static str {
        "ToyError"
    }

    fn switches(&self) -> &'static [Switch] {
        &[Switch { name: "toy-loud", env: None, help: "Louder" }]
    }

    fn tagline(&self, on: &Switches) -> Option<&'static str> {
        on.is_on("toy-loud").then_some("TOY")
    }

    fn refusal(&self, key: &ResourceKey) -> Option<Diagnostic> {
        (key.name == "broken").then(|| Diagnostic::new(&INVALID_NAME, "toys do not break"))
    }
}

fn toy() -> Extensions {
    Extensions::new(&[&Toy])
}

fn service(name: &str) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: shop}}\n")
}

#[test]
fn an_extension_answers_on_its_paths_and_is_asked_about_names() {
    let (_running, client) = open(Config { extensions: toy(), ..config() }, &[]);
    client.post("/v1/apply", &service("one")).expect(201);
    for _ in 0..3 {
        let answer = client.get("/toy/x").expect(200).json();
        assert_eq!(answer, json!({"name": "x", "count": 1, "loud": false}));
    }
    assert_eq!(COUNTED.load(Ordering::Relaxed), 1, "once for a state, and only when asked");
    assert_eq!(client.get("/toys").expect(404).json(), json!({"sorry": 404}));
    assert_eq!(client.get("/toy/x?a=b").expect(400).json(), json!({"sorry": 400}));
    let own = client.get("/meshes").expect(404);
    assert_eq!(own.header("content-type"), "application/problem+json");
    let refused = client.post("/v1/apply", &service("broken")).expect(422);
    assert!(refused.text.contains("toys do not break"), "{}", refused.text);
    assert_eq!(client.get("/").expect(200).json()["tagline"], "Overrule");
}

#[test]
fn an_extension_is_described() {
    let document = openapi::document(&toy());
    let toy = &document["paths"]["/toy/{name}"]["get"];
    assert_eq!(toy["parameters"][0]["schema"]["pattern"], "^[a-z]+$");
    let error = &toy["responses"]["404"]["content"];
    assert!(error.is_null(), "only errors that the endpoint names, and those of every endpoint");
    let error = &toy["responses"]["400"]["content"]["application/json"]["schema"]["$ref"];
    assert_eq!(error, "#/components/schemas/ToyError");
    assert!(document["components"]["schemas"]["ToyError"].is_object());
    let none = openapi::document(&Extensions::default());
    assert!(none["paths"].as_object().unwrap().keys().all(|path| !path.contains("mesh")));
}

#[test]
fn a_file_turns_switches_on() {
    let read = |text: &str| Config::read("settings.yaml", text, &toy());
    let on = |text: &str| read(text).unwrap().extensions.on().is_on("toy-loud");
    assert!(on("toy-loud: true\ngrace: 1\n"));
    assert!(!on("toy-loud: false\n"));
    assert!(!on(""));
    assert!(read("toy-loud: 3\n").unwrap_err().contains("setting `toy-loud`: invalid type"));
    assert!(read("toy-lout: true\n").unwrap_err().ends_with("`certificates`, `toy-loud`"));
    let (_running, client) = open(Config { extensions: toy().with("toy-loud"), ..config() }, &[]);
    assert_eq!(client.get("/").expect(200).json()["tagline"], "TOY");
}
