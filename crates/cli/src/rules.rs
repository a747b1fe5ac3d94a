// SPDX-License-Identifier: Apache-2.0
//! In: the pages of docs/rules, compiled in. Out: the page of a code. Not here: rendering of Markdown.

use overrule::source::Code;

static PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// Every code: those of the pipeline and those of policy tests.
pub fn codes() -> Vec<Code> {
    let mut codes = overrule::codes();
    codes.extend(overrule_cases::codes::ALL);
    codes
}

/// The page of a code: one of docs/rules, or one that a family brings.
pub fn page(code: &str) -> Option<&'static str> {
    let own = || overrule::families().iter().find_map(|family| family.page(code));
    PAGES.iter().find(|(id, _)| *id == code).map(|(_, page)| *page).or_else(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let ids: Vec<&str> = codes().iter().map(|c| c.id).collect();
        let pages: Vec<&str> = PAGES.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, pages);
        for code in codes() {
            let title = format!("# {}: {}\n", code.id, code.title);
            assert!(
                page(code.id).unwrap().starts_with(&title),
                "page of {} must start with {title:?}",
                code.id
            );
        }
    }
}
