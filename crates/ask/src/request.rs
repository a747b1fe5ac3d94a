// SPDX-License-Identifier: Apache-2.0
//! `overrule effective --request`: the rule that takes a request, then what is in force there.

use overrule::Fit;
use overrule::engine::{LadderId, NodeId, PathId};
use overrule::gateway::topology::{
    GatewayIx, HttpRequest, ListenerIx, Missed, RequestError, Taken, route_request,
};
use overrule::view::{self, Scene, ScenePart, escape};

use crate::effective::{self, Chosen};
use crate::{AskError, AskResult, Effective, Exit, Form, Known, Shared, Sink, form_or_names};

use crate::select::{Elsewhere, FamilyPolicyKind, PolicyContext};

pub(crate) fn run(
    shared: &Shared,
    asked: &Effective,
    text: &str,
    kinds: &[FamilyPolicyKind<'_>],
    known: &Known<'_>,
    scene: &Scene<'_>,
    sink: &mut dyn Sink,
) -> AskResult {
    let request = parse(asked, text)?;
    let analysis = known.analysis;
    let Some(part) = scene.parts.first() else {
        return Err(AskError::NotFound("nothing was resolved".to_owned()));
    };
    let names = Names { known, scene, part };
    let routed =
        route_request(&analysis.documents, &analysis.snapshot, &analysis.topology, &request);
    // Why others did not take it tells of them; who may not read all is told who did.
    for missed in routed.missed.iter().filter(|_| !known.restricted()) {
        sink.remark(&escape::terminal(&names.missed(missed, &request)));
    }
    let taken: Vec<&Taken> = routed.taken.iter().filter(|t| names.reads(t)).collect();
    if taken.is_empty() {
        return no_rule(known, shared, scene, sink);
    }
    let mut chosen = Chosen::default();
    let mut lost = 0;
    for taken in &taken {
        let mut contexts = paths_of(known, taken, kinds);
        let handed = handed_over(known, taken, &request, &mut contexts);
        let mut answer = names.taken(taken, &request);
        match handed {
            Handed::Nothing => {}
            Handed::To(rule) if names.sees(rule) => {
                let rule = names.node(Some(rule));
                answer.push_str(&format!(", which hands it over to {rule}"));
            }
            Handed::Nowhere | Handed::To(_) => {
                lost += 1;
                answer.push_str(", which hands it over, but no rule below matches");
            }
        }
        let answer = escape::terminal(&answer).into_owned();
        match form_or_names(shared, Form::Yaml)? {
            // The path of each item says it in JSON; a remark keeps stdout one document.
            Form::Json | Form::Name => sink.remark(&answer),
            _ => sink.line(&format!("# {answer}"))?,
        }
        chosen.contexts.extend(contexts);
        chosen.elsewhere.extend(elsewhere(known, scene, taken, kinds));
    }
    if lost == taken.len() {
        return no_rule(known, shared, scene, sink);
    }
    let shown = effective::write(known, shared, Form::Yaml, &chosen, scene, sink)?;
    if shown.count == 0 {
        sink.remark("no policy applies there");
    }
    known.mention_findings(sink);
    Ok(shown.exit(shared))
}

fn parse(asked: &Effective, text: &str) -> Result<HttpRequest, AskError> {
    let mut request: HttpRequest =
        text.parse().map_err(|e: RequestError| AskError::Usage(e.to_string()))?;
    for header in &asked.header {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            AskError::Usage(format!("a header is written `name: value`, not `{header}`"))
        })?;
        request.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(request)
}

/// The paths a request takes, for each kind.
fn paths_of<'a>(
    known: &Known<'_>,
    taken: &Taken,
    kinds: &[FamilyPolicyKind<'a>],
) -> Vec<PolicyContext<'a>> {
    let Some(way) = Way::of(known, taken) else { return Vec::new() };
    let mut found = Vec::new();
    for FamilyPolicyKind { part, id } in kinds {
        for path in way.paths(part) {
            let ladder = part.resolution.ladder(*id, path);
            if ladder != LadderId::NONE {
                found.push(PolicyContext { part, kind: *id, path, ladder });
            }
        }
    }
    found
}

/// What became of a request at a rule that delegates.
enum Handed {
    /// The rule does not delegate.
    Nothing,
    /// The rule at the end of the chain takes it.
    To(NodeId),
    /// No rule below matches.
    Nowhere,
}

/// Keeps the paths below a rule that delegates that the request takes: those whose matches are the most specific.
fn handed_over(
    known: &Known<'_>,
    taken: &Taken,
    request: &HttpRequest,
    contexts: &mut Vec<PolicyContext<'_>>,
) -> Handed {
    let analysis = known.analysis;
    let Some(answer) = analysis.shown().find(|a| a.redirects()) else {
        return Handed::Nothing;
    };
    let Some(rule) = analysis.topology.rule(taken.rule) else { return Handed::Nothing };
    let here = |c: &PolicyContext<'_>| c.part.family == answer.family.name();
    let fits: Vec<Fit> = contexts
        .iter()
        .map(|c| if here(c) { answer.fit(c.path, request) } else { Fit::AsWritten })
        .collect();
    let Some(best) = fits.iter().filter(|f| **f != Fit::AsWritten).max().copied() else {
        return Handed::Nothing;
    };
    let end = |path| answer.resolution.paths.node(path);
    let mut found = None;
    let mut fits = fits.into_iter();
    contexts.retain(|c| match fits.next().unwrap_or(Fit::No) {
        // The rule that hands over answers itself only what no child takes.
        Fit::AsWritten => !here(c) || best == Fit::No || end(c.path) != Some(rule.node),
        Fit::No => false,
        fit => {
            found = found.or(end(c.path).filter(|_| fit == best));
            fit == best
        }
    });
    match (found, contexts.iter().any(|c| here(c) && end(c.path) == Some(rule.node))) {
        (Some(node), _) => Handed::To(node),
        (None, true) => Handed::Nothing,
        (None, false) => Handed::Nowhere,
    }
}

