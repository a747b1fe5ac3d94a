// SPDX-License-Identifier: Apache-2.0
//! Exit codes: 0 fine, 1 findings or a negative answer, 2 usage, 3 the world failed, 130 interrupted.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{finish, folder, overrule, root, run, run_on};
use crate::{BROKEN, GOOD};

#[test]
fn fine_is_0_and_findings_are_1() {
    let good = folder(&[("a.yaml", GOOD)]);
    for line in [
        "check",
        "get",
        "effective",
        "graph",
        "explain httproute/shop/cart",
        "reach timeoutpolicy/shop/timeouts",
    ] {
        let ran = run_on(good.path(), line);
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        assert!(line == "check" || !ran.out.is_empty(), "{line}: {ran:?}");
    }
    let broken = folder(&[("a.yaml", GOOD), ("b.yaml", BROKEN)]);
    assert_eq!(run_on(broken.path(), "check").code, Some(1));
    // Only `check` is about findings; others answer what they can and mention them.
    let effective = run_on(broken.path(), "effective");
    assert_eq!(effective.code, Some(0));
    assert!(
        effective.err.contains("1 error") && effective.err.contains("overrule check"),
        "{effective:?}"
    );
}

#[test]
fn fail_on_moves_the_threshold() {
    let warned = folder(&[(
        "a.yaml",
        &GOOD.replace("spec:\n  parentRefs", "spec:\n  hostname: x.example.com\n  parentRefs"),
    )]);
    for (level, code) in [("error", 0), ("warning", 1), ("note", 1), ("never", 0)] {
        let ran = run_on(warned.path(), &format!("check --fail-on {level}"));
        assert_eq!(ran.code, Some(code), "{level}: {ran:?}");
    }
    let broken = folder(&[("b.yaml", BROKEN)]);
    assert_eq!(run_on(broken.path(), "check --fail-on never").code, Some(0));
}

#[test]
fn wrong_arguments_are_2_and_say_what_is_right() {
    let mut wrong = Vec::new();
    for (line, part) in [
        ("", "Usage: overrule"),
        ("chek", "check"),
        ("check --bogus", "--bogus"),
        ("check -o toml", "json"),
        ("check --fail-on sometimes", "warning"),
        ("effective --header a:b", "--request"),
        ("explain", "TARGET"),
        ("explain cart", "kind/namespace/name"),
        ("explain /", "kind/namespace/name"),
        ("get -l a==b==c", "a==b==c"),
        ("check --profile gateway=nope", "gateway=gep713"),
        ("check --assume-created yesterday", "FILE-ORDER"),
        ("effective --request nonsense", "nonsense"),
        ("completions tcsh", "zsh"),
    ] {
        let ran = finish(
            overrule(line.split_whitespace()).current_dir(folder(&[("a.yaml", GOOD)]).path()),
        );
        if ran.code != Some(2) || !ran.out.is_empty() || !ran.err.contains(part) {
            wrong.push(format!("{line}: {ran:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn help_and_version_are_results() {
    for line in ["--help", "-h", "help", "check --help", "--version"] {
        let ran = run(line);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{line}");
        assert!(!ran.out.is_empty());
    }
}

#[test]
fn what_is_not_there_is_1_with_the_nearest_names() {
    let good = folder(&[("a.yaml", GOOD)]);
    for (line, part) in [
        ("explain httproute/shop/crat", "`httproute/shop/cart`"),
        ("explain httproute/hsop/cart", "`httproute/shop/cart`"),
        ("explain httprute/shop/cart", "`httproute`"),
        ("explain gateway/shop/edge#wbe", "`web`"),
        ("explain httproute/shop/cart#rule-9", "rule-1"),
        ("effective httproute/shop/crat", "`httproute/shop/cart`"),
        ("effective --kind timeoutpolicies2", "TimeoutPolicy"),
        ("reach timeoutpolicy/shop/timeout", "`timeoutpolicy/shop/timeouts`"),
        ("reach gateway/shop/edge", "get policies"),
        ("graph gateway/shop/egde", "`gateway/shop/edge`"),
        ("get gatways", "gateway"),
    ] {
        let ran = run_on(good.path(), line);
        assert_eq!(ran.code, Some(1), "{line}: {ran:?}");
        assert!(ran.out.is_empty() && ran.err.contains(part), "{line}: {ran:?}");
        assert!(ran.err.starts_with("error: "), "{line}: {ran:?}");
    }
    let rule = run("rule OV1310x");
    assert_eq!(rule.code, Some(1));
    assert!(rule.err.contains("OV1310"), "{rule:?}");
}

#[test]
fn a_request_is_followed_through_delegation() {
    let dir = root().join("examples/kgateway");
    let ask = |path: &str| {
        let request = format!("GET http://api.example.com{path}");
        let (gateway, routes) = (dir.join("gateway.yaml"), dir.join("delegation"));
        let args = [gateway.to_str().unwrap(), routes.to_str().unwrap()];
        finish(&mut overrule(["effective", "-f", args[0], "-f", args[1], "--request", &request]))
    };
    let taken = ask("/stock/levels");
    assert_eq!(taken.code, Some(0), "{taken:?}");
    let expected = "which hands it over to httproute/team-stock/stock#levels";
    assert!(taken.out.contains(expected), "{taken:?}");
    assert_eq!(taken.out.matches("# TrafficPolicy at").count(), 1, "{taken:?}");
    let nowhere = ask("/stock");
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    assert!(nowhere.out.contains("hands it over, but no rule below matches"), "{nowhere:?}");
    assert!(nowhere.err.contains("no rule takes this request"), "{nowhere:?}");
}

#[test]
fn a_request_nobody_takes_is_1_and_says_why() {
    let good =
        folder(&[("a.yaml", &GOOD.replace("port: 80,", "port: 80, hostname: '*.example.com',"))]);
    let dir = good.path().to_str().unwrap();
    let taken = finish(&mut overrule([
        "effective",
        "-f",
        dir,
        "--request",
        "GET http://shop.example.com/",
    ]));
    assert_eq!(taken.code, Some(0), "{taken:?}");
    assert!(taken.out.contains("request: 5s"), "{taken:?}");
    let other =
        finish(&mut overrule(["effective", "-f", dir, "--request", "GET http://example.org/"]));
    assert_eq!((other.code, other.out.as_str()), (Some(1), ""));
    assert!(other.err.contains("example.org"), "{other:?}");
}

#[test]
fn a_missing_file_is_3_and_the_rest_is_answered() {
    let good = folder(&[("a.yaml", GOOD)]);
    let ran = run_on(good.path(), "effective -f /nonexistent/b.yaml");
    assert_eq!(ran.code, Some(3));
    assert!(ran.out.contains("request: 5s"), "{ran:?}");
    assert!(ran.err.contains("/nonexistent/b.yaml: no such file or folder"), "{ran:?}");
    // What could not be read outweighs what was found.
    let broken = folder(&[("b.yaml", BROKEN)]);
    assert_eq!(run_on(broken.path(), "check -f /nonexistent").code, Some(3));
    assert_eq!(run("test /nonexistent").code, Some(3));
}

#[test]
fn an_answer_that_cannot_be_written_is_3() {
    let good = folder(&[("a.yaml", GOOD)]);
    let mut command = overrule(["effective", "-f", good.path().to_str().unwrap()]);
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let ran = finish(command.stdout(full));
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("cannot write"), "{ran:?}");
}

#[test]
fn interrupted_is_130() {
    let mut child = overrule(["check", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Far more than a pipe holds: when this returns, the command is reading and its handler stands.
    stdin.write_all(&vec![b'#'; 4 << 20]).unwrap();
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}
