// SPDX-License-Identifier: Apache-2.0
//! In: MeshTrafficPermissions with `rules` that are in force. Out: matches that mean more than they seem to, that an
//! inbound cannot see, or that change nothing. Not here: what refuses a policy (`permission`), deciding (`gate`).
//!
//! A list may have thousands of matches. Nothing here compares all of them with all others: what could cover a match
//! is looked up, and there is a limit to that too.

use std::cell::Cell;
use std::collections::BTreeSet;

use hashbrown::HashMap;
use overrule_access::spelling::Decoded;
use overrule_access::{AccessRule, Effect, Identity, Match, PathMatch};
use overrule_source::{Code, Diagnostic, Span};

use super::near::rarest;
use super::proxies::Proxies;
use super::{Here, count};
use crate::codes;
use crate::kinds::{self, TRAFFIC_PERMISSION};
use crate::labels::NAMESPACE;
use crate::permission::{LISTS, MatchLocation, permissions, spiffe};
use crate::policy::Policy;
use crate::profile::Profile;
use crate::select::stays_in_namespace;

/// How many matches of one policy are told under one code.
const MOST_TOLD: usize = 20;

/// What is found about permissions, each by itself.
pub(crate) const CODES: [Code; 6] = [
    &codes::PREFIX,
    &codes::TCP_ALLOW,
    &codes::TCP_DENY,
    &codes::REPEATED,
    &codes::NEVER_ADMITS,
    &codes::COVERED,
];

/// How often something that could cover a match is looked up, in one policy.
const MOST_LOOKUPS: usize = 2_000_000;

pub(super) fn report(here: &Here<'_>, out: &mut Vec<Diagnostic>) {
    let proxies = Proxies::new(here);
    for policy in here.live().filter(|p| *p.kind == TRAFFIC_PERMISSION) {
        report_one(here, policy, &proxies, None, out);
    }
}

/// Reports on one policy; `selected` are the proxies it selects, if that is known.
pub(super) fn report_one(
    here: &Here<'_>,
    policy: &Policy,
    proxies: &Proxies<'_>,
    selected: Option<Vec<u32>>,
    out: &mut Vec<Diagnostic>,
) {
    if policy.rules.is_empty() {
        return;
    }
    let one = One { selected, ..One::new(here, policy) };
    told(one.prefixes(), out);
    told(one.dropped(), out);
    told(one.parameters(), out);
    one.needing_http(proxies, out);
    one.useless(&Cell::new(MOST_LOOKUPS), out);
}

fn is_release(here: &Here<'_>) -> bool {
    *here.world.profile == Profile::Release
}

/// Tells the first few of findings that are alike, and how many there are.
fn told(mut found: Vec<Diagnostic>, out: &mut Vec<Diagnostic>) {
    let more = found.len().saturating_sub(MOST_TOLD);
    found.truncate(MOST_TOLD);
    if let Some(last) = found.last_mut() {
        last.message = format!("{}{}", last.message, and(more)).into();
    }
    out.append(&mut found);
}

fn and(more: usize) -> String {
    if more == 0 {
        return String::new();
    }
    format!("; the same is true for {} of this policy", count(more, "more match", "more matches"))
}

/// One policy.
struct One<'a> {
    here: &'a Here<'a>,
    policy: &'a Policy,
    rules: Vec<AccessRule>,
    written: Vec<MatchLocation>,
    /// Whether the one rule is written as `spec.default`.
    is_short: bool,
    /// The proxies it selects, if that is known.
    selected: Option<Vec<u32>>,
}

impl<'a> One<'a> {
    fn new(here: &'a Here<'a>, policy: &'a Policy) -> Self {
        let documents = here.world.documents;
        let entries = policy.rules.iter().map(|e| (policy, e.index, e.node));
        let found = permissions(documents, here.world.profile, entries);
        let spec = documents.view(policy.root).get("spec").map(|s| s.id());
        let is_short = policy.rules.iter().any(|e| spec == Some(e.node.node));
        let (rules, written) = (found.rules, found.written);
        Self { here, policy, rules, written, is_short, selected: None }
    }

    fn all(&self) -> impl Iterator<Item = (&AccessRule, &MatchLocation)> {
        self.rules.iter().zip(&self.written)
    }

    /// `spec.rules[0].default.allow[1]`.
    fn field(&self, at: &MatchLocation) -> String {
        let MatchLocation { entry, list, index, .. } = at;
        if self.is_short {
            format!("spec.default.{list}[{index}]")
        } else {
            format!("spec.rules[{entry}].default.{list}[{index}]")
        }
    }

    fn span(&self, at: &MatchLocation) -> Span {
        self.here.world.documents.view(at.node).span()
    }

