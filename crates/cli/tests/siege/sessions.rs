// SPDX-License-Identifier: Apache-2.0
//! In: the sessions that the guide shows. Out: that they still go as shown. Not here: what they are about.

use std::path::Path;
use std::process::Command;

use overrule_store::testing::PgLab;

use crate::turn;

/// Makes sure that a program is there; Debian's package of the same name has it.
fn program(name: &str) {
    let there = |name: &str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
        found.is_ok_and(|found| found.status.success())
    };
    if !there(name) {
        let install = format!("apt-get update -q && apt-get install -y -q {name}");
        let installed = Command::new("sh").args(["-c", &install]).status();
        assert!(installed.is_ok_and(|s| s.success()) && there(name), "{name} cannot be installed");
    }
}

#[test]
fn the_sessions_of_the_guide_go_as_shown() {
    let _turn = turn();
    program("curl");
    program("openssl");
    // Installs PostgreSQL where it is missing.
    drop(PgLab::new().unwrap());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let played = Command::new("sh")
        .arg(root.join("examples/serve/check.sh"))
        .env("OVERRULE", env!("CARGO_BIN_EXE_overrule"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&played.stdout);
    assert!(played.status.success(), "{said}{}", String::from_utf8_lossy(&played.stderr));
}
