// SPDX-License-Identifier: Apache-2.0
//! In: ranks. Out: the deciding key, and that the order is total. Not here: what the keys mean.

use std::cmp::Ordering::{Equal, Greater, Less};

use overrule_engine::{Rank, RankDecision};
use proptest::prelude::*;

#[test]
fn the_first_difference_decides() {
    let table = [
        (&[1, 5, 9][..], &[2, 0, 0][..], Less, Some(0)),
        (&[1, 5, 9], &[1, 4, 0], Greater, Some(1)),
        (&[1, 5, 9], &[1, 5, 10], Less, Some(2)),
        (&[1, 5, 9], &[1, 5, 9], Equal, None),
        (&[i64::MIN], &[i64::MAX], Less, Some(0)),
        (&[-3, 0], &[-1, 0], Less, Some(0)),
        // A rank with fewer keys stands above; no key decided that.
        (&[1], &[1, 0], Less, None),
        (&[], &[], Equal, None),
    ];
    for (a, b, order, key) in table {
        let (x, y) = (Rank::new(a.iter().copied()), Rank::new(b.iter().copied()));
        assert_eq!(x.against(&y), RankDecision { order, key }, "{a:?} against {b:?}");
        assert_eq!(
            y.against(&x),
            RankDecision { order: order.reverse(), key },
            "{b:?} against {a:?}"
        );
    }
}

#[test]
fn keys_can_be_read_back() {
    let rank = Rank::new([7, -1]);
    assert_eq!((rank.key(0), rank.key(1), rank.key(2)), (Some(7), Some(-1), None));
}

fn rank() -> impl Strategy<Value = Rank> {
    // Few values, so that ties and prefixes are common.
    prop::collection::vec(-2_i64..3, 0..6).prop_map(Rank::new)
}

proptest! {
    #[test]
    fn the_order_is_total(a in rank(), b in rank(), c in rank()) {
        let reversed = b.against(&a);
        prop_assert_eq!(a.against(&b).order, reversed.order.reverse());
        prop_assert_eq!(a.against(&b).key, reversed.key);
        prop_assert_eq!(a.cmp(&b) == Equal, a == b, "only equal ranks tie");
        if a.cmp(&b) != Greater && b.cmp(&c) != Greater {
            prop_assert_ne!(a.cmp(&c), Greater);
        }
    }

    #[test]
    fn the_deciding_key_is_the_first_that_differs(a in rank(), b in rank()) {
        if let Some(key) = a.against(&b).key {
            prop_assert_ne!(a.key(key), b.key(key));
            prop_assert!((0..key).all(|k| a.key(k) == b.key(k)));
            prop_assert_eq!(a.against(&b).order, a.key(key).cmp(&b.key(key)));
        }
    }

    #[test]
    fn sorting_does_not_depend_on_where_things_started(mut ranks in prop::collection::vec(rank(), 0..20)) {
        let mut reversed: Vec<Rank> = ranks.iter().rev().cloned().collect();
        ranks.sort();
        reversed.sort();
        prop_assert_eq!(ranks, reversed);
    }
}
