// SPDX-License-Identifier: Apache-2.0
//! In: the codes. Out: the index of their pages. Not here: the pages, which people write.

use std::path::Path;

use overrule_source::Code;

const INDEX: &str = "docs/rules/README.md";

/// Sections of the index, by the first number after them.
const SECTIONS: &[(&str, &str)] = &[
    ("OV1000", "Reading"),
    ("OV1030", "Schemas"),
    ("OV1040", "As released"),
    ("OV1100", "Resources"),
    ("OV1200", "Topology"),
    ("OV1300", "Policies and their kinds"),
    ("OV1400", "Kuadrant"),
    ("OV1500", "kgateway"),
    ("OV1600", "Kuma"),
    ("OV1700", "Envoy Gateway"),
    ("OV1900", "Policy tests"),
];

/// Every code of every crate, by number.
pub(crate) fn codes() -> Vec<Code> {
    let mut codes = overrule::codes();
    codes.extend(overrule_cases::codes::ALL);
    codes.sort_by_key(|code| code.id);
    codes.dedup_by(|a, b| std::ptr::eq(*a, *b));
    codes
}

/// Writes the index, or says that it is out of date.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let wanted = index(&codes());
    let path = root.join(INDEX);
    if check {
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        return match written == wanted {
            true => Ok(()),
            false => Err(format!("{INDEX}: out of date; run `cargo xtask rules`")),
        };
    }
    std::fs::write(&path, wanted).map_err(|e| format!("{}: {e}", path.display()))
}

fn index(codes: &[Code]) -> String {
    let mut text = String::from(
        "# Rules\n\nEvery finding has a code that never changes. `overrule rule CODE` prints its page.\n\
         This index is written by `cargo xtask rules`.\n",
    );
    for (i, (first, title)) in SECTIONS.iter().enumerate() {
        let end = SECTIONS.get(i + 1).map_or("OV9999", |(next, _)| next);
        let mut rows = codes.iter().filter(|code| (*first..end).contains(&code.id)).peekable();
        if rows.peek().is_none() {
            continue;
        }
        text.push_str(&format!("\n## {title}\n\n| code | severity | title |\n|---|---|---|\n"));
        for code in rows {
            let (id, severity, title) = (code.id, code.severity.word(), code.title);
            text.push_str(&format!("| [{id}]({id}.md) | {severity} | {title} |\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_listed_once() {
        let codes = codes();
        let text = index(&codes);
        for code in codes {
            assert_eq!(text.matches(&format!("[{}]", code.id)).count(), 1, "{}", code.id);
        }
    }
}
