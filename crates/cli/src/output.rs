// SPDX-License-Identifier: Apache-2.0
//! In: results and remarks. Out: results on stdout, remarks on stderr, exit codes. Not here: their text.

use std::cell::Cell;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use overrule::view::{Styles, TableFit, escape};
use overrule_ask::{AskError, Exit, Shared, Sink};

use crate::args::{Color, Source};

/// Exit code of ^C.
pub const INTERRUPTED: u8 = 130;

/// The exit code of how a run ended.
pub fn code(exit: Exit) -> ExitCode {
    ExitCode::from(match exit {
        Exit::Fine => 0,
        Exit::Findings => 1,
        Exit::Usage => 2,
        Exit::World => 3,
    })
}

/// Something that was said, before it was styled or silenced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    Result(String),
    Remark(String),
    Problem(String),
}

/// Bytes of what is said that are remembered, at most.
const REMEMBERED: usize = 24 << 20;

/// What was said since somebody asked to remember it.
#[derive(Default)]
struct Memory {
    said: Vec<Said>,
    bytes: usize,
}

impl Memory {
    /// Whether there was room for it.
    fn add(&mut self, said: Said) -> bool {
        let (Said::Result(text) | Said::Remark(text) | Said::Problem(text)) = &said;
        self.bytes += text.len();
        match (self.said.last_mut(), said) {
            (Some(Said::Result(before)), Said::Result(text)) => before.push_str(&text),
            (_, said) => self.said.push(said),
        }
        self.bytes <= REMEMBERED
    }
}

/// The two streams.
pub struct Out {
    stdout: BufWriter<io::Stdout>,
    /// Styles of results.
    styles: Styles,
    /// Whether nobody reads results any more.
    closed: bool,
    /// Styles of remarks.
    remark_styles: Styles,
    quiet: bool,
    memory: Option<Memory>,
    /// Whether somebody asked what time it is.
    dated: Cell<bool>,
}

impl Out {
    pub fn new(source: &Source, shared: &Shared) -> Self {
        let styles = |terminal: bool| {
            if colored(source.color, terminal) { Styles::colored() } else { Styles::plain() }
        };
        let is_terminal = io::stdout().is_terminal();
        let width = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let columns = columns().or_else(|| width().filter(|_| is_terminal));
        // Whoever reads a file or a pipe has no columns that lines could be too long for.
        let fit = match columns {
            _ if !is_terminal => TableFit::Fixed,
            None => TableFit::Whole,
            Some(columns) => TableFit::Columns(columns),
        };
        let result_styles = styles(is_terminal).with_fit(fit);
        Self {
            stdout: BufWriter::with_capacity(64 * 1024, io::stdout()),
            styles: columns.map_or(result_styles, |c| result_styles.with_width(c)),
            closed: false,
            remark_styles: styles(io::stderr().is_terminal()),
            quiet: shared.quiet,
            memory: None,
            dated: Cell::new(false),
        }
    }

    /// From now on, remembers what is said.
    pub fn remember(&mut self) {
        self.memory = Some(Memory::default());
        self.dated.set(false);
    }

    /// What was said since then, if it can be said again: it was not too much, and does not depend on the time.
    pub fn remembered(&mut self) -> Option<Vec<Said>> {
        let memory = self.memory.take()?;
        (!self.dated.get()).then_some(memory.said)
    }

    /// Says what was said before.
    pub fn say(&mut self, said: &[Said]) -> Result<(), AskError> {
        for one in said {
            match one {
                Said::Result(text) => self.result(text)?,
                Said::Remark(text) => self.remark(text),
                Said::Problem(text) => self.problem(text),
            }
        }
        Ok(())
    }

    fn note(&mut self, said: impl FnOnce() -> Said) {
        if let Some(memory) = &mut self.memory
            && !memory.add(said())
        {
            self.memory = None;
        }
    }

    /// Writes what is still held back.
    pub fn flush(&mut self) -> Result<(), AskError> {
        if self.closed {
            return Ok(());
        }
        let done = self.stdout.flush();
        self.unless_closed(done)
    }

    /// Whether nobody reads results any more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The reader of our output has seen enough (`| head`): that is no error, and what is found is still found, so that
    /// the exit code is the same. The rest is not written.
    fn unless_closed(&mut self, done: io::Result<()>) -> Result<(), AskError> {
        match done {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            done => Ok(done?),
        }
    }

    /// Results come first, then remarks about them; a closed stderr is nobody's loss.
    fn aside(&mut self, text: &str) {
        let _ = self.flush();
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}

impl Sink for Out {
    fn result(&mut self, text: &str) -> Result<(), AskError> {
        self.note(|| Said::Result(text.to_owned()));
        if self.closed {
            return Ok(());
        }
        let done = self.stdout.write_all(text.as_bytes());
        self.unless_closed(done)
    }

    /// -q silences it.
    fn remark(&mut self, text: &str) {
        self.note(|| Said::Remark(text.to_owned()));
        if !self.quiet {
            self.aside(text);
        }
    }

    /// Never silenced.
    fn problem(&mut self, text: &str) {
        self.note(|| Said::Problem(text.to_owned()));
        let style = self.remark_styles.error;
        let text = format!(
            "{}error:{} {}",
            style.render(),
            style.render_reset(),
            escape::terminal_multiline(text)
        );
        self.aside(&text);
    }

    fn styles(&self) -> Styles {
        self.styles
    }

    fn now(&self) -> Option<i64> {
        self.dated.set(true);
        #[expect(
            clippy::disallowed_methods,
            reason = "ages are counted from now; the core never asks"
        )]
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(now.as_secs()).ok()
    }
}

/// Columns that the environment asks for.
fn columns() -> Option<usize> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line is where the environment is read"
    )]
    let asked = std::env::var("COLUMNS").ok()?;
    asked.trim().parse().ok().filter(|n| *n > 0)
}

fn colored(color: Color, terminal: bool) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line is where the environment is read"
    )]
    let refused = std::env::var("NO_COLOR").is_ok_and(|v| !v.is_empty())
        || std::env::var("TERM").is_ok_and(|v| v == "dumb");
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => terminal && !refused,
    }
}
