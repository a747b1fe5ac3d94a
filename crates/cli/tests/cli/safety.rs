// SPDX-License-Identifier: Apache-2.0
//! Manifests come from strangers: payloads of Secrets are shown nowhere, and names cannot write to a terminal.

use std::path::Path;

use crate::GOOD;
use crate::common::{finish, folder, overrule, run_on, run_with_input, write};

/// Everything that prints something about the input.
const COMMANDS: &[&str] = &[
    "check",
    "check --short",
    "check -v",
    "check -o json",
    "check -o yaml",
    "get",
    "get all",
    "get all -o wide",
    "get all -o json",
    "get all -o yaml",
    "get secrets -o yaml",
    "get policies -o wide",
    "get policies -o json",
    "effective",
    "effective -o wide",
    "effective -o json",
    "effective -o yaml",
    "graph",
    "graph -o json",
    "graph -o dot",
    "graph -o mermaid",
    "graph -o svg",
    "explain gateway/shop/edge -v",
    "explain gateway/shop/edge -o json",
    "reach timeoutpolicy/shop/timeouts",
    "reach timeoutpolicy/shop/timeouts -o json",
];

const PAYLOADS: &[&str] = &["c3VwZXJzZWNyZXQ", "hunter2secret"];

fn expect_none(dir: &Path, what: &str, wrong: &mut Vec<String>) {
    for line in COMMANDS {
        let ran = run_on(dir, line);
        for payload in PAYLOADS {
            if ran.out.contains(payload) || ran.err.contains(payload) {
                wrong.push(format!("{what}: {line} shows {payload}:\n{}{}", ran.out, ran.err));
            }
        }
    }
}

