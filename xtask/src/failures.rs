// SPDX-License-Identifier: Apache-2.0
//! In: what a test run prints, line by line. Out: what it said about the tests that failed. Not here: running it.

/// A log that is cut to its end still has to tell this much of each test binary.
const LINES: usize = 60;

/// Keeps what test binaries say between `failures:` and their result.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    kept: Vec<String>,
    /// Lines kept of the binary that is telling, if one is.
    telling: Option<usize>,
}

impl Failures {
    /// Takes note of a line.
    pub(crate) fn read(&mut self, line: &str) {
        if line == "failures:" {
            self.telling.get_or_insert(0);
        } else if line.starts_with("test result: ") {
            self.telling = None;
        } else if let Some(count) = &mut self.telling {
            // Names come last and are short: they are kept however much came before.
            let is_name = line.starts_with("    ") && !line.trim().contains(' ');
            if !line.is_empty() && (*count < LINES || is_name) {
                *count += 1;
                self.kept.push(line.to_owned());
            }
        }
    }

    /// What was kept, indented below `error`.
    pub(crate) fn below(&self, error: &str) -> String {
        let mut told = error.to_owned();
        for line in &self.kept {
            told.push_str("\n        ");
            told.push_str(line);
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let mut failures = Failures::default();
        text.lines().for_each(|line| failures.read(line));
        failures.below("failed")
    }

    #[test]
    fn only_failures_are_told() {
        let text = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n\
                    ---- b stdout ----\npanicked at x.rs\n\nfailures:\n    b\n\n\
                    test result: FAILED. 1 passed; 1 failed\nrunning 0 tests\n";
        assert_eq!(
            told(text),
            "failed\n        ---- b stdout ----\n        panicked at x.rs\n            b"
        );
        assert_eq!(told("test a ... ok\ntest result: ok. 1 passed\n"), "failed");
    }

    #[test]
    fn long_stories_are_cut_and_names_are_not() {
        let story = "a line of it\n".repeat(LINES + 9);
        let told = told(&format!("failures:\n{story}failures:\n    tests::b\ntest result: x"));
        assert_eq!(told.lines().count(), 1 + LINES + 1);
        assert!(told.ends_with("tests::b"));
    }
}
