// SPDX-License-Identifier: Apache-2.0
//! `overrule can`: who may call what, and which policy says so.

use overrule::overrule_access::{Http, Request};
use overrule::view::access::{self, AccessAnswer};
use overrule::view::{Styles, Table, escape, tenancy, v1};
use overrule::{Client, InboundAccess};
use serde::Deserialize;

use crate::{
    AskError, AskResult, Can, Exit, Form, Known, Parameters, Shared, Sink, counted, form,
    table_styles, text, write_value,
};
use crate::{callers, select};

/// Many questions: every client with every target, method and path.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Matrix {
    from: Vec<String>,
    to: Vec<String>,
    #[serde(default)]
    method: Vec<String>,
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    sni: Vec<String>,
    #[serde(default)]
    http: Vec<String>,
}

/// What can be refused before anything is read.
pub(crate) fn validate(_: &Shared, asked: &Can) -> Result<(), AskError> {
    if asked.matrix.is_none() && asked.from.is_none() && asked.to.is_some() {
        return Ok(());
    }
    let matrix = matrix(asked)?;
    matrix.http.iter().try_for_each(|text| version(text).map(drop))
}

fn version(text: &str) -> Result<Http, AskError> {
    match text {
        "1" => Ok(Http::One),
        "2" => Ok(Http::Two),
        _ => Err(AskError::Usage(format!("--http takes 1 or 2, not `{text}`"))),
    }
}

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Can,
    sink: &mut dyn Sink,
) -> AskResult {
    if let (None, None, Some(to)) = (&asked.matrix, &asked.from, &asked.to) {
        return callers::run(known, shared, asked, to, sink);
    }
    let matrix = matrix(asked)?;
    let decisions = decisions(shared, known, &matrix)?;
    let one = asked.matrix.is_none();
    let denied = one && decisions.iter().any(|d| d.verdict == "denied");
    let disputed = decisions.iter().any(|d| {
        let others = d.other_profiles.iter().map(|o| o.verdict);
        let mut others = others.chain(d.other_http.iter().map(|o| o.verdict));
        others.any(|verdict| verdict != d.verdict)
    });
    if shared.form() == Some(Form::Csv) {
        sink.result(&csv(&decisions))?;
        known.mention_findings(sink);
        return Ok(Exit::findings(denied || disputed));
    }
    match form(shared, Form::Table)? {
        Form::Table | Form::Wide if one => {
            for (i, decision) in decisions.iter().enumerate() {
                sink.result(if i == 0 { "" } else { "\n" })?;
                sink.result(&told(decision, shared.verbose))?;
            }
        }
        form @ (Form::Table | Form::Wide) => {
            let styles = table_styles(sink, form);
            sink.result(&table(&decisions, &styles))?;
        }
        form => {
            let list = v1::AccessDecisionList {
                api_version: v1::API_VERSION,
                kind: "AccessDecisionList",
                items: decisions,
            };
            write_value(sink, form, &list)?;
        }
    }
    known.mention_findings(sink);
    let refused = refused(known, sink);
    Ok(Exit::findings(denied || disputed || refused))
}

/// Says that some permissions count nowhere: what they deny is not denied.
pub(crate) fn refused(known: &Known<'_>, sink: &mut dyn Sink) -> bool {
    let refused = known.analysis.refused_permissions().into_iter();
    let refused = refused.filter(|p| !known.restricted() || known.sees_id(*p)).count();
    if refused > 0 {
        let counted = counted(refused, "permission");
        sink.remark(&format!(
            "warning: {counted} cannot be read and counts nowhere, its denies too; see `overrule check`"
        ));
        return true;
    }
    false
}

fn matrix(asked: &Can) -> Result<Matrix, AskError> {
    let list = |one: &Option<String>| one.iter().cloned().collect::<Vec<_>>();
    match (&asked.matrix, &asked.from, &asked.to) {
        (None, Some(from), Some(to)) => Ok(Matrix {
            from: vec![from.clone()],
            to: vec![to.clone()],
            method: list(&asked.method),
            path: list(&asked.path),
            sni: list(&asked.sni),
            http: list(&asked.http),
        }),
        (Some(given), ..) if asked.sent().is_empty() => {
            let read = overrule::source::read_one(
                &given.name,
                &given.text,
                &overrule::source::ReadOptions::default(),
            );
            let json = read.documents.ids().next().map(|d| read.documents.root(d).to_json());
            serde_json::from_value(json.unwrap_or_default()).map_err(|e| {
                AskError::Usage(format!(
                    "{}: {e}; a matrix has lists: from, to, and if wanted method, path, sni, http",
                    given.name
                ))
            })
        }
        _ => Err(AskError::Usage(
            "name FROM and TO; or --to TARGET alone, for everybody who can call it; or many with --matrix FILE".to_owned(),
        )),
    }
}

/// One or nothing: a list that is not given is asked about once, without it.
fn each(list: &[String]) -> Vec<Option<&str>> {
    match list {
        [] => vec![None],
        list => list.iter().map(|text| Some(text.as_str())).collect(),
    }
}

