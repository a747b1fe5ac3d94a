// SPDX-License-Identifier: Apache-2.0
//! `/v1/effective`, `/v1/explain`, `/v1/reach`, `/v1/can`, `/v1/envoy`, `/v1/graph`, `/v1/check`, `/v1/get`: the questions
//! of the command line, answered by the same code from the live resolution. Not here: that code (`overrule_ask`).

use std::sync::Arc;

use http::StatusCode;
use overrule::view::Styles;
use overrule::{Analysis, Options};
use overrule_ask::percent::encode_header;
use overrule_ask::{self as ask, Asked, Exit, Failure, Known, Shared, Sink};

use super::{AS_OF, AT_LEAST, problem, state};
use crate::call::{Call, Reply};
use crate::live::Look;
use crate::problem::Problem;
use crate::reader::Reader;
use crate::table::{Access, Answer, Body, Endpoint, Media, Param, Type, Verb};

/// Forms of the output, as the command line has them.
const FORMS: Type =
    Type::Word(&["json", "best", "yaml", "table", "wide", "csv", "tree", "dot", "mermaid", "svg"]);

const NAMESPACE: Param = Param::new("namespace", Type::Text, "only this namespace or mesh");
const SELECTOR: Param = Param::new("selector", Type::Text, "only objects with these labels");
const OUTPUT: Param = Param::new(
    "output",
    FORMS,
    "form of the answer, `best` is what the command line shows; json if absent",
);
const VERBOSE: Param = Param::new("verbose", Type::Bool, "more: notes, and what is usually cut");
const COMPARE: Param = Param::new("compare", Type::Bool, "compare profiles");
const COLOR: Param = Param::new("color", Type::Bool, "colour texts for a terminal");
const WIDTH: Param = Param::new("width", Type::Number(10_000), "columns that tables are cut to");
const COLUMNS: Param =
    Param::new("columns", Type::Number(10_000), "columns that texts are laid out for");
const KIND: Param = Param::new("kind", Type::Text, "only this policy kind");
const TO: Param = Param::new("to", Type::Text, "only on the way to this target");

/// What every question takes.
const SHARED: [&str; 5] = ["namespace", "selector", "output", "verbose", "compare"];

macro_rules! params {
    ($($param:expr),* $(,)?) => {
        &[$($param,)* NAMESPACE, SELECTOR, OUTPUT, VERBOSE, COMPARE, COLOR, WIDTH, COLUMNS, AT_LEAST, AS_OF]
    };
}

const fn question(
    id: &'static str,
    path: &'static str,
    about: &'static str,
    query: &'static [Param],
    answers: &'static [Answer],
    run: fn(Call) -> crate::table::Running,
) -> Endpoint {
    Endpoint { query, answers, errors: &[404, 410, 412], ..Endpoint::reading(id, path, about, run) }
}

const fn answer(schema: &'static str) -> Answer {
    Answer { status: 200, media: Media::Either(schema), about: "the answer" }
}

