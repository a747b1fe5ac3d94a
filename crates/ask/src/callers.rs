// SPDX-License-Identifier: Apache-2.0
//! `overrule can --to`: everybody who can call something. Not here: one client (`can.rs`).

use overrule::view::{access, escape, tenancy, v1};

use crate::can::{at, refused};
use crate::{AskError, AskResult, Can, Exit, Form, Known, Shared, Sink, form, select, write_value};

/// Proxies that are asked whether they can call, at most: of a mesh with more, only the rules are told.
const CLIENTS: usize = 2_000;

/// What the list does not tell, whoever reads it.
const UNTOLD: &str = "note: clients that are not in the input are told by rule, not by name; a rule with a method, path or \
server name lets in or refuses only such requests: `overrule can FROM TO --method --path` answers for one";

/// What it does not tell one who may not read everything.
const HIDDEN: &str = "note: only permissions and clients that you may read are listed; others may refuse or let in more";

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Can,
    to: &str,
    sink: &mut dyn Sink,
) -> AskResult {
    let requests = [&asked.method, &asked.path, &asked.sni, &asked.http];
    if requests.iter().any(|given| given.is_some()) {
        let detail = "a list of everybody has no method, path, server name or version of HTTP; name FROM too";
        return Err(AskError::Usage(detail.to_owned()));
    }
    let finder = select::finder(known, shared);
    let readable = |policy| known.sees_id(policy);
    let clients: Vec<_> = known.analysis.clients().filter(|c| known.sees_id(*c)).collect();
    let listed = clients.len() <= CLIENTS;
    let mut items = Vec::new();
    for inbound in finder.inbounds(to)? {
        let callers = inbound.callers(if listed { &clients } else { &[] });
        items.push(match known.restricted() {
            true => tenancy::callers(&callers, &readable),
            false => access::callers(&callers),
        });
    }
    match form(shared, Form::Table)? {
        Form::Table | Form::Wide => {
            for (i, item) in items.iter().enumerate() {
                sink.result(if i == 0 { "" } else { "\n" })?;
                sink.result(&told(item, known.restricted()))?;
            }
        }
        form => write_value(sink, form, &v1::CallerList::new(items))?,
    }
    sink.remark(UNTOLD);
    if known.restricted() {
        sink.remark(HIDDEN);
    }
    if !listed {
        sink.remark(&format!(
            "note: the {} clients of the input are not asked one by one; name FROM for one of them",
            clients.len()
        ));
    }
    known.mention_findings(sink);
    Ok(Exit::findings(refused(known, sink)))
}

/// The list as people read it. One who may not read everything is not told that there is nobody else.
fn told(callers: &v1::InboundCallers, restricted: bool) -> String {
    let mut text = String::new();
    let mut line = |t: &str| {
        text.push_str(&escape::terminal(t));
        text.push('\n');
    };
    line(&format!("Who can call {}", callers.to));
    match callers.enforcement {
        "off" => {
            line("  EVERYBODY: the proxy does not check identities, so nothing below is enforced")
        }
        "permissive" => line("  everybody without a certificate: the inbound is permissive"),
        _ => {}
    }
    let of = |effect: fn(&str) -> bool| callers.clauses.iter().filter(move |c| effect(&c.effect));
    let mut list = |title: &str, clauses: &[&v1::DecidedBy]| {
        if !clauses.is_empty() {
            line(&format!("  {title}"));
            for clause in clauses {
                let shadow = match clause.effect.as_str() {
                    "allowWithShadowDeny" => " (and counts those that a later deny would refuse)",
                    _ => "",
                };
                line(&format!("    {}{shadow}", clause.matches));
                line(&format!("      by {} of {}{}", clause.part, clause.policy, at(clause)));
            }
        }
    };
    if callers.denies_first {
        list("refused, whoever lets them in", &of(|e| e == "deny").collect::<Vec<_>>());
        list("let in", &of(|e| e != "deny").collect::<Vec<_>>());
    } else {
        list("the first that matches decides", &callers.clauses.iter().collect::<Vec<_>>());
    }
    match callers.clauses.is_empty() {
        _ if restricted => {}
        true if callers.enforcement == "off" => {}
        true => line("  nobody: no permission lets anybody in"),
        false => line("  nobody else"),
    }
    if !callers.clients.is_empty() {
        line("  of the input, without regard to method, path and server name");
        for client in &callers.clients {
            line(&format!("    {client}"));
        }
    }
    text
}
