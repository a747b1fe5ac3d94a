// SPDX-License-Identifier: Apache-2.0
//! What a parameter is. The command line, HTTP, the OpenAPI document and the client are made from tables of these. Not
//! here: the tables (`asked.rs`), their notation (`declare.rs`), reading values (`arguments.rs`).

/// A parameter: of a question, of all questions, or a setting of the server.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name: `--name` on the command line, `name=` in a query.
    pub name: &'static str,
    /// What it is for, without a full stop at the end.
    pub help: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What its value is called in help; empty for a flag.
    pub value_name: &'static str,
    /// `-x`.
    pub short: Option<char>,
    /// Whether its place on the command line says which one it is, not `--name`.
    pub positional: bool,
    /// Whether it is a target, of which the command line also takes kind and name as two words, as kubectl does.
    pub named: bool,
    /// What it is for if it is written as `--name`, although its place could say it, so that it can stand alone.
    pub flagged: Option<&'static str>,
    /// Whether there is no answer without it.
    pub required: Required,
    /// Its value if none is given.
    pub default: Option<&'static str>,
    /// Parameters that the command line refuses beside it.
    pub conflicts: &'static [&'static str],
    /// A parameter that the command line wants beside it.
    pub requires: Option<&'static str>,
    /// The environment variable that counts if the command line does not say it.
    pub env: Option<&'static str>,
    /// Its place among the options that all commands share.
    pub shared: Option<usize>,
    /// Where it stands in help.
    pub heading: Option<&'static str>,
    /// Who takes it.
    pub taken_by: TakenBy,
    /// What the OpenAPI document says instead of `help`.
    pub http_help: Option<&'static str>,
    /// The words that HTTP takes, where they are others.
    pub http_words: Option<&'static [&'static str]>,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Any text that is not empty.
    Text,
    /// Several texts: it may be repeated.
    Texts,
    /// A file or folder.
    Path,
    /// Nothing, or true or false.
    Flag,
    /// A number from 0 to the largest.
    Number(u64),
    /// Address and port to listen on.
    Address,
    /// One of these words, which whoever answers checks.
    Word(&'static [&'static str]),
    /// One of the words of a type.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// What each of them means.
        help: &'static [&'static str],
        /// What any other text may begin with, and what such a text is.
        or: Option<(&'static str, &'static str)>,
    },
}

/// Whether a parameter must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// No.
    No,
    /// In a query; the command line has another option instead.
    OverHttp,
    /// Always.
    Always,
}

/// Who takes a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenBy {
    /// The command line and HTTP; a client passes it on.
    Both,
    /// The command line.
    CommandLine,
    /// HTTP: a client says it about itself.
    Http,
}

impl Parameter {
    /// What a field says about its parameter: its name, comment and type. A row of a table says the rest.
    pub const fn new(
        name: &'static str,
        help: &'static str,
        takes: Takes,
        required: Required,
    ) -> Self {
        Self {
            name,
            help,
            takes,
            value_name: "",
            short: None,
            positional: false,
            named: false,
            flagged: None,
            required,
            default: None,
            conflicts: &[],
            requires: None,
            env: None,
            shared: None,
            heading: None,
            taken_by: TakenBy::Both,
            http_help: None,
            http_words: None,
        }
    }

    /// Whether the command line takes it.
    pub const fn on_command_line(&self) -> bool {
        !matches!(self.taken_by, TakenBy::Http)
    }

    /// Whether HTTP takes it.
    pub const fn in_query(&self) -> bool {
        !matches!(self.taken_by, TakenBy::CommandLine)
    }
}
