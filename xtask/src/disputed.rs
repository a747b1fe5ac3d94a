// SPDX-License-Identifier: Apache-2.0
//! In: the results of conformance cases. Out: those that `disputed.tsv` says are wrong, with the evidence.
//! Not here: running a case.

use overrule_cases::CaseResult;

/// Cases we are sure we cannot or must not follow: the folder of the data, the name of the case, the evidence.
const TABLE: &str = include_str!("../disputed.tsv");

/// The evidence against a case. A case that passes is not disputed, so that an entry that is out of date does not hide
/// what happens.
pub(crate) fn evidence(folder: &str, result: &CaseResult) -> Option<&'static str> {
    (!result.passed()).then(|| find(TABLE, folder, &result.name)).flatten()
}

fn find<'t>(table: &'t str, folder: &str, case: &str) -> Option<&'t str> {
    table.lines().skip(1).find_map(|line| {
        let mut columns = line.splitn(3, '\t');
        let is_meant = columns.next() == Some(folder) && columns.next() == Some(case);
        is_meant.then(|| columns.next()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_meant_by_folder_and_name() {
        let table = "folder\tcase\tevidence\none\ta\tit is wrong\n";
        assert_eq!(find(table, "one", "a"), Some("it is wrong"));
        assert_eq!(find(table, "two", "a"), None);
        assert_eq!(find(table, "one", "b"), None);
        assert_eq!(find(table, "folder", "case"), None);
    }

    #[test]
    fn every_entry_has_evidence() {
        for line in TABLE.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            assert!(columns.len() == 3 && columns.iter().all(|c| !c.is_empty()), "{line}");
        }
    }
}
