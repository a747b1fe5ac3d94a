// SPDX-License-Identifier: Apache-2.0
//! In: the examples of this crate. Out: each of them runs to its end, and README.md shows one of them. Not here: what
//! they answer (`manifests.rs`).
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;

#[path = "../examples/access.rs"]
mod access;
#[path = "../examples/effective.rs"]
mod effective;
#[path = "../examples/live.rs"]
mod live;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn access_is_decided() {
    access::main().unwrap();
}

#[test]
fn a_folder_is_asked() {
    // It names the folder as a user at the root would; the other examples do not depend on the working directory.
    std::env::set_current_dir(root()).unwrap();
    effective::main().unwrap();
}

#[test]
fn the_readme_shows_lines_of_an_example() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let shown: String = shown.lines().map(|line| format!("    {line}\n")).collect();
    assert!(
        include_str!("../examples/effective.rs").contains(&shown),
        "not in effective.rs:\n{shown}"
    );
}

#[test]
fn a_change_is_followed() {
    live::main().unwrap();
}
