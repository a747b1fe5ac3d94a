// SPDX-License-Identifier: Apache-2.0
//! In: policies that nobody resolves, and the routes of a Service. Out: both as data, and as lines for people.
//! Not here: effective policies; finding routes (views know no Gateway API).

use std::fmt;

use overrule_engine::{NodeId, Unresolved};
use overrule_model::Object;

use crate::style::Painted;
use crate::table::{Cell, Table};
use crate::{Scene, Styles, escape, v1, words};

/// Lines before the rest is only counted.
const LINES: usize = 8;

/// The policies that nobody resolves: all, or those that target one of some nodes.
pub fn unresolved(
    scene: &Scene<'_>,
    keep: &dyn Fn(&Object) -> bool,
    at: Option<&dyn Fn(NodeId) -> bool>,
) -> Vec<v1::UnresolvedPolicy> {
    let there = |one: &&Unresolved| {
        let mut nodes = one.targets.iter().flat_map(|t| &t.nodes);
        at.is_none_or(|at| nodes.any(|node| at(*node)))
    };
    let all = scene.unresolved.iter().filter(there);
    all.filter_map(|one| data(scene, one, keep)).collect()
}

pub(crate) fn data(
    scene: &Scene<'_>,
    one: &Unresolved,
    keep: &dyn Fn(&Object) -> bool,
) -> Option<v1::UnresolvedPolicy> {
    let object = scene.snapshot.get(one.object).filter(|o| keep(o))?;
    Some(v1::UnresolvedPolicy {
        policy_kind: scene.snapshot.text(object.kind.kind).to_owned(),
        policy_group: scene.snapshot.text(object.kind.group).to_owned(),
        policy: scene.object_name(one.object),
        owner: one.owner,
        targets: one.targets.iter().map(|t| t.name.clone()).collect(),
        at: scene.place_of_object(one.object),
    })
}

/// Who resolves it, in words.
pub(crate) fn owner(policy: &v1::UnresolvedPolicy) -> &'static str {
    policy.owner.unwrap_or("unknown kind")
}

/// One line for each: who is not resolved, by whose rules, and what it targets; `asked` is the target asked about.
/// With `comment` before each line it can stand in YAML.
pub fn unresolved_text(
    policies: &[v1::UnresolvedPolicy],
    asked: Option<&str>,
    comment: &str,
    all: bool,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let most = if all { usize::MAX } else { LINES };
    for policy in policies.iter().take(most) {
        let targets: Vec<&str> = policy.targets.iter().map(String::as_str).collect();
        let targets = match asked.is_some_and(|asked| targets.contains(&asked)) {
            true => " targets this".to_owned(),
            false if targets.is_empty() => " has no target that Overrule knows".to_owned(),
            false => format!(" targets {}", words::shown_and(&targets)),
        };
        let text = format!(
            "{comment}{} {} ({}){targets}; Overrule does not resolve it",
            escape::terminal(&policy.policy_kind),
            escape::terminal(&policy.policy),
            owner(policy),
        );
        writeln!(out, "{}", Painted(styles.note, &text))?;
    }
    if policies.len() > most {
        let text = format!(
            "{comment}and {} more that Overrule does not resolve (-v)",
            policies.len() - most
        );
        writeln!(out, "{}", Painted(styles.note, &text))?;
    }
    Ok(())
}

/// The routes of a Service as a table of each direction.
pub fn service_routes_text(
    routes: &v1::ServiceRoutes,
    styles: &Styles,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let service = words::target(&routes.service);
    if !routes.bound.is_empty() {
        let title = format!("Routes bound to {service}: they act on what clients send to it");
        writeln!(out, "{}", Painted(styles.heading, &title))?;
        let mut table = Table::new(["", "", ""]);
        for bound in &routes.bound {
            let port = bound.port.as_deref().map(|port| format!("port {}", escape::terminal(port)));
            let clients = match &bound.clients {
                Some(namespace) => {
                    format!("clients in namespace {} only", escape::terminal(namespace))
                }
                None => "all clients without routes of their own namespace".to_owned(),
            };
            table.push([
                words::target(&bound.route).into(),
                port.unwrap_or_default().into(),
                clients.into(),
            ]);
        }
        table.write("  ", styles, out)?;
    }
    if !routes.senders.is_empty() {
        if !routes.bound.is_empty() {
            out.write_char('\n')?;
        }
        let title = format!("Rules that send to {service}");
        writeln!(out, "{}", Painted(styles.heading, &title))?;
        let mut table = Table::new(["", "", "", ""]);
        for sender in &routes.senders {
            let port = sender.port.map_or_else(String::new, |port| format!("port {port}"));
            let broken = sender.broken.unwrap_or_default();
            table.push([
                words::target(&sender.rule).into(),
                port.into(),
                format!("weight {}", sender.weight).into(),
                Cell::styled(broken, styles.warning),
            ]);
        }
        table.write("  ", styles, out)?;
    }
    Ok(())
}