/// The questions.
pub const ENDPOINTS: &[Endpoint] = &[
    question(
        "effective",
        "/v1/effective",
        "What is in force: effective policies, each value with its origin.",
        params![
            Param::new("target", Type::Text, "a target; everything if absent"),
            KIND,
            TO,
            Param::new("request", Type::Text, "a request: `GET https://host/path`"),
            Param::new("header", Type::Texts, "a header of the request: `name: value`"),
        ],
        &[answer("Effective")],
        |call| Box::pin(run(call, &["target", "kind", "to", "request", "header"], ask::effective)),
    ),
    question(
        "explain",
        "/v1/explain",
        "Why: the ladder, every decision, winners and losers.",
        params![
            Param::new("target", Type::Text, "a target or a policy").required(),
            KIND,
            TO,
            Param::new("field", Type::Text, "only this field"),
        ],
        &[answer("Explained")],
        |call| Box::pin(run(call, &["target", "kind", "to", "field"], ask::explain)),
    ),
    question(
        "reach",
        "/v1/reach",
        "Where a policy acts, and who shadows it.",
        params![
            Param::new("policy", Type::Text, "a policy").required(),
            Param::new("rule", Type::Text, "only this part of it"),
        ],
        &[answer("Reach")],
        |call| Box::pin(run(call, &["policy", "rule"], ask::reach)),
    ),
    question(
        "can",
        "/v1/can",
        "Whether a client may call a service, and who says so.",
        params![
            Param::new("from", Type::Text, "a SPIFFE ID, a dataplane, or `nobody`").required(),
            TO.required(),
            Param::new("method", Type::Text, "method of the request"),
            Param::new("path", Type::Text, "path of the request"),
            Param::new("sni", Type::Text, "server name the client asks for in TLS"),
        ],
        &[answer("Decision")],
        |call| Box::pin(run(call, &["from", "to", "method", "path", "sni"], ask::can)),
    ),
    question(
        "envoy",
        "/v1/envoy",
        "What a proxy needs to enforce it: Envoy configuration for an inbound.",
        params![
            Param::new("target", Type::Text, "a dataplane, or one of its inbounds").required(),
            Param::new("form", Type::Word(&["tree", "list", "kuma"]), "how rules are arranged"),
            Param::new("envoy-version", Type::Text, "the Envoy that will read it"),
            Param::new("bootstrap", Type::Bool, "a complete bootstrap, for one inbound"),
            Param::new("certs", Type::Text, "folder of certificates named in a bootstrap"),
        ],
        &[Answer { status: 200, media: Media::Either("Anything"), about: "the filters" }],
        |call| {
            Box::pin(run(
                call,
                &["target", "form", "envoy-version", "bootstrap", "certs"],
                ask::envoy,
            ))
        },
    ),
    question(
        "graph",
        "/v1/graph",
        "How it hangs together: topology with policies.",
        params![Param::new("target", Type::Text, "only what passes through it")],
        &[answer("Graph")],
        |call| Box::pin(run(call, &["target"], ask::graph)),
    ),
    question(
        "check",
        "/v1/check",
        "Whether what is stored is valid: every finding with its place, code and remedy.",
        params![
            Param::new("short", Type::Bool, "one line per finding"),
            Param::new(
                "fail-on",
                Type::Word(&["error", "warning", "note", "never"]),
                "from which severity on `overrule-exit` is 1"
            ),
        ],
        &[answer("DiagnosticList")],
        |call| Box::pin(run(call, &["short", "fail-on"], ask::check)),
    ),
    question(
        "get",
        "/v1/get",
        "What is there: resources, and policies with their outcome.",
        params![
            Param::new("kind", Type::Text, "a kind, `policies`, or `all`"),
            Param::new("without", Type::Text, "paths that no policy of this kind covers"),
        ],
        &[answer("Listed")],
        |call| Box::pin(run(call, &["kind", "without"], ask::get)),
    ),
];

/// Many questions about access at once.
pub const MATRIX: Endpoint = Endpoint {
    id: "canMany",
    method: Verb::Post,
    path: "/v1/can",
    about: "Many such questions: lists `from`, `to`, and if wanted `method`, `path`, `sni`; every combination is asked.",
    access: Access::Known,
    query: params![],
    body: Body::Json("Matrix"),
    answers: &[answer("Decision")],
    errors: &[404, 410, 412, 415],
    run: |call| {
        Box::pin(async {
            let text = String::from_utf8_lossy(&call.body).into_owned();
            bounded(&text)?;
            let matrix = Some(ask::Text { name: "body".to_owned(), text });
            reply(call, ask::Can { matrix, ..ask::Can::default() }, ask::can).await
        })
    },
};

/// Questions that one request may ask.
const MOST: usize = 10_000;

/// Refuses a matrix that asks nothing, or more than one request may: lists multiply.
fn bounded(text: &str) -> Result<(), Problem> {
    let read = overrule::source::read_one("body", text, &Options::default().reading());
    let Some(doc) = read.documents.ids().next() else {
        return Err(Problem::bad("bad request: the body must have lists `from` and `to`"));
    };
    let mut product: usize = 1;
    for (name, needed) in
        [("from", true), ("to", true), ("method", false), ("path", false), ("sni", false)]
    {
        let count = read.documents.root(doc).get(name).map_or(0, |list| list.items().count());
        if needed && count == 0 {
            return Err(Problem::bad(format!("bad request: `{name}` must name something"))
                .cause(name, "must not be empty"));
        }
        product = product.saturating_mul(count.max(1));
    }
    match product <= MOST {
        true => Ok(()),
        false => Err(Problem::bad(format!(
            "bad request: that is {product} questions, and {MOST} may be asked at once; split the lists"
        ))),
    }
}

/// An answer under construction.
struct Page {
    text: String,
    remarks: Vec<String>,
    styles: Styles,
    width: Option<usize>,
}

impl Sink for Page {
    fn result(&mut self, text: &str) -> Result<(), Failure> {
        self.text.push_str(text);
        Ok(())
    }

    fn remark(&mut self, text: &str) {
        self.remarks.push(text.to_owned());
    }

    fn problem(&mut self, text: &str) {
        self.remarks.push(format!("error: {text}"));
    }

    fn styles(&self) -> Styles {
        self.styles
    }

    fn width(&self) -> Option<usize> {
        self.width
    }

    fn now(&self) -> Option<i64> {
        Some(crate::clock::now().as_second())
    }
}

