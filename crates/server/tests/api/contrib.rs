// SPDX-License-Identifier: Apache-2.0
//! The alerts and the dashboard in `contrib` ask for figures that exist, with labels and values that exist; and
//! `docs/http-api.md` lists every endpoint, with its errors.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::client::{config, extensions, open};

/// Figures of servers that have what this one has not (TLS, PostgreSQL), or not at once, and their labels.
const ELSEWHERE: &[(&str, &[&str])] = &[
    ("overrule_certificate_expiry_timestamp_seconds", &[]),
    ("overrule_store_bytes", &[]),
    ("overrule_store_connections", &["state"]),
    ("overrule_store_connections_max", &[]),
];

/// Figures and labels that Prometheus adds to what it scrapes.
const OF_PROMETHEUS: [&str; 3] = ["up", "job", "instance"];

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Figures of a server that has something of everything, each with its labels.
fn figures() -> BTreeMap<String, BTreeSet<String>> {
    let files = ["examples/shop", "examples/kuma/shop", "examples/kuadrant/shop"];
    let (_running, client) = open(config(), &files);
    // What was asked before is what is counted.
    client.get("/v1/effective").expect(200);
    let text = client.get("/metrics").expect(200).text;
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let labels = found.entry(name.to_owned()).or_default();
        let inside = rest.strip_prefix('{').and_then(|r| r.rsplit_once('}')).map_or("", |r| r.0);
        labels.extend(matchers(inside).into_iter().map(|(label, _)| label));
    }
    for (name, labels) in ELSEWHERE {
        found.entry((*name).to_owned()).or_default().extend(labels.iter().map(|l| (*l).to_owned()));
    }
    found
}

/// `a="b",c=~"d"` as pairs.
fn matchers(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('"') {
        let label = before.trim_matches([',', ' ', '=', '~', '!']);
        let (value, after) = after.split_once('"').expect("a value ends");
        found.push((label.to_owned(), value.to_owned()));
        rest = after;
    }
    found
}

/// What a query asks for: figures, and what is said of their labels.
fn asked(query: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found = Vec::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for (at, _) in query.match_indices(|c: char| c.is_ascii_alphabetic()) {
        let (before, after) = query.split_at(at);
        // Only where a word begins, outside of braces and quotes.
        let inside = before.matches('{').count() > before.matches('}').count();
        if inside || before.ends_with(is_part) || before.ends_with('$') {
            continue;
        }
        let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
        let (word, rest) = after.split_at(end);
        let ours = ["overrule_", "kuadrant_", "process_"];
        if word != "up" && !ours.iter().any(|start| word.starts_with(start)) {
            continue;
        }
        let said = rest.strip_prefix('{').and_then(|r| r.split_once('}')).map_or("", |r| r.0);
        found.push((word.to_owned(), matchers(said)));
    }
    found
}

/// The names of all endpoints.
fn endpoints() -> BTreeSet<String> {
    let document = overrule_server::openapi::document(&extensions());
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    operations.map(|o| o["operationId"].as_str().unwrap().to_owned()).collect()
}

/// Everything that is wrong with a query.
fn wrong(query: &str, figures: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let ids = endpoints();
    let mut wrong = Vec::new();
    let all = asked(query);
    if all.is_empty() {
        wrong.push(format!("asks for nothing: {query}"));
    }
    for (name, said) in all {
        let none = BTreeSet::new();
        let labels = figures.get(&name).unwrap_or(&none);
        if !figures.contains_key(&name) && !OF_PROMETHEUS.contains(&name.as_str()) {
            wrong.push(format!("no figure is called {name}: {query}"));
        }
        for (label, value) in said {
            if !labels.contains(&label) && !OF_PROMETHEUS.contains(&label.as_str()) {
                wrong.push(format!("{name} has no label {label}: {query}"));
            }
            for id in value.split('|').filter(|_| label == "endpoint") {
                if !ids.contains(id) {
                    wrong.push(format!("no endpoint is called {id}: {query}"));
                }
            }
        }
    }
    wrong
}

/// The texts after `expr`, of one line or several.
fn expressions(alerts: &str) -> Vec<String> {
    let read = overrule::source::read_one("alerts.yaml", alerts, &Default::default());
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let doc = read.documents.ids().next().unwrap();
    let mut found = Vec::new();
    collect(&read.documents.root(doc).to_json(), &mut found);
    found
}

