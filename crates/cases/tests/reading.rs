// SPDX-License-Identifier: Apache-2.0
//! In: tests with every key, with unknown keys and with values of the wrong type. Out: what is read, or where it is wrong.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code: a broken expectation shall stop the test"
)]

use overrule_cases::case::{Conditions, ExpectedContent};
use overrule_cases::{Case, is_case, read, read_file};
use overrule_source::{Input, ReadOptions, read_one};

fn parse(text: &str) -> Result<Case, Vec<String>> {
    let documents = read_one("t.yaml", text, &ReadOptions::default()).documents;
    let doc = documents.ids().next().unwrap();
    let mut load = |path: &str| match path {
        "a.yaml" => Ok(vec![Input::new("dir/a.yaml", "")]),
        _ => Err("no such file".to_owned()),
    };
    read(&documents, doc, &mut load).map_err(|found| {
        let show = |d: &overrule_source::Diagnostic| {
            let at = documents.sources.position(d.primary.as_ref().unwrap().span);
            format!("{at} {} {} [{}]", d.code.id, d.message, d.help.as_deref().unwrap_or(""))
        };
        found.iter().map(show).collect()
    })
}

fn errors(text: &str) -> Vec<String> {
    parse(text).err().unwrap_or_default()
}

const EVERY_KEY: &str = r#"
name: every-key
source: here
basis: golden
family: kuadrant
profiles: [design, 2.13]
note: why
settings: {policyMerge: {extAuth: DeepMerge}}
input:
- {apiVersion: v1, kind: Service, metadata: {name: a}}
files: [a.yaml]
kinds: [a.yaml, {kind: PolicyKind}]
partial: true
expect:
- path: [infra/edge, web, shop/cart, rule-1]
  kind: AuthPolicy
  rules: {rules.authentication.a: 1}
  sources: {rules.authentication.a: infra/p, b: [x/y, z/w]}
  overridden: [{policy: a/b, rule: r, block: defaults, by: [c/d]}]
  removed: [{policy: a/b, rule: r, by: c/d}]
  skipped: [{policy: a/b, block: overrides, reason: when-false}]
  accumulated: [{from: a/b, type: T, value: {x: 1}}]
  error: true
  hostnames: [example.com]
  match: {path: {type: Exact, value: /a}}
- path: [a]
  kind: TrafficPolicy
  fields: {}
  shadowed: [timeouts.request]
- path: [b]
  kind: K
  spec: {a: 1}
  shadowed: [{policy: a/b, pointer: /r}]
  masked: [x]
none:
- {path: [a], kind: K}
- {path: [b], kind: K, reason: invalid-path}
absent: [[a, b]]
status:
  a/b: {accepted: {status: "True", reason: Accepted}, enforced: {status: "False", reason: Overridden, message: m}}
  c/d: {Gateway infra/gw: {Accepted: Valid, Attached: Attached}}
  e/f: {}
