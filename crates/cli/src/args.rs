// SPDX-License-Identifier: Apache-2.0
//! In: the command line. Out: what was typed, as types. Not here: what it means (`world.rs`, `command/`).

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Which policy is in force here, why, and what happens if I change it?
#[derive(Debug, Parser)]
#[command(name = "overrule", version, max_term_width = 110, propagate_version = true)]
#[command(
    after_help = "Exit codes: 0 fine; 1 findings of severity error, a failed test, or a negative answer; 2 wrong \
arguments; 3 something could not be read (the rest is still answered); 130 interrupted.\n\n\
Targets: kind/namespace/name, kind/name for cluster-scoped kinds, #section for a listener, rule or port: \
httproute/shop/cart#rule-1, gateway/infra/edge#web.\n\n\
Start here: overrule check -f DIR; overrule effective -f DIR; overrule explain -f DIR httproute/NAMESPACE/NAME"
)]
pub struct Args {
    #[command(flatten)]
    pub shared: Shared,
    #[command(subcommand)]
    pub command: Command,
}

/// Options every command takes.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Shared options")]
pub struct Shared {
    /// File or folder of manifests; `-` is standard input. Repeatable.
    #[arg(
        short,
        long = "file",
        value_name = "PATH",
        global = true,
        default_value = ".",
        hide_default_value = true,
        help = "File or folder of manifests, `-` for standard input; repeatable [default: the current folder]"
    )]
    pub files: Vec<PathBuf>,
    /// Only this namespace; also the namespace of targets written without one.
    #[arg(short, long, value_name = "NAMESPACE", global = true)]
    pub namespace: Option<String>,
    /// All namespaces (this is the default; it overrides -n).
    #[arg(short = 'A', long, global = true)]
    pub all_namespaces: bool,
    /// Only objects with these labels: `app=cart,tier!=test`.
    #[arg(short = 'l', long, value_name = "SELECTOR", global = true)]
    pub selector: Option<String>,
    /// File or folder that describes policy kinds (`kind: PolicyKind`). Repeatable.
    #[arg(long, value_name = "PATH", global = true)]
    pub kinds: Vec<PathBuf>,
    /// Rule set of a family: `kuadrant=operator`. Repeatable.
    #[arg(long, value_name = "FAMILY=NAME", global = true)]
    pub profile: Vec<String>,
    /// Answer under every profile, show where they differ, and exit with 1 if they do. A question about one target shows
    /// differences without being told.
    #[arg(long, global = true)]
    pub compare: bool,
    /// A setting of kgateway's controller: `globalPolicyNamespace=admin`, `policyMerge={"trafficPolicy": {"extAuth":
    /// "DeepMerge"}}`, `delegationWildcardNamespace=every`. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub kgateway: Vec<String>,
    /// The control plane that Kuma's files are written for, if they lack the labels it would add: `zone` or `global`
    /// [default: zone].
    #[arg(long, value_name = "zone|global", global = true)]
    pub kuma_mode: Option<String>,
    /// The name of its zone [default: default].
    #[arg(long, value_name = "ZONE", global = true)]
    pub kuma_zone: Option<String>,
    /// The namespace it runs in [default: kuma-system].
    #[arg(long, value_name = "NAMESPACE", global = true)]
    pub system_namespace: Option<String>,
    /// What to assume of objects without a creation time: FILE-ORDER, or a time such as 2026-01-31T09:00:00Z.
    #[arg(long, value_name = "FILE-ORDER|TIME", global = true)]
    pub assume_created: Option<String>,
    /// Accept duplicate keys in YAML: the last one wins.
    #[arg(long, global = true)]
    pub lenient: bool,
    /// Form of the output.
    #[arg(short, long, value_enum, value_name = "FORM", global = true)]
    pub output: Option<Form>,
    /// Colour: auto, always, never. NO_COLOR is respected.
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", global = true)]
    pub color: Color,
    /// Only results and errors.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// More: notes, and what is usually cut.
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For reading.
    Table,
    /// For reading, with more columns.
    Wide,
    /// YAML.
    Yaml,
    /// JSON of the versioned model `overrule/v1`.
    Json,
    /// `can` only: comma-separated values.
    Csv,
    /// `graph` only: for the terminal.
    Tree,
    /// `graph` only: Graphviz.
    Dot,
    /// `graph` only: Mermaid.
    Mermaid,
    /// `graph` only: a picture.
    Svg,
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
    Check(Check),
    /// What is there? Resources, and policies with their outcome.
    Get(Get),
    /// What is in force? Effective policies, each value with its origin.
    Effective(Effective),
    /// Why? The ladder, every decision, winners and losers.
    Explain(Explain),
    /// Where does this policy act, and who shadows it?
    Reach(Reach),
    /// May this client call this service, and who says so?
    Can(Can),
    /// What does the proxy need to enforce it? Envoy configuration for an inbound.
    Envoy(Envoy),
    /// How does it hang together? Topology with policies: -o tree, dot, mermaid, svg, json.
    Graph(Graph),
    /// Do my policies still do what I expect? Runs policy tests.
    Test(Test),
    /// What does this code mean? Documentation of a diagnostic.
    Rule(Rule),
    /// The JSON Schema of all JSON output.
    Schema,
    /// Shell completions.
    Completions(Completions),
    /// Manual pages.
    Man(Man),
}

