// SPDX-License-Identifier: Apache-2.0
//! `overrule explain`: why a target has the policies it has, or what became of a policy.

use std::collections::BTreeMap;

use overrule::engine::{KindId, LadderId, NodeId, PathId};
use overrule::view;

use super::{first_part, form, mention_unreached, reach, text, write_value};
use crate::args::{Explain, Form, Shared};
use crate::output::{Exit, Failure, Out, Outcome};
use crate::select::{self, Filter, Target};
use crate::world::{self, World};

/// Different explanations shown before the rest is only counted, without -v.
const SHOWN: usize = 8;

pub fn run(shared: &Shared, asked: &Explain, out: &mut Out) -> Outcome {
    let mut world = world::load(shared, out, asked.kind.iter().cloned().collect())?;
    let filter = Filter::new(&mut world.analysis, shared)?;
    let mut exit = world.exit;
    match select::target(&world.analysis, shared, &asked.target)? {
        Target::Policy(policy) => {
            if !reach::write(shared, &world, policy, asked.field.as_deref(), out)? {
                exit = exit.worst(Exit::Findings);
            }
        }
        Target::Node(node) => {
            let kinds = select::kinds(&world.analysis, asked.kind.as_deref())?;
            node_explained(shared, asked, &world, node, &kinds, &filter, out)?;
        }
    }
    world.mention_findings(shared, out);
    Ok(exit)
}

fn node_explained(
    shared: &Shared,
    asked: &Explain,
    world: &World,
    node: NodeId,
    kinds: &[KindId],
    filter: &Filter,
    out: &mut Out,
) -> Result<(), Failure> {
    let stage = world.analysis.stage();
    let scene = stage.scene();
    let part = first_part(&scene)?;
    // Paths that share a ladder share their explanation: it is told once, for the first of them.
    let mut groups: BTreeMap<(KindId, LadderId), Vec<PathId>> = BTreeMap::new();
    for (kind, path, ladder) in select::contexts(&world.analysis, kinds, Some(node), filter) {
        groups.entry((kind, ladder)).or_default().push(path);
    }
    let mut told: Vec<_> =
        groups.into_iter().filter(|((_, ladder), _)| *ladder != LadderId::EMPTY).collect();
    told.sort_by_key(|((kind, _), paths)| (*kind, paths.first().copied()));
    let field = asked.field.as_deref();
    match form(shared, Form::Table)? {
        Form::Table | Form::Wide => {
            let limit = if shared.verbose { usize::MAX } else { SHOWN };
            for (i, ((kind, _), paths)) in told.iter().take(limit).enumerate() {
                let Some(first) = paths.first() else { continue };
                out.result(if i == 0 { "" } else { "\n" })?;
                let styles = out.styles;
                out.result(&text(|s| {
                    view::explain_text(&scene, part, *first, Some(*kind), field, &styles, s)
                }))?;
                let others: Vec<String> =
                    paths.iter().skip(1).map(|p| part.path_name(&scene, *p)).collect();
                if !others.is_empty() {
                    out.result(&same_on(&others, shared.verbose))?;
                }
            }
            if told.len() > limit {
                out.remark(&format!(
                    "note: {} more that differ; name a section, a kind with --kind, or use -v",
                    told.len() - limit
                ));
            }
        }
        form => {
            let all =
                told.iter().flat_map(|((kind, _), paths)| paths.iter().map(move |p| (*kind, *p)));
            let items =
                all.map(|(kind, path)| view::explain(&scene, part, path, Some(kind), field));
            write_value(out, form, &view::v1::ExplanationList::new(items.collect()))?;
        }
    }
    if told.is_empty() {
        mention_unreached(world, node, out);
        let what = asked.kind.as_deref().unwrap_or("policy");
        out.remark(&format!(
            "no {what} reaches {}; `overrule graph {}` shows where policies are attached",
            asked.target, asked.target
        ));
    }
    Ok(())
}

fn same_on(others: &[String], verbose: bool) -> String {
    let limit = if verbose { usize::MAX } else { 3 };
    let mut lines = format!(
        "\nThe same on {} more path{}\n",
        others.len(),
        if others.len() == 1 { "" } else { "s" }
    );
    for other in others.iter().take(limit) {
        lines.push_str(&format!("  {}\n", view::escape::terminal(other)));
    }
    if others.len() > limit {
        lines.push_str(&format!("  and {} more (-v lists them)\n", others.len() - limit));
    }
    lines
}