affected: [{kind: Gateway, name: infra/edge, section: web, policyKind: AuthPolicy, policies: [a/b]}]
conflicted: [{kind: K, policy: a/b, by: c/d, message: m}]
invalid: [{kind: K, policy: a/b, message: m}]
diagnostics: [{code: OV1301, message: m, field: spec, line: 3}]
can: [{from: spiffe://a, to: b, method: GET, path: /, sni: s, verdict: allow, by: [a/b]}]
"#;

#[test]
fn every_key_is_read() {
    let case = parse(EVERY_KEY).unwrap();
    assert_eq!((case.name.as_str(), case.at.line), ("every-key", 2));
    assert_eq!(
        (case.source.as_str(), case.basis.as_str(), case.notes.as_str()),
        ("here", "golden", "why")
    );
    assert_eq!(case.family, "kuadrant");
    assert_eq!(
        case.profiles.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(),
        ["design", "2.13"]
    );
    assert_eq!(case.settings[0].key, "policyMerge");
    let names: Vec<&str> = case.inputs.iter().map(|i| &*i.name).collect();
    assert_eq!(names, ["t.yaml", "dir/a.yaml", "dir/a.yaml", "t.yaml"]);
    assert_eq!(case.kind_sources, ["dir/a.yaml"]);
    assert!(case.partial);

    let expect = case.expect.unwrap().items;
    assert_eq!(expect[0].path.to_string(), "infra/edge > web > shop/cart > rule-1");
    let Some(ExpectedContent::Fields(fields)) = &expect[0].content else { panic!() };
    assert_eq!((fields[0].0.text.as_str(), fields[0].0.at.line), ("rules.authentication.a", 17));
    assert_eq!(expect[0].sources.as_ref().unwrap()[1].policies, ["x/y", "z/w"]);
    let shadowed = &expect[0].shadowed.as_ref().unwrap().items[0];
    assert_eq!((shadowed.policy.as_str(), shadowed.block.as_deref()), ("a/b", Some("defaults")));
    assert_eq!(expect[0].removed.as_ref().unwrap().items[0].by, Some(vec!["c/d".to_owned()]));
    assert_eq!(expect[0].skipped.as_ref().unwrap().items[0].reason.as_deref(), Some("when-false"));
    assert_eq!(expect[0].accumulated.as_ref().unwrap().items.len(), 1);
    assert!(expect[0].error.as_ref().unwrap().0 && expect[0].matching.is_some());
    assert_eq!(expect[0].hostnames.as_ref().unwrap().items, ["example.com"]);
    assert!(expect[1].shadowed.is_none(), "words are what a built-in masks");
    assert_eq!(expect[1].masked.as_ref().unwrap().items[0].text, "timeouts.request");
    assert!(
        matches!(&expect[1].content, Some(ExpectedContent::Fields(fields)) if fields.is_empty())
    );
    assert!(matches!(&expect[2].content, Some(ExpectedContent::Spec(..))));
    assert_eq!(expect[2].shadowed.as_ref().unwrap().items[0].field.as_ref().unwrap().text, "/r");

    assert_eq!(case.none.iter().map(|n| n.no_path).collect::<Vec<_>>(), [false, true]);
    assert_eq!(case.absent[0].steps, ["a", "b"]);
    assert!(matches!(&case.status[0].conditions, Conditions::ByType(c) if c.len() == 2));
    assert!(matches!(&case.status[1].conditions, Conditions::ByAncestor(a) if a[0].1.len() == 2));
    assert!(matches!(&case.status[2].conditions, Conditions::ByAncestor(a) if a.is_empty()));
    assert_eq!(case.affected.unwrap().items[0].section.as_deref(), Some("web"));
    assert_eq!(case.conflicted.unwrap().items[0].by, ["c/d"]);
    assert_eq!(case.invalid.unwrap().items[0].message.as_deref(), Some("m"));
    assert_eq!(case.diagnostics.unwrap().items[0].line, Some(3));
    assert_eq!(case.can[0].sni.as_deref(), Some("s"));
}

#[test]
fn unknown_keys_name_the_nearest_one() {
    let base = "input: []\nexpect:\n- path: [a]\n  kind: K\n";
    let found = errors(&format!("{base}expekt: []\n"));
    assert_eq!(
        found,
        ["t.yaml:5:1 OV1901 `expekt` is not a key of a policy test [did you mean `expect`?]"]
    );
    let found = errors(&format!("{base}  feilds: {{}}\n"));
    assert_eq!(
        found,
        [
            "t.yaml:5:3 OV1901 `expect[0].feilds` is not a key of a policy test [did you mean `fields`?]"
        ]
    );
    let found = errors("input: []\ndiagnostics: [{code: A, liine: 1}]\n");
    assert_eq!(
        found,
        [
            "t.yaml:2:25 OV1901 `diagnostics[0].liine` is not a key of a policy test [did you mean `line`?]"
        ]
    );
    let found = errors("input: []\nexpect: []\nxyzzy: 1\n");
    assert!(found[0].contains("known keys: name, source"), "{found:?}");
    for (key, text) in [
        ("none", "none: [{path: [a], kind: K, x1: 1}]"),
        ("affected", "affected: [{kind: K, name: a/b, policyKind: P, x1: 1}]"),
        ("conflicted", "conflicted: [{kind: K, policy: p, x1: 1}]"),
        ("invalid", "invalid: [{kind: K, policy: p, x1: 1}]"),
        ("can", "can: [{from: a, to: b, verdict: allow, x1: 1}]"),
        ("status", "status: {a/b: {accepted: {status: s, reason: r, x1: 1}}}"),
        ("status", "status: {a/b: {Gateway a/b: {x1: 1}}}"),
        ("status", "status: {a/b: {accepted: {status: s, reason: r}, x1: {}}}"),
        ("overridden", "expect: [{path: [a], kind: K, overridden: [{policy: p, x1: 1}]}]"),
        ("removed", "expect: [{path: [a], kind: K, removed: [{policy: p, x1: 1}]}]"),
        ("skipped", "expect: [{path: [a], kind: K, skipped: [{policy: p, x1: 1}]}]"),
    ] {
        let found = errors(&format!("input: []\n{text}\n"));
        assert!(
            found.len() == 1 && found[0].contains("OV1901") && found[0].contains(key),
            "{key}: {found:?}"
        );
    }
}

#[test]
fn wrong_types_have_line_and_column() {
    for (text, at) in [
        ("expect: {}", "2:9 OV1105 `expect` must be a list"),
        ("expect: [1]", "2:10 OV1105 `expect[0]` must be a mapping"),
        ("expect:\n- {path: a, kind: K}", "3:10 OV1105 `expect[0].path` must be a list"),
        ("expect:\n- {path: [80], kind: K}", "3:11 OV1105 `expect[0].path[0]` must be a string"),
        ("expect:\n- {path: [a], kind: 1}", "3:21 OV1105 `expect[0].kind` must be a string"),
        (
            "expect:\n- {path: [a], kind: K, fields: []}",
            "3:32 OV1105 `expect[0].fields` must be a mapping",
        ),
        (
            "expect:\n- {path: [a], kind: K, error: x}",
            "3:31 OV1105 `expect[0].error` must be a boolean",
        ),
        (
            "expect:\n- {path: [a], kind: K, sources: {x: {}}}",
            "3:37 OV1105 `expect[0].sources.x` must be a string or a list",
        ),
        (
            "expect:\n- {path: [a], kind: K, masked: [1]}",
            "3:33 OV1105 `expect[0].masked[0]` must be a string",
        ),
        ("expect: []\nprofiles: x", "3:11 OV1105 `profiles` must be a list"),
        ("expect: []\npartial: maybe", "3:10 OV1105 `partial` must be a boolean"),
        ("expect: []\nname: 1", "3:7 OV1105 `name` must be a string"),
        ("absent: [x]", "2:10 OV1105 `absent[0]` must be a list"),
        ("status: {a/b: x}", "2:15 OV1105 `status.a/b` must be a mapping"),
        (
            "diagnostics: [{code: X, line: a}]",
            "2:31 OV1105 `diagnostics[0].line` must be an integer",
        ),
        ("expect: []\nkinds: [1]", "3:9 OV1105 `kinds[0]` must be a mapping or the path of a file"),
    ] {
        let found = errors(&format!("input: []\n{text}\n"));
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("t.yaml:{at}")),
            "{text}: {found:?}"
        );
    }
    let found = errors("input: [x]\nexpect: []\n");
    assert!(found[0].starts_with("t.yaml:1:9 OV1105 `input[0]` must be a mapping"), "{found:?}");
    assert!(errors("- 1\n")[0].contains("must be a mapping"));
}

