// SPDX-License-Identifier: Apache-2.0
//! In: a text of ours with a paragraph for each pattern and rule. Out: the words. Not here: where they are used.
//!
//! ```text
//! pattern ^([0-9]{1,5}(h|m|s|ms)){1,4}$
//! says a duration
//! help write hours, minutes, seconds and milliseconds, as in `1m30s`
//! ```

use std::collections::BTreeMap;

/// What to say about a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// Of a pattern: what a text that matches it is. Of a rule: a sentence about an object that breaks it.
    pub(crate) says: String,
    /// What to do.
    pub(crate) help: String,
    /// The field that is pointed at, if it is there.
    pub(crate) at: Option<String>,
    /// Whoever reads the objects tells it, and better: nothing is said.
    pub(crate) told: bool,
}

/// The paragraphs by what they are about, `pattern` or `rule`, and its text.
pub(crate) fn read(text: &str) -> Result<BTreeMap<(&'static str, String), Words>, String> {
    let mut all = BTreeMap::new();
    for paragraph in text.split("\n\n") {
        let lines = paragraph.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut about = Vec::new();
        let mut words = Words::default();
        for line in lines {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "pattern" => about.push(("pattern", value.to_owned())),
                "rule" => about.push(("rule", value.to_owned())),
                "says" => words.says = value.to_owned(),
                "help" => words.help = value.to_owned(),
                "at" => words.at = Some(value.to_owned()),
                "told" => words.told = true,
                _ => return Err(format!("words: `{line}`")),
            }
        }
        for key in about {
            if let Some(_twice) = all.insert(key.clone(), words.clone()) {
                return Err(format!("two paragraphs are about {}", key.1));
            }
        }
    }
    Ok(all)
}
