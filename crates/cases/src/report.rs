// SPDX-License-Identifier: Apache-2.0
//! In: results. Out: lines for people. Not here: XML (`junit.rs`), writing anywhere.

use overrule_view::Styles;
use overrule_view::escape::terminal;

use crate::difference::{DifferenceSide, DifferingLine};
use crate::result::{CaseResult, Mismatch};

/// One result: a line if it passed and `verbose`, everything that differs if it failed.
pub fn plain(result: &CaseResult, verbose: bool, styles: &Styles) -> String {
    let mut text = String::new();
    if result.passed() {
        if verbose {
            text.push_str(&format!("ok {}\n", title(result)));
        }
        return text;
    }
    let (on, off) = (styles.error.render(), styles.error.render_reset());
    text.push_str(&format!("{on}FAILED{off} {}\n", title(result)));
    for mismatch in result.mismatches() {
        text.push_str(&describe(mismatch, "  ", styles));
    }
    text
}

/// `name (profile)`.
pub(crate) fn title(result: &CaseResult) -> String {
    let name = terminal(&result.name);
    match result.profile.as_str() {
        "" => name.into_owned(),
        profile => format!("{name} ({})", terminal(profile)),
    }
}

/// One difference, several lines.
pub(crate) fn describe(mismatch: &Mismatch, indent: &str, styles: &Styles) -> String {
    let mut text = format!(
        "{indent}{}: {}\n",
        terminal(&mismatch.at.to_string()),
        terminal(&mismatch.message)
    );
    let about = match (mismatch.path.as_str(), mismatch.kind.as_str()) {
        ("", _) => None,
        (path, "") => Some(path.to_owned()),
        (path, kind) => Some(format!("{path}, {kind}")),
    };
    let lines = [
        ("at", about.as_ref()),
        ("expected", mismatch.expected.as_ref()),
        ("actual", mismatch.actual.as_ref()),
    ];
    for (word, value) in lines {
        if let Some(value) = value.filter(|_| mismatch.difference.is_none() || word == "at") {
            text.push_str(&format!("{indent}  {word:<8} {}\n", terminal(value)));
        }
    }
    if let Some(lines) = &mismatch.difference {
        text.push_str(&format!("{indent}  - expected, + actual\n"));
        lines.iter().for_each(|line| text.push_str(&differing(line, indent, styles)));
    }
    text
}

/// A line of a difference, with a sign for those who see no colour.
fn differing(line: &DifferingLine, indent: &str, styles: &Styles) -> String {
    let (sign, style) = match line.side {
        DifferenceSide::Expected => ("-", styles.removed),
        DifferenceSide::Actual => ("+", styles.added),
        DifferenceSide::Both | DifferenceSide::LeftOut => (" ", styles.dim),
    };
    let (on, off) = (style.render(), style.render_reset());
    format!("{indent}    {on}{sign} {}{off}\n", terminal(&line.text))
}

/// `N passed, M failed`.
pub fn summary(results: &[CaseResult]) -> String {
    let passed = results.iter().filter(|r| r.passed()).count();
    format!("{passed} passed, {} failed\n", results.len() - passed)
}
