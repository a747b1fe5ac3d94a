// SPDX-License-Identifier: Apache-2.0
//! `/v1/effective`, `/v1/explain`, `/v1/reach`, `/v1/can`, `/v1/envoy`, `/v1/graph`, `/v1/check`, `/v1/get`: the questions
//! of the command line, answered by the same code from the live resolution. Not here: that code (`overrule_ask`).

use std::sync::{Arc, LazyLock};

use http::StatusCode;
use overrule::source::{Diagnostic, Limits, ReadOptions, Severity};
use overrule::view::{Styles, TableFit};
use overrule::{Analysis, Options};
use overrule_ask::percent::encode_header;
use overrule_ask::{
    self as ask, Arguments, AskError, Asked, Exit, Known, Layout, Parameter, Parameters, Shared,
    Sink,
};

use super::{AS_OF, AT_LEAST, state};
use crate::call::{Call, Reply};
use crate::live::{Closer, Look, State};
use crate::problem::Problem;
use crate::reader::Reader;
use crate::table::{BodySpec, Endpoint, EndpointAccess, Media, Param, ResponseSpec, Verb};
use crate::work::WorkClass;

/// The parameters of a question that are its own, those of all questions, and those that say when.
fn query(own: &'static [Parameter]) -> &'static [Param] {
    let rows = own.iter().chain(Shared::TABLE).chain(Layout::TABLE);
    let params = rows.filter(|row| row.in_query()).map(Param::of);
    Vec::leak(params.chain([AT_LEAST, AS_OF]).collect())
}

/// The endpoint of a question. What it refers to is made once and lives as long as the process.
fn question<Q: Asked>(about: &'static str, schema: &'static str) -> Endpoint {
    let path = format!("/v1/{}", Q::NAME).leak();
    Endpoint {
        query: query(Q::TABLE),
        answers: vec![answer(schema)].leak(),
        errors: &[404, 410, 412],
        ..Endpoint::reading(Q::NAME, path, about, |call| Box::pin(run::<Q>(call)))
    }
}

const fn answer(schema: &'static str) -> ResponseSpec {
    ResponseSpec { status: 200, media: Media::Either(schema), about: "the answer" }
}

/// The questions.
pub static ENDPOINTS: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    vec![
        question::<ask::Effective>(
            "What is in force: effective policies, each value with its origin.",
            "Effective",
        ),
        question::<ask::Explain>(
            "Why: the ladder, every decision, winners and losers.",
            "Explained",
        ),
        question::<ask::Reach>("Where a policy acts, and who shadows it.", "Reach"),
        question::<ask::Can>(
            "Whether a client may call a service, and who says so; without `from`, everybody who can.",
            "Decision",
        ),
        Endpoint {
            answers: const { &[ResponseSpec { about: "the filters", ..answer("Anything") }] },
            ..question::<ask::Envoy>(
                "What a proxy needs to enforce it: Envoy configuration for an inbound.",
                "Anything",
            )
        },
        question::<ask::Graph>("How it hangs together: topology with policies.", "Graph"),
        question::<ask::Check>(
            "Whether what is stored is valid: every finding with its place, code and remedy.",
            "DiagnosticList",
        ),
        question::<ask::Get>(
            "What is there: resources, and policies with their outcome.",
            "Listed",
        ),
        many(),
    ]
});

/// Many questions about access at once.
fn many() -> Endpoint {
    Endpoint {
        id: "canMany",
        method: Verb::Post,
        path: "/v1/can",
        about: "Many such questions: lists `from`, `to`, and if wanted `method`, `path`, `sni`, `http`; every combination is asked.",
        access: EndpointAccess::Known,
        query: query(&[]),
        body: BodySpec::Json("Matrix"),
        answers: const { &[answer("Decision")] },
        errors: &[404, 410, 412, 415],
        run: |call| {
            Box::pin(async {
                let body = call.body.clone();
                let size = body.len().max(1);
                let held = call.app.work.turn_of(WorkClass::Parsed, &call.who, size).await?;
                let read = move || {
                    let _held = held;
                    let text = String::from_utf8_lossy(&body).into_owned();
                    bounded(&text)
                };
                let text = call.work(WorkClass::Parse, read).await??;
                let matrix = Some(ask::NamedText { name: "body".to_owned(), text });
                reply(call, ask::Can { matrix, ..ask::Can::default() }).await
            })
        },
    }
}

/// Questions that one request may ask.
const MOST: usize = 10_000;

/// Nodes of a matrix: more than the lists of so many questions have.
const NODES: usize = 10 * MOST;

