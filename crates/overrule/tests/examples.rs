// SPDX-License-Identifier: Apache-2.0
//! In: the examples of this crate. Out: each of them runs to its end. Not here: what they show (`manifests.rs`).
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../examples/access.rs"]
mod access;
#[path = "../examples/effective.rs"]
mod effective;
#[path = "../examples/live.rs"]
mod live;

#[test]
fn access_is_decided() {
    access::main().unwrap();
}

#[test]
fn a_folder_is_asked() {
    effective::main().unwrap();
}

#[test]
fn a_change_is_followed() {
    live::main().unwrap();
}
