// SPDX-License-Identifier: Apache-2.0
//! In: an effective policy with what other profiles say. Out: the same in words, each line behind a mark.
//! Not here: finding anything out.

use std::fmt;

use crate::compare::below;
use crate::effective_text::origin_text;
use crate::field::{name, pointer_segments};
use crate::style::Painted;
use crate::{Styles, escape, v1, words, yaml};

/// Columns of a value, for a terminal.
const VALUE: usize = 60;
/// Most fields shown of one profile.
const FIELDS: usize = 20;

/// Says what each other profile makes of it.
pub(crate) fn others(
    policy: &v1::EffectivePolicy,
    mark: &str,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    for other in &policy.other_profiles {
        let shipped = if other.shipped { " (the shipped version)" } else { "" };
        let who = format!("{}/{}{shipped}", policy.family, other.profile);
        if !other.path_exists {
            let text = format!("{who} does not have this path");
            writeln!(out, "{mark}{}", Painted(styles.warning, &text))?;
            continue;
        }
        let title = format!("{who} gives a different result:");
        writeln!(out, "{mark}{}", Painted(styles.warning, &title))?;
        for pointer in other.differs.iter().take(FIELDS) {
            writeln!(out, "{mark}  {}", field(policy, other, pointer, styles))?;
        }
        if let Some(more @ 1..) = other.differs.len().checked_sub(FIELDS) {
            writeln!(
                out,
                "{mark}  and {}; -o json has all",
                words::count(more as u64, "more field")
            )?;
        }
    }
    Ok(())
}

/// One field: what it is, what it is there, and who says so.
fn field(
    policy: &v1::EffectivePolicy,
    other: &v1::OtherProfile,
    pointer: &str,
    styles: &Styles,
) -> String {
    let name = match pointer {
        "" => "all of it".to_owned(),
        pointer => escape::terminal(&name(pointer)).into_owned(),
    };
    let (here, there) = (at(policy.spec.as_ref(), pointer), at(other.spec.as_ref(), pointer));
    let origins = other.origins_at(pointer);
    let from: Vec<String> = origins.iter().map(|o| origin_text(o)).collect();
    let same = here == there;
    let (here, there) = (styles.value(&here, VALUE), styles.value(&there, VALUE));
    if same {
        let before: Vec<String> =
            below(&policy.origins, pointer).iter().map(|o| origin_text(o)).collect();
        let (from, before) = (or_nobody(&from), or_nobody(&before));
        return format!("{name}: {there}, from {from} instead of {before}");
    }
    match from.as_slice() {
        [] => format!("{name}: {here} → {there}"),
        from => format!("{name}: {here} → {there}  ({})", from.join(", ")),
    }
}

fn or_nobody(names: &[String]) -> String {
    if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
}

fn at(spec: Option<&v1::Value>, pointer: &str) -> String {
    let path: Vec<_> = pointer_segments(pointer).collect();
    let value = spec.and_then(|s| s.at(path.iter().map(|s| &**s)));
    value.map_or_else(|| "nothing".to_owned(), yaml::flow)
}