/// The same paths, where only another profile has them.
fn elsewhere<'a>(
    known: &Known<'_>,
    scene: &Scene<'a>,
    taken: &Taken,
    kinds: &[FamilyPolicyKind<'a>],
) -> Vec<Elsewhere<'a>> {
    let Some(way) = Way::of(known, taken) else { return Vec::new() };
    let mut found = Vec::new();
    for part in scene.parts {
        for (other, kind, path, _) in view::only_elsewhere(scene, part, &|part| way.paths(part)) {
            let asked = |k: &FamilyPolicyKind<'_>| {
                std::ptr::eq(k.part, part) && other.kind_like(part, k.id) == Some(kind)
            };
            if kinds.iter().any(asked) {
                found.push(Elsewhere { part, other, kind, path });
            }
        }
    }
    found
}

/// The nodes a request passes.
struct Way {
    listener: NodeId,
    route: Option<NodeId>,
    rule: NodeId,
}

impl Way {
    fn of(known: &Known<'_>, taken: &Taken) -> Option<Self> {
        let topology = &known.analysis.topology;
        let listener = topology.link(taken.link).and_then(|l| topology.listener(l.listener))?;
        let rule = topology.rule(taken.rule)?;
        let route = topology.route(rule.route).map(|r| r.node);
        Some(Self { listener: listener.node, route, rule: rule.node })
    }

    /// The paths that go through this listener and end at (or below) the rule, or above it for kinds that end there.
    fn paths(&self, part: &ScenePart<'_>) -> Vec<PathId> {
        let paths = &part.resolution.paths;
        let mut found = paths.through(&[self.listener, self.rule]);
        let above = [Some(self.listener), self.route].into_iter().flatten();
        let above = above.flat_map(|node| paths.ending_at(node)).copied();
        found.extend(above.filter(|path| paths.passes(*path, self.listener)));
        found.sort_unstable();
        found.dedup();
        found
    }
}

struct Names<'a> {
    known: &'a Known<'a>,
    scene: &'a Scene<'a>,
    part: &'a ScenePart<'a>,
}

impl Names<'_> {
    /// Whether a node may be read.
    fn sees(&self, node: NodeId) -> bool {
        let object = self.part.topology.get(node).and_then(|n| n.object);
        !self.known.restricted() || object.is_some_and(|o| self.known.sees_id(o))
    }

    /// Whether the rule that takes a request may be read.
    fn reads(&self, taken: &Taken) -> bool {
        self.known.analysis.topology.rule(taken.rule).is_some_and(|r| self.sees(r.node))
    }

    fn node(&self, node: Option<NodeId>) -> String {
        node.map(|n| self.part.target_name(self.scene, n)).unwrap_or_default()
    }

    fn gateway(&self, ix: GatewayIx) -> String {
        self.node(self.known.analysis.topology.gateway(ix).map(|g| g.node))
    }

    fn listener(&self, ix: ListenerIx) -> String {
        self.node(self.known.analysis.topology.listener(ix).map(|l| l.node))
    }

    fn taken(&self, taken: &Taken, request: &HttpRequest) -> String {
        let topology = &self.known.analysis.topology;
        let rule = self.node(topology.rule(taken.rule).map(|r| r.node));
        let listener = topology.link(taken.link).map(|l| l.listener);
        if listener.and_then(|l| topology.listener(l)).is_some_and(|l| !self.sees(l.node)) {
            return format!("taken by {rule}");
        }
        let listener = listener.map(|l| self.listener(l)).unwrap_or_default();
        let port = if taken.other_port {
            let asked =
                request.port.map_or_else(|| "the default port".to_owned(), |p| format!("port {p}"));
            format!(" (no listener has {asked}; this one fits by protocol)")
        } else {
            String::new()
        };
        format!("taken by {rule} at {listener}{port}")
    }

    fn missed(&self, missed: &Missed, request: &HttpRequest) -> String {
        let host = &request.host;
        match missed {
            Missed::NoListener(g) => {
                format!("not taken by {}: no listener has the port and protocol", self.gateway(*g))
            }
            Missed::NoHost(g) => {
                format!("not taken by {}: no listener has the host {host}", self.gateway(*g))
            }
            Missed::NoRoute(_, l) => {
                format!("not taken at {}: no route there has the host {host}", self.listener(*l))
            }
            Missed::NoRule(_, l) => format!(
                "not taken at {}: no rule matches {} {}",
                self.listener(*l),
                request.method,
                request.path
            ),
        }
    }
}

/// Nothing applies to a request that no rule takes; programs are told so as data.
fn no_rule(
    known: &Known<'_>,
    shared: &Shared,
    scene: &Scene<'_>,
    sink: &mut dyn Sink,
) -> AskResult {
    if shared.form() == Some(Form::Json) {
        effective::write(known, shared, Form::Json, &Chosen::default(), scene, sink)?;
    }
    sink.problem("no rule takes this request");
    Ok(Exit::Findings)
}
