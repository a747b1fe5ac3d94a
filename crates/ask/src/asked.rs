// SPDX-License-Identifier: Apache-2.0
//! In: what was typed, or the parameters of a request. Out: the question, as types. Not here: what it means (the
//! module of each command), reading a query (`query.rs`).
//!
//! Every type is read in two ways that mean the same: as flags (clap) and as parameters (serde, kebab-case names).

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::query::{flag, list};

/// Options that every answer heeds.
#[derive(Debug, Clone, Default, clap::Args, Deserialize, Serialize)]
#[command(next_help_heading = "Shared options")]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Shared {
    /// Only this namespace; also the namespace of targets written without one.
    #[arg(short, long, value_name = "NAMESPACE", global = true, display_order = 1)]
    pub namespace: Option<String>,
    /// All namespaces (this is the default; it overrides -n).
    #[arg(short = 'A', long, global = true, display_order = 2)]
    #[serde(deserialize_with = "flag")]
    pub all_namespaces: bool,
    /// Only objects with these labels: `app=cart,tier!=test`.
    #[arg(short = 'l', long, value_name = "SELECTOR", global = true, display_order = 3)]
    pub selector: Option<String>,
    /// Answer under every profile, show where they differ, and exit with 1 if they do. A question about one target shows
    /// differences without being told.
    #[arg(long, global = true, display_order = 6)]
    #[serde(deserialize_with = "flag")]
    pub compare: bool,
    /// Form of the output.
    #[arg(short, long, value_enum, value_name = "FORM", global = true, display_order = 13)]
    pub output: Option<Form>,
    /// Only results and errors.
    #[arg(short, long, global = true, display_order = 15)]
    #[serde(deserialize_with = "flag")]
    pub quiet: bool,
    /// More: notes, and what is usually cut.
    #[arg(short, long, global = true, display_order = 16)]
    #[serde(deserialize_with = "flag")]
    pub verbose: bool,
}

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
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

/// Is what was written valid?
#[derive(Debug, Clone, Default, clap::Args, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Check {
    /// Which findings make the exit code 1.
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY")]
    pub fail_on: FailOn,
    /// One line per finding.
    #[arg(long)]
    #[serde(deserialize_with = "flag")]
    pub short: bool,
}

/// From which severity on findings are a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailOn {
    /// Errors.
    #[default]
    Error,
    /// Warnings too.
    Warning,
    /// Notes too.
    Note,
    /// Nothing.
    Never,
}

/// What is there?
#[derive(Debug, Clone, Default, clap::Args, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Get {
    /// A kind (`httproute`, `timeoutpolicies`), `policies`, or `all`.
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,
    /// Paths that no policy of this kind covers.
    #[arg(long, value_name = "KIND", conflicts_with = "kind")]
    pub without: Option<String>,
}

/// What is in force?
#[derive(Debug, Clone, Default, clap::Args, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
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
    #[serde(deserialize_with = "list")]
    pub header: Vec<String>,
}

/// Why?
#[derive(Debug, Clone, Default, clap::Args, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
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

/// Where does a policy act?
#[derive(Debug, Clone, Default, clap::Args, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Reach {
    /// A policy: `timeoutpolicy/infra/gw-timeouts`.
    #[arg(value_name = "POLICY")]
    pub policy: String,
    /// Only this part of it: `timeouts.request`, `rules.authentication.a`; `overrides.limits.a` names its block too, and
    /// `to[0]` an entry.
    #[arg(long, value_name = "ID")]
    pub rule: Option<String>,
}

/// May this client call this service?
#[derive(Debug, Clone, Default, clap::Args, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
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
    /// Many questions instead, as text; whoever asks has read it.
    #[arg(skip)]
    #[serde(skip)]
    pub matrix: Option<Text>,
}

/// A text and what it is called in messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// Name of a file, or of whatever it came in.
    pub name: String,
    /// The text.
    pub text: String,
}

/// What does the proxy need to enforce it?
#[derive(Debug, Clone, clap::Args, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Envoy {
    /// A dataplane, or one of its inbounds.
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// How rules are arranged: `tree` is fast, `list` is for every Envoy, `kuma` is that release's own filter.
    #[arg(long, value_name = "tree|list|kuma", default_value = "tree")]
    #[serde(default = "tree")]
    pub form: String,
    /// The Envoy that will read it, such as 1.35.0; a tree needs 1.35 or newer, and without it a list is written.
    #[arg(long, value_name = "VERSION")]
    pub envoy_version: Option<String>,
    /// A complete bootstrap that Envoy runs, for one inbound.
    #[arg(long)]
    #[serde(default, deserialize_with = "flag")]
    pub bootstrap: bool,
    /// Folder with `cert.pem`, `key.pem` and `ca.pem`, for a bootstrap.
    #[arg(long, value_name = "FOLDER", default_value = "certs")]
    #[serde(default = "certs")]
    pub certs: PathBuf,
}

fn tree() -> String {
    "tree".to_owned()
}

fn certs() -> PathBuf {
    PathBuf::from("certs")
}

/// How does it hang together?
#[derive(Debug, Clone, Default, clap::Args, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Graph {
    /// Only what passes through this target.
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,
}