#[test]
fn payloads_of_secrets_are_shown_nowhere() {
    let head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop";
    let data = "data: {password: c3VwZXJzZWNyZXQ=}\nstringData: {pin: hunter2secret}\n";
    let json = "{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"s\"}, \"data\": {\"a\": \"c3VwZXJzZWNyZXQ=\"}";
    let variants: &[(&str, String)] = &[
        ("plain", format!("{head}}}\n{data}")),
        ("kind last", format!("apiVersion: v1\nmetadata: {{name: s}}\n{data}kind: Secret\n")),
        (
            "applied",
            format!(
                "{head}, annotations: {{kubectl.kubernetes.io/last-applied-configuration: '{{\"data\":\"c3VwZXJzZWNyZXQ=\"}}'}}}}\n"
            ),
        ),
        ("bad name", format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: S_S}}\n{data}")),
        ("unclosed", format!("{head}}}\ndata: {{password: c3VwZXJzZWNyZXQ=\n")),
        ("tab", format!("{head}}}\ndata:\n\tpassword: c3VwZXJzZWNyZXQ=\n")),
        ("twice", format!("{head}}}\ndata: {{a: c3VwZXJzZWNyZXQ=, a: hunter2secret}}\n")),
        ("alias", format!("{head}}}\ndata: {{a: *c3VwZXJzZWNyZXQ, b: &hunter2secret x}}\n")),
        ("tag", format!("{head}}}\ndata: {{a: !!int hunter2secret, b: !c3VwZXJzZWNyZXQ x}}\n")),
        ("template", format!("{head}}}\ndata: {{a: c3VwZXJzZWNyZXQ, b: {{{{ .Values.x }}}}}}\n")),
        (
            "list",
            format!(
                "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {{name: s}}\n  {}",
                data.replace('\n', "\n  ").trim_end()
            ),
        ),
        ("json", format!("{json}}}")),
        ("broken json", format!("{json}, }}, ")),
        ("number", format!("{head}}}\ndata: {{a: 0777, b: hunter2secret, c: yes}}\n")),
        ("merge", format!("{head}}}\ndata: {{<<: hunter2secret}}\n")),
    ];
    let mut wrong = Vec::new();
    for (what, text) in variants {
        let dir = folder(&[("a.yaml", GOOD), ("secret.yaml", text)]);
        expect_none(dir.path(), what, &mut wrong);
    }
    let dir = folder(&[("a.yaml", GOOD)]);
    let mut bytes = format!("{head}}}\ndata: {{password: c3VwZXJzZWNyZXQ=, name: ").into_bytes();
    bytes.extend([0xE9, b'}', b'\n']);
    write(&dir.path().join("latin1.yaml"), &bytes);
    expect_none(dir.path(), "not UTF-8", &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Bytes and characters that would do something on a terminal.
fn is_harmful(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn names_cannot_write_to_a_terminal() {
    let evil = "\\e[31mred\\e]0;title\\a\\r\\u202eabc";
    let bad_label = GOOD.replace("labels: {app: cart}", &format!("labels: {{app: \"{evil}\"}}"));
    let bad_host = GOOD
        .replace("spec:\n  parentRefs", &format!("spec:\n  hostnames: [\"{evil}\"]\n  parentRefs"));
    let bad_policy = GOOD.replace("name: timeouts,", &format!("name: \"{evil}\","));
    let bad_value = GOOD.replace("request: 5s", &format!("request: \"{evil}\", \"{evil}\": 1"));
    let bad_section = GOOD.replace("{name: web,", &format!("{{name: \"{evil}\","));
    let bad_target =
        GOOD.replace("kind: Gateway, name: edge}", &format!("kind: Gateway, name: \"{evil}\"}}"));
    let bad_kind = GOOD.replace("kind: Service\n", &format!("kind: \"{evil}\"\n"));
    let raw = GOOD.replace("request: 5s", "request: \x1b[31m5s");
    let texts =
        [bad_label, bad_host, bad_policy, bad_value, bad_section, bad_target, bad_kind, raw];
    let mut wrong = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let dir = folder(&[("a.yaml", text)]);
        for line in COMMANDS {
            let ran = run_on(dir.path(), line);
            if ran.out.contains(is_harmful) || ran.err.contains(is_harmful) {
                let bad = |l: &&str| l.contains(is_harmful);
                let shown = ran
                    .out
                    .lines()
                    .chain(ran.err.lines())
                    .find(bad)
                    .unwrap_or("a line end")
                    .to_owned();
                wrong.push(format!("text {number}: {line}: {shown:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_of_files_and_arguments_cannot_write_to_a_terminal() {
    let dir = folder(&[("\x1b[31mred.yaml", crate::BROKEN), ("\x1b[32mgreen.yaml", GOOD)]);
    let path = dir.path().to_str().unwrap();
    let evil = "\x1b[31mred\u{202e}";
    let missing = format!("/nonexistent/{evil}");
    let target = format!("gateway/shop/{evil}");
    for args in [
        vec!["check"],
        vec!["check", "--short"],
        vec!["get", "all"],
        vec!["effective"],
        vec!["graph"],
        vec!["check", "-f", &missing],
        vec!["explain", &target],
        vec!["get", evil],
        vec!["effective", "--kind", evil],
        vec!["reach", &target],
        vec!["effective", "--request", evil],
        vec!["get", "-l", evil],
        vec!["rule", evil],
    ] {
        let own = if args[0] == "rule" { vec![] } else { vec!["-f", path] };
        let ran = finish(&mut overrule(args.iter().chain(&own)));
        assert!(
            !ran.out.contains(is_harmful) && !ran.err.contains(is_harmful),
            "{args:?}: {ran:?}"
        );
    }
}

#[test]
fn a_name_cannot_forge_a_line() {
    let evil = "x\\nfake.yaml:1:1: error[OV9999]: forged";
    let text =
        GOOD.replace("kind: Gateway, name: edge}", &format!("kind: Gateway, name: \"{evil}\"}}"));
    let ran = run_with_input("check --short -f -", text.as_bytes());
    assert!(ran.out.contains("OV1301"), "{ran:?}");
    assert!(!ran.out.lines().any(|line| line.starts_with("fake.yaml")), "{ran:?}");
}

#[test]
fn markup_stays_text() {
    let evil = "a\\\"]<script>alert(1)</script>";
    let text = GOOD
        .replace("name: timeouts,", &format!("name: \"{evil}\","))
        .replace("request: 5s", &format!("request: \"{evil}\""));
    let dir = folder(&[("a.yaml", &text)]);
    for form in ["svg", "mermaid", "dot"] {
        let ran = run_on(dir.path(), &format!("graph -o {form}"));
        assert!(!ran.out.is_empty(), "{ran:?}");
        assert!(!ran.out.contains("<script>"), "{form}: {}", ran.out);
        // A quote that is not escaped would end the label of a node.
        assert!(form != "dot" || !ran.out.contains("a\"]<"), "{form}: {}", ran.out);
    }
}
