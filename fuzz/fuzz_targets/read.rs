// SPDX-License-Identifier: Apache-2.0
//! In: any bytes; the first one chooses the options. Out: no panic, no hang, every span in bounds, and the same
//! again when read twice. Not here: what documents mean.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use overrule::source::{DuplicateKeys, Input, Limits, ReadOptions, Redaction, SingleLetters, read};

static SECRETS: &[Redaction] = &[Redaction {
    kind: "Secret",
    fields: &[&["data"], &["stringData"], &["metadata", "annotations"]],
}];

fuzz_target!(init: common::one_thread(), |data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let small = Limits { source_bytes: 4096, depth: 8, alias_nodes: 50, scalar_bytes: 64, nodes: 300, documents: 20 };
    let options = ReadOptions {
        limits: if choice & 2 != 0 { small } else { Limits::default() },
        duplicate_keys: if choice & 1 != 0 { DuplicateKeys::LastWins } else { DuplicateKeys::Error },
        redactions: if choice & 4 != 0 { SECRETS.to_vec() } else { Vec::new() },
        single_letters: if choice & 32 != 0 { SingleLetters::Text } else { SingleLetters::Booleans },
        ..ReadOptions::default()
    };
    let name = if choice & 8 != 0 { "a.json" } else { "a.yaml" };
    // Two files: documents must not leak into each other.
    let inputs = || match bytes.split_at_checked(bytes.len() / 2).filter(|_| choice & 16 != 0) {
        Some((a, b)) => vec![Input::new(name, a), Input::new("b.yaml", b)],
        None => vec![Input::new(name, bytes)],
    };
    let first = read(inputs(), &options);
    common::check_documents(&first.documents);
    common::check_diagnostics(&first.documents, &first.diagnostics);
    assert!(first == read(inputs(), &options), "reading twice differs");
});
