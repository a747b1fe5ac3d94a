// SPDX-License-Identifier: Apache-2.0
//! In: the command line. Out: what was typed, as types. Not here: what it means (`overrule-ask`, `world.rs`).

use std::path::PathBuf;

use crate::settings::FamilySettings;
use crate::typed::Typed;
use clap::{Parser, Subcommand, ValueEnum};
use overrule_ask::{Can, Check, Effective, Envoy, Explain, Get, Graph, Parameters, Reach, Shared};

/// Which policy is in force here, why, and what happens if I change it?
#[derive(Debug, Parser)]
#[command(name = "overrule", version, max_term_width = 110, propagate_version = true)]
#[command(
    after_help = "Exit codes: 0 fine; 1 findings of severity error, a failed test, or a negative answer; 2 wrong \
arguments; 3 something could not be read (the rest is still answered); 130 interrupted.\n\n\
Targets: kind/namespace/name, kind/name for cluster-scoped kinds, #section for a listener, rule or port: \
httproute/shop/cart#rule-1, gateway/infra/edge#web; or as kubectl has it: httproute cart -n shop.\n\n\
Start here: overrule check -f DIR; overrule effective -f DIR; overrule explain -f DIR httproute/NAMESPACE/NAME"
)]
pub struct Args {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub shared: Typed<Shared>,
    #[command(subcommand)]
    pub command: Command,
}

/// Options every command takes, beside those that answering itself needs: what is read, and how.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Shared options")]
pub struct Source {
    /// File or folder of manifests; `-` is standard input. Repeatable.
    #[arg(
        short,
        long = "file",
        value_name = "PATH",
        global = true,
        display_order = 0,
        help = "File or folder of manifests, `-` for standard input; repeatable [default: the current folder]"
    )]
    pub files: Vec<PathBuf>,
    /// File or folder that describes policy kinds (`kind: PolicyKind`). Repeatable.
    #[arg(long, value_name = "PATH", global = true, display_order = 4)]
    pub kinds: Vec<PathBuf>,
    /// Rule set of a family: `kuadrant=operator`. Repeatable.
    #[arg(long, value_name = "FAMILY=NAME", global = true, display_order = 5)]
    pub profile: Vec<String>,
    #[command(flatten)]
    pub settings: FamilySettings,
    /// What to assume of objects without a creation time: FILE-ORDER, or a time such as 2026-01-31T09:00:00Z.
    #[arg(long, value_name = "FILE-ORDER|TIME", global = true, display_order = 11)]
    pub assume_created: Option<String>,
    /// Assume nothing: what is referred to and not in the input is an error, and answers do without it.
    #[arg(long, global = true, display_order = 11)]
    pub strict: bool,
    /// The namespace of resources that are written without one [default: default].
    #[arg(
        long,
        value_name = "NAME",
        global = true,
        display_order = 11,
        value_parser = clap::builder::NonEmptyStringValueParser::new()
    )]
    pub default_namespace: Option<String>,
    /// Accept duplicate keys in YAML: the last one wins.
    #[arg(long, global = true, display_order = 12)]
    pub lenient: bool,
    /// Colour: auto, always, never. NO_COLOR is respected.
    #[arg(
        long,
        value_enum,
        default_value_t = Color::Auto,
        value_name = "WHEN",
        global = true,
        display_order = 14
    )]
    pub color: Color,
    /// Neither use nor keep answers about large inputs (docs/guides/cache.md).
    #[arg(
        long,
        global = true,
        display_order = 17,
        env = "OVERRULE_NO_CACHE",
        value_parser = clap::builder::FalseyValueParser::new()
    )]
    pub no_cache: bool,
    /// Ask this server instead of reading files: `http://127.0.0.1:5681`.
    #[arg(long, value_name = "URL", global = true, display_order = 18, env = "OVERRULE_SERVER")]
    pub server: Option<String>,
    /// File that holds the token for the server; OVERRULE_TOKEN holds the token itself.
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        display_order = 19,
        env = "OVERRULE_TOKEN_FILE"
    )]
    pub token_file: Option<PathBuf>,
    /// Certificates that the server's certificate must be signed by [default: public CA bundle].
    #[arg(long, value_name = "FILE", global = true, display_order = 20, env = "OVERRULE_CA_FILE")]
    pub ca_file: Option<PathBuf>,
}

impl Args {
    /// What was typed, with what `check` names among what is read.
    pub fn typed() -> Self {
        let mut args = Self::parse();
        if let Command::Check(check) = &mut args.command {
            args.source.files.append(&mut check.paths);
        }
        args
    }
}

