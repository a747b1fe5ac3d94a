// SPDX-License-Identifier: Apache-2.0
//! In: what clients did with one key, and when each was answered. Out: whether one register that does one thing at a time could
//! have answered so (Wing and Gong's search, with the memory of Lowe). Not here: how the history came about.

use std::collections::BTreeSet;

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The value was set; none if it was removed.
    Write(Option<u64>),
    /// Nobody knows whether it was set. If so, before the answer.
    Perhaps(Option<u64>),
    /// This was there.
    Read(Option<u64>),
}

/// One call.
#[derive(Debug, Clone)]
pub struct Op {
    pub act: Act,
    pub called: u64,
    pub answered: u64,
}

/// Whether there is an order of the calls, each at some moment between call and answer, that explains all answers.
pub fn is_linear(history: &[Op]) -> bool {
    let mut ops: Vec<&Op> = history.iter().collect();
    ops.sort_by_key(|op| op.called);
    let mut seen = BTreeSet::new();
    search(&ops, &mut vec![false; ops.len()], 0, None, &mut seen)
}

type Seen = BTreeSet<(Vec<bool>, Option<u64>)>;

fn search(
    ops: &[&Op],
    done: &mut Vec<bool>,
    newest: u64,
    value: Option<u64>,
    seen: &mut Seen,
) -> bool {
    let open = || ops.iter().zip(done.iter()).filter(|(_, done)| !**done).map(|(op, _)| *op);
    let must = |op: &&Op| !matches!(op.act, Act::Perhaps(_));
    let Some(first) = open().filter(must).map(|op| op.answered).min() else { return true };
    if !seen.insert((done.clone(), value)) {
        return false;
    }
    for at in 0..ops.len() {
        let op = ops[at];
        if op.called > first {
            break;
        }
        // What may have happened cannot have happened after a call that came after its answer.
        if done[at] || op.answered < newest {
            continue;
        }
        let after = match op.act {
            Act::Write(new) | Act::Perhaps(new) => new,
            Act::Read(found) if found == value => value,
            Act::Read(_) => continue,
        };
        done[at] = true;
        if search(ops, done, newest.max(op.called), after, seen) {
            return true;
        }
        done[at] = false;
    }
    false
}

fn op(act: Act, called: u64, answered: u64) -> Op {
    Op { act, called, answered }
}

#[test]
fn what_one_register_can_do_is_linear() {
    use Act::{Perhaps, Read, Write};
    let overlapping = [op(Write(Some(1)), 0, 5), op(Write(Some(2)), 1, 4), op(Read(Some(1)), 6, 7)];
    assert!(is_linear(&overlapping));
    let perhaps = [op(Write(Some(1)), 0, 1), op(Perhaps(Some(2)), 2, 3), op(Read(Some(2)), 4, 5)];
    assert!(is_linear(&perhaps));
    let not = [op(Write(Some(1)), 0, 1), op(Perhaps(Some(2)), 2, 3), op(Read(Some(1)), 4, 5)];
    assert!(is_linear(&not));
    assert!(is_linear(&[op(Read(None), 0, 1), op(Write(Some(1)), 0, 1), op(Write(None), 2, 3)]));
}

#[test]
fn what_one_register_cannot_do_is_not() {
    use Act::{Perhaps, Read, Write};
    // A write that failed, or that nobody made, is read.
    assert!(!is_linear(&[op(Write(Some(1)), 0, 1), op(Read(Some(2)), 2, 3)]));
    // An acknowledged write is undone.
    let undone = [op(Write(Some(1)), 0, 1), op(Write(Some(2)), 2, 3), op(Read(Some(1)), 4, 5)];
    assert!(!is_linear(&undone));
    // One that may have been made is made after its answer, over one that was acknowledged.
    let late = [op(Perhaps(Some(1)), 0, 1), op(Write(Some(2)), 2, 3), op(Read(Some(1)), 4, 5)];
    assert!(!is_linear(&late));
    // Two readers disagree about the order.
    let torn = [op(Write(Some(1)), 0, 9), op(Read(Some(1)), 1, 2), op(Read(None), 3, 4)];
    assert!(!is_linear(&torn));
}
