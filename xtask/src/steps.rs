// SPDX-License-Identifier: Apache-2.0
//! In: named steps. Out: each one run, timed, and a summary; a failure stops nothing. Not here: what the steps do.

use std::time::{Duration, Instant};

/// How a step ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It ran; with a remark, if there is one.
    Ran(String),
    /// It could not, for this reason, and nobody is to think it did.
    DidNotRun(String),
}

/// Runs steps and remembers how they ended.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration, Result<Ending, String>)>,
}

impl Steps {
    /// Runs a step.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<Ending, String>) {
        println!("==> {name}");
        let start = Instant::now();
        let result = step();
        let took = start.elapsed();
        println!("{}", line(name, took, &result));
        self.done.push((name.to_owned(), took, result));
    }

    /// Prints all of it once more; an error if a step failed.
    pub(crate) fn finish(self) -> Result<(), String> {
        println!("==> summary");
        for (name, took, result) in &self.done {
            println!("{}", line(name, *took, result));
        }
        let failed: Vec<&str> = self
            .done
            .iter()
            .filter(|(_, _, r)| r.is_err())
            .map(|(name, ..)| name.as_str())
            .collect();
        match failed.as_slice() {
            [] => Ok(()),
            failed => Err(format!("failed: {}", failed.join(", "))),
        }
    }
}

fn line(name: &str, took: Duration, result: &Result<Ending, String>) -> String {
    let seconds = took.as_secs_f64();
    match result {
        Ok(Ending::Ran(remark)) if remark.is_empty() => {
            format!("    ok          {seconds:7.1} s  {name}")
        }
        Ok(Ending::Ran(remark)) => format!("    ok          {seconds:7.1} s  {name}: {remark}"),
        Ok(Ending::DidNotRun(why)) => format!("    DID NOT RUN {seconds:7.1} s  {name}: {why}"),
        Err(error) => format!("    FAILED      {seconds:7.1} s  {name}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stops_nothing_and_is_remembered() {
        let mut steps = Steps::default();
        steps.run("one", || Err("broken".to_owned()));
        steps.run("two", || Ok(Ending::Ran(String::new())));
        steps.run("three", || Ok(Ending::DidNotRun("no data".to_owned())));
        assert_eq!(steps.done.len(), 3);
        assert_eq!(steps.finish(), Err("failed: one".to_owned()));
    }
}
