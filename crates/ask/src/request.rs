// SPDX-License-Identifier: Apache-2.0
//! `overrule effective --request`: the rule that takes a request, then what is in force there.

use overrule::Fit;
use overrule::engine::{LadderId, NodeId, PathId};
use overrule::gateway::topology::{
    BackendFacts, GatewayIx, GatewayTopology, HttpRequest, ListenerIx, MeshRouted, MeshTaken,
    Missed, RequestError, RuleIx, Taken, route_mesh_request, route_request,
};
use overrule::view::{self, Scene, ScenePart, escape};

use crate::effective::{self, Chosen};
use crate::{
    AskError, AskResult, Effective, Exit, Form, Known, Shared, Sink, beside, form_or_names,
};

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
    let taken: Vec<&Taken> = routed.taken.iter().filter(|t| names.reads(t.rule)).collect();
    let called =
        route_mesh_request(&analysis.documents, &analysis.snapshot, &analysis.topology, &request);
    let called: Vec<&MeshTaken> = called.iter().filter(|t| names.reads_mesh(t)).collect();
    let goes_on =
        |t: &&&MeshTaken| matches!(t.routed, MeshRouted::Taken { .. } | MeshRouted::Direct);
    if taken.is_empty() && called.iter().filter(goes_on).count() == 0 {
        for refused in called {
            sink.remark(&escape::terminal(&names.mesh(refused, &request)));
        }
        return no_rule(known, shared, scene, sink);
    }
    let mut chosen = Chosen::default();
    let mut nodes = Vec::new();
    let mut lost = 0;
    for taken in &taken {
        let way = Way::of(known, taken);
        nodes.extend(way.iter().flat_map(Way::nodes));
        let mut contexts = way.as_ref().map(|way| way.contexts(kinds)).unwrap_or_default();
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
        answer.push_str(&names.broken(taken.rule));
        say(shared, &answer, sink)?;
        chosen.contexts.extend(contexts);
        chosen.elsewhere.extend(way.iter().flat_map(|way| elsewhere(scene, way, kinds)));
    }
    for taken in &called {
        say(shared, &names.mesh(taken, &request), sink)?;
        if let Some(way) = Way::of_mesh(known, taken) {
            nodes.extend(way.nodes());
            chosen.contexts.extend(way.contexts(kinds));
            chosen.elsewhere.extend(elsewhere(scene, &way, kinds));
        }
    }
    if called.is_empty() && lost == taken.len() {
        return no_rule(known, shared, scene, sink);
    }
    chosen.unresolved = beside::unresolved_on(known, scene, &chosen.contexts, &nodes);
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

/// Says who takes it. The path of each item says it in JSON; a remark keeps stdout one document.
fn say(shared: &Shared, answer: &str, sink: &mut dyn Sink) -> Result<(), AskError> {
    let answer = escape::terminal(answer).into_owned();
    match form_or_names(shared, Form::Yaml)? {
        // The path of each item says it in JSON; a remark keeps stdout one document.
        Form::Json | Form::Name => sink.remark(&answer),
        _ => sink.line(&format!("# {answer}"))?,
    }
    Ok(())
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
    scene: &Scene<'a>,
    way: &Way,
    kinds: &[FamilyPolicyKind<'a>],
) -> Vec<Elsewhere<'a>> {
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
    /// Or the port of a Service, or the Service.
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

    /// The same for a request to a Service that a rule takes.
    fn of_mesh(known: &Known<'_>, taken: &MeshTaken) -> Option<Self> {
        let topology = &known.analysis.topology;
        let MeshRouted::Taken { rule, .. } = taken.routed else { return None };
        let rule = topology.rule(rule)?;
        let route = topology.route(rule.route).map(|r| r.node);
        Some(Self { listener: called(topology, taken)?, route, rule: rule.node })
    }

    fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        [Some(self.listener), self.route, Some(self.rule)].into_iter().flatten()
    }

    /// The paths a request takes, for each kind.
    fn contexts<'a>(&self, kinds: &[FamilyPolicyKind<'a>]) -> Vec<PolicyContext<'a>> {
        let mut found = Vec::new();
        for FamilyPolicyKind { part, id } in kinds {
            for path in self.paths(part) {
                let ladder = part.resolution.ladder(*id, path);
                if ladder != LadderId::NONE {
                    found.push(PolicyContext { part, kind: *id, path, ladder });
                }
            }
        }
        found
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

/// The port of the Service that a request goes to, or the Service.
fn called(topology: &GatewayTopology, taken: &MeshTaken) -> Option<NodeId> {
    let port = taken.port.and_then(|port| topology.mesh.port(port)).map(|port| port.node);
    port.or_else(|| topology.mesh.frontend(taken.frontend).map(|frontend| frontend.node))
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
    fn reads(&self, rule: RuleIx) -> bool {
        self.known.analysis.topology.rule(rule).is_some_and(|r| self.sees(r.node))
    }

    /// Whether what becomes of a request to a Service may be told: who may not read all is told which rule takes it.
    fn reads_mesh(&self, taken: &MeshTaken) -> bool {
        match taken.routed {
            MeshRouted::Taken { rule, .. } => self.reads(rule),
            _ => !self.known.restricted(),
        }
    }

    /// What becomes of a request to a Service, and of whose requests.
    fn mesh(&self, taken: &MeshTaken, request: &HttpRequest) -> String {
        let topology = &self.known.analysis.topology;
        let service = self.node(called(topology, taken));
        let clients = match taken.clients {
            Some(namespace) => {
                format!("from clients in namespace {}", self.scene.snapshot.text(namespace))
            }
            None => "from all clients without routes of their own namespace".to_owned(),
        };
        match taken.routed {
            MeshRouted::Taken { rule, .. } => {
                let broken = self.broken(rule);
                let rule = self.node(topology.rule(rule).map(|r| r.node));
                format!("{clients}: taken by {rule} at {service}{broken}")
            }
            MeshRouted::Direct => format!("{clients}: goes to {service}, as no route acts on them"),
            MeshRouted::NoRule => format!(
                "{clients}: refused at {service}: no rule matches {} {}",
                request.method, request.path
            ),
            MeshRouted::NoPort => {
                format!("{clients}: refused at {service}: it has no port {}", request.port())
            }
        }
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

    /// That a rule answers 500, if it does, and to how many requests. Whether a backend is there is not for everybody.
    fn broken(&self, rule: RuleIx) -> String {
        let topology = &self.known.analysis.topology;
        let broken = topology.broken_share(rule).filter(|_| !self.known.restricted());
        let Some(broken) = broken else { return String::new() };
        let share = match broken.is_all() {
            true => String::new(),
            false => format!(" to {} of {} requests", broken.weight, broken.total),
        };
        let because = match broken.first {
            None => "all weights are 0".to_owned(),
            Some(used) => {
                let backend = self.node(topology.backend(used.backend).map(|b| b.node));
                match used.facts {
                    BackendFacts::NotPermitted => {
                        format!("no ReferenceGrant permits {backend}")
                    }
                    _ => format!("{backend} is not in the input"),
                }
            }
        };
        format!(", which answers 500{share}: {because}")
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
