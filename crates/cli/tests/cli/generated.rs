// SPDX-License-Identifier: Apache-2.0
//! What is generated from the code: completions, manual pages.

use crate::common::run;

const COMMANDS: &[&str] = &[
    "check",
    "get",
    "effective",
    "explain",
    "reach",
    "graph",
    "test",
    "rule",
    "schema",
    "completions",
    "man",
];

#[test]
fn completions_name_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&format!("completions {shell}"));
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{shell}");
        for command in COMMANDS {
            assert!(ran.out.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn bash_can_read_its_completions() {
    let script = format!(
        "source <('{}' completions bash) && complete -p overrule",
        env!("CARGO_BIN_EXE_overrule")
    );
    let Ok(output) = std::process::Command::new("bash").args(["-c", &script]).output() else {
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn there_is_a_manual_page_per_command() {
    let main = run("man");
    assert_eq!(main.code, Some(0));
    assert!(main.out.contains(".TH overrule"), "{}", main.out);
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man1");
    let ran = run(&format!("man --dir {}", pages.display()));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for command in COMMANDS {
        let page = std::fs::read_to_string(pages.join(format!("overrule-{command}.1"))).unwrap();
        assert!(page.contains(".TH"), "{command}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(
        run(&format!("man --dir {}", file.path().display())).code,
        Some(3),
        "a file is no folder"
    );
}
