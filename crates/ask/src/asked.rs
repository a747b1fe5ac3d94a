// SPDX-License-Identifier: Apache-2.0
//! Every question as a type and as a table of its parameters. A row here is all that a parameter needs: the command
//! line, HTTP, the OpenAPI document and the client are made from these tables. Not here: what a question means (the
//! module of each command), what a row may say (`parameter.rs`).

use std::path::PathBuf;

use crate::{Output, Required, TakenBy, Takes, parameters, words};

/// Words for the form of an answer over HTTP: `best` is what the command line shows if none is asked for.
const FORMS: [&str; Form::WORDS.len() + 1] = {
    let mut forms = ["best"; Form::WORDS.len() + 1];
    if let Some((_, rest)) = forms.split_first_mut() {
        rest.copy_from_slice(Form::WORDS);
    }
    forms
};

parameters! {
    /// Options that every answer heeds.
    #[derive(Debug, Clone, Default)]
    Shared {
        /// Only this namespace; also the namespace of targets written without one.
        namespace: Option<String> = {
            value_name: "NAMESPACE", short: Some('n'), shared: Some(1),
            http_help: Some("Only this namespace or mesh; also the namespace of targets written without one"),
        };
        /// All namespaces (this is the default; it overrides -n).
        all_namespaces: bool = {short: Some('A'), shared: Some(2), taken_by: TakenBy::CommandLine};
        /// Only objects with these labels: `app=cart,tier!=test`.
        selector: Option<String> = {value_name: "SELECTOR", short: Some('l'), shared: Some(3)};
        /// Answer under every profile, show where they differ, and exit with 1 if they do. A question about one target
        /// shows differences without being told.
        compare: bool = {
            shared: Some(6),
            http_help: Some("Answer under every profile and show where they differ; `overrule-exit` is 1 if they do"),
        };
        /// Form of the output, or what to take out of it.
        output: Option<Output> = {
            value_name: "FORM", short: Some('o'), shared: Some(13), http_words: Some(&FORMS),
            http_help: Some(
                "Form of the answer, `best` is what the command line shows; json if absent; or `jsonpath=TEMPLATE`",
            ),
        };
        /// Only results and errors.
        quiet: bool = {short: Some('q'), shared: Some(15), taken_by: TakenBy::CommandLine};
        /// More: notes, and what is usually cut.
        verbose: bool = {short: Some('v'), shared: Some(16)};
    }
}

words! {
    /// Form of the output.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    Form {
        /// For reading.
        Table,
        /// For reading, with more columns.
        Wide,
        /// YAML.
        Yaml,
        /// JSON of the versioned model `overrule/v1`.
        Json,
        /// `get`, `effective` and `reach` only: names, as targets are written.
        Name,
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
        /// `diff` only: one comment for a pull request.
        Markdown,
    }
}

parameters! {
    /// How a client wants an answer laid out: what the command line knows of its terminal.
    #[derive(Debug, Clone, Default)]
    Layout {
        /// Colour texts for a terminal.
        color: bool = {taken_by: TakenBy::Http};
        /// Columns that tables are cut to; not cut if absent, and each row laid out by itself.
        width: Option<usize> = {
            value_name: "N", takes: Takes::Number(10_000), taken_by: TakenBy::Http,
        };
        /// Columns that texts are laid out for.
        columns: Option<usize> = {
            value_name: "N", takes: Takes::Number(10_000), taken_by: TakenBy::Http,
        };
    }
}

parameters! {
    /// Is what was written valid?
    #[derive(Debug, Clone)]
    Check {
        /// Which findings make the exit code 1.
        fail_on: FailOn = {
            value_name: "SEVERITY", default: Some("error"),
            http_help: Some("Which findings make `overrule-exit` 1"),
        };
        /// One line per finding.
        short: bool = {};
    }
}

words! {
    /// From which severity on findings are a failure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    FailOn {
        /// Errors.
        Error,
        /// Warnings too.
        Warning,
        /// Notes too.
        Note,
        /// Nothing.
        Never,
    }
}

parameters! {
    /// What is there?
    #[derive(Debug, Clone, Default)]
    Get {
        /// A kind (`httproute`, `timeoutpolicies`), `policies`, `all`, or one target.
        kind: Option<String> = {positional: true, value_name: "KIND", named: true};
        /// Paths that no policy of this kind covers.
        without: Option<String> = {value_name: "KIND", conflicts: &["kind"]};
    }
}

