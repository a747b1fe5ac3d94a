// SPDX-License-Identifier: Apache-2.0
//! Bodies and settings that strangers make up.

use overrule::Options;
use overrule::source::{DuplicateKeys, Input, SingleLetters, read_piece};
use overrule_server::Config;
use overrule_server::hostile::admit;
use proptest::prelude::*;

use crate::client::extensions;

/// A payload that stands in a Secret before every body.
const PAYLOAD: &str = "aHVudGVyMi1odW50ZXIyLWh1bnRlcjI=";

/// Pieces that bodies are made of: lines of resources, and what breaks them.
fn body() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("apiVersion: gateway.networking.k8s.io/v1\n".to_owned()),
        Just("kind: HTTPRoute\n".to_owned()),
        Just("kind: Secret\n".to_owned()),
        Just("kind: List\nitems:\n- ".to_owned()),
        Just("metadata:\n  name: a\n  namespace: b\n".to_owned()),
        Just("metadata: {name: a}\n".to_owned()),
        Just("type: MeshTimeout\nmesh: default\nname: t\n".to_owned()),
        Just("type: Dataplane\nmesh: default\n".to_owned()),
        Just("spec:\n  targetRef: {kind: Mesh}\n  to: []\n".to_owned()),
        Just("data:\n  key: |\n    text\n".to_owned()),
        Just("name: \"a/b\\0\"\n".to_owned()),
        Just("---\n".to_owned()),
        Just("# a comment\n".to_owned()),
        Just("  ".to_owned()),
        Just("&a ".to_owned()),
        Just("*a\n".to_owned()),
        Just("<<: *a\n".to_owned()),
        "[a-z]{1,6}: [ -~]{0,12}\n",
        "\\PC{0,20}",
    ];
    let json = Just(r#"{"type": "Mesh", "name": "m"}"#.to_owned());
    let lines = prop::collection::vec(piece, 0..14).prop_map(|all| all.concat());
    prop_oneof![9 => lines, 1 => json]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// What is accepted is stored as a text of its own, and is the same resource when it is read at the next start.
    #[test]
    fn what_is_accepted_stays_itself(text in body(), lenient in any::<bool>()) {
        let mut options = Options::default();
        if lenient {
            options.duplicate_keys = DuplicateKeys::LastWins;
            options.single_letters = SingleLetters::Text;
        }
        let admitted = admit("body", text.as_bytes(), &options, &extensions());
        prop_assert!(admitted.refusals.len() <= admitted.findings.items.len(), "a refusal that is not told");
        if admitted.refusals.is_empty() {
            for manifest in &admitted.manifests {
                let again = admit("stored", manifest.text.as_bytes(), &options, &extensions());
                prop_assert!(again.refusals.is_empty(), "{:?}: {:?}", manifest.text, again.refusals);
                let keys: Vec<_> = again.manifests.iter().map(|m| &m.key).collect();
                prop_assert_eq!(keys, [&manifest.key], "{:?}", manifest.text);
                if let Some(piece) = &manifest.piece {
                    let input = Input::new(piece.name(), manifest.text.as_bytes());
                    prop_assert_eq!(piece, &read_piece(input, &options.reading()), "{:?}", manifest.text);
                }
            }
        }
    }

    /// The payload of a Secret is in nothing that is stored or told.
    #[test]
    fn payloads_are_not_stored(text in body()) {
        let secret = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\ndata:\n  key: {PAYLOAD}\n---\n{text}");
        let admitted = admit("body", secret.as_bytes(), &Options::default(), &extensions());
        for manifest in &admitted.manifests {
            prop_assert!(!manifest.text.contains(PAYLOAD), "{}", manifest.text);
        }
        let told = format!("{:?}", admitted.refusals);
        prop_assert!(!told.contains(PAYLOAD));
    }

    /// A bad setting is told by its place, and a connection is never repeated.
    #[test]
    fn settings_do_not_tell_secrets(text in "[a-z-]{0,12}: ?[ -~]{0,20}\n|\\PC{0,30}") {
        let secret = "postgres://hunter2-hunter2@db/overrule";
        match Config::read("settings.yaml", &format!("postgres: {secret}\n{text}"), &extensions()) {
            Err(why) => {
                prop_assert!(why.starts_with("settings.yaml"), "{}", why);
                prop_assert!(!why.contains(secret), "{}", why);
            }
            Ok(config) => {
                let shown = format!("{config:?}");
                prop_assert!(!shown.contains(secret));
                let flags = Config { ephemeral: true, max_body: Some(1), ..Config::default() };
                let both = flags.or(config);
                prop_assert!(both.ephemeral && both.data.is_none() && both.postgres.is_none());
                prop_assert_eq!(both.max_body, Some(1));
            }
        }
    }
}
