// SPDX-License-Identifier: Apache-2.0
//! In: results and remarks. Out: results on stdout, remarks on stderr, exit codes. Not here: their text.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use overrule::view::{Styles, escape};

use crate::args::{Color, Shared};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Fine,
    /// Findings of severity error, a failed test, a negative or disputed answer.
    Findings,
    /// Wrong arguments.
    Usage,
    /// Something could not be read or written.
    World,
}

impl Exit {
    /// ^C.
    pub const INTERRUPTED: u8 = 130;

    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::World => 3,
        })
    }

    /// The worse of two: what could not be read outweighs what was found.
    pub fn worst(self, other: Self) -> Self {
        let rank = |e| match e {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::World => 2,
            Self::Usage => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// Why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// The arguments make no sense.
    Usage(String),
    /// What was asked for is not there.
    NotFound(String),
    /// The world failed.
    World(String),
    /// Nobody reads our output any more.
    Closed,
}

impl Failure {
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::NotFound(_) => Exit::Findings,
            Self::World(_) => Exit::World,
            Self::Closed => Exit::Fine,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::NotFound(text) | Self::World(text) => f.write_str(text),
            Self::Closed => f.write_str("output closed"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::World(format!("cannot write the answer: {error}"))
        }
    }
}

pub type Outcome = Result<Exit, Failure>;

/// The two streams.
pub struct Out {
    stdout: BufWriter<io::Stdout>,
    /// Styles of results.
    pub styles: Styles,
    /// Columns of the terminal; absent if results do not go to one.
    pub width: Option<usize>,
    /// Styles of remarks.
    remark_styles: Styles,
    quiet: bool,
}

impl Out {
    pub fn new(shared: &Shared) -> Self {
        let styles = |terminal: bool| {
            if colored(shared.color, terminal) { Styles::colored() } else { Styles::plain() }
        };
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let result_styles = styles(io::stdout().is_terminal());
        let columns = columns().or(width.filter(|_| io::stdout().is_terminal()));
        Self {
            stdout: BufWriter::with_capacity(64 * 1024, io::stdout()),
            styles: columns.map_or(result_styles, |c| result_styles.with_width(c)),
            width,
            remark_styles: styles(io::stderr().is_terminal()),
            quiet: shared.quiet,
        }
    }

    /// Writes a result.
    pub fn result(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.stdout.write_all(text.as_bytes())?)
    }

    /// Writes a result and a line end.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.result(text)?;
        self.result("\n")
    }

    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.stdout.flush()?)
    }

    /// Says something on the side; -q silences it.
    pub fn remark(&mut self, text: &str) {
        if !self.quiet {
            self.aside(text);
        }
    }

    /// Says what is wrong; never silenced.
    pub fn problem(&mut self, text: &str) {
        let style = self.remark_styles.error;
        let text = format!(
            "{}error:{} {}",
            style.render(),
            style.render_reset(),
            escape::terminal_multiline(text)
        );
        self.aside(&text);
    }

    /// Results come first, then remarks about them; a closed stderr is nobody's loss.
    fn aside(&mut self, text: &str) {
        let _ = self.stdout.flush();
        let _ = writeln!(io::stderr().lock(), "{text}");
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