parameters! {
    /// What is in force?
    #[derive(Debug, Clone, Default)]
    Effective {
        /// A gateway, listener, route, rule or backend; a dataplane, inbound, service or port, or a KRI; everything if
        /// absent.
        target: Option<String> = {positional: true, value_name: "TARGET", named: true};
        /// Only this policy kind.
        kind: Option<String> = {value_name: "KIND"};
        /// Only on the way to this target: `meshservice/default/backend#http`.
        to: Option<String> = {value_name: "TARGET"};
        /// A request: which rule takes it, and what applies there. `GET https://shop.example.com/cart?x=1`; to a Service
        /// that routes are bound to, `GET http://cart.shop/`
        request: Option<String> = {value_name: "REQUEST", conflicts: &["target"]};
        /// A header of the request: `name: value`. Repeatable.
        header: Vec<String> = {value_name: "HEADER", requires: Some("request")};
    }
}

parameters! {
    /// Why?
    #[derive(Debug, Clone, Default)]
    Explain {
        /// A gateway, listener, route, rule or backend; a dataplane, inbound, service or port, or a KRI; or a policy.
        target: String = {positional: true, value_name: "TARGET", named: true};
        /// Only this policy kind.
        kind: Option<String> = {value_name: "KIND"};
        /// Only on the way to this target: `meshservice/default/backend#http`.
        to: Option<String> = {value_name: "TARGET"};
        /// Only this field: `timeouts.request` or `/timeouts/request`.
        field: Option<String> = {value_name: "FIELD"};
    }
}

parameters! {
    /// Where does a policy act?
    #[derive(Debug, Clone, Default)]
    Reach {
        /// A policy: `timeoutpolicy/infra/gw-timeouts`.
        policy: String = {positional: true, value_name: "POLICY", named: true};
        /// Only this part of it: `timeouts.request`, `rules.authentication.a`; `overrides.limits.a` names its block
        /// too, and `to[0]` an entry.
        rule: Option<String> = {value_name: "ID"};
    }
}

parameters! {
    /// May this client call this service?
    #[derive(Debug, Clone, Default)]
    Can {
        /// The client: a SPIFFE ID, a dataplane, `nobody` for one without a certificate, or `unnamed` for one whose
        /// certificate has no SPIFFE ID.
        from: Option<String> = {
            positional: true, value_name: "FROM",
            http_help: Some(
                "The client: a SPIFFE ID, a dataplane, `nobody`, or `unnamed`; without one, everybody who can call",
            ),
        };
        /// What it calls: a dataplane, an inbound of one (`dataplane/default/backend-1#http`), a meshservice, or a
        /// service.
        to: Option<String> = {
            positional: true, value_name: "TO", required: Required::OverHttp,
            flagged: Some("The same as TO; without FROM, everybody who can call it"),
        };
        /// Method of the request.
        method: Option<String> = {value_name: "METHOD"};
        /// Path of the request, as it is sent.
        path: Option<String> = {value_name: "PATH"};
        /// Server name the client asks for in TLS.
        sni: Option<String> = {value_name: "NAME"};
        /// Version of HTTP the request is sent with, gRPC is 2; without it both, and where they differ.
        http: Option<String> = {value_name: "1|2", takes: Takes::Word(&["1", "2"])};
    }
    beside {
        /// Many questions instead, as text; whoever asks has read it.
        matrix: Option<NamedText>,
    }
}

/// A text and what it is called in messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedText {
    /// Name of a file, or of whatever it came in.
    pub name: String,
    /// The text.
    pub text: String,
}

parameters! {
    /// What does the proxy need to enforce it?
    #[derive(Debug, Clone)]
    Envoy {
        /// A dataplane, or one of its inbounds.
        target: String = {positional: true, value_name: "TARGET", named: true};
        /// How rules are arranged: `tree` is fast, `list` is for every Envoy, `kuma` is that release's own filter.
        form: String = {
            value_name: "tree|list|kuma", takes: Takes::Word(&["tree", "list", "kuma"]),
            default: Some("tree"), required: Required::No,
        };
        /// The Envoy that will read it, such as 1.35.0; a tree needs 1.35 or newer, and without it a list is written.
        envoy_version: Option<String> = {value_name: "VERSION"};
        /// A complete bootstrap that Envoy runs, for one inbound.
        bootstrap: bool = {};
        /// Folder with `cert.pem`, `key.pem` and `ca.pem`, for a bootstrap.
        certs: PathBuf = {value_name: "FOLDER", default: Some("certs"), required: Required::No};
    }
}

parameters! {
    /// How does it hang together?
    #[derive(Debug, Clone, Default)]
    Graph {
        /// Only what passes through this target.
        target: Option<String> = {positional: true, value_name: "TARGET", named: true};
    }
}
