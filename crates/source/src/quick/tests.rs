// SPDX-License-Identifier: Apache-2.0
//! In: manifests, damaged in many ways. Out: the quick reader gives what the full parser gives, or nothing.
//! Not here: whether that is right (the other tests).

use crate::builder::Builder;
use crate::reader::ReadOptions;
use crate::source_map::SourceId;
use crate::tree::Tree;
use crate::{quick, yaml};
use proptest::prelude::*;

const SEEDS: &[&str] = &[
    "apiVersion: v1\nkind: Gateway\nmetadata:\n  name: a # c\n  labels: {}\nspec:\n  listeners:\n  - name: web\n    port: 80\n    tls: {mode: Terminate, refs: [{name: x}, y]}\n  - name: \"b\"\n    hostname: '*.x.org'\n",
    "---\n# c\na:\n  b:\n\n  c: |\n    x\n      y\n\n    z\n  d: |-\n   q\n  e:   \nf:\n- 1\n- \n-\n  - 2\n- g: h\n  i: [a, 'b', \"c\", -1]\n- - j\n  - k: |+\n      t\n\nl: yes\n",
    "x: http://a:80/b#c\ny: a b  # d\nz: \"q\\\"\\n\"\n\"k 1\": 1_000\n'k2' : ~\nw: 08\nv: -x\nu: {a: b, c: {d: [ ], e: f g }}\n",
    "- a\n- b:\n    c\n- d: e\n   f: g\n-   h: 1\n    i: 2\n-\n  j: 3\n",
    "a: {b: c}\nd: x-{{ .Values.x }}\n<<: {q: 1}\nn: [ 1 , 2 ]\nm: é漢\n",
];

fn options() -> ReadOptions {
    ReadOptions { limits: ReadOptions::default().limits.clamped(), ..ReadOptions::default() }
}

/// Trees, warnings and the place of a template by the full parser; nothing if it finds an error.
fn full(text: &str) -> Option<(Vec<Tree>, String)> {
    let mut builder = Builder::new(text, SourceId(0), &options());
    builder.watch_for_templates(true);
    let mut trees = Vec::new();
    yaml::parse(&mut builder, 0..text.len(), |tree, _, _| trees.push(tree)).ok()?;
    Some((trees, format!("{:?} {:?}", builder.findings, builder.seen_template())))
}

fn quick(text: &str) -> Option<(Vec<Tree>, String)> {
    let mut builder = Builder::new(text, SourceId(0), &options());
    builder.watch_for_templates(true);
    let tree = quick::parse(&mut builder, 0..text.len())?;
    let trees = tree.into_iter().collect();
    Some((trees, format!("{:?} {:?}", builder.findings, builder.seen_template())))
}

fn compare(text: &str) -> bool {
    let Some(quick) = quick(text) else { return false };
    let full = full(text);
    if full.as_ref() != Some(&quick) {
        let node = |trees: &[Tree], i: usize| trees.first().and_then(|t| t.nodes().get(i).copied());
        let theirs = full.map(|full| full.0).unwrap_or_default();
        let first =
            (0..).find(|&i| node(&quick.0, i) != node(&theirs, i) || node(&theirs, i).is_none());
        let at = first.unwrap_or(0);
        panic!("{text:?}: node {at}: {:?}, not {:?}", node(&quick.0, at), node(&theirs, at));
    }
    true
}

#[test]
fn ordinary_manifests_are_read_quickly() {
    for text in [
        SEEDS[0], SEEDS[1], SEEDS[2], SEEDS[4], "", "# c\n", "---\n", "a:", "- a", "a: b",
        "a:\n- b", "-\n-",
    ] {
        assert!(compare(text), "{text}");
    }
}

#[test]
fn what_is_not_ordinary_is_left_to_the_full_parser() {
    for text in [
        "a: &x 1",
        "a: *x",
        "a: !t 1",
        "%YAML 1.2\n---\na: 1",
        "a: 1\n...\n",
        "a: >\n  b\n",
        "a: b: c",
        "a: b\n  c\n",
        "a\n",
        "? a\n: b\n",
        "a:\tb",
        "a: b\r\n",
        "a: 1\na: 2\n",
        "a: [b\n c]",
        "a: - b",
        "- a\nb: c\n",
        "a: 'b''c'\n",
        "a: \"\\u00e9\"",
        "\u{feff}a: b",
        "a: 'b' c",
        "a: [b]c",
        "a: b\n---\nc: d",
        "a: |2\n   b\n",
        "[a: b]",
        "a: {b}",
        "a: {b: c,}",
        "a: [,]",
        "a: @x",
        "a: %x",
        "a: `x`",
        " a: 1\nb: 2\n",
    ] {
        assert!(quick(text).is_none(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: match ProptestConfig::default().cases { 256 => 1000, more => more },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_quick_reader_agrees_on_damaged_manifests(
        seed in 0..SEEDS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..5usize, any::<u8>()), 1..5),
    ) {
        const LIKELY: &[u8] = b"\n  :-[]{}\"'#,|>?&*!%@x0.~+\\";
        let mut bytes: Vec<char> = SEEDS[seed].chars().collect();
        for (at, what, byte) in edits {
            let at = at.index(bytes.len() + 1);
            let likely = char::from(LIKELY[byte as usize % LIKELY.len()]);
            match what {
                0 if at < bytes.len() => { bytes.remove(at); }
                1 if at < bytes.len() => bytes[at] = likely,
                2 => bytes.insert(at, likely),
                3 => { bytes.truncate(at.max(1)); }
                _ => { for _ in 0..byte % 4 { bytes.insert(at, ' '); } }
            }
        }
        compare(&bytes.into_iter().collect::<String>());
    }

    #[test]
    fn the_quick_reader_agrees_on_yaml_like_text(
        text in "(a|b|c|0|é|'|\"|:|: |- |-|\n|\n  |\n    |\n- |\n  - |#| #|, |,|\\[|\\]|\\{|\\}| |\\||\\|\n|~|\\.|\\\\|<|---|/|yes|x: ){0,30}"
    ) {
        compare(&text);
    }

    #[test]
    fn the_quick_reader_agrees_on_blocks(
        lines in prop::collection::vec((0..5usize, "(- ){0,2}(a|b|'c'|\"d\")?(:|: |: x|: \\|| : |: \\[e\\]| # f|: \\{g: h\\}|:  # i|: \\|-)?"), 1..8)
    ) {
        let text: String = lines.iter().map(|(indent, line)| format!("{}{line}\n", " ".repeat(*indent))).collect();
        compare(&text);
    }
}
