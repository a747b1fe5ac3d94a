// SPDX-License-Identifier: Apache-2.0
//! In: how much must fit. Out: a transaction that writes where a commit writes, and takes everything away again. Not here: when
//! that is done.

use crate::change::{Rows, entry_rows};
use crate::checked::{DELETED, bound};
use crate::clock;
use crate::error::StoreError;
use crate::sql::{Tx, Value};

/// What is written usually; at least, after a commit was refused: the last bit of a disk is not room for the next commits; and
/// at most.
const USUAL: usize = 16 * 1024;
const REFUSED: usize = 256 * 1024;
const MOST: usize = 4 * 1024 * 1024;

/// Writes a revision with an entry, and removes it. Its number is below all others, and nobody else sees it. The size of the
/// last commit matters if the database did not take it.
pub(crate) fn write_nothing(tx: &mut dyn Tx, refused: Option<usize>) -> Result<(), StoreError> {
    let size = refused.map_or(USUAL, |size| size.clamp(REFUSED, MOST));
    // Two that try in the same microsecond wait for each other.
    let [now, _] = tx.now();
    let number = Value::Int(-clock::number(now));
    let text = incompressible(size);
    let none = Value::Int(0);
    tx.run(
        "INSERT INTO revisions (revision, at, author) VALUES ($1, $2, $3)",
        &[number, none, Value::Text("")],
    )?;
    let mut rows: Rows<'_> = entry_rows();
    rows.values.extend([number, Value::Int(bound(0))]);
    rows.values.extend([Value::Text(""), Value::Text(""), none, Value::Text(""), Value::Text("")]);
    rows.values.extend([Value::Int(DELETED), none, Value::Text(&text), none, none, none]);
    rows.write_rest(tx)?;
    tx.run("DELETE FROM entries WHERE revision = $1", &[number])?;
    tx.run("DELETE FROM revisions WHERE revision = $1", &[number])?;
    Ok(())
}

/// Text that takes the room of its length also in a database that compresses.
fn incompressible(length: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let letters = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // 64 letters, from `!` on, none of them a quote's business: values are never part of a statement.
        char::from(b'!' + u8::try_from(state >> 58).unwrap_or(0))
    });
    letters.take(length).collect()
}
