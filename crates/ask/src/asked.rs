// SPDX-License-Identifier: Apache-2.0
//! Every question as a type and as a table of its parameters. A row here is all that a parameter needs: the command line,
//! HTTP, the OpenAPI document and the client are made from these tables. Not here: what a question means (the module of
//! each command), what a row may say (`parameter.rs`).

use std::path::PathBuf;

use crate::{parameters, words};

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
        namespace: Option<String> = option("NAMESPACE").short('n').shared(1)
            .over_http("Only this namespace or mesh; also the namespace of targets written without one");
        /// All namespaces (this is the default; it overrides -n).
        all_namespaces: bool = flag().short('A').shared(2).command_line_only();
        /// Only objects with these labels: `app=cart,tier!=test`.
        selector: Option<String> = option("SELECTOR").short('l').shared(3);
        /// Answer under every profile, show where they differ, and exit with 1 if they do. A question about one target shows
        /// differences without being told.
        compare: bool = flag().shared(6)
            .over_http("Answer under every profile and show where they differ; `overrule-exit` is 1 if they do");
        /// Form of the output.
        output: Option<Form> = option("FORM").short('o').shared(13).words_over_http(&FORMS)
            .over_http("Form of the answer, `best` is what the command line shows; json if absent");
        /// Only results and errors.
        quiet: bool = flag().short('q').shared(15).command_line_only();
        /// More: notes, and what is usually cut.
        verbose: bool = flag().short('v').shared(16);
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
}

parameters! {
    /// How a client wants an answer laid out: what the command line knows of its terminal.
    #[derive(Debug, Clone, Default)]
    Layout {
        /// Colour texts for a terminal.
        color: bool = flag().http_only();
        /// Columns that tables are cut to.
        width: Option<usize> = option("N").at_most(10_000).http_only();
        /// Columns that texts are laid out for.
        columns: Option<usize> = option("N").at_most(10_000).http_only();
    }
}

parameters! {
    /// Is what was written valid?
    #[derive(Debug, Clone)]
    Check {
        /// Which findings make the exit code 1.
        fail_on: FailOn = option("SEVERITY").default("error")
            .over_http("Which findings make `overrule-exit` 1");
        /// One line per finding.
        short: bool = flag();
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
        /// A kind (`httproute`, `timeoutpolicies`), `policies`, or `all`.
        kind: Option<String> = positional("KIND");
        /// Paths that no policy of this kind covers.
        without: Option<String> = option("KIND").conflicts(&["kind"]);
    }
}

parameters! {
    /// What is in force?
    #[derive(Debug, Clone, Default)]
    Effective {
        /// A gateway, listener, route, rule or backend; a dataplane, inbound, service or port, or a KRI; everything if
        /// absent.
        target: Option<String> = positional("TARGET");
        /// Only this policy kind.
        kind: Option<String> = option("KIND");
        /// Only on the way to this target: `meshservice/default/backend#http`.
        to: Option<String> = option("TARGET");
        /// A request: which rule takes it, and what applies there. `GET https://shop.example.com/cart?x=1`
        request: Option<String> = option("REQUEST").conflicts(&["target"]);
        /// A header of the request: `name: value`. Repeatable.
        header: Vec<String> = option("HEADER").requires("request");
    }
}

parameters! {
    /// Why?
    #[derive(Debug, Clone, Default)]
    Explain {
        /// A gateway, listener, route, rule or backend; a dataplane, inbound, service or port, or a KRI; or a policy.
        target: String = positional("TARGET");
        /// Only this policy kind.
        kind: Option<String> = option("KIND");
        /// Only on the way to this target: `meshservice/default/backend#http`.
        to: Option<String> = option("TARGET");
        /// Only this field: `timeouts.request` or `/timeouts/request`.
        field: Option<String> = option("FIELD");
    }
}

parameters! {
    /// Where does a policy act?
    #[derive(Debug, Clone, Default)]
    Reach {
        /// A policy: `timeoutpolicy/infra/gw-timeouts`.
        policy: String = positional("POLICY");
        /// Only this part of it: `timeouts.request`, `rules.authentication.a`; `overrides.limits.a` names its block too, and
        /// `to[0]` an entry.
        rule: Option<String> = option("ID");
    }
}

parameters! {
    /// May this client call this service?
    #[derive(Debug, Clone, Default)]
    Can {
        /// The client: a SPIFFE ID, a dataplane, or `nobody` for one without a certificate.
        from: Option<String> = positional("FROM").required_over_http();
        /// What it calls: a dataplane, an inbound of one (`dataplane/default/backend-1#http`), or a meshservice.
        to: Option<String> = positional("TO").required_over_http();
        /// Method of the request.
        method: Option<String> = option("METHOD");
        /// Path of the request, as it is sent.
        path: Option<String> = option("PATH");
        /// Server name the client asks for in TLS.
        sni: Option<String> = option("NAME");
    }
    beside {
        /// Many questions instead, as text; whoever asks has read it.
        matrix: Option<Text>,
    }
}

/// A text and what it is called in messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
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
        target: String = positional("TARGET");
        /// How rules are arranged: `tree` is fast, `list` is for every Envoy, `kuma` is that release's own filter.
        form: String =
            option("tree|list|kuma").one_of(&["tree", "list", "kuma"]).default("tree");
        /// The Envoy that will read it, such as 1.35.0; a tree needs 1.35 or newer, and without it a list is written.
        envoy_version: Option<String> = option("VERSION");
        /// A complete bootstrap that Envoy runs, for one inbound.
        bootstrap: bool = flag();
        /// Folder with `cert.pem`, `key.pem` and `ca.pem`, for a bootstrap.
        certs: PathBuf = option("FOLDER").default("certs");
    }
}

parameters! {
    /// How does it hang together?
    #[derive(Debug, Clone, Default)]
    Graph {
        /// Only what passes through this target.
        target: Option<String> = positional("TARGET");
    }
}