    fn finding(&self, code: Code, message: String, at: &MatchLocation) -> Diagnostic {
        Diagnostic::new(code, message).field(self.field(at)).at(self.span(at))
    }

    /// Server names, which the release drops.
    fn dropped(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (rule, at) in self.all() {
            let view = self.here.world.documents.view(at.node);
            let Some((key, _)) = view.get_entry("sni").filter(|(_, v)| !v.is_null()) else {
                continue;
            };
            let does = if rule.effect.allows() { "admits" } else { "denies" };
            let rest = Match { sni: None, ..rule.matches.clone() };
            let more = match rest == Match::default() {
                true => "everybody",
                false => "the same clients whatever name they ask for",
            };
            let message = format!(
                "2.13 has no `sni` and drops it from this match of `{}`, which then {does} {more}",
                at.list
            );
            let help =
                "before 2.14 tell clients apart by `spiffeID` only, or inbounds by `sectionName`";
            let found_here = self.finding(&codes::SNI, message, at).help(help);
            let field = format!("{}.sni", self.field(at));
            found.push(found_here.field(field).at(key.span()));
        }
        found
    }

    /// Beginnings of identities that end in the middle of a name.
    fn prefixes(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (rule, at) in self.all() {
            let Some(Identity::Prefix(prefix)) = &rule.matches.identity else { continue };
            if !spiffe::ends_at_a_boundary(prefix) {
                found.push(self.prefix(rule, at, prefix));
            }
        }
        found
    }

    /// Denies of paths with parameters: a server may take them in another order, or not at all.
    fn parameters(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (rule, at) in self.all().filter(|(rule, _)| rule.effect == Effect::Deny) {
            let Some(path) = &rule.matches.path else { continue };
            let decoded = Decoded::of_deny(path).filter(Decoded::has_parameters);
            if decoded.is_some() {
                let (PathMatch::Exact(text) | PathMatch::Prefix(text)) = path;
                let message = format!(
                    "`{text}` has a parameter: a server may read a request that leaves it out, or names another first, as the same path, and that request is not denied"
                );
                let help = "deny the path without `;` and what follows it: that covers the path with any parameter";
                found.push(self.finding(&codes::PARAMETERS, message, at).help(help));
            }
        }
        found
    }

    fn prefix(&self, rule: &AccessRule, at: &MatchLocation, prefix: &str) -> Diagnostic {
        let does = if rule.effect.allows() { "admits" } else { "denies" };
        let is_domain = !prefix.trim_start_matches("spiffe://").contains('/');
        let (other, exact) = match is_domain {
            true => (format!("clients of the trust domain `{prefix}-evil`"), ""),
            false => (
                format!("`{prefix}-evil`"),
                "; or `type: Exact` if only this one identity is meant",
            ),
        };
        let message = format!(
            "prefix `{prefix}` is compared as text, so this match of `{}` also {does} {other}",
            at.list
        );
        let help = if is_release(self.here) {
            "this release rejects a slash at the end: list identities with `type: Exact`, or make sure that no other name begins like this".to_owned()
        } else {
            format!("end it with a slash: `{prefix}/`{exact}")
        };
        let view = self.here.world.documents.view(at.node);
        let value = |name: &&str| view.get(name).and_then(|v| v.get("value"));
        let d = self.finding(&codes::PREFIX, message, at).help(help);
        let name = ["spiffeId", "spiffeID"].into_iter().find(|n| value(n).is_some());
        match name.and_then(|n| Some((n, value(&n)?))) {
            Some((name, value)) => {
                d.field(format!("{}.{name}.value", self.field(at))).at(value.span())
            }
            None => d,
        }
    }

    /// Method and path where the proxy sees none: once for what is allowed, once for what is denied.
    fn needing_http(&self, proxies: &Proxies<'_>, out: &mut Vec<Diagnostic>) {
        if !self.rules.iter().any(|r| r.matches.needs_http()) {
            return;
        }
        let Some(tcp) = self.tcp_inbounds(proxies) else { return };
        for denies in [false, true] {
            let fits = |r: &AccessRule| r.matches.needs_http() && r.effect.allows() != denies;
            let mut these = self.all().filter(|(r, _)| fits(r)).map(|(_, at)| at);
            if let Some(first) = these.next() {
                out.push(self.on_tcp(&tcp, denies, first, these.count()));
            }
        }
    }

