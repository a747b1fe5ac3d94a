// SPDX-License-Identifier: Apache-2.0
//! In: measurements. Out: a table of bars and times. Not here: what is measured.
#![allow(dead_code, reason = "each bench compiles this module, and not every one needs all of it")]

use std::process::{Command, ExitCode};
use std::time::Duration;

use cpu_time::ProcessTime;

/// Runs the bench again in a process that keeps the memory it frees, and returns how that ended; none in that process.
///
/// Cases are measured several times in one process. A small one finds the memory of its last run again, while that of
/// a large one went back to the kernel, which clears every page before it is used again. A ratio of the two would
/// compare a warm process with a cold one; so both are warm. Only glibc reads these variables; elsewhere they do nothing.
pub fn in_warm_process() -> Option<ExitCode> {
    const KEEP: [(&str, &str); 3] = [
        ("MALLOC_TRIM_THRESHOLD_", "17179869184"),
        ("MALLOC_TOP_PAD_", "67108864"),
        ("MALLOC_MMAP_MAX_", "0"),
    ];
    if KEEP.iter().all(|(name, value)| std::env::var(name).is_ok_and(|v| v == *value)) {
        return None;
    }
    let program = std::env::current_exe().expect("the bench has a file");
    let mut again = Command::new(program);
    let ended = again.args(std::env::args_os().skip(1)).envs(KEEP).status().expect("it runs again");
    Some(if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

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
