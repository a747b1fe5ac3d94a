// SPDX-License-Identifier: Apache-2.0
//! Out: words that findings of several families have. Not here: findings.

/// A few of many names, quoted.
pub fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text =
        names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
