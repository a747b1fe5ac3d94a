// SPDX-License-Identifier: Apache-2.0
//! In: measurements. Out: a table of bars and times. Not here: what is measured.

use std::time::Duration;

use cpu_time::ProcessTime;

/// Bars first, because they mean the same on every machine; then what was measured here.
#[derive(Default)]
pub struct Report {
    bars: Vec<(String, f64, f64)>,
    lines: Vec<String>,
}

impl Report {
    pub fn at_most(&mut self, what: impl Into<String>, found: f64, bar: f64) {
        self.bars.push((what.into(), found, bar));
    }

    pub fn holds(&self) -> bool {
        self.bars.iter().all(|(_, found, bar)| found <= bar)
    }

    pub fn line(&mut self, text: String) {
        self.lines.push(text);
    }

    pub fn row(&mut self, what: &str, time: Duration, bytes: Option<usize>) {
        let speed = |b: usize| format!("{:>9.0} MB/s", b as f64 / time.as_secs_f64() / 1e6);
        let speed = bytes.map_or(String::new(), speed);
        self.lines.push(format!("  {what:<44}{:>10.1} ms{speed}", time.as_secs_f64() * 1e3));
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (what, found, bar) in &self.bars {
            let mark = if found <= bar { "ok  " } else { "MISS" };
            writeln!(f, "{mark} {found:>8.2}  at most {bar:>5.1}  {what}")?;
        }
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The best of several runs. The result of the last run is returned; dropping the others is not counted.
pub fn best<T>(runs: usize, mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut best: Option<(Duration, T)> = None;
    for _ in 0..runs {
        let before = best.take().map(|(time, _)| time);
        let start = ProcessTime::now();
        let result = work();
        let time = start.elapsed();
        best = Some((before.map_or(time, |b| b.min(time)), result));
    }
    best.expect("at least one run")
}
