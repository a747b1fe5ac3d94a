// SPDX-License-Identifier: Apache-2.0
//! In: arguments. Out: whether cargo succeeded with them. Not here: which steps there are.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::failures::Failures;

/// The cargo that runs us.
fn cargo(root: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).stdin(Stdio::null());
    command
}

/// Runs cargo with its output shown.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    run_with(root, arguments, &[])
}

/// [`run`] with variables of the environment.
pub(crate) fn run_with(
    root: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<(), String> {
    judged(arguments, cargo(root).args(arguments).envs(variables.iter().copied()).status())
}

/// Runs tests with their output shown; the error repeats what failed, because logs are read from their end.
pub(crate) fn test(
    root: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<(), String> {
    let mut command = cargo(root);
    command.args(arguments).envs(variables.iter().copied());
    let mut failures = Failures::default();
    let status = shown(command, |line| failures.read(line));
    judged(arguments, status).map_err(|error| failures.below(&error))
}

/// Runs a command; its standard output is passed on, and each line of it to `read`.
fn shown(mut command: Command, mut read: impl FnMut(&str)) -> std::io::Result<ExitStatus> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        // Tests may print what is no text.
        while output.read_until(b'\n', &mut line)? > 0 {
            std::io::stdout().write_all(&line)?;
            read(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }
    child.wait()
}

fn judged(arguments: &[&str], status: std::io::Result<ExitStatus>) -> Result<(), String> {
    let shown = arguments.join(" ");
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`cargo {shown}` failed: {status}")),
        Err(error) => Err(format!("`cargo {shown}` cannot be run: {error}")),
    }
}

/// What cargo prints.
pub(crate) fn output(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let shown = arguments.join(" ");
    match cargo(root).args(arguments).stderr(Stdio::inherit()).output() {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(format!("`cargo {shown}` failed: {}", output.status)),
        Err(error) => Err(format!("`cargo {shown}` cannot be run: {error}")),
    }
}

/// Whether a subcommand is installed.
pub(crate) fn has(root: &Path, subcommand: &str) -> bool {
    let mut command = cargo(root);
    command.args([subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
