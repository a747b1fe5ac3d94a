// SPDX-License-Identifier: Apache-2.0
//! In: counts. Out: the file they are kept in, and what is worse than it. Not here: counting.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// Instructions of stages, and what they were counted with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The compiler: another one makes other instructions.
    pub rustc: String,
    /// What counted.
    pub valgrind: String,
    /// Stages, in the order they run.
    pub rows: Vec<Row>,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub group: String,
    pub stage: String,
    /// Instructions by size.
    pub counts: BTreeMap<u32, u64>,
}

const FILE: &str = "counts.json";

impl Row {
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.group, self.stage)
    }

    pub(crate) fn count(&self, size: u32) -> Option<u64> {
        self.counts.get(&size).copied()
    }

    /// The power of size that the count grows by between two sizes.
    pub(crate) fn exponent(&self, from: u32, to: u32) -> Option<f64> {
        let times = self.count(to)? as f64 / self.count(from)? as f64;
        Some(times.ln() / (f64::from(to) / f64::from(from)).ln())
    }

    fn as_json(&self) -> Value {
        let counts = self.counts.iter().map(|(size, count)| (size.to_string(), json!(count)));
        json!({"group": self.group, "stage": self.stage, "instructions": Value::Object(counts.collect())})
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |key| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let counts = value.get("instructions")?.as_object()?.iter();
        let count = |(size, count): (&String, &Value)| Some((size.parse().ok()?, count.as_u64()?));
        let counts = counts.map(count).collect::<Option<_>>()?;
        Some(Self { group: text("group")?, stage: text("stage")?, counts })
    }
}

impl Kept {
    /// A stage.
    pub(crate) fn row(&self, group: &str, stage: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.group == group && row.stage == stage)
    }

    /// Instructions for each one that serde_json takes for the same fleet, at the largest size both have; none for
    /// fleets that it was not counted with.
    pub(crate) fn ratio(&self, row: &Row) -> Option<f64> {
        let yardstick = self.row(&row.group, "serde_json")?;
        let (size, count) = row.counts.last_key_value()?;
        Some(*count as f64 / yardstick.count(*size)? as f64)
    }

    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(FILE);
        let wrong = |e: String| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|e| wrong(e.to_string()))?;
        let value: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        Self::from_json(&value)
            .ok_or_else(|| wrong("not what `cargo xtask scale` writes".to_owned()))
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), String> {
        let path = folder.join(FILE);
        let text = format!("{:#}\n", self.as_json());
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    fn as_json(&self) -> Value {
        let stages: Vec<Value> = self.rows.iter().map(Row::as_json).collect();
        json!({"rustc": self.rustc, "valgrind": self.valgrind, "stages": stages})
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |key| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let rows = value.get("stages")?.as_array()?.iter().map(Row::from_json);
        let rows = rows.collect::<Option<_>>()?;
        Some(Self { rustc: text("rustc")?, valgrind: text("valgrind")?, rows })
    }

    /// What is worse now, in sentences: counts so many percent above, and stages or sizes that only one side has.
    pub(crate) fn compare(&self, now: &Self, margin: u64) -> Vec<String> {
        let mut problems = Vec::new();
        for row in &now.rows {
            for (size, count) in &row.counts {
                let name = row.name();
                let before = self.row(&row.group, &row.stage).and_then(|row| row.count(*size));
                match before {
                    None => problems.push(format!("{name}, {size}: not written down; run `cargo xtask scale`")),
                    Some(before) if count * 100 > before * (100 + margin) => problems.push(format!(
                        "{name}, {size}: {count} instructions, {:.1} % more than the {before} written down",
                        (*count as f64 / before as f64 - 1.0) * 100.0
                    )),
                    Some(_) => {}
                }
            }
        }
        let gone = self.rows.iter().filter(|row| now.row(&row.group, &row.stage).is_none());
        problems.extend(
            gone.map(|row| format!("{}: written down, but not counted any more", row.name())),
        );
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(rows: &[(&str, &[(u32, u64)])]) -> Kept {
        let row = |(stage, counts): &(&str, &[(u32, u64)])| Row {
            group: "gateway".to_owned(),
            stage: (*stage).to_owned(),
            counts: counts.iter().copied().collect(),
        };
        Kept {
            rustc: "r".to_owned(),
            valgrind: "v".to_owned(),
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let kept = kept(&[("serde_json", &[(1_000, 5), (10_000, 50)]), ("read", &[(1_000, 7)])]);
        let folder = tempfile::tempdir().unwrap();
        kept.write(folder.path()).unwrap();
        assert_eq!(Kept::read(folder.path()), Ok(kept));
        std::fs::write(folder.path().join(FILE), "{}").unwrap();
        assert!(Kept::read(folder.path()).is_err());
    }

    #[test]
    fn growth_and_ratios() {
        let kept = kept(&[
            ("serde_json", &[(1_000, 100), (10_000, 1_000)]),
            ("read", &[(1_000, 50), (10_000, 5_000)]),
        ]);
        let read = &kept.rows[1];
        assert_eq!(read.exponent(1_000, 10_000), Some(2.0));
        assert_eq!(read.exponent(10_000, 100_000), None);
        assert_eq!(kept.ratio(read), Some(5.0));
    }

    #[test]
    fn only_more_than_the_margin_is_worse() {
        let before = kept(&[("read", &[(1_000, 1_000)]), ("model", &[(1_000, 1_000)])]);
        let same = kept(&[("read", &[(1_000, 1_050)]), ("model", &[(1_000, 10)])]);
        assert_eq!(before.compare(&same, 5), Vec::<String>::new());
        let worse = kept(&[("read", &[(1_000, 1_051)]), ("other", &[(1_000, 10)])]);
        let problems = before.compare(&worse, 5);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("5.1 % more"), "{problems:?}");
    }
}
