// SPDX-License-Identifier: Apache-2.0
//! In: the table of differences between the profiles. Out: the page about them says the same.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "test code: a broken expectation shall stop the test"
)]

use overrule_envoy_gateway::DIFFERENCES;

#[test]
fn the_page_lists_every_difference() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/envoygateway-profiles.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("| point | `design` | `shipped` |\n|---|---|---|\n").unwrap();
    let written: Vec<&str> = after.lines().take_while(|line| line.starts_with('|')).collect();
    let row = |d: &overrule_envoy_gateway::ProfileDifference| {
        format!("| {} | {} | {} |", d.about, d.design, d.shipped)
    };
    let wanted: Vec<String> = DIFFERENCES.iter().map(row).collect();
    assert_eq!(written, wanted);
}
