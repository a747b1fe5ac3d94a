// SPDX-License-Identifier: Apache-2.0
//! In: values put together by hand. Out: what reading them gives, and who wrote each part. Not here: merging.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation shall stop the test"
)]

mod lab;

use std::sync::Arc;

use lab::{Block, Lab, at};
use overrule_engine::{FieldKey, Leaf, Place, Traced};
use serde_json::json;

const TWO: &str = "{a: {b: [1, {c: true}], 'd/e~f': ~}, s: text}\n---\n{x: 1}\n";

fn lab() -> (Lab, Traced, Traced) {
    let mut lab = Lab::new(TWO);
    let (first, second) = (lab.whole(0), lab.whole(1));
    (lab, first, second)
}

#[test]
fn a_written_value_reads_as_it_stands() {
    let (lab, first, _) = lab();
    let d = &lab.documents;
    assert_eq!(lab.json(&first), json!({"a": {"b": [1, {"c": true}], "d/e~f": null}, "s": "text"}));
    assert!(first.is_map(d) && !first.is_list(d) && !first.is_null(d));
    assert_eq!(lab.json(&first.at(d, ["a", "b", "1", "c"]).expect("there")), json!(true));
    assert!(first.at(d, ["a", "d/e~f"]).expect("there").is_null(d));
    for absent in [&["a", "b", "2"][..], &["a", "b", "x"], &["s", "x"], &["nope"]] {
        assert_eq!(first.at(d, absent.iter().copied()), None, "{absent:?}");
    }
    assert!(first.get(d, "s").expect("there").entries(d).is_empty(), "a scalar has no members");
    assert!(first.items(d).is_empty(), "a mapping has no elements");
}

#[test]
fn parts_are_maximal_and_pointers_are_escaped() {
    let (lab, first, second) = lab();
    assert_eq!(lab.origins(&first), at([("", 0)]), "one writer, one part");
    let step = second.steps()[0];
    let implied = Traced::Implied { step, json: "[1, 2]".into(), from: Place::NONE };
    let list =
        Traced::List(Arc::from([second.clone(), first.get(&lab.documents, "s").expect("s")]));
    let value = Traced::map([
        (FieldKey::Text("m/n".into()), first.clone()),
        (FieldKey::Text("o~p".into()), list),
        (FieldKey::Text("q".into()), implied.clone()),
    ]);
    assert_eq!(lab.origins(&value), at([("/m~1n", 0), ("/o~0p/0", 1), ("/o~0p/1", 0), ("/q", 1)]));
    assert_eq!(value.steps().len(), 2, "each writer once");
    assert_eq!(lab.json(&value)["q"], json!([1, 2]));
    assert!(matches!(implied.leaf(&lab.documents), Leaf::Implied("[1, 2]")));
    assert_eq!(lab.json(&value.get(&lab.documents, "q").expect("q")), json!([1, 2]));
    assert_eq!(lab.json(&value.at(&lab.documents, ["o~p", "1"]).expect("there")), json!("text"));
    assert!(value.get(&lab.documents, "zzz").is_none());
}

#[test]
fn keys_know_where_they_were_written() {
    let (lab, first, _) = lab();
    let entries = first.entries(&lab.documents);
    let (key, value) = &entries[1];
    assert_eq!(key.text(&lab.documents), "s");
    let (FieldKey::Node(key), Traced::Whole { node: value, .. }) = (key, value) else {
        panic!("written, not made")
    };
    let position =
        |node| lab.documents.sources.position(lab.documents.view(node).span()).to_string();
    assert_eq!(
        (position(*key), position(*value)),
        ("lab.yaml:1:38".to_owned(), "lab.yaml:1:41".to_owned())
    );
}

#[test]
fn the_same_node_of_two_steps_is_two_values() {
    let mut lab = Lab::new(TWO);
    let node = lab.node(1, &[]);
    let [one, two] = [1, 2].map(|mode| lab.step_at(Block::new(1, "bare", mode), node));
    assert_ne!(Traced::Whole { step: one, node }, Traced::Whole { step: two, node });
}
