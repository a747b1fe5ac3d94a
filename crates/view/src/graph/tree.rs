// SPDX-License-Identifier: Apache-2.0
//! In: a graph. Out: a tree of box-drawing characters for a terminal, policies as ◆ below their target.
//! Not here: the other pictures.
//!
//! A route at twenty listeners is drawn once; the other nineteen times it says so, unless it is short.

use std::fmt;

use super::Graph;
use crate::style::Painted;
use crate::{Styles, beside, escape, v1, words};

/// A part of at most this many lines is repeated instead of being referred to.
const SHORT: usize = 4;

/// Writes the tree, then what is in no tree.
pub(super) fn write(graph: &Graph, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
    let sizes = sizes(graph);
    let mut drawn = vec![false; graph.data.nodes.len()];
    let count = graph.data.nodes.len();
    let roots = (0..count).filter(|n| graph.above(*n).is_empty());
    // Circles have no root; they begin with their first node.
    for root in roots.chain(0..count) {
        if drawn.get(root) != Some(&true) {
            Tree { graph, styles, sizes: &sizes, drawn: &mut drawn }.root(root, out)?;
        }
    }
    rejected(graph, styles, out)?;
    unattached(graph, styles, out)?;
    unplaced(graph, styles, out)
}

/// Policies that nobody resolves, where their target is in no tree.
fn unplaced(graph: &Graph, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
    let policies: Vec<v1::UnresolvedPolicy> = graph.unplaced().cloned().collect();
    if policies.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", Painted(styles.heading, "Not resolved"))?;
    beside::unresolved_text(&policies, None, "◇ ", true, styles, out)
}

struct Tree<'a> {
    graph: &'a Graph,
    styles: &'a Styles,
    sizes: &'a [usize],
    drawn: &'a mut [bool],
}

/// What is still to be drawn: a node, the rails before it, and whether it is the last of its siblings.
struct Pending {
    node: usize,
    rails: String,
    last: bool,
    is_root: bool,
}

impl Tree<'_> {
    /// Depth first with a stack of its own: chains of delegation may be long.
    fn root(&mut self, root: usize, out: &mut dyn fmt::Write) -> fmt::Result {
        let start = Pending { node: root, rails: String::new(), last: true, is_root: true };
        let mut open = vec![start];
        while let Some(Pending { node, rails, last, is_root }) = open.pop() {
            let Some(data) = self.graph.data.nodes.get(node) else { continue };
            let branch = match (is_root, last) {
                (true, _) => "",
                (false, true) => "└─ ",
                (false, false) => "├─ ",
            };
            let again = self.drawn.get(node) == Some(&true);
            let long = self.sizes.get(node).is_some_and(|s| *s > SHORT);
            let more = if again && long { " … see above" } else { "" };
            let rails_shown = format!("{rails}{branch}");
            let rails_shown = Painted(self.styles.dim, &rails_shown);
            let name = Painted(self.styles.bold, &name(data)).to_string();
            writeln!(out, "{rails_shown}{name}{}", Painted(self.styles.dim, more))?;
            if again && long {
                continue;
            }
            if let Some(slot) = self.drawn.get_mut(node) {
                *slot = true;
            }
            let inner = match (is_root, last) {
                (true, _) => String::new(),
                (false, true) => format!("{rails}   "),
                (false, false) => format!("{rails}│  "),
            };
            let children = self.graph.below(node);
            self.policies(node, &inner, children.is_empty(), out)?;
            for (i, child) in children.iter().enumerate().rev() {
                let last = i + 1 == children.len();
                open.push(Pending { node: *child, rails: inner.clone(), last, is_root: false });
            }
        }
        Ok(())
    }

    fn policies(
        &self,
        node: usize,
        rails: &str,
        ends: bool,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        let attached: Vec<_> = self.graph.policies(node).collect();
        let unresolved: Vec<_> = self.graph.unresolved(node).collect();
        let count = attached.len() + unresolved.len();
        for (i, (policy, attachment)) in attached.iter().enumerate() {
            let last = ends && i + 1 == count;
            let rails = format!("{rails}{}", if last { "└─ " } else { "├─ " });
            let kind = escape::terminal(&policy.policy_kind);
            let name = format!("◆ {kind} {}", escape::terminal(&policy.policy));
            let name = Painted(self.styles.policy(policy.id), &name).to_string();
            let outcome = outcome(attachment);
            let outcome = Painted(self.styles.outcome(attachment.outcome), &outcome).to_string();
            writeln!(out, "{}{name}  {outcome}", Painted(self.styles.dim, &rails))?;
        }
        for (policy, i) in unresolved.into_iter().zip(attached.len()..) {
            let rails = format!("{rails}{}", if ends && i + 1 == count { "└─ " } else { "├─ " });
            let kind = escape::terminal(&policy.policy_kind);
            let name = format!("◇ {kind} {}", escape::terminal(&policy.policy));
            let outcome = format!("not resolved ({})", beside::owner(policy));
            let outcome = Painted(self.styles.note, &outcome).to_string();
            writeln!(out, "{}{name}  {outcome}", Painted(self.styles.dim, &rails))?;
        }
        Ok(())
    }
}