impl Source {
    /// What is read: the current folder, if nothing was named.
    pub fn files(&self) -> Vec<PathBuf> {
        if self.files.is_empty() { vec![PathBuf::from(".")] } else { self.files.clone() }
    }
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Is what I wrote valid? Every finding with its place, code and remedy.
    Check(CheckFiles),
    /// What is there? Resources, and policies with their outcome.
    Get(Typed<Get>),
    /// What is in force? Effective policies, each value with its origin.
    Effective(Typed<Effective>),
    /// Why? The ladder, every decision, winners and losers.
    Explain(Typed<Explain>),
    /// Where does this policy act, and who shadows it?
    Reach(Typed<Reach>),
    /// May this client call this service, and who says so?
    Can(CanOrMany),
    /// What does the proxy need to enforce it? Envoy configuration for an inbound.
    Envoy(Typed<Envoy>),
    /// How does it hang together? Topology with policies: -o tree, dot, mermaid, svg, json.
    Graph(Typed<Graph>),
    /// What does this change, and may it be merged? Compares two states: folders, files, git revisions.
    #[command(after_help = DIFF_HELP)]
    Diff(Diff),
    /// Do my policies still do what I expect? Runs policy tests.
    Test(Test),
    /// Keep manifests, answer questions about them over HTTP, and tell what changes.
    Serve(Box<crate::command::serve::Serve>),
    /// Store manifests in a server: all of them, or none.
    Apply(Apply),
    /// Delete resources from a server.
    Delete(Delete),
    /// Follow what changes in a server: which effective policies, and why.
    Watch(Watch),
    /// What does this code mean? Documentation of a diagnostic.
    Rule(Rule),
    /// The JSON Schema of all JSON output.
    Schema,
    /// Shell completions.
    Completions(Completions),
    /// Manual pages.
    Man(Man),
}

const DIFF_HELP: &str = "States: a folder, a file, `-` for standard input, git:REVISION, git:REVISION:PATH with a path \
from the root of the repository. OLD..NEW compares two revisions; OLD...NEW compares NEW with where the two parted, as \
a pull request does. With one state, NEW is the current folder.\n\n\
Exit codes: 0 nothing in force changes, or no condition of --fail-on and --max-routes is met; 1 otherwise; 2 wrong \
arguments; 3 something could not be read (the rest is still compared).\n\n\
Examples: overrule diff old/ new/; overrule diff git:main; overrule diff main...HEAD -- deploy/; \
overrule diff main...HEAD --fail-on uncovered,new-error -o markdown";

#[derive(Debug, clap::Args)]
pub struct Diff {
    /// The state before, and the state after; or two revisions, `OLD..NEW`.
    #[arg(value_name = "STATE", required = true, num_args = 1..=2)]
    pub states: Vec<String>,
    /// What to read of a revision [default: the current folder].
    #[arg(value_name = "PATH", last = true)]
    pub paths: Vec<String>,
    /// What must not happen: changed, added, removed, uncovered, requirement, new-error, new-warning, new-finding.
    /// Several with commas. Without it and --max-routes, any change in force counts.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub fail_on: Vec<String>,
    /// Routes that may be affected, at most.
    #[arg(long, value_name = "N")]
    pub max_routes: Option<usize>,
}

/// A question to `check`, and what to read.
#[derive(Debug, clap::Args)]
pub struct CheckFiles {
    /// Files or folders of manifests, like -f.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub asked: Typed<Check>,
}

#[derive(Debug, clap::Args)]
pub struct Apply {
    /// Store nothing; tell what would change.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct Delete {
    /// Targets such as `httproute/shop/cart`, or one as `httproute cart -n shop`; without any, what the files of -f name.
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Delete nothing; tell what would change.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct Watch {
    /// Only this policy kind.
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Only targets that begin with this.
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,
    /// The name, if TARGET is a kind: `httproute cart -n shop`
    #[arg(value_name = "NAME", requires = "target")]
    pub name: Option<String>,
    /// Tell what changed since this version or time first.
    #[arg(long, value_name = "VERSION|TIME")]
    pub since: Option<String>,
}

/// A question to `can`, or a file of many.
#[derive(Debug, clap::Args)]
pub struct CanOrMany {
    #[command(flatten)]
    pub one: Typed<Can>,
    /// Many questions at once: a YAML file with lists `from`, `to`, and if wanted `method`, `path`, `sni`, `http`.
    #[arg(long, value_name = "FILE", conflicts_with_all = Can::TABLE.iter().map(|row| row.name))]
    pub matrix: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct Test {
    /// Case files, or folders of them; with --init, the file to write.
    #[arg(value_name = "PATH", required_unless_present = "init")]
    pub paths: Vec<PathBuf>,
    /// Write a test of what is in force at this target now, for the manifests of -f; without PATH to standard output.
    #[arg(long, value_name = "TARGET", conflicts_with = "junit")]
    pub init: Option<String>,
    /// Also write the results as JUnit XML to this file (`-` for standard output instead of the plain form).
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct Rule {
    /// A code such as OV1301; without one, all codes are listed.
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, clap::Args)]
pub struct Man {
    /// Folder to write one page per command to; without it, the main page goes to standard output.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