#[derive(Debug, clap::Args)]
pub struct Check {
    /// Which findings make the exit code 1.
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY")]
    pub fail_on: FailOn,
    /// One line per finding.
    #[arg(long)]
    pub short: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Errors.
    Error,
    /// Warnings too.
    Warning,
    /// Notes too.
    Note,
    /// Nothing.
    Never,
}

#[derive(Debug, clap::Args)]
pub struct Get {
    /// A kind (`httproute`, `timeoutpolicies`), `policies`, or `all`.
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,
    /// Paths that no policy of this kind covers.
    #[arg(long, value_name = "KIND", conflicts_with = "kind")]
    pub without: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Effective {
    /// A gateway, listener, route, rule or backend; a dataplane, inbound, service or port, or a KRI; everything if
    /// absent.
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,
    /// Only this policy kind.
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Only on the way to this target: `meshservice/default/backend#http`.
    #[arg(long, value_name = "TARGET")]
    pub to: Option<String>,
    /// A request: which rule takes it, and what applies there. `GET https://shop.example.com/cart?x=1`
    #[arg(long, value_name = "REQUEST", conflicts_with = "target")]
    pub request: Option<String>,
    /// A header of the request: `name: value`. Repeatable.
    #[arg(long, value_name = "HEADER", requires = "request")]
    pub header: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct Explain {
    /// A gateway, listener, route, rule or backend; a dataplane, inbound, service or port, or a KRI; or a policy.
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Only this policy kind.
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Only on the way to this target: `meshservice/default/backend#http`.
    #[arg(long, value_name = "TARGET")]
    pub to: Option<String>,
    /// Only this field: `timeouts.request` or `/timeouts/request`.
    #[arg(long, value_name = "FIELD")]
    pub field: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Reach {
    /// A policy: `timeoutpolicy/infra/gw-timeouts`.
    #[arg(value_name = "POLICY")]
    pub policy: String,
    /// Only this part of it: `timeouts.request`, `rules.authentication.a`; `overrides.limits.a` names its block too, and
    /// `to[0]` an entry.
    #[arg(long, value_name = "ID")]
    pub rule: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Can {
    /// The client: a SPIFFE ID, a dataplane, or `nobody` for one without a certificate.
    #[arg(value_name = "FROM")]
    pub from: Option<String>,
    /// What it calls: a dataplane, an inbound of one (`dataplane/default/backend-1#http`), or a meshservice.
    #[arg(value_name = "TO")]
    pub to: Option<String>,
    /// Method of the request.
    #[arg(long, value_name = "METHOD")]
    pub method: Option<String>,
    /// Path of the request, as it is sent.
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Server name the client asks for in TLS.
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// Many questions at once: a YAML file with lists `from`, `to`, and if wanted `method`, `path`, `sni`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "to", "method", "path", "sni"])]
    pub matrix: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct Envoy {
    /// A dataplane, or one of its inbounds.
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// How rules are arranged: `tree` is fast, `list` is for every Envoy, `kuma` is that release's own filter.
    #[arg(long, value_name = "tree|list|kuma", default_value = "tree")]
    pub form: String,
    /// The Envoy that will read it, such as 1.35.0; a tree needs 1.35 or newer, and without it a list is written.
    #[arg(long, value_name = "VERSION")]
    pub envoy_version: Option<String>,
    /// A complete bootstrap that Envoy runs, for one inbound.
    #[arg(long)]
    pub bootstrap: bool,
    /// Folder with `cert.pem`, `key.pem` and `ca.pem`, for a bootstrap.
    #[arg(long, value_name = "FOLDER", default_value = "certs")]
    pub certs: PathBuf,
}

#[derive(Debug, clap::Args)]
pub struct Graph {
    /// Only what passes through this target.
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Test {
    /// Case files, or folders of them.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
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
