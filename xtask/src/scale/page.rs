// SPDX-License-Identifier: Apache-2.0
//! In: counts. Out: the table of docs/performance.md, between two marks. Not here: the words around it.

use std::path::Path;

use super::kept::{Kept, Row};

const PAGE: &str = "docs/performance.md";
const START: &str = "<!-- counts: written by `cargo xtask scale` -->\n";
const END: &str = "<!-- end of counts -->\n";

/// Puts the table where it belongs.
pub(crate) fn write(kept: &Kept, root: &Path) -> Result<(), String> {
    let path = root.join(PAGE);
    let wrong = |e: std::io::Error| format!("{PAGE}: {e}");
    let text = std::fs::read_to_string(&path).map_err(wrong)?;
    std::fs::write(&path, with_table(&text, kept)?).map_err(wrong)
}

/// The page with the table of these counts.
fn with_table(page: &str, kept: &Kept) -> Result<String, String> {
    let marks = || format!("{PAGE}: the marks around the table are gone");
    let (before, rest) = page.split_once(START).ok_or_else(marks)?;
    let (_, after) = rest.split_once(END).ok_or_else(marks)?;
    Ok(format!("{before}{START}\n{}\n{END}{after}", table(kept)))
}

fn table(kept: &Kept) -> String {
    let mut out =
        "| stage | of serde_json | 1k to 10k | 10k to 100k | instructions at 1k | 10k | 100k |\n\
                   |---|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for row in &kept.rows {
        let figure = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.2}"));
        let cells = [
            row.name(),
            figure(kept.ratio(row)),
            figure(row.exponent(1_000, 10_000)),
            figure(row.exponent(10_000, 100_000)),
            millions(row, 1_000),
            millions(row, 10_000),
            millions(row, 100_000),
        ];
        out += &format!("| {} |\n", cells.join(" | "));
    }
    out
}

fn millions(row: &Row, size: u32) -> String {
    row.count(size).map_or_else(String::new, |count| format!("{:.1} M", count as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::FOLDER;

    #[test]
    fn the_page_has_the_counts_that_are_kept() {
        let root = crate::root();
        let page = std::fs::read_to_string(root.join(PAGE)).unwrap();
        let kept = Kept::read(&root.join(FOLDER)).unwrap();
        let same = with_table(&page, &kept).unwrap() == page;
        assert!(same, "run `cargo xtask scale --plots`");
    }

    #[test]
    fn a_page_without_marks_is_left_alone() {
        let kept = Kept { rustc: String::new(), valgrind: String::new(), rows: Vec::new() };
        assert!(with_table("# Performance\n", &kept).is_err());
        let page = format!("a\n{START}old\n{END}b\n");
        let written = with_table(&page, &kept).unwrap();
        assert!(written.starts_with("a\n") && written.ends_with("b\n") && !written.contains("old"));
    }
}
