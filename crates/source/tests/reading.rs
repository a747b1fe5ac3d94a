// SPDX-License-Identifier: Apache-2.0
//! In: small texts. Out: the trees and findings each must give. One row per rule of reading.
//! Not here: hostile input (`hostile.rs`), secrets (`secrets.rs`), random input (`properties.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;
use common::{findings, read, trees};
use overrule_source::{ReadOptions, SingleLetters, read_one};

/// Text, trees, findings.
type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

fn check(rows: &[Row<'_>]) {
    let mut wrong = Vec::new();
    for (text, expected, problems) in rows {
        let read = read(text);
        let (got, found) = (trees(&read), findings(&read));
        if got != *expected || found != *problems {
            let messages: Vec<&str> = read.diagnostics.iter().map(|d| &*d.message).collect();
            wrong.push(format!("{text:?}\n  {got:?}\n  {found:?} {messages:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn plain_scalars_are_read_as_kubernetes_reads_them() {
    check(&[
        ("[true, True, TRUE, false, False, FALSE]", &["[true,true,true,false,false,false]"], &[]),
        ("[y, Yes]", &["[true,true]"], &["OV1006 1:2", "OV1006 1:5"]),
        ("[N, off]", &["[false,false]"], &["OV1006 1:2", "OV1006 1:5"]),
        ("[yEs, oN, nO]", &[r#"["yEs","oN","nO"]"#], &[]),
        ("[~, null, Null, NULL, nULL]", &[r#"[null,null,null,null,"nULL"]"#], &[]),
        ("a:\nb: ''", &[r#"{"a":null,"b":""}"#], &[]),
        ("[0, 80, -1, +7, -0]", &["[0,80,-1,7,0]"], &[]),
        ("[0x1F, 0o17]", &["[31,15]"], &[]),
        ("[017, 0b101]", &["[15,5]"], &["OV1006 1:2", "OV1006 1:7"]),
        ("[0644]", &["[420]"], &["OV1006 1:2"]),
        ("[00, 07, 08]", &["[0,7,f08]"], &[]),
        ("[1_000, 1_0.5]", &["[1000,f10.5]"], &["OV1006 1:2", "OV1006 1:9"]),
        ("[-0x1F]", &["[-31]"], &["OV1006 1:2"]),
        ("[1.5, .5, 1., 1e3, -1E-3, 1.e3]", &["[f1.5,f.5,f1.,f1e3,f-1E-3,f1.e3]"], &[]),
        ("[.inf, -.Inf, .NaN, +.INF]", &["[f.inf,f-.inf,f.nan,f.inf]"], &[]),
        ("[18446744073709551615]", &["[18446744073709551615]"], &[]),
        ("[18446744073709551616]", &["[f18446744073709551616]"], &[]),
        (
            "[1e400, 1:30, 1.2.3, 10s, +, 0x, 1e, .e1]",
            &[r#"["1e400","1:30","1.2.3","10s","+","0x","1e",".e1"]"#],
            &[],
        ),
        ("[2001-01-01, 2001-12-14T21:59:43Z]", &[r#"["2001-01-01","2001-12-14T21:59:43Z"]"#], &[]),
        ("['80', \"true\", 'yes']", &[r#"["80","true","yes"]"#], &[]),
        ("a: |\n  yes\nb: >-\n  0x1F\n", &[r#"{"a":"yes\n","b":"0x1F"}"#], &[]),
    ]);
}

#[test]
fn single_letters_can_stay_text() {
    let options = ReadOptions { single_letters: SingleLetters::Text, ..ReadOptions::default() };
    let read = read_one("f.yaml", "y: n\nN: [Y, yes]\n", &options);
    assert_eq!(trees(&read), [r#"{"y":"n","N":["Y",true]}"#]);
    assert_eq!(findings(&read).len(), 5);
    assert!(read.diagnostics[0].message.contains("Kubernetes would read `true`"));
}

#[test]
fn keys_become_strings_as_go_writes_them() {
    check(&[
        ("80: a\n0x50: b", &[], &["OV1002 2:1"]),
        ("on: a", &[r#"{"true":"a"}"#], &["OV1006 1:1"]),
        (
            "true: a\n1.50: b\n1e6: c\n0.00001: d\n123456.0: e",
            &[r#"{"true":"a","1.5":"b","1e+06":"c","1e-05":"d","123456":"e"}"#],
            &[],
        ),
        ("'80': a", &[r#"{"80":"a"}"#], &[]),
        ("~: a", &[], &["OV1010 1:1"]),
        ("[a]: b", &[], &["OV1010 1:1"]),
        ("? {a: b}\n: c", &[], &["OV1010 1:3"]),
        ("? a\n: b", &[r#"{"a":"b"}"#], &[]),
        ("x: &k name\n*k : v", &[r#"{"x":"name","name":"v"}"#], &[]),
        ("x: &k [a]\n*k : v", &[], &["OV1010 2:1"]),
    ]);
}

#[test]
fn tags_are_honoured_or_named() {
    check(&[
        ("[!!str 80, !!str, !!str yes]", &[r#"["80","","yes"]"#], &[]),
        ("[!!int '80', !!float 1, !!bool yes, !!null '']", &["[80,f1,true,null]"], &[]),
        ("a: !!int x", &[], &["OV1012 1:10"]),
        ("a: !!map x", &[], &["OV1012 1:10"]),
        (
            "a: !!binary aGVsbG8=\nb: !!binary |\n  aGVs\n  bG8=\n",
            &[r#"{"a":"hello","b":"hello"}"#],
            &[],
        ),
        ("a: !!binary a", &[], &["OV1012 1:13"]),
        ("a: !!binary gIGC", &["{\"a\":\"\u{fffd}\u{fffd}\u{fffd}\"}"], &[]),
        ("a: !!seq [1]\nb: !!map {c: d}", &[r#"{"a":[1],"b":{"c":"d"}}"#], &[]),
        ("a: !foo 80", &[r#"{"a":"80"}"#], &["OV1008 1:4"]),
        ("a: !foo {b: 80}", &[r#"{"a":{"b":80}}"#], &["OV1008 1:4"]),
        ("a: !<tag:yaml.org,2002:int> '7'", &[r#"{"a":7}"#], &[]),
        ("%TAG !y! tag:yaml.org,2002:\n---\nv: !y!int '1'", &[r#"{"v":1}"#], &[]),
        ("a: ! 80", &[r#"{"a":"80"}"#], &[]),
        ("a: !!timestamp 2001-01-01", &[r#"{"a":"2001-01-01"}"#], &[]),
    ]);
}

#[test]
fn documents_are_split_and_counted() {
    check(&[
        ("", &[], &[]),
        ("# only a comment\n  # and another\n", &[], &[]),
        ("---\n---\n# nothing\n---\n", &[], &[]),
        ("---\n~\n--- null\n", &[], &[]),
        ("a: 1\n---\nb: 2\n", &[r#"{"a":1}"#, r#"{"b":2}"#], &[]),
        ("--- {a: 1}\n--- [b]\n...\n--- c\n", &[r#"{"a":1}"#, r#"["b"]"#, r#""c""#], &[]),
        (
            "%YAML 1.1\n# c\n---\na: 1\n...\n%YAML 1.2\n---\nb: 2\n",
            &[r#"{"a":1}"#, r#"{"b":2}"#],
            &[],
        ),
        ("a: |\n  x\n---\nb: 1\n", &[r#"{"a":"x\n"}"#, r#"{"b":1}"#], &[]),
        ("a: 1\r\n---\r\nb: 2\r\n", &[r#"{"a":1}"#, r#"{"b":2}"#], &[]),
        ("a: 1\r---\rb: 2\r", &[r#"{"a":1}"#, r#"{"b":2}"#], &[]),
        ("\u{feff}a: 1\n", &[r#"{"a":1}"#], &[]),
        ("a: 1\n\u{feff}---\nb: 2\n", &[r#"{"a":1}"#, r#"{"b":2}"#], &[]),
        ("a: 1\n\u{feff}b: 2\n", &[], &["OV1001 2:1"]),
        ("a: ---\nb: x---\n---c: 1\n", &[r#"{"a":"---","b":"x---","---c":1}"#], &[]),
        // One bad document hides none of the others.
        (
            "a: 1\n---\nb: [\n---\nc: 3\n---\nd: 'x\n---\ne: 5\n",
            &[r#"{"a":1}"#, r#"{"c":3}"#, r#"{"e":5}"#],
            &["OV1001 3:4", "OV1001 7:4"],
        ),
    ]);
    let read = read("a: 1\n---\nb: [\n---\n# empty\n---\nc: 3\n");
    let index: Vec<u32> =
        read.documents.ids().map(|d| read.documents.get(d).unwrap().index).collect();
    assert_eq!(index, [0, 2]);
}

#[test]
fn json_is_read_as_go_reads_it() {
    let long = "k".repeat(2000);
    let (text, tree) = (format!("{{\"{long}\": 1}}"), format!("{{\"{long}\":1}}"));
    check(&[
        ("{\"a\":1}{\"b\":2}\n[3]", &[r#"{"a":1}"#, r#"{"b":2}"#, "[3]"], &[]),
        ("\t{\n\t\"a\":\t[1,\t2]\n}", &[r#"{"a":[1,2]}"#], &[]),
        (r#"{"a":"\ud83d\ude00 \ud83d \u00e9\n\/"}"#, &["{\"a\":\"😀 \u{fffd} é\\n/\"}"], &[]),
        (
            r#"[1.0, -0, 1e3, 18446744073709551616, 0.5]"#,
            &["[f1.0,-0,f1e3,f18446744073709551616,f0.5]"],
            &[],
        ),
        (
            r#"{"a":null,"b":true,"c":false,"d":{},"e":[]}"#,
            &[r#"{"a":null,"b":true,"c":false,"d":{},"e":[]}"#],
            &[],
        ),
        // What is text in quotes stays text, whatever YAML would make of it.
        (r#"{"on":"yes","<<":"x"}"#, &[r#"{"on":"yes","<<":"x"}"#], &[]),
        ("---\n# c\n{\"a\":1}\n---\n{\"b\":2}\n", &[r#"{"a":1}"#, r#"{"b":2}"#], &[]),
        // YAML in flow style begins like JSON.
        ("{a: 1, 'b': yes,}", &[r#"{"a":1,"b":true}"#], &["OV1006 1:13"]),
        ("{\"a\": 1} # c\n", &[r#"{"a":1}"#], &[]),
        ("{\"a\": 1,}", &[r#"{"a":1}"#], &[]),
        ("{\"a\":1} x", &[r#"{"a":1}"#], &["OV1001 1:9"]),
        ("{\"a\":1}\n{\"b\":\n", &[r#"{"a":1}"#], &["OV1001 3:1"]),
        ("{\"a\" 1}", &[], &["OV1001 1:6"]),
        ("{\"a\":1", &[], &["OV1001 1:7"]),
        ("{\"a\":1]", &[], &["OV1001 1:7"]),
        ("[1, 2, x y: 3: 4]", &[], &["OV1001 1:14"]),
        ("{\"a\":\"x\\q\"}", &[], &["OV1001 1:8"]),
        ("{\"a\":\"x", &[], &["OV1001 1:6"]),
        ("{\"a\":1,\"a\":2}", &[], &["OV1002 1:8"]),
        (&text, &[&tree], &[]),
    ]);
}

#[test]
fn aliases_and_merge_keys_expand() {
    check(&[
        ("a: &x {p: 1}\nb: *x", &[r#"{"a":{"p":1},"b":{"p":1}}"#], &[]),
        ("a: &x 1\nb: *x\nc: &x 2\nd: *x", &[r#"{"a":1,"b":1,"c":2,"d":2}"#], &[]),
        (
            "b: &b {x: 1, w: 2}\nm:\n  <<: *b\n  w: 3\n  z: 4\n",
            &[r#"{"b":{"x":1,"w":2},"m":{"w":3,"z":4,"x":1}}"#],
            &[],
        ),
        ("m: {<<: [{x: 1}, {x: 2, w: 2}], z: 3}", &[r#"{"m":{"z":3,"x":1,"w":2}}"#], &[]),
        (
            "a: &a {x: 1}\nb: &b {x: 2, w: 2}\nm: {<<: [*a, *b]}",
            &[r#"{"a":{"x":1},"b":{"x":2,"w":2},"m":{"x":1,"w":2}}"#],
            &[],
        ),
        ("m: {<<: {x: 1}, <<: {x: 2, w: 2}}", &[r#"{"m":{"x":1,"w":2}}"#], &[]),
        // A merged mapping may itself have merged.
        (
            "a: &a {x: 1}\nb: &b {<<: *a, w: 2}\nc: {<<: *b, z: 3}",
            &[r#"{"a":{"x":1},"b":{"w":2,"x":1},"c":{"z":3,"w":2,"x":1}}"#],
            &[],
        ),
        // An anchor inside a merged mapping stays usable.
        ("m: {<<: {x: &k [1]}, w: *k}", &[r#"{"m":{"w":[1],"x":[1]}}"#], &[]),
        // Kubernetes' reader would take the merged value here.
        ("b: &b {x: 1}\nm: {x: 2, <<: *b}", &[r#"{"b":{"x":1},"m":{"x":2}}"#], &["OV1013 2:5"]),
        ("'<<': a", &[r#"{"<<":"a"}"#], &[]),
        ("<<: a", &[], &["OV1009 1:5"]),
        ("<<: ", &[], &["OV1009 1:4"]),
        ("<<: [a]", &[], &["OV1009 1:5"]),
        ("a: &x 1\n<<: *x", &[], &["OV1009 2:5"]),
        ("a: *nope", &[], &["OV1005 1:4"]),
        ("a: &x {b: *x}", &[], &["OV1005 1:11"]),
        ("a: &x {<<: *x}", &[], &["OV1005 1:12"]),
        ("a: &x 1\n---\nb: *x", &[r#"{"a":1}"#], &["OV1005 3:4"]),
    ]);
}

#[test]
fn templates_are_named_once_and_give_no_syntax_errors() {
    check(&[
        ("a: {{ .Values.x }}\n---\nb: {{ .Values.y }}\n", &[], &["OV1007 1:4"]),
        ("{{- if .Values.x }}\na: 1\n{{- end }}\n---\nb: 2\n", &[r#"{"b":2}"#], &["OV1007 1:1"]),
        ("a:\n  {{- toYaml .Values | nindent 2 }}\n", &[], &["OV1007 2:3"]),
        ("a: x-{{ .Release.Name }}\n", &[r#"{"a":"x-{{ .Release.Name }}"}"#], &["OV1007 1:6"]),
        // Not every pair of braces is Helm's.
        ("a: up on {{ $labels.instance }}\n", &[r#"{"a":"up on {{ $labels.instance }}"}"#], &[]),
        (
            "a: \"{{ .Values.x }}\"\nb: |\n  {{ .Values.y }}\n# {{ .Values.z }}\n",
            &[r#"{"a":"{{ .Values.x }}","b":"{{ .Values.y }}\n"}"#],
            &[],
        ),
        ("a: \"{{ x }}\"\nb: [\n", &[], &["OV1001 2:4"]),
        ("a: |\n  {{ x }}\nb: [\n", &[], &["OV1001 3:4"]),
        ("a: {{ .Values.x }}\n---\nb: [\n", &[], &["OV1007 1:4", "OV1001 3:4"]),
    ]);
}

#[test]
fn a_block_at_the_end_has_the_line_break_that_is_written() {
    let of = |text: &str| {
        let read = read_one("a.yaml", text, &ReadOptions::default());
        let doc = read.documents.ids().next().unwrap();
        read.documents.root(doc).get("a").unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(of("a: |\n  b\n"), "b\n");
    assert_eq!(of("a: |\n  b"), "b");
    assert_eq!(of("a: >\n  b\n  c"), "b c");
    assert_eq!(of("a: |+\n  b"), "b");
    assert_eq!(of("a: |\n  b\nz: 1"), "b\n");
}
