// SPDX-License-Identifier: Apache-2.0
//! In: results. Out: JUnit XML, as CI systems read it. Not here: writing a file, times (the core has no clock).

use std::collections::BTreeMap;

use overrule_view::Styles;
use overrule_view::escape::xml;

use crate::report::{describe, title};
use crate::result::CaseResult;

/// All results: one suite per folder, the file as class, the test with its profile as case.
pub fn junit(results: &[CaseResult]) -> String {
    let mut suites: BTreeMap<&str, Vec<&CaseResult>> = BTreeMap::new();
    for result in results {
        suites.entry(folder(&result.file)).or_default().push(result);
    }
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.push_str(&format!("<testsuites name=\"overrule\" {}>\n", counts(results.iter())));
    for (folder, results) in &suites {
        text.push_str(&format!(
            "  <testsuite name=\"{}\" {}>\n",
            xml(folder),
            counts(results.iter().copied())
        ));
        for result in results {
            case(result, &mut text);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn counts<'r>(results: impl Iterator<Item = &'r CaseResult> + Clone) -> String {
    let failed = results.clone().filter(|r| !r.passed()).count();
    format!("tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\"", results.count())
}

fn case(result: &CaseResult, text: &mut String) {
    let file = xml(&result.file);
    let name = title(result);
    text.push_str(&format!(
        "    <testcase name=\"{}\" classname=\"{file}\" file=\"{file}\" line=\"{}\"",
        xml(&name),
        result.line
    ));
    let Some(first) = result.mismatches().first() else {
        text.push_str("/>\n");
        return;
    };
    let more = match result.mismatches().len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let message = format!("{}: {}{more}", first.at, first.message);
    text.push_str(&format!(
        ">\n      <failure type=\"{}\" message=\"{}\">",
        first.what.id(),
        xml(&message)
    ));
    for mismatch in result.mismatches() {
        for line in describe(mismatch, "", &Styles::plain()).lines() {
            text.push_str(&xml(line));
            text.push('\n');
        }
    }
    text.push_str("</failure>\n    </testcase>\n");
}

fn folder(file: &str) -> &str {
    match file.rsplit_once(['/', '\\']) {
        Some((folder, _)) if !folder.is_empty() => folder,
        _ => ".",
    }
}