/// Answers a question.
async fn run<Q: Asked + Send + 'static>(
    call: Call,
    names: &'static [&'static str],
    answer: fn(&Known<'_>, &Shared, &Q, &mut dyn Sink) -> Result<Exit, Failure>,
) -> Result<Reply, Problem> {
    let wrong = |e: serde_json::Error| Problem::bad(format!("bad request: {e}"));
    let asked: Q = serde_json::from_value(call.query.only(names)).map_err(wrong)?;
    reply(call, asked, answer).await
}

async fn reply<Q: Asked + Send + 'static>(
    call: Call,
    asked: Q,
    answer: fn(&Known<'_>, &Shared, &Q, &mut dyn Sink) -> Result<Exit, Failure>,
) -> Result<Reply, Problem> {
    let (revision, analysis) = analysis(&call, &asked).await?;
    let mut shared = call.query.only(&SHARED);
    let form = call.query.text("output").unwrap_or("json").to_owned();
    if let Some(shared) = shared.as_object_mut() {
        shared.remove("output");
    }
    if let Some(shared) = shared.as_object_mut().filter(|_| form != "best") {
        shared.insert("output".to_owned(), form.as_str().into());
    }
    let wrong = |e: serde_json::Error| Problem::bad(format!("bad request: {e}"));
    let shared: Shared = serde_json::from_value(shared).map_err(wrong)?;
    let styles = if call.query.is("color") { Styles::colored() } else { Styles::plain() };
    let size = |name| call.query.number(name).and_then(|n| usize::try_from(n).ok());
    let (width, columns) = (size("width"), size("columns"));
    let mut page = Page {
        text: String::new(),
        remarks: Vec::new(),
        styles: columns.map_or(styles, |w| styles.with_width(w)),
        width,
    };
    // Work that nobody waits for any more still takes a place, so that it cannot pile up.
    let Ok(place) = Arc::clone(&call.app.questions).acquire_owned().await else {
        return Err(Problem::unavailable("the server is about to end"));
    };
    // Finding and writing an answer is work for a processor: it must not hold up those who wait for the network.
    let work = tokio::task::spawn_blocking(move || {
        let _place = place;
        let reader = Reader(&call.who.grants);
        let known =
            Known { analysis: &analysis, sees: &reader, source: "overrule check --server URL" };
        let exit = answer(&known, &shared, &asked, &mut page);
        (exit, page)
    });
    let done = work.await.map_err(|e| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error", e.to_string())
    });
    let (exit, page) = done?;
    let exit = exit.map_err(failed)?;
    let media = match form.as_str() {
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "yaml" => "application/yaml",
        _ => "text/plain; charset=utf-8",
    };
    let remarks = serde_json::to_string(&page.remarks).unwrap_or_default();
    let reply = Reply::bytes(StatusCode::OK, media, page.text).version(revision);
    Ok(reply.with("overrule-exit", number(exit)).with("overrule-remarks", encode_header(&remarks)))
}

/// The analysis that answers a question, and its version: the newest state or the one asked for, looked at closer where
/// the question needs that.
async fn analysis(call: &Call, asked: &impl Asked) -> Result<(u64, Arc<Analysis>), Problem> {
    let state = state(call).await?;
    let Some(look) = look(&state.analysis, asked) else {
        return Ok((state.revision, Arc::clone(&state.analysis)));
    };
    let closer = call.app.live.closer(Arc::clone(&state), look).await.map_err(|e| problem(&e))?;
    Ok((state.revision, closer))
}

/// What a question needs that is not kept ready: nothing, but for a target of a very large fleet that another stands for,
/// and for a kind without a policy.
fn look(analysis: &Analysis, asked: &impl Asked) -> Option<Look> {
    let needs = asked.needs();
    let stood_for = analysis.shown().any(|answer| answer.alike() > 0);
    let targets: Vec<String> = match stood_for {
        true => needs.targets.iter().map(|t| (*t).to_owned()).collect(),
        false => Vec::new(),
    };
    let words = needs.include_kinds();
    let names = |word: &String| {
        let of = |answer: &overrule::Answered| {
            let mut kinds = answer.resolution.kinds();
            kinds.any(|(_, k)| analysis.snapshot.text(k.kind).eq_ignore_ascii_case(word))
        };
        analysis.shown().any(of)
    };
    let kinds = if words.iter().any(names) { Vec::new() } else { words };
    (!targets.is_empty() || !kinds.is_empty()).then_some(Look { targets, kinds })
}

/// The exit code of the command line for this answer.
fn number(exit: Exit) -> &'static str {
    match exit {
        Exit::Fine => "0",
        Exit::Findings => "1",
        Exit::Usage => "2",
        Exit::World => "3",
    }
}

fn failed(failure: Failure) -> Problem {
    match failure {
        Failure::Usage(text) => Problem::bad(text),
        Failure::NotFound(text) => Problem::not_found(text),
        Failure::World(text) => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error", text)
        }
        Failure::Closed => Problem::bad("output closed"),
    }
}