fn collect(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(members) => {
            let expr = members.get("expr").and_then(|e| e.as_str());
            found.extend(expr.map(str::to_owned));
            members.values().for_each(|v| collect(v, found));
        }
        serde_json::Value::Array(list) => list.iter().for_each(|v| collect(v, found)),
        _ => {}
    }
}

#[test]
fn alerts_and_dashboard_ask_for_figures_that_exist() {
    let figures = figures();
    let alerts = expressions(&file("contrib/prometheus/alerts.yaml"));
    let mut panels = Vec::new();
    collect(&serde_json::from_str(&file("contrib/grafana/overrule.json")).unwrap(), &mut panels);
    assert!(alerts.len() > 10 && panels.len() > 15, "{} {}", alerts.len(), panels.len());
    let all = alerts.iter().chain(&panels);
    let wrong: Vec<String> = all.flat_map(|query| wrong(query, &figures)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_figure_is_on_the_dashboard() {
    let dashboard = file("contrib/grafana/overrule.json");
    let missing: Vec<String> = figures().into_keys().filter(|n| !dashboard.contains(n)).collect();
    // A histogram is shown by its buckets.
    let missing: Vec<&String> =
        missing.iter().filter(|n| !n.ends_with("_sum") && !n.ends_with("_count")).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_check_finds_mistakes() {
    let mut figures: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    figures.insert("overrule_requests_total".to_owned(), ["endpoint".to_owned()].into());
    let count = |query: &str| wrong(query, &figures).len();
    assert_eq!(count("rate(overrule_requests_total{job=\"a\",endpoint=\"effective\"}[5m]) > 0"), 0);
    assert_eq!(count("overrule_request_total > 0"), 1);
    assert_eq!(count("overrule_requests_total{code=\"500\"}"), 1);
    assert_eq!(count("overrule_requests_total{endpoint=~\"effective|nothing\"}"), 1);
    assert_eq!(count("vector(1)"), 1);
}

/// Statuses that the page tells once for all endpoints.
const SHARED: [&str; 10] = ["400", "401", "403", "405", "408", "413", "421", "429", "431", "503"];

/// Every endpoint, with the errors that are its own.
fn operations() -> BTreeMap<String, String> {
    let document = overrule_server::openapi::document(&extensions());
    let mut found = BTreeMap::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let statuses = operation["responses"].as_object().unwrap().keys();
            let errors = statuses.filter(|s| s.as_str() >= "400" && !SHARED.contains(&s.as_str()));
            let errors: Vec<&str> = errors.map(String::as_str).collect();
            found.insert(format!("{} {path}", method.to_uppercase()), errors.join(" "));
        }
    }
    found
}

/// The request of a row of the page's tables, what stands between, and its errors.
fn row(line: &str) -> Option<(&str, &str, &str)> {
    let (request, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
    let is_request = ["GET ", "PUT ", "POST ", "DELETE "].iter().any(|m| request.starts_with(m));
    let (between, errors) = rest.strip_suffix('|')?.rsplit_once('|')?;
    is_request.then_some((request, between.trim_end(), errors.trim()))
}

/// `OVERRULE_BLESS=1` rewrites the errors; a new endpoint needs a row first.
#[test]
fn the_page_has_every_endpoint_and_its_errors() {
    let (page, operations) = (file("docs/http-api.md"), operations());
    let told: BTreeMap<String, String> =
        page.lines().filter_map(row).map(|(r, _, e)| (r.to_owned(), e.to_owned())).collect();
    #[expect(clippy::disallowed_methods, reason = "whoever runs the test says so")]
    let bless = std::env::var("OVERRULE_BLESS").is_ok();
    if bless && told.keys().eq(operations.keys()) {
        let line = |line: &str| match row(line) {
            Some((request, between, _)) => {
                format!("| `{request}` | {between} | {} |\n", operations[request])
            }
            None => format!("{line}\n"),
        };
        let page: String = page.lines().map(line).collect();
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/http-api.md");
        return std::fs::write(path, page).unwrap();
    }
    assert_eq!(told, operations);
}
