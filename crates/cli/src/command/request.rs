// SPDX-License-Identifier: Apache-2.0
//! `overrule effective --request`: the rule that takes a request, then what is in force there.

use overrule::engine::{KindId, LadderId, NodeId, PathId};
use overrule::gateway::topology::{
    GatewayIx, ListenerIx, Missed, Request, RequestError, Taken, route_request,
};
use overrule::view::{Part, Scene, escape};

use super::{effective, first_part, form};
use crate::args::{Effective, Form, Shared};
use crate::output::{Exit, Failure, Out, Outcome};
use crate::world::World;

pub fn run(
    shared: &Shared,
    asked: &Effective,
    text: &str,
    kinds: &[KindId],
    world: &World,
    out: &mut Out,
) -> Outcome {
    let request = parse(asked, text)?;
    let analysis = &world.analysis;
    let stage = analysis.stage();
    let scene = stage.scene();
    let names = Names { world, scene, part: first_part(&scene)? };
    let routed =
        route_request(&analysis.documents, &analysis.snapshot, &analysis.topology, &request);
    for missed in &routed.missed {
        out.remark(&escape::terminal(&names.missed(missed, &request)));
    }
    if routed.taken.is_empty() {
        out.problem("no rule takes this request");
        return Ok(world.exit.worst(Exit::Findings));
    }
    let mut chosen = Vec::new();
    for taken in &routed.taken {
        let answer = escape::terminal(&names.taken(taken, &request)).into_owned();
        match form(shared, Form::Yaml)? {
            // The path of each item says it in JSON; a remark keeps stdout one document.
            Form::Json => out.remark(&answer),
            _ => out.line(&format!("# {answer}"))?,
        }
        chosen.extend(paths_of(world, taken, kinds));
    }
    if effective::write(shared, Form::Yaml, &chosen, world, out)? == 0 {
        out.remark("no policy applies there");
    }
    world.mention_findings(shared, out);
    Ok(world.exit)
}

fn parse(asked: &Effective, text: &str) -> Result<Request, Failure> {
    let mut request: Request =
        text.parse().map_err(|e: RequestError| Failure::Usage(e.to_string()))?;
    for header in &asked.header {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            Failure::Usage(format!("a header is written `name: value`, not `{header}`"))
        })?;
        request.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(request)
}

/// The path a request takes, for each kind: through this listener, ending at (or below) the rule, or above it for
/// kinds that end there.
fn paths_of(world: &World, taken: &Taken, kinds: &[KindId]) -> Vec<(KindId, PathId, LadderId)> {
    let (topology, resolution) = (&world.analysis.topology, &world.analysis.resolution);
    let listener =
        topology.link(taken.link).and_then(|l| topology.listener(l.listener)).map(|l| l.node);
    let rule = topology.rule(taken.rule);
    let route = rule.and_then(|r| topology.route(r.route)).map(|r| r.node);
    let (Some(listener), Some(rule)) = (listener, rule.map(|r| r.node)) else { return Vec::new() };
    let mut found = Vec::new();
    for kind in kinds {
        for (path, ladder) in resolution.contexts(*kind) {
            let paths = &resolution.paths;
            let above = paths.node(path).is_some_and(|n| n == listener || Some(n) == route);
            if paths.passes(path, listener) && (above || paths.passes(path, rule)) {
                found.push((*kind, path, ladder));
            }
        }
    }
    found
}

struct Names<'a> {
    world: &'a World,
    scene: Scene<'a>,
    part: &'a Part<'a>,
}

impl Names<'_> {
    fn node(&self, node: Option<NodeId>) -> String {
        node.map(|n| self.part.target_name(&self.scene, n)).unwrap_or_default()
    }

    fn gateway(&self, ix: GatewayIx) -> String {
        self.node(self.world.analysis.topology.gateway(ix).map(|g| g.node))
    }

    fn listener(&self, ix: ListenerIx) -> String {
        self.node(self.world.analysis.topology.listener(ix).map(|l| l.node))
    }

    fn taken(&self, taken: &Taken, request: &Request) -> String {
        let topology = &self.world.analysis.topology;
        let rule = self.node(topology.rule(taken.rule).map(|r| r.node));
        let listener =
            topology.link(taken.link).map(|l| self.listener(l.listener)).unwrap_or_default();
        let port = if taken.other_port {
            let asked =
                request.port.map_or_else(|| "the default port".to_owned(), |p| format!("port {p}"));
            format!(" (no listener has {asked}; this one fits by protocol)")
        } else {
            String::new()
        };
        format!("taken by {rule} at {listener}{port}")
    }

    fn missed(&self, missed: &Missed, request: &Request) -> String {
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