/// `in force`, or the counts where it differs from path to path.
fn outcome(attachment: &v1::GraphAttachment) -> String {
    match attachment.counts.words().as_slice() {
        [_, _, ..] => {
            let counts = attachment.counts.words();
            let counts: Vec<String> =
                counts.iter().map(|(n, word)| format!("{word} on {n}")).collect();
            format!("{} ({})", attachment.outcome, counts.join(", "))
        }
        _ => attachment.outcome.to_owned(),
    }
}

fn name(node: &v1::GraphNode) -> String {
    let name = words::element(&v1::PathElement {
        kind: node.kind.clone(),
        namespace: node.namespace.clone(),
        name: node.name.clone(),
        assumed: node.assumed,
    });
    if node.assumed { format!("{name} (assumed)") } else { name }
}

/// How many lines each node takes with everything below it, from the ends upwards; what leads into a circle is long.
fn sizes(graph: &Graph) -> Vec<usize> {
    let count = graph.data.nodes.len();
    let mut sizes = vec![SHORT + 1; count];
    let mut waiting: Vec<usize> = (0..count).map(|n| graph.below(n).len()).collect();
    let mut ready: Vec<usize> = (0..count).filter(|n| graph.below(*n).is_empty()).collect();
    while let Some(node) = ready.pop() {
        let own = 1 + graph.policies(node).count() + graph.unresolved(node).count();
        let below = graph.below(node).iter().filter_map(|n| sizes.get(*n));
        // Enough to know that it is long.
        let sum = below.fold(own, |sum, size| sum.saturating_add(*size)).min(SHORT + 1);
        if let Some(slot) = sizes.get_mut(node) {
            *slot = sum;
        }
        for above in graph.above(node) {
            if let Some(left) = waiting.get_mut(*above) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    ready.push(*above);
                }
            }
        }
    }
    sizes
}

fn rejected(graph: &Graph, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
    if graph.data.rejections.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", Painted(styles.heading, "Rejected"))?;
    for rejection in &graph.data.rejections {
        let kind = escape::terminal(&rejection.policy_kind);
        let policy = escape::terminal(&rejection.policy);
        let at = words::place_or_nothing(rejection.at.as_ref());
        let at = Painted(styles.dim, &at).to_string();
        writeln!(out, "◆ {kind} {policy}: {}  {at}", rejection.because)?;
    }
    Ok(())
}

fn unattached(graph: &Graph, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
    if graph.data.unattached.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", Painted(styles.heading, "On no path"))?;
    for lonely in &graph.data.unattached {
        let at = words::place_or_nothing(lonely.at.as_ref());
        let at = Painted(styles.dim, &at).to_string();
        writeln!(out, "{}  {at}", words::target(&lonely.target))?;
        for (i, policy) in graph.on(lonely).iter().enumerate() {
            let branch = if i + 1 == lonely.attached.len() { "└─" } else { "├─" };
            let kind = escape::terminal(&policy.policy_kind);
            let name = format!("◆ {kind} {}", escape::terminal(&policy.policy));
            let name = Painted(styles.policy(policy.id), &name).to_string();
            writeln!(out, "{branch} {name}  {}", Painted(styles.outcome("inert"), "inert"))?;
        }
    }
    Ok(())
}
