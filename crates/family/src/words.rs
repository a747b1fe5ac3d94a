// SPDX-License-Identifier: Apache-2.0
//! Out: words that findings of several families have. Not here: findings.

use overrule_source::Diagnostic;

use crate::codes;

/// What a released controller would say of something that the chosen profile lets in: `check` never passes it.
pub fn refused_as_shipped(by: &str, would_say: &Diagnostic) -> Diagnostic {
    let message = format!("{by} refuses this: {}", would_say.message).into();
    Diagnostic { code: &codes::REFUSED_AS_SHIPPED, message, ..would_say.clone() }
}

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
