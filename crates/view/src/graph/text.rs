// SPDX-License-Identifier: Apache-2.0
//! In: a graph. Out: DOT for Graphviz, Mermaid for Markdown pages. Not here: pictures of our own.

use super::Graph;
use crate::table::shorten;
use crate::{beside, escape};

/// Widest name, in characters; longer ones are shortened in the middle.
const WIDEST: usize = 48;

/// Colours of policies, dark enough for black text on a light fill of the same hue.
const POLICIES: [&str; 8] =
    ["#1f83c6", "#e69f00", "#cc79a7", "#009e73", "#56b4e9", "#d55e00", "#8c6bb1", "#7f7f00"];

/// The colour of a policy, the same in every picture.
pub(super) fn color(policy: usize) -> &'static str {
    POLICIES.get(policy % POLICIES.len()).copied().unwrap_or("#1f83c6")
}

/// A directed graph from left to right.
pub(super) fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph overrule {\n");
    let mut title = escape::dot(&graph.title()).into_owned();
    if let Some(folded) = &graph.folded {
        title.push_str("\\n");
        title.push_str(&escape::dot(folded));
    }
    out.push_str(&format!(
        "  graph [rankdir=LR, label=\"{title}\", labelloc=t, fontname=\"sans-serif\"];\n"
    ));
    out.push_str("  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f1f5f9\", color=\"#94a3b8\", fontname=\"sans-serif\"];\n");
    out.push_str("  edge [color=\"#94a3b8\", fontname=\"sans-serif\", fontsize=10];\n");
    for node in &graph.data.nodes {
        let (kind, name) = (escape::dot(&node.kind).into_owned(), node.label());
        let tip =
            if graph.tips.contains_key(&node.id) { graph.tip(node) } else { node.target.clone() };
        let (name, target) =
            (escape::dot(&shorten(&name, WIDEST)).into_owned(), escape::dot(&tip).into_owned());
        out.push_str(&format!(
            "  n{} [label=\"{kind}\\n{name}\", tooltip=\"{target}\"];\n",
            node.id
        ));
    }
    for edge in &graph.data.edges {
        out.push_str(&format!("  n{} -> n{};\n", edge.from, edge.to));
    }
    for policy in &graph.data.policies {
        let kind = escape::dot(&policy.policy_kind).into_owned();
        let name = escape::dot(&shorten(&policy.policy, WIDEST)).into_owned();
        let tip = escape::dot(&policy.policy).into_owned();
        let color = color(policy.id);
        out.push_str(&format!(
            "  p{} [label=\"{kind}\\n{name}\", tooltip=\"{kind} {tip}\", shape=note, style=filled, fillcolor=\"#fffbeb\", color=\"{color}\"];\n",
            policy.id
        ));
    }
    for attachment in &graph.data.attachments {
        let style = if attachment.outcome == "in force" { "solid" } else { "dashed" };
        out.push_str(&format!(
            "  p{} -> n{} [style={style}, color=\"{}\", label=\"{}\"];\n",
            attachment.policy,
            attachment.node,
            color(attachment.policy),
            attachment.outcome
        ));
    }
    for (i, lonely) in graph.data.unattached.iter().enumerate() {
        let name = escape::dot(&lonely.target).into_owned();
        out.push_str(&format!(
            "  u{i} [label=\"{name}\\non no path\", style=\"rounded,dashed\", fontcolor=\"#64748b\"];\n"
        ));
        for policy in &lonely.attached {
            let color = color(*policy);
            out.push_str(&format!(
                "  p{policy} -> u{i} [style=dashed, color=\"{color}\", label=\"inert\"];\n"
            ));
        }
    }
    for (i, one) in graph.data.unresolved.iter().enumerate() {
        let kind = escape::dot(&one.policy.policy_kind).into_owned();
        let name = escape::dot(&one.policy.policy).into_owned();
        let owner = beside::owner(&one.policy);
        out.push_str(&format!(
            "  f{i} [label=\"{kind}\\n{name}\\nnot resolved ({owner})\", shape=note, style=dashed, fontcolor=\"#64748b\"];\n"
        ));
        for node in &one.nodes {
            out.push_str(&format!("  f{i} -> n{node} [style=dotted];\n"));
        }
    }
    out.push_str("}\n");
    out
}

/// A flowchart from left to right.
pub(super) fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n");
    if let Some(folded) = &graph.folded {
        out.push_str(&format!("  folded[\"{}\"]:::lonely\n", escape::mermaid(folded)));
    }
    for node in &graph.data.nodes {
        let (kind, name) = (escape::mermaid(&node.kind).into_owned(), node.label());
        out.push_str(&format!("  n{}[\"{kind}<br/>{}\"]\n", node.id, escape::mermaid(&name)));
    }
    for edge in &graph.data.edges {
        out.push_str(&format!("  n{} --> n{}\n", edge.from, edge.to));
    }
    for policy in &graph.data.policies {
        let kind = escape::mermaid(&policy.policy_kind).into_owned();
        out.push_str(&format!(
            "  p{}>\"{kind}<br/>{}\"]\n",
            policy.id,
            escape::mermaid(&policy.policy)
        ));
    }
    for attachment in &graph.data.attachments {
        let arrow = if attachment.outcome == "in force" { "-->" } else { "-.->" };
        let (policy, node) = (attachment.policy, attachment.node);
        out.push_str(&format!("  p{policy} {arrow}|\"{}\"| n{node}\n", attachment.outcome));
    }
    for (i, lonely) in graph.data.unattached.iter().enumerate() {
        let name = escape::mermaid(&lonely.target).into_owned();
        out.push_str(&format!("  u{i}[\"{name}<br/>on no path\"]:::lonely\n"));
        for policy in &lonely.attached {
            out.push_str(&format!("  p{policy} -.->|\"inert\"| u{i}\n"));
        }
    }
    for (i, one) in graph.data.unresolved.iter().enumerate() {
        let kind = escape::mermaid(&one.policy.policy_kind).into_owned();
        let name = escape::mermaid(&one.policy.policy).into_owned();
        let owner = beside::owner(&one.policy);
        out.push_str(&format!(
            "  f{i}>\"{kind}<br/>{name}<br/>not resolved ({owner})\"]:::lonely\n"
        ));
        for node in &one.nodes {
            out.push_str(&format!("  f{i} -.-> n{node}\n"));
        }
    }
    for policy in &graph.data.policies {
        let color = color(policy.id);
        out.push_str(&format!("  style p{} stroke:{color},stroke-width:2px\n", policy.id));
    }
    let listed = !graph.data.unattached.is_empty() || !graph.data.unresolved.is_empty();
    if listed || graph.folded.is_some() {
        out.push_str("  classDef lonely stroke-dasharray:4 3,color:#64748b\n");
    }
    out
}
