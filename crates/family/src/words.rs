// SPDX-License-Identifier: Apache-2.0
//! Out: words that findings of several families have. Not here: findings.

use overrule_source::Diagnostic;

use crate::codes;

/// What a released controller would say of one resource that the chosen profile lets in: `check` never passes it. The
/// first reason is told, and how many more there are.
pub fn refused_as_shipped<'d>(
    by: &str,
    would_say: impl IntoIterator<Item = &'d Diagnostic>,
) -> Option<Diagnostic> {
    let mut all = would_say.into_iter();
    let first = all.next()?;
    let more = match all.count() {
        0 => String::new(),
        1 => " (and for one more reason)".to_owned(),
        n => format!(" (and for {n} more reasons)"),
    };
    let message = format!("{by} refuses this: {}{more}", first.message).into();
    Some(Diagnostic { code: &codes::REFUSED_AS_SHIPPED, message, ..first.clone() })
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
