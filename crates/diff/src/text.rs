// SPDX-License-Identifier: Apache-2.0
//! In: a report. Out: the same for a person at a terminal. Not here: finding anything out.

use std::fmt::{self, Write};

use overrule::view::{self, Styles, escape, v1};

/// Targets of a group that are named.
const NAMED: usize = 3;

/// Changes with their report, for people.
pub fn report_text(
    changes: &v1::EffectiveChanges,
    verbose: bool,
    styles: &Styles,
    out: &mut dyn Write,
) -> fmt::Result {
    let Some(report) = &changes.report else { return view::changes_text(changes, styles, out) };
    for group in &report.groups {
        self::group(changes, group, verbose, styles, out)?;
    }
    findings("new", &report.findings.new, out)?;
    findings("fixed", &report.findings.fixed, out)?;
    profiles(report, changes, out)?;
    for owner in &report.owners {
        let owned = escape::terminal(&owner.owner);
        let what = if owner.edited { "owns what was edited" } else { "owns what is affected" };
        writeln!(out, "{owned} {what}: {}", shown(&owner.files))?;
    }
    if !(report.owners.is_empty() && report.profiles.is_empty()) {
        writeln!(out)?;
    }
    writeln!(out, "{}", summary(changes, report))?;
    for gate in &report.gates {
        writeln!(out, "gate {}: {}", gate.gate, gate.because)?;
    }
    Ok(())
}

fn group(
    changes: &v1::EffectiveChanges,
    group: &v1::ChangeGroup,
    verbose: bool,
    styles: &Styles,
    out: &mut dyn Write,
) -> fmt::Result {
    let items = group.items.iter().filter_map(|place| changes.items.get(*place));
    let items: Vec<&v1::EffectiveChange> = items.collect();
    let Some(first) = items.first() else { return Ok(()) };
    let (style, reset) = (styles.bold.render(), styles.bold.render_reset());
    let kind = escape::terminal(&first.policy_kind);
    writeln!(out, "{style}{}: {kind} at {}{reset}", group.change, escape::terminal(&first.target))?;
    if group.uncovered {
        writeln!(out, "  no {kind} is in force here any more")?;
    }
    let more = items.get(1..).unwrap_or_default();
    if !more.is_empty() {
        let named = if verbose { more.len() } else { NAMED };
        let names: Vec<String> =
            more.iter().take(named).map(|i| escape::terminal(&i.target).into_owned()).collect();
        let rest = match more.len().saturating_sub(named) {
            0 => String::new(),
            rest => format!(" and {rest} more (-v lists them)"),
        };
        writeln!(out, "  and at {}{rest}", names.join(", "))?;
    }
    for field in &first.fields {
        writeln!(out, "  {}", view::field_change_line(field, styles))?;
    }
    for cause in &group.causes {
        let at = cause.at.as_ref().map(|at| format!(" ({})", view::place_text(at)));
        let resource = escape::terminal(&cause.resource);
        let dim = styles.dim;
        let (dim, reset) = (dim.render(), dim.render_reset());
        writeln!(
            out,
            "  {dim}because {resource} was {}{}{reset}",
            cause.change,
            at.unwrap_or_default()
        )?;
    }
    if group.causes.is_empty() {
        writeln!(out, "  because {}", escape::terminal(&first.because))?;
    }
    writeln!(out)
}

fn findings(word: &str, found: &[v1::DiagnosticItem], out: &mut dyn Write) -> fmt::Result {
    for item in found {
        let at = item.at.as_ref().map(|at| format!("{}: ", view::place_text(at)));
        let message = escape::terminal(&item.message);
        writeln!(
            out,
            "{word} {}[{}]: {}{message}",
            item.severity,
            item.code,
            at.unwrap_or_default()
        )?;
    }
    if found.is_empty() { Ok(()) } else { writeln!(out) }
}

/// Where another profile sees another difference; those that see the same are only named.
fn profiles(
    report: &v1::ChangeReport,
    changes: &v1::EffectiveChanges,
    out: &mut dyn Write,
) -> fmt::Result {
    let (same, differ): (Vec<_>, Vec<_>) =
        report.profiles.iter().partition(|p| p.only_there.is_empty() && p.only_here.is_empty());
    let name = |p: &v1::ProfileChanges| format!("{}={}", p.family, p.profile);
    if !same.is_empty() {
        let names: Vec<String> = same.into_iter().map(name).collect();
        writeln!(out, "The same targets change under {}.", names.join(", "))?;
    }
    for profile in differ {
        let v1::ChangeCounts { added, changed, removed } = profile.counts;
        let own = changes.items.iter().filter(|item| item.family == profile.family).count();
        let name = name(profile);
        match (added + changed + removed, own) {
            (0, _) => writeln!(out, "Under {name} nothing in force changes.")?,
            (n, 0) => writeln!(out, "Under {name} {}; under the profile shown, none.", counted(n))?,
            (n, _) => writeln!(out, "Under {name} {}.", counted(n))?,
        }
        if !profile.only_there.is_empty() {
            writeln!(out, "  only there: {}", shown(&profile.only_there))?;
        }
        if !profile.only_here.is_empty() {
            writeln!(out, "  not there: {}", shown(&profile.only_here))?;
        }
    }
    Ok(())
}

fn counted(n: usize) -> String {
    let (policies, verb) = if n == 1 { ("policy", "changes") } else { ("policies", "change") };
    format!("{n} effective {policies} {verb}")
}

fn shown(names: &[String]) -> String {
    let first: Vec<String> =
        names.iter().take(NAMED).map(|n| escape::terminal(n).into_owned()).collect();
    match names.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        rest => format!("{} and {rest} more", first.join(", ")),
    }
}

/// The figures in one or two sentences.
pub(crate) fn summary(changes: &v1::EffectiveChanges, report: &v1::ChangeReport) -> String {
    let radius = &report.radius;
    let v1::ChangeCounts { added, changed, removed } = changes.counts;
    let total = added + changed + removed;
    let mut text = match total {
        0 => "Nothing in force changes".to_owned(),
        n => format!("{}: {added} added, {changed} changed, {removed} removed", counted(n)),
    };
    let shares = [
        (radius.routes, "routes"),
        (radius.hostnames, "hostnames"),
        (radius.namespaces, "namespaces"),
        (radius.dataplanes, "dataplanes"),
    ];
    let shares: Vec<String> = shares
        .into_iter()
        .filter(|(share, _)| share.affected > 0)
        .map(|(share, what)| format!("{} of {} {what}", share.affected, share.of))
        .collect();
    if !shares.is_empty() {
        let _ = write!(text, ". Affected: {}", shares.join(", "));
    }
    let (resources, policies) = (radius.resources.affected, radius.policies.affected);
    let several = |n: usize, one: &str, many: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    text.push_str(&match (resources, policies) {
        (0, _) => ". No resource was edited.".to_owned(),
        (n, p) if n == p => format!(". Edited: {}.", several(n, "policy", "policies")),
        (n, 0) => format!(". Edited: {}.", several(n, "resource", "resources")),
        (n, p) => {
            format!(". Edited: {}, {p} of them policies.", several(n, "resource", "resources"))
        }
    });
    text
}