/// A matrix as JSON. Refuses one that asks nothing, or more than one request may: lists multiply. What is said beside the
/// questions is bounded too, because whoever answers reads it again.
fn bounded(text: &str) -> Result<String, Problem> {
    let limits = Limits { documents: 1, nodes: NODES, ..Limits::default() };
    let reading = ReadOptions { limits, ..Options::default().reading() };
    let read = overrule::source::read_one("body", text, &reading);
    let wrong = |d: &&Diagnostic| d.severity() == Severity::Error;
    if let Some(wrong) = read.diagnostics.iter().find(wrong) {
        return Err(Problem::bad(format!("bad request: {}", wrong.message)));
    }
    let Some(doc) = read.documents.ids().next() else {
        return Err(Problem::bad("bad request: the body must have lists `from` and `to`"));
    };
    let mut product: usize = 1;
    for Parameter { name, positional, .. } in ask::Can::TABLE {
        let count = read.documents.root(doc).get(name).map_or(0, |list| list.items().count());
        if *positional && count == 0 {
            return Err(Problem::bad(format!("bad request: `{name}` must name something"))
                .cause(*name, "must not be empty"));
        }
        product = product.saturating_mul(count.max(1));
    }
    if product <= MOST {
        Ok(read.documents.root(doc).to_json().to_string())
    } else {
        Err(Problem::bad(format!(
            "bad request: that is {product} questions, and {MOST} may be asked at once; split the lists"
        )))
    }
}

/// An answer under construction.
struct Page {
    text: String,
    remarks: Vec<String>,
    styles: Styles,
}

impl Sink for Page {
    fn result(&mut self, text: &str) -> Result<(), AskError> {
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

    fn now(&self) -> Option<i64> {
        Some(crate::clock::now().as_second())
    }
}

/// Answers a question.
async fn run<Q: Asked>(call: Call) -> Result<Reply, Problem> {
    let asked = read::<Q>(call.query.arguments())?;
    reply(call, asked).await
}

fn read<P: Parameters>(arguments: &Arguments) -> Result<P, Problem> {
    P::read(arguments).map_err(|e| Problem::bad(format!("bad request: {e}")))
}

/// The options of all questions, and the form of the answer. Over HTTP that is JSON unless another one is asked for;
/// `best` leaves the choice to the question, as the command line does.
fn shared(arguments: &Arguments) -> Result<(Shared, String), Problem> {
    let form = arguments.all("output").first().map_or("json", String::as_str);
    let rest = arguments.pairs().filter(|(name, _)| *name != "output");
    let output = (form != "best").then_some(("output", form));
    let shared = read(&rest.chain(output).collect())?;
    Ok((shared, form.to_owned()))
}

async fn reply<Q: Asked>(call: Call, asked: Q) -> Result<Reply, Problem> {
    let about = subject(&call, &asked).await?;
    let revision = about.revision();
    let (shared, form) = shared(call.query.arguments())?;
    let layout: Layout = read(call.query.arguments())?;
    let styles = if layout.color { Styles::colored() } else { Styles::plain() };
    let fit = layout.width.map_or(TableFit::Fixed, TableFit::Columns);
    let mut page = Page {
        text: String::new(),
        remarks: Vec::new(),
        styles: layout.columns.map_or(styles, |w| styles.with_width(w)).with_fit(fit),
    };
    let grants = call.who.grants.clone();
    // Finding and writing an answer is work for a processor: it must not hold up those who wait for the network.
    let work = call.work(WorkClass::Question, move || {
        let (analysis, sees) = (about.analysis(), &Reader(&grants));
        let known = Known { analysis, sees, source: "overrule check --server URL" };
        let exit = asked.answer(&known, &shared, &mut page);
        (exit, page)
    });
    let (exit, page) = work.await?;
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

/// What answers a question. It is held while the question is answered, and no longer.
enum Subject {
    /// A state: the newest, or the one asked for.
    State(Arc<State>),
    /// One that was looked at closer.
    Closer(Arc<Closer>),
}

impl Subject {
    fn revision(&self) -> u64 {
        match self {
            Self::State(state) => state.revision,
            Self::Closer(closer) => closer.revision,
        }
    }

    fn analysis(&self) -> &Analysis {
        match self {
            Self::State(state) => &state.analysis,
            Self::Closer(closer) => &closer.analysis,
        }
    }
}

async fn subject(call: &Call, asked: &impl Asked) -> Result<Subject, Problem> {
    let state = state(call).await?;
    let Some(look) = look(&state.analysis, asked) else { return Ok(Subject::State(state)) };
    let live = &call.app.live;
    if let Some(found) = live.looked_at(&state, &look) {
        return Ok(Subject::Closer(found));
    }
    let room = call.app.work.turn(WorkClass::CloserState, &call.who).await?;
    if let Some(found) = live.looked_at(&state, &look) {
        return Ok(Subject::Closer(found));
    }
    let live = Arc::clone(live);
    let closer = call.work(WorkClass::Closer, move || live.closer(&state, look, room)).await?;
    Ok(Subject::Closer(closer))
}

/// What a question needs that is not kept ready: nothing, but for a target of a very large fleet that another stands for,
/// and for a kind without a policy.
fn look(analysis: &Analysis, asked: &impl Asked) -> Option<Look> {
    let needs = asked.needs();
    let stood_for = analysis.shown().any(|answer| answer.alike() > 0);
    let targets: Vec<String> = if stood_for {
        needs.targets.iter().map(|t| (*t).to_owned()).collect()
    } else {
        Vec::new()
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

fn failed(failure: AskError) -> Problem {
    match failure {
        AskError::Usage(text) => Problem::bad(text),
        AskError::NotFound(text) => Problem::not_found(text),
        AskError::World(text) => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error", text)
        }
        AskError::Closed => Problem::bad("output closed"),
    }
}
