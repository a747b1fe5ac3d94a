// SPDX-License-Identifier: Apache-2.0
//! In: templates as kubectl documents them. Out: what each takes from an answer; and that no template makes trouble.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code: a broken expectation shall stop the test"
)]

use overrule_view::{JsonPath, JsonPathError};
use proptest::prelude::*;

const ANSWER: &str = r#"{
  "kind": "List",
  "items": [
    {"name": "a", "port": 80, "labels": {"app.x/tier": "web"}, "tags": ["x", "y"], "on": true},
    {"name": "b", "port": 443, "labels": {"app.x/tier": "db"}, "tags": []},
    {"name": "c", "port": 8080, "spec": {"name": "inner"}}
  ]
}"#;

fn taken(template: &str) -> String {
    template.parse::<JsonPath>().unwrap().of_json(ANSWER).unwrap()
}

#[test]
fn templates_take_what_kubectl_takes() {
    let cases = [
        ("{.kind}", "List"),
        (".kind", "List"),
        ("$.items[0].name", "a"),
        ("kind is {.kind}.", "kind is List."),
        ("{.items[*].name}", "a b c"),
        ("{.items[0].name}", "a"),
        ("{.items[-1].name}", "c"),
        ("{.items[-9].name}", ""),
        ("{.items[9].name}", ""),
        ("{.items[0:2].name}", "a b"),
        ("{.items[-2:].name}", "b c"),
        ("{.items[::2].name}", "a c"),
        ("{.items[0,2].name}", "a c"),
        ("{.items[0]['name','port']}", "a 80"),
        ("{.items[0].labels.app\\.x/tier}", "web"),
        ("{.items[0].labels['app.x/tier']}", "web"),
        ("{.items[*].nothing}", ""),
        ("{..name}", "a b c inner"),
        ("{.items[0].tags}", r#"["x","y"]"#),
        ("{.items[0].tags[*]}", "x y"),
        ("{.items[?(@.name==\"b\")].port}", "443"),
        ("{.items[?(@.name=='b')].port}", "443"),
        ("{.items[?(@.port>80)].name}", "b c"),
        ("{.items[?(@.port<=443)].name}", "a b"),
        ("{.items[?(@.port != 443)].name}", "a c"),
        ("{.items[?(@.spec)].name}", "c"),
        ("{.items[?(@.on==true)].name}", "a"),
        ("{.items[?(@.labels['app.x/tier']=='db')].name}", "b"),
        ("{range .items[*]}{.name}={.port}{\"\\n\"}{end}", "a=80\nb=443\nc=8080\n"),
        ("{range .items[*]}{.name}:{range .tags[*]}{@},{end} {end}", "a:x,y, b: c: "),
        ("{range .items[0:1]}{$.kind} {.name}{end}", "List a"),
        ("{'a \\'b\\''}", "a 'b'"),
        ("", ""),
    ];
    for (template, expected) in cases {
        assert_eq!(taken(template), expected, "{template}");
    }
}

#[test]
fn mistakes_are_told_with_their_place() {
    let cases = [
        ("{.items[0}", 10, "expected `]`, found `}`"),
        ("{.items", 8, "expected `}`, found the end"),
        ("{items}", 2, "expected a path such as"),
        ("{range .items[*]}{.name}", 25, "`{range}` without `{end}`"),
        ("{end}", 5, "`{end}` without `{range}`"),
        ("{\"a}", 2, "this quote is not closed"),
        ("{.items[::0]}", 12, "the stride of a slice is 1 or more"),
        ("{.items[x]}", 9, "expected a number, a name in quotes"),
        ("{.items[?(@.a==b)]}", 16, "expected `@`, a text in quotes"),
        ("{.a..}", 6, "expected a name"),
    ];
    for (template, at, said) in cases {
        match template.parse::<JsonPath>() {
            Err(JsonPathError::Syntax { at: found, message }) => {
                assert_eq!(found, at, "{template}: {message}");
                assert!(message.contains(said), "{template}: {message}");
            }
            other => panic!("{template}: {other:?}"),
        }
    }
}

#[test]
fn what_it_selects_is_bounded() {
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let path: JsonPath = format!("{{{}}}", "..*".repeat(40)).parse().unwrap();
    assert_eq!(path.of_json(&deep), Err(JsonPathError::TooMuch));
    let nested = |n: usize| format!("{}{}", "{range .}".repeat(n), "{end}".repeat(n));
    assert!(nested(16).parse::<JsonPath>().is_ok());
    assert!(nested(17).parse::<JsonPath>().is_err());
    let filters = |n: usize| format!("{{{}@.a{}}}", "@[?(".repeat(n), ")]".repeat(n));
    assert!(filters(16).parse::<JsonPath>().is_ok());
    assert!(filters(17).parse::<JsonPath>().is_err());
    assert!(".a".repeat(5000).parse::<JsonPath>().is_err());
    assert_eq!(".a".parse::<JsonPath>().unwrap().of_json("{"), Err(JsonPathError::NoJson));
}

#[test]
fn values_are_escaped() {
    let json = r#"{"a": "x\u001b[31m\u202ey", "b": ["\u001b"]}"#;
    let text = "{.a}{.b}".parse::<JsonPath>().unwrap().of_json(json).unwrap();
    assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
}

/// Pieces that templates are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        ".",
        "..",
        "*",
        "[",
        "]",
        "items",
        "name",
        "0",
        "-1",
        ":",
        ",",
        "'a'",
        "\"",
        "\\",
        "?(",
        ")",
        "@",
        "$",
        "==",
        "<",
        "range ",
        "end",
        " ",
        "true",
        "é",
        "{.items[*].name}",
        "{range .items[*]}",
        "{end}",
        "[?(@.port>80)]",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_template_makes_trouble(template in prop_oneof![pieces(), "\\PC{0,40}"]) {
        if let Ok(path) = template.parse::<JsonPath>() {
            let once = path.of_json(ANSWER);
            prop_assert_eq!(path.source(), &template);
            prop_assert_eq!(once, path.of_json(ANSWER));
        }
    }

    /// Names lead where they say, whatever they are.
    #[test]
    fn names_lead_to_members(name in "[a-zA-Z0-9./ é-]{1,12}") {
        let json = serde_json::json!({ &name: { "x": 1 } }).to_string();
        let quoted: JsonPath = format!("{{['{name}'].x}}").parse().unwrap();
        prop_assert_eq!(quoted.of_json(&json).unwrap(), "1");
        let escaped: String = name.chars().flat_map(|c| ['\\', c]).collect();
        let dotted: JsonPath = format!("{{.{escaped}.x}}").parse().unwrap();
        prop_assert_eq!(dotted.of_json(&json).unwrap(), "1");
    }
}
