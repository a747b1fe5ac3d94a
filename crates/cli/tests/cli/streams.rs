// SPDX-License-Identifier: Apache-2.0
//! Results on stdout, everything else on stderr; colours, -q, closed pipes, standard input.

use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::common::{finish, folder, overrule, run, run_on, run_with_input};
use crate::{BROKEN, GOOD, many};

#[test]
fn json_on_stdout_is_json_only() {
    let dir = folder(&[("a.yaml", GOOD), ("b.yaml", BROKEN)]);
    for line in [
        "check",
        "get",
        "get all",
        "effective",
        "graph",
        "get --without TimeoutPolicy",
        "reach timeoutpolicy/shop/timeouts",
    ] {
        let ran = run_on(dir.path(), &format!("{line} -o json -f /nonexistent"));
        assert_eq!(ran.json()["apiVersion"], "overrule/v1", "{line}");
        assert!(ran.err.contains("/nonexistent"), "{line}: {ran:?}");
    }
}

#[test]
fn quiet_leaves_results_and_errors() {
    let good = folder(&[("a.yaml", GOOD)]);
    let ran = run_on(good.path(), "check -q");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let broken = folder(&[("a.yaml", GOOD), ("b.yaml", BROKEN)]);
    let ran = run_on(broken.path(), "check -q");
    assert!(ran.out.contains("OV1001") && ran.err.is_empty(), "{ran:?}");
    let ran = run_on(broken.path(), "effective -q");
    assert!(ran.out.contains("request: 5s") && ran.err.is_empty(), "{ran:?}");
    let ran = run_on(broken.path(), "effective -q -f /nonexistent");
    assert!(ran.err.starts_with("error: ") && ran.err.lines().count() == 1, "{ran:?}");
    // Warnings and notes are not errors.
    assert_eq!(run("check -q -f examples/teams").out, "");
}

#[test]
fn colours_come_when_asked() {
    let colored = |ran: &crate::common::Ran| ran.out.contains('\x1b');
    let dir = folder(&[("b.yaml", BROKEN)]);
    let path = dir.path().to_str().unwrap();
    assert!(!colored(&run_on(dir.path(), "check")), "a pipe is no terminal");
    assert!(colored(&run_on(dir.path(), "check --color always")), "even where NO_COLOR is set");
    assert!(!colored(&run_on(dir.path(), "check --color never")));
    let mut command = overrule(["check", "-f", path]);
    assert!(!colored(&finish(command.env_remove("NO_COLOR"))));
    for line in [
        "effective",
        "explain httproute/shop/cart",
        "graph",
        "get",
        "reach timeoutpolicy/shop/timeouts",
    ] {
        let good = folder(&[("a.yaml", GOOD)]);
        let (plain, colour) =
            (run_on(good.path(), line), run_on(good.path(), &format!("{line} --color always")));
        assert!(!colored(&plain), "{line}");
        assert_eq!(without_colour(&colour.out), plain.out, "{line}: colour changes nothing else");
        let json = run_on(good.path(), &format!("{line} --color always -o json"));
        assert!(!colored(&json), "{line}: JSON has no colours");
    }
}

/// Takes out `ESC [ ... m`.
fn without_colour(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    plain
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let dir = folder(&[("a.yaml", &many(2000))]);
    let path = dir.path().to_str().unwrap();
    for line in
        ["effective -o json", "effective", "get all", "graph", "graph -o svg", "check -o json"]
    {
        let args: Vec<&str> = line.split_whitespace().chain(["-f", path]).collect();
        let mut child =
            overrule(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 1];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut first).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {err}");
        assert!(!err.contains("panicked") && !err.contains("error"), "{line}: {err}");
    }
}

#[test]
fn head_gets_its_lines() {
    let script =
        format!("'{}' rule | head -n 1; '{0}' --help | head -n 1", env!("CARGO_BIN_EXE_overrule"));
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(output.stderr.is_empty(), "{:?}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_closed_stderr_is_nobodys_loss() {
    let script = format!("'{}' check -f examples/teams 2>&-", env!("CARGO_BIN_EXE_overrule"));
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(crate::common::root())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!output.stdout.is_empty());
}

#[test]
fn standard_input_is_a_file_called_stdin() {
    let ran = run_with_input("effective -f -", GOOD.as_bytes());
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("request: 5s"), "{ran:?}");
    let ran = run_with_input("check --short -f - -f -", BROKEN.as_bytes());
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.starts_with("<stdin>:4:5: error[OV1001]"), "{ran:?}");
    let both = folder(&[("a.yaml", GOOD)]);
    let ran =
        run_with_input(&format!("check -f - -f {}", both.path().display()), BROKEN.as_bytes());
    assert!(ran.out.contains("<stdin>:4:5") && ran.err.contains("in 2 files"), "{ran:?}");
    let empty = run_with_input("check -f -", b"");
    assert_eq!(empty.code, Some(0));
    assert!(empty.err.contains("no resources"), "{empty:?}");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for line in ["effective -o json", "check -o json", "graph -o svg", "get -o json"] {
        for example in ["shop", "teams", "broken"] {
            let line = format!("{line} -f examples/{example}");
            assert_eq!(run(&line).out, run(&line).out, "{line}");
        }
    }
    let (a, b) = ("-f examples/shop -f examples/teams", "-f examples/teams -f examples/shop");
    assert_eq!(
        run(&format!("effective {a} -o json")).out,
        run(&format!("effective {b} -o json")).out
    );
}
