// SPDX-License-Identifier: Apache-2.0
//! What those who run the server see.

use std::collections::BTreeSet;

use overrule_ask::Parameters;

use crate::client::{config, extensions, open};

#[test]
fn figures_have_the_names_that_dashboards_use() {
    let (_running, client) = open(config(), &["examples/shop", "examples/kuma"]);
    client.get("/v1/effective").expect(200);
    let text = client.get("/metrics").expect(200).text;
    for name in [
        "overrule_version ",
        "overrule_resources{",
        "overrule_policies{",
        "overrule_policy_rules{",
        "overrule_effective_policies{",
        "overrule_uncovered_paths{",
        "overrule_requirements_unmet ",
        "overrule_findings{",
        "overrule_requests_total{",
        "overrule_request_duration_seconds_bucket{",
        "overrule_resolve_duration_seconds_count ",
        "overrule_store_duration_seconds_count ",
        "overrule_requests_in_flight{",
        "overrule_work_in_flight{",
        "overrule_work_waiting{",
        "overrule_watchers{",
        "process_cpu_seconds_total ",
        "process_resident_memory_bytes{",
        "process_open_fds{",
        "process_max_fds{",
        "process_threads{",
    ] {
        assert!(text.contains(name), "{name} is missing:\n{text}");
    }
    // Measured beside, so that nobody waits for it.
    while !client.get("/metrics").text.contains("overrule_store_bytes{} ") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn questions_take_the_flags_of_the_command_line() {
    let document = overrule_server::openapi::document(&extensions());
    let of = |path: &str| -> BTreeSet<String> {
        let pointer = format!("/paths/~1v1~1{path}/get/parameters");
        let all = document.pointer(&pointer).unwrap().as_array().unwrap();
        all.iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect()
    };
    fn flags<T: overrule_ask::Asked>() -> BTreeSet<String> {
        // Of a terminal: what is quiet there, and all namespaces, which is what an absent namespace means.
        let not = ["quiet", "all-namespaces"];
        let all = T::TABLE.iter().chain(overrule_ask::Shared::TABLE).map(|p| p.name.to_owned());
        all.filter(|name| !not.contains(&name.as_str())).collect()
    }
    let own = ["at-least", "as-of", "color", "width", "columns"];
    let same = |path: &str, flags: BTreeSet<String>| {
        let mut taken = of(path);
        taken.retain(|name| !own.contains(&name.as_str()));
        assert_eq!(taken, flags, "{path}");
    };
    same("effective", flags::<overrule_ask::Effective>());
    same("explain", flags::<overrule_ask::Explain>());
    same("reach", flags::<overrule_ask::Reach>());
    same("can", flags::<overrule_ask::Can>());
    same("envoy", flags::<overrule_ask::Envoy>());
    same("graph", flags::<overrule_ask::Graph>());
    same("check", flags::<overrule_ask::Check>());
    same("get", flags::<overrule_ask::Get>());
}

#[test]
fn the_document_is_complete_in_itself() {
    let document = overrule_server::openapi::document(&extensions());
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut missing = BTreeSet::new();
    fn walk(value: &serde_json::Value, see: &mut dyn FnMut(&str)) {
        match value {
            serde_json::Value::Object(map) => {
                if let Some(text) = map.get("$ref").and_then(|r| r.as_str()) {
                    see(text);
                }
                map.values().for_each(|v| walk(v, see));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|v| walk(v, see)),
            _ => {}
        }
    }
    walk(&document, &mut |reference| {
        let name = reference.strip_prefix("#/components/schemas/");
        if name.is_none_or(|name| !schemas.contains_key(name)) {
            missing.insert(reference.to_owned());
        }
    });
    assert!(missing.is_empty(), "{missing:?}");
}