/// Every answer, as far as the one who asks may know it. Inbounds and clients are looked up once, not once per question.
fn decisions(
    shared: &Shared,
    known: &Known<'_>,
    matrix: &Matrix,
) -> Result<Vec<v1::AccessDecision>, AskError> {
    let readable = |policy| known.sees_id(policy);
    let decision = |answer: AccessAnswer<'_>| match known.restricted() {
        true => tenancy::decision(&answer, &readable),
        false => access::decision(&answer),
    };
    let finder = select::finder(known, shared);
    let versions = each(&matrix.http).into_iter().map(|text| text.map(version).transpose());
    let versions = versions.collect::<Result<Vec<_>, _>>()?;
    let mut clients = Vec::new();
    let mut found = Vec::new();
    for to in &matrix.to {
        let inbounds = finder.inbounds(to)?;
        // After the first target, so that what is wrong is told in the order it was asked.
        if clients.is_empty() {
            for from in &matrix.from {
                let client = finder.client(from)?;
                let assumed = match client {
                    Client::Object(object) => known.analysis.assumptions(object),
                    Client::Nobody | Client::Unnamed | Client::Identity(_) => Vec::new(),
                };
                clients.push((from, known.analysis.caller(client), assumed));
            }
        }
        for (from, caller, assumed) in &clients {
            for method in each(&matrix.method) {
                for path in each(&matrix.path) {
                    for sni in each(&matrix.sni) {
                        let request = Request { sni, method, path, ..Request::default() };
                        for http in &versions {
                            let ask = |i: &InboundAccess<'_>| {
                                let mut answer = i.ask(from, caller, request, *http)?;
                                answer.assumptions.extend(assumed.iter().cloned());
                                Some(decision(answer))
                            };
                            found.extend(inbounds.iter().filter_map(ask));
                        }
                    }
                }
            }
        }
    }
    Ok(found)
}

/// The decision as people read it.
fn told(d: &v1::AccessDecision, verbose: bool) -> String {
    let mut text = String::new();
    let mut line = |t: String| {
        text.push_str(&escape::terminal(&t));
        text.push('\n');
    };
    let parts = [d.method.as_deref(), d.path.as_deref(), d.sni.as_deref(), d.http];
    let request: Vec<&str> = parts.into_iter().flatten().collect();
    let request =
        if request.is_empty() { String::new() } else { format!(" ({})", request.join(" ")) };
    line(format!("{}: {} -> {}{request}", d.verdict.to_uppercase(), d.from, d.to));
    if d.enforcement == "off" {
        line("  WARNING: identity is not enforced here".to_owned());
    }
    if !d.assumptions.is_empty() {
        line(format!("  {}", overrule::view::assumed_line(&d.assumptions)));
    }
    line(format!("  {}", d.because));
    if let Some(identity) = d.identity.as_ref().filter(|i| **i != d.from) {
        line(format!("  its identity is {identity}"));
    }
    if let Some(by) = &d.by {
        line(format!("  decided by {} of {}{}", by.part, by.policy, at(by)));
    }
    let others = d.matched.iter().filter(|m| Some(*m) != d.by.as_ref());
    for other in others {
        line(format!(
            "  also matches: {} {} {}{}",
            other.policy,
            other.part,
            other.matches,
            at(other)
        ));
    }
    if let Some(tree) = d.by_tree.as_ref().filter(|t| Some(*t) != d.by.as_ref() && verbose) {
        line(format!("  in the tree form it is attributed to {} of {}", tree.part, tree.policy));
    }
    if let Some(shadow) = &d.shadow {
        line(format!(
            "  a shadow deny matches: {} of {} would refuse it if it were a deny{}",
            shadow.part,
            shadow.policy,
            at(shadow)
        ));
    }
    if let Some(plaintext) = d.plaintext {
        line(format!(
            "  the inbound is permissive: a client without a certificate is {plaintext}, whatever policies say"
        ));
    }
    if let Some(other) = &d.other_http {
        let verdict = other.verdict.to_uppercase();
        line(format!("  over {}: {verdict}: {}", other.http, other.because));
    }
    for other in &d.other_profiles {
        let verdict = other.verdict.to_uppercase();
        line(format!("  under profile {}: {verdict}: {}", other.profile, other.because));
    }
    text
}

pub(crate) fn at(by: &v1::DecidedBy) -> String {
    by.at.as_ref().map(|p| format!(" ({}:{}:{})", p.file, p.line, p.column)).unwrap_or_default()
}

const COLUMNS: [&str; 10] = [
    "FROM",
    "TO",
    "METHOD",
    "PATH",
    "SNI",
    "VERDICT",
    "BY",
    "OTHER PROFILES",
    "HTTP",
    "OTHER HTTP",
];

fn cells(d: &v1::AccessDecision) -> [String; 10] {
    let text = |t: &Option<String>| t.clone().unwrap_or_default();
    let by = d.by.as_ref().map(|b| format!("{} {}", b.policy, b.part)).unwrap_or_default();
    let others = d.other_profiles.iter().map(|o| format!("{}: {}", o.profile, o.verdict));
    [
        d.from.clone(),
        d.to.clone(),
        text(&d.method),
        text(&d.path),
        text(&d.sni),
        d.verdict.to_owned(),
        by,
        others.collect::<Vec<_>>().join(", "),
        d.http.unwrap_or_default().to_owned(),
        d.other_http.iter().map(|o| format!("{}: {}", o.http, o.verdict)).collect(),
    ]
}

fn table(decisions: &[v1::AccessDecision], styles: &Styles) -> String {
    let mut table = Table::new(COLUMNS).hiding_empty();
    for decision in decisions {
        table.push(cells(decision).map(|cell| escape::terminal(&cell).into()));
    }
    text(|out| table.write("", styles, out))
}

fn csv(decisions: &[v1::AccessDecision]) -> String {
    let quoted = |cell: &str| escape::csv(cell).into_owned();
    let mut text = COLUMNS.map(|c| c.to_lowercase()).join(",");
    text.push('\n');
    for decision in decisions {
        let cells = cells(decision).map(|c| quoted(&c));
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}
