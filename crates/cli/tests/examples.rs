// SPDX-License-Identifier: Apache-2.0
//! In: the folders of examples. Out: that each shows what its README says. Not here: the README itself (`transcripts.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;

use common::{bless, difference, root, run};
use serde_json::Value;

/// The mistakes in examples/broken by number: what must be found, where, and a part of the remedy.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("OV1202", "routes.yaml:6:23", "did you mean `infra/edge`?"),
    ("OV1204", "routes.yaml:14:23", "allow namespace `shop` in"),
    ("OV1205", "routes.yaml:23:15", "use a hostname that the listener covers"),
    ("OV1209", "routes.yaml:33:33", "add a ReferenceGrant to namespace `finance`"),
    ("OV1301", "policies.yaml:6:74", "there is one in namespace `shop`"),
    ("OV1302", "policies.yaml:14:91", "did you mean `web`?"),
    ("OV1303", "policies.yaml:22:16", "target one of: Gateway, HTTPRoute"),
    ("OV1310", "policies.yaml:32:14", "keep one of them"),
    ("OV1002", "duplicate.yaml:9:5", "remove one of them"),
    ("OV1001", "tab.yaml:5:1", "use spaces"),
];

fn place(item: &Value) -> String {
    let file = item["at"]["file"].as_str().unwrap();
    format!("{}:{}:{}", file.rsplit('/').next().unwrap(), item["at"]["line"], item["at"]["column"])
}

#[test]
fn each_of_the_ten_mistakes_is_found_once() {
    let ran = run("check -f examples/broken -o json");
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
    let list = ran.json();
    let items = list["items"].as_array().unwrap();
    let mut wrong = Vec::new();
    for (number, (code, at, remedy)) in (1..).zip(MISTAKES) {
        let found: Vec<&Value> =
            items.iter().filter(|i| i["code"] == *code && place(i) == *at).collect();
        match found.as_slice() {
            [one] if one["help"].as_str().is_some_and(|help| help.contains(remedy)) => {}
            [one] => wrong.push(format!("{number}. {code}: another remedy: {}", one["help"])),
            several => {
                wrong.push(format!("{number}. {code} at {at}: found {} times", several.len()))
            }
        }
    }
    // One mistake, one finding: whatever else is said distracts from it.
    let known =
        |i: &Value| MISTAKES.iter().any(|(code, at, _)| i["code"] == *code && place(i) == *at);
    for other in items.iter().filter(|i| !known(i)) {
        wrong.push(format!(
            "also reported: {} {} {}",
            place(other),
            other["code"],
            other["message"]
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((list["errors"].as_u64(), list["warnings"].as_u64()), (Some(10), Some(0)));
}

#[test]
fn the_mistakes_are_numbered_where_they_are_made() {
    for (number, (code, at, _)) in (1..).zip(MISTAKES) {
        let (file, place) = at.split_once(':').unwrap();
        let line: usize = place.split(':').next().unwrap().parse().unwrap();
        let text = std::fs::read_to_string(root().join("examples/broken").join(file)).unwrap();
        let before = text.lines().take(line).collect::<Vec<_>>().join("\n");
        let last = before.rsplit("---").next().unwrap();
        assert!(
            last.contains(&format!("# {number}. ")),
            "{code}: the document at {at} is not number {number}"
        );
    }
}

#[test]
fn the_diagnostics_look_as_they_should() {
    for (line, name) in [
        ("check -f examples/broken", "broken.txt"),
        ("check -f examples/broken --short", "broken-short.txt"),
        ("check -f examples/broken --color always", "broken-color.txt"),
        ("check -f examples/teams -v", "teams.txt"),
    ] {
        let path = root().join("crates/cli/tests/golden").join(name);
        let ran = run(line);
        let actual = format!("{}{}", ran.out, ran.err);
        if bless() {
            std::fs::write(&path, &actual).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(golden == actual, "{name} differs:\n{}", difference(&golden, &actual));
    }
}

#[test]
fn shop_has_no_findings_and_teams_no_errors() {
    let shop = run("check -f examples/shop -o json --fail-on note");
    assert_eq!((shop.code, shop.json()["items"].as_array().map(Vec::len)), (Some(0), Some(0)));
    let teams = run("check -f examples/teams -o json");
    assert_eq!((teams.code, teams.json()["errors"].as_u64()), (Some(0), Some(0)));
}

#[test]
fn the_checkout_has_its_own_timeout_and_the_idle_time_of_the_platform() {
    let list =
        run("effective -f examples/shop httproute/shop/cart#checkout --kind TimeoutPolicy -o json")
            .json();
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "one per listener");
    for item in items {
        assert_eq!(
            item["spec"],
            serde_json::json!({"timeouts": {"request": "30s", "idle": "60s"}})
        );
        assert_eq!(item["origins"]["/timeouts/request"][0]["policy"], "shop/checkout-timeouts");
        assert_eq!(item["origins"]["/timeouts/idle"][0]["policy"], "infra/gw-timeouts");
        assert_eq!(item["shadowed"][0]["policy"], "infra/gw-timeouts");
    }
}

#[test]
fn the_override_of_the_platform_holds_for_one_team_only() {
    let list = run("effective -f examples/teams -o json").json();
    let quota = |target: &str| {
        let items = list["items"].as_array().unwrap();
        items.iter().find(|i| i["target"] == target).unwrap()["spec"]["limits"].clone()
    };
    assert_eq!(quota("httproute/team-a/search#rule-1")["per-client"]["requests"], 100);
    // The surprise the example is about: an atomic default between two others takes everything away.
    assert_eq!(quota("httproute/team-b/reports#rule-1")["per-client"], Value::Null);
    let copy = tempfile::tempdir().unwrap();
    for entry in
        std::fs::read_dir(root().join("examples/teams")).unwrap().map(|e| e.unwrap().path())
    {
        let text = std::fs::read_to_string(&entry).unwrap();
        // What the README advises: one policy per target.
        let documents = text.split("---\n").filter(|d| !d.contains("name: reports-quota\n"));
        let text = documents.collect::<Vec<_>>().join("---\n");
        std::fs::write(copy.path().join(entry.file_name().unwrap()), text).unwrap();
    }
    let list = run(&format!("effective -f {} -n team-b -o json", copy.path().display())).json();
    assert_eq!(list["items"][0]["spec"]["limits"]["per-client"]["requests"], 100);
}