#[test]
fn what_must_be_there_is_asked_for() {
    assert!(errors("expect: []\n")[0].contains("`input` is missing"));
    let found = errors("name: x\ninput: []\n");
    assert!(found[0].contains("OV1903"), "{found:?}");
    let found = errors("input: []\nexpect: [{kind: K}, {path: [a]}]\n");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("`expect[0].path` is missing")
            && found[1].contains("`expect[1].kind` is missing")
    );
    let found = errors("input: []\nexpect: [{path: [a], kind: K, fields: {}, spec: {}}]\n");
    assert!(found[0].contains("both `fields` and `spec`"), "{found:?}");
    let found = errors("input: []\nfamily: kuadrent\nexpect: []\n");
    assert!(found[0].contains("did you mean `kuadrant`?"), "{found:?}");
    let found = errors("input: []\nnone: [{path: [a], kind: K, reason: other}]\n");
    assert!(found[0].contains("invalid-path"), "{found:?}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let found = errors("files: [b.yaml]\nexpect: []\n");
    assert!(
        found[0].starts_with("t.yaml:1:9 OV1902 `b.yaml` cannot be read: no such file"),
        "{found:?}"
    );
    let found = errors("files: [/etc/hosts]\nexpect: []\n");
    assert!(found[0].contains("absolute"), "{found:?}");
}

#[test]
fn policies_of_two_families_need_a_word() {
    let policies = "input:\n- {apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: a}}\n\
                    - {apiVersion: gateway.kgateway.dev/v1, kind: TrafficPolicy, metadata: {name: b}}\nexpect: []\n";
    assert!(errors(policies)[0].contains("OV1904"));
    assert_eq!(parse(&format!("{policies}family: kgateway\n")).unwrap().family, "kgateway");
}

#[test]
fn manifests_are_no_tests_and_a_name_is_optional() {
    let text = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\ninput: []\nexpect: []\n---\ninput: []\nnone: []\n";
    let documents = read_one("dir/my.test.yaml", text, &ReadOptions::default()).documents;
    let cases: Vec<bool> = documents.ids().map(|doc| is_case(documents.root(doc))).collect();
    assert_eq!(cases, [false, true, true]);
    let (cases, broken) = read_file(Input::new("dir/my.test.yaml", text), None);
    assert!(broken.is_empty());
    assert_eq!(
        cases.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["my.test-2", "my.test-3"]
    );
}

#[test]
fn a_broken_test_is_a_failure_that_says_where() {
    let (cases, broken) =
        read_file(Input::new("x.yaml", "name: one\ninput: []\nexpekt: []\n"), None);
    assert!(cases.is_empty());
    assert_eq!((broken[0].name.as_str(), broken[0].mismatches().len()), ("one", 2));
    let (cases, broken) = read_file(Input::new("x.yaml", "name: [\n"), None);
    assert!(cases.is_empty());
    assert!(broken[0].mismatches()[0].message.contains("OV1001"), "{broken:?}");
}

#[test]
fn a_test_written_as_json_is_read() {
    let text = r#"{"input": [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}], "expect": []}"#;
    let case = parse(text).unwrap();
    let inputs = overrule_source::read(case.inputs, &ReadOptions::default());
    let objects = overrule_model::parse(&inputs.documents).snapshot.len();
    assert_eq!(objects, 1);
}