    /// The first such match; `more` are like it.
    fn on_tcp(&self, tcp: &Tcp, denies: bool, at: &MatchLocation, more: usize) -> Diagnostic {
        let inbounds = match tcp {
            (1, one) => format!("{one}, which the policy selects, speaks TCP"),
            (many, one) => {
                format!("{many} inbounds that the policy selects speak TCP, such as {one}")
            }
        };
        let (code, so) = match denies {
            false => (&codes::TCP_ALLOW, "it admits nobody there"),
            true => (
                &codes::TCP_DENY,
                "it cannot be enforced there, so a filter denies everything that the rest of the match covers",
            ),
        };
        let (list, more) = (at.list, and(more));
        let message =
            format!("this match of `{list}` needs a method or path, but {inbounds}: {so}{more}");
        self.finding(code, message, at).help("select HTTP inbounds by `sectionName`, or set `protocol: http` on the others if they speak HTTP")
    }

    fn tcp_inbounds(&self, proxies: &Proxies<'_>) -> Option<Tcp> {
        let mut found: Option<Tcp> = None;
        for proxy in self.candidates(proxies).into_iter().filter_map(|p| proxies.get(p)) {
            if proxy.inbounds.iter().all(|i| i.is_http()) {
                continue;
            }
            let selected = proxies.select(&[], self.policy, proxy);
            for listener in &selected.inbounds {
                let inbound = proxy.inbounds.iter().find(|i| i.listener == *listener);
                let Some(inbound) = inbound.filter(|i| !i.is_http()) else { continue };
                let first = || format!("`{}` of `{}`", inbound.section, proxy.meta.display_name());
                found.get_or_insert_with(|| (0, first())).0 += 1;
            }
        }
        found
    }

    /// Proxies the policy may select: never fewer than it does.
    fn candidates(&self, proxies: &Proxies<'_>) -> Vec<u32> {
        if let Some(selected) = &self.selected {
            return selected.clone();
        }
        let (target, meta) = (&self.policy.target, &self.policy.meta);
        if target.kind == kinds::DATAPLANE && !target.name().is_empty() {
            return proxies.names().get(target.name()).cloned().unwrap_or_default();
        }
        let stays = stays_in_namespace(self.here.world.profile, meta);
        let namespace = (NAMESPACE, if stays { meta.namespace() } else { "" });
        let labels = target.label_pairs().filter(|_| target.kind == kinds::DATAPLANE);
        match rarest(labels.chain([namespace]), proxies.labels()) {
            Some(places) => places.to_vec(),
            None => (0..).zip(&self.here.mesh.dataplanes).map(|(place, _)| place).collect(),
        }
    }

    /// Matches without which the policy would do the same.
    fn useless(&self, left: &Cell<usize>, out: &mut Vec<Diagnostic>) {
        let (mut never, mut repeated, mut covered) = (Vec::new(), Vec::new(), Vec::new());
        let denies = Index::new(&self.rules, |r| r.effect == Effect::Deny);
        for list in LISTS {
            let in_list = |r: &AccessRule| {
                self.written.get(r.source.0 as usize).is_some_and(|at| at.list == list)
            };
            let own = Index::new(&self.rules, in_list);
            for (place, (rule, at)) in self.all().enumerate().filter(|(_, (r, _))| in_list(r)) {
                // In the release what is written first decides, so that nothing is covered by what follows.
                let counts = |other: usize| {
                    let other = self.written.get(other);
                    !is_release(self.here) || other.is_some_and(|other| other.entry <= at.entry)
                };
                let denied = || {
                    let same = denies.same(&rule.matches).filter(|d| counts(*d));
                    same.or_else(|| denies.wider(&rule.matches, counts, left))
                };
                if let Some(deny) = rule.effect.allows().then(denied).flatten() {
                    never.push(self.beside(&codes::NEVER_ADMITS, at, deny, NEVER));
                } else if let Some(first) = own.same(&rule.matches).filter(|p| *p != place) {
                    repeated.push(self.beside(&codes::REPEATED, at, first, REPEATED));
                } else if let Some(wider) = own.wider(&rule.matches, counts, left) {
                    covered.push(self.beside(&codes::COVERED, at, wider, COVERED));
                }
            }
        }
        for found in [never, repeated, covered] {
            told(found, out);
        }
    }

    /// A finding about a match because of another: words before and after the name of that, a remark there, help.
    fn beside(
        &self,
        code: Code,
        at: &MatchLocation,
        other: usize,
        says: [&'static str; 4],
    ) -> Diagnostic {
        let [before, after, remark, help] = says;
        let other = self.written.get(other).unwrap_or(at);
        let message = format!("{before}`{}`{after}", self.field(other));
        self.finding(code, message, at).see(self.span(other), remark).help(help)
    }
}

const NEVER: [&str; 4] = [
    "",
    " denies everything that this match would admit, so this match never admits anybody",
    "the deny",
    "remove it, or make the deny narrower: a deny has no exceptions",
];
const REPEATED: [&str; 4] = [
    "this match is the same as ",
    "",
    "the first",
    "remove one of them, or correct it if another client was meant",
];
const COVERED: [&str; 4] = [
    "this match adds nothing: ",
    " is wider",
    "the wider match",
    "remove it, or remove the wider one if it covers too much",
];

/// Inbounds that speak TCP: how many, and the first.
type Tcp = (usize, String);

/// Clients of a match: none for all; whether it is a beginning, and the text.
type Who<'a> = Option<(bool, &'a str)>;

