// SPDX-License-Identifier: Apache-2.0
//! Every command that asks about manifests.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::program::{run, run_on};

const ROUTE: &str = "httproute/shop/cart";

/// Each says what a built-in family would have said.
pub fn answer(folder: &Path) {
    run_on(folder, "check").says(1, &["OV9901", "there is no HTTPRoute `nowhere`", "lost.yaml"]);
    run_on(folder, "get paint").says(0, &["base", "cart", "lost", "rejected", "shop"]);
    let effective = run_on(folder, &format!("effective {ROUTE} --kind Paint -o json")).json();
    let found = effective.get("items").and_then(|items| items.get(0)).unwrap_or(&effective);
    assert_eq!(found["spec"], json!({"color": "blue", "size": 1}), "{effective:#}");
    assert_eq!((&found["family"], &found["profile"]), (&json!("toy"), &json!("design")));
    assert_eq!(found["origins"]["/color"][0]["policy"], "shop/cart");
    let explained = run_on(folder, &format!("explain {ROUTE} --kind Shape"));
    explained.says(0, &["shop/round", "shop/square", "the policy below wins"]);
    run_on(folder, "reach paint/shop/base").says(0, &["shop/base", "partly"]);
    run_on(folder, "graph").says(0, &["cart", "edge", "Paint"]);
    let request = "effective --request http://cart.example/";
    run_on(folder, request).says(0, &["square"]);
    run_on(folder, &format!("can nobody {ROUTE}")).says(1, &["has no inbound"]);
    run_on(folder, &format!("envoy {ROUTE}")).says(1, &["has no such inbound"]);
}

/// Both profiles answer, and a comparison shows where they differ.
pub fn differ_by_profile(folder: &Path) {
    let shipped = run_on(folder, &format!("effective {ROUTE} --profile toy=shipped"));
    shipped.says(0, &["\ncolor: red", "\nform: round", "the policy above wins"]);
    run_on(folder, &format!("effective {ROUTE} --compare")).says(1, &["blue", "shipped", "red"]);
    run_on(folder, "check --profile toy=mine").says(2, &["toy=design, toy=shipped"]);
}

/// Its setting is an option of the command line.
pub fn take_its_setting(folder: &Path) {
    let muted = run_on(folder, "check --toy-mute attic");
    muted.says(0, &[]);
    assert!(!muted.out.contains("OV9901"), "{muted:#?}");
    run(&["check", "--help"]).says(0, &["--toy-mute <NAMESPACE>"]);
}

/// Its code has a page and is listed.
pub fn document_its_code() {
    run(&["rule", "OV9901"]).says(0, &["toy policy without target", "Name a target."]);
    run(&["rule"]).says(0, &["OV9901", "OV1301"]);
}

/// A policy test of it is read, compared, and fails where it should; its group tells whose it is.
pub fn test_it(folder: &Path) {
    let case = folder.join("tests");
    fs::create_dir(&case).unwrap();
    let test = |color: &str| {
        format!(
            "name: cart-is-painted\nprofiles: [shipped]\nfiles: [../shop.yaml]\nsettings: {{mute: attic}}\n\
expect:\n- {{path: [shop/edge, web, shop/cart], kind: Paint, fields: {{color: {color}, size: 1}}}}\n\
- {{path: [shop/edge, web, shop/cart], kind: Shape, fields: {{form: round, corners: 0}}}}\n\
status: {{shop/base: {{accepted: {{status: 'True', reason: Accepted}}}}}}\n"
        )
    };
    let file = case.join("toy.yaml");
    fs::write(&file, test("red")).unwrap();
    run(&["test", file.to_str().unwrap()]).says(0, &["1 passed, 0 failed"]);
    fs::write(&file, test("blue")).unwrap();
    run(&["test", file.to_str().unwrap()]).says(1, &["0 passed, 1 failed", "red"]);
    fs::remove_dir_all(&case).unwrap();
}
