// SPDX-License-Identifier: Apache-2.0
//! Tokens: only the right one opens, only while it counts, and none is ever printed.

use jiff::Timestamp;
use overrule_guard::{Denied, How, Token, TokenHash, Tokens};
use proptest::prelude::*;

use crate::lab::token;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn header(plain: &str) -> Vec<u8> {
    format!("Bearer {plain}").into_bytes()
}

#[test]
fn the_right_token_opens() {
    let (plain, row) = token("ci", "write:mesh/default");
    let (other, _) = token("other", "admin");
    let tokens = Tokens::new([row.clone()]);
    let principal = tokens.authenticate(Some(&header(&plain)), NOW).unwrap();
    assert_eq!(principal.name, "ci");
    assert_eq!(principal.token.as_deref(), Some(row.id.as_str()));
    assert_eq!(principal.how, How::Token);
    assert_eq!(principal.grants, row.grants);
    assert!(tokens.authenticate(Some(format!("bearer  {plain} ").as_bytes()), NOW).is_ok());
    assert_eq!(tokens.authenticate(Some(&header(&other)), NOW), Err(Denied::Unknown));
    assert_eq!(tokens.authenticate(None, NOW), Err(Denied::Missing));
    let mixed = format!("ovr_{}_{}", row.id, other.rsplit('_').next().unwrap());
    assert_eq!(tokens.authenticate(Some(&header(&mixed)), NOW), Err(Denied::Unknown));
}

#[test]
fn only_the_holder_learns_that_it_is_over() {
    let (plain, mut row) = token("ci", "read");
    let (other, _) = token("other", "read");
    let wrong = format!("ovr_{}_{}", row.id, other.rsplit('_').next().unwrap());
    row.expires = Some(NOW);
    let tokens = Tokens::new([row.clone()]);
    assert_eq!(tokens.authenticate(Some(&header(&plain)), NOW), Err(Denied::Expired));
    assert_eq!(tokens.authenticate(Some(&header(&wrong)), NOW), Err(Denied::Unknown));
    let before = NOW - jiff::SignedDuration::from_secs(1);
    assert!(tokens.authenticate(Some(&header(&plain)), before).is_ok());
    row.revoked = Some(NOW);
    let tokens = Tokens::new([row]);
    assert_eq!(tokens.authenticate(Some(&header(&plain)), before), Err(Denied::Revoked));
}

#[test]
fn what_is_kept_opens_nothing_and_nothing_is_printed() {
    let (plain, row) = token("ci", "read");
    let secret = plain.rsplit('_').next().unwrap();
    let kept = row.hash.to_string();
    assert_eq!(kept.parse::<TokenHash>().unwrap(), row.hash);
    assert!(!kept.contains(secret));
    let tokens = Tokens::new([row.clone()]);
    let as_token = format!("ovr_{}_{}", row.id, kept.strip_prefix("sha256:").unwrap());
    assert_eq!(tokens.authenticate(Some(&header(&as_token)), NOW), Err(Denied::Unknown));
    let parsed = Token::parse(&plain).unwrap();
    let minted = Token::mint().unwrap();
    let hidden = minted.plain.expose().rsplit('_').next().unwrap().to_owned();
    for shown in [format!("{tokens:?}"), format!("{row:?}"), format!("{parsed:?}")] {
        assert!(!shown.contains(secret) && !shown.contains(&kept[7..]), "{shown}");
    }
    assert!(!format!("{minted:?}").contains(&hidden));
}

#[test]
fn tokens_differ() {
    let all: Vec<String> =
        (0..200).map(|_| Token::mint().unwrap().plain.expose().to_owned()).collect();
    let mut once = all.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), all.len());
    assert!(all.iter().all(|plain| plain.len() == 4 + 16 + 1 + 64));
}

proptest! {
    #[test]
    fn no_other_header_opens(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let (_, row) = token("ci", "read");
        prop_assert!(Tokens::new([row]).authenticate(Some(&bytes), NOW).is_err());
    }

    #[test]
    fn one_changed_character_closes(at in 0_usize..85, to in "[ -~]") {
        let (plain, row) = token("ci", "read");
        let mut changed = plain.clone();
        changed.replace_range(at..at + 1, &to);
        let tokens = Tokens::new([row]);
        let opened = tokens.authenticate(Some(&header(&changed)), NOW).is_ok();
        prop_assert_eq!(opened, changed == plain || changed.trim_matches(' ') == plain);
    }
}