/// What else a match asks for: server name, method, path like [`Who`].
type Rest<'a> = (Option<&'a str>, Option<&'a str>, Option<(bool, &'a str)>);

fn who(of: &Match) -> Who<'_> {
    of.identity.as_ref().map(|identity| match identity {
        Identity::Exact(text) => (false, &**text),
        Identity::Prefix(text) => (true, &**text),
    })
}

fn rest(of: &Match) -> Rest<'_> {
    let path = of.path.as_ref().map(|path| match path {
        PathMatch::Exact(text) => (false, &**text),
        PathMatch::Prefix(text) => (true, &**text),
    });
    (of.sni.as_deref(), of.method.as_deref(), path)
}

/// Matches by what they ask for; of equals the first.
struct Index<'a> {
    places: HashMap<Who<'a>, HashMap<Rest<'a>, usize>>,
    /// How long the beginnings of identities are.
    lengths: BTreeSet<usize>,
}

impl<'a> Index<'a> {
    fn new(rules: &'a [AccessRule], fits: impl Fn(&AccessRule) -> bool) -> Self {
        let mut made = Self { places: HashMap::new(), lengths: BTreeSet::new() };
        for (place, rule) in rules.iter().enumerate().filter(|(_, r)| fits(r)) {
            let who = who(&rule.matches);
            made.lengths.extend(who.filter(|(is_prefix, _)| *is_prefix).map(|(_, t)| t.len()));
            made.places.entry(who).or_default().entry(rest(&rule.matches)).or_insert(place);
        }
        made
    }

    /// The first that asks for the same.
    fn same(&self, wanted: &Match) -> Option<usize> {
        self.places.get(&who(wanted))?.get(&rest(wanted)).copied()
    }

    /// One that asks for less, and so means everything that this one means: that which names the clients best, of those
    /// that count. None once nothing is left to look up with.
    fn wider(
        &self,
        wanted: &Match,
        counts: impl Fn(usize) -> bool,
        left: &Cell<usize>,
    ) -> Option<usize> {
        let spend = || {
            let less = left.get().checked_sub(1);
            left.set(less.unwrap_or(0));
            less
        };
        let own = (who(wanted), rest(wanted));
        for who in self.wider_clients(own.0) {
            spend()?;
            let Some(places) = self.places.get(&who) else { continue };
            for rest in wider_rests(own.1) {
                spend()?;
                let found = places.get(&rest).copied().filter(|p| counts(*p));
                if (who, rest) != own && found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// The same clients, then ever more of them.
    fn wider_clients<'w>(&self, of: Who<'w>) -> impl Iterator<Item = Who<'w>> {
        let text = of.map_or("", |(_, text)| text);
        let shorter = self.lengths.range(..=text.len()).rev();
        let shorter = shorter.filter_map(move |length| text.get(..*length)).map(|t| (true, t));
        let shorter = shorter.map(Some).filter(move |who| *who != of);
        [of].into_iter().chain(shorter).chain(of.map(|_| None))
    }
}

/// The same, and everything that asks for less.
fn wider_rests(of: Rest<'_>) -> impl Iterator<Item = Rest<'_>> {
    let (sni, method, path) = of;
    fn or_none(of: Option<&str>) -> impl Iterator<Item = Option<&str>> + Clone {
        [of].into_iter().chain(of.map(|_| None))
    }
    wider_paths(path).flat_map(move |path| {
        or_none(method).flat_map(move |method| or_none(sni).map(move |sni| (sni, method, path)))
    })
}

/// The same path, then those it is below.
fn wider_paths(of: Option<(bool, &str)>) -> impl Iterator<Item = Option<(bool, &str)>> {
    let text = of.map_or("", |(_, text)| text);
    let above = text.rmatch_indices('/').flat_map(move |(at, _)| {
        let (with, without) = (text.get(..=at), text.get(..at));
        [with, without.filter(|t| !t.is_empty())].into_iter().flatten()
    });
    let above = of.map(|_| text).into_iter().chain(above).map(|t| Some((true, t)));
    [of].into_iter().chain(above).chain(of.map(|_| None))
}

#[cfg(test)]
mod tests;
