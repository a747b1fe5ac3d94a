// SPDX-License-Identifier: Apache-2.0
//! In: HTTPRoutes whose rules send to HTTPRoutes. Out: for every route that does, the tree of rules below it, and every
//! reference that leads nowhere. Not here: listeners; a tree is the same below each of them.
//!
//! ```text
//! route ─ rule (hands over) ─ child route ─ rule ─ …        a path is a chain of (route, rule)
//! ```
//! A tree is cut where a route would meet itself, where nothing fits, and where it grows past what anybody writes.

mod index;
mod matching;

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashSet;
use overrule_gateway::topology::{Delegation, GROUP, GatewayTopology, RouteIx, RouteKind, RuleIx};
use overrule_model::Snapshot;
use overrule_source::{Documents, View};
use smallvec::SmallVec;

use index::Index;
pub use index::{LABEL, LABEL_GROUP, RouteReference};
pub use matching::{Named, RuleMatch};

use crate::policy::inherits_matcher;

/// How many routes a chain may have.
pub const MOST_LEVELS: usize = 64;
/// How many rules may be looked at for all trees together, whether they fit or not; one counts as often as it is deep,
/// because a chain costs what its length is.
pub const MOST_RULES: usize = 500_000;
/// How many matches a rule may have on one path; matches that are inherited multiply.
pub const MOST_MATCHES: usize = 1024;

/// A rule on a path.
#[derive(Debug, Clone)]
pub struct RuleNode {
    /// The rule.
    pub rule: RuleIx,
    /// Its matches on this path; none if they are those it has written.
    pub matches: Option<Arc<[RuleMatch]>>,
    /// Whether it answers requests itself; one that only hands over does not.
    pub serves: bool,
    /// Why it answers 500.
    pub faults: SmallVec<[Fault; 1]>,
    /// The routes it hands over to.
    pub children: Vec<RouteNode>,
}

/// A route on a path, below a rule that hands over to it.
#[derive(Debug, Clone)]
pub struct RouteNode {
    /// The route.
    pub route: RouteIx,
    /// Its rules that requests reach this way.
    pub rules: Vec<RuleNode>,
}

/// Why a rule that hands over fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It leads to a route it is below of.
    Cycle(RouteIx),
    /// Nothing below it fits.
    NoChild,
    /// It is too deep.
    TooDeep,
}

/// Why a route that a rule means is not entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DelegationRefusal {
    /// It has hostnames of its own.
    Hostnames,
    /// Its parentRefs name other parents.
    Parents,
    /// None of its rules matches what the parent hands over.
    Matches,
}

/// All trees.
#[derive(Debug, Default)]
pub struct Delegations {
    /// By the route at the top; routes that hand nothing over have none.
    pub trees: BTreeMap<RouteIx, Vec<RuleNode>>,
    /// Routes that a rule means by name and does not enter, or does not enter because of their hostnames.
    pub refused: BTreeMap<(RuleIx, RouteIx), DelegationRefusal>,
    /// Whether something was cut because there was too much of it.
    pub cut: bool,
}

/// Follows every delegation from the routes that listeners serve.
pub fn follow(
    documents: &Documents,
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    wildcard: &str,
) -> Delegations {
    let mut follower = Follower {
        documents,
        snapshot,
        topology,
        index: Index::new(snapshot, topology, wildcard),
        chain: Vec::new(),
        left: MOST_RULES,
        out: Delegations::default(),
    };
    if topology.delegations.is_empty() {
        return follower.out;
    }
    for (n, route) in (0..).map(RouteIx).zip(&topology.routes) {
        let served = topology.links_of_route(n).next().is_some();
        let hands_over =
            topology.rules_of(n).any(|(rule, _)| !topology.delegations_of(rule).is_empty());
        if route.kind == RouteKind::Http && served && hands_over {
            let tree = follower.root(n);
            follower.out.trees.insert(n, tree);
        }
    }
    follower.out
}

struct Follower<'a> {
    documents: &'a Documents,
    snapshot: &'a Snapshot,
    topology: &'a GatewayTopology,
    index: Index<'a>,
    /// The routes above, top first.
    chain: Vec<RouteIx>,
    /// Rules that may still be looked at.
    left: usize,
    out: Delegations,
}

impl Follower<'_> {
    fn root(&mut self, route: RouteIx) -> Vec<RuleNode> {
        self.chain.push(route);
        let rules: Vec<RuleIx> = self.topology.rules_of(route).map(|(ix, _)| ix).collect();
        let tree = rules.into_iter().map(|rule| self.rule(rule, None)).collect();
        self.chain.pop();
        tree
    }

    /// A rule with what is below it.
    fn rule(&mut self, rule: RuleIx, matches: Option<Arc<[RuleMatch]>>) -> RuleNode {
        let topology = self.topology;
        let references = topology.delegations_of(rule);
        let mut node =
            RuleNode { rule, matches, serves: true, faults: SmallVec::new(), children: Vec::new() };
        if references.is_empty() {
            return node;
        }
        if self.chain.len() >= MOST_LEVELS {
            node.faults.push(Fault::TooDeep);
            return node;
        }
        let above = node.matches.clone().unwrap_or_else(|| self.written(rule).into());
        // Two references to one child are one way down.
        let mut met: HashSet<RouteIx> = HashSet::new();
        for reference in references {
            let meant = self.index.meant(reference);
            // A reference that leads back fails as a whole.
            let back = meant.iter().find(|c| self.chain.contains(c) && self.accepts_parent(**c));
            if let Some(back) = back {
                node.faults.push(Fault::Cycle(*back));
                continue;
            }
            for child in meant {
                if met.insert(child) {
                    self.child(&mut node, reference, child, &above);
                }
            }
        }
        if node.children.is_empty() && node.faults.is_empty() {
            node.faults.push(Fault::NoChild);
        }
        node.serves = !node.faults.is_empty() || !topology.uses_of(rule).is_empty();
        node
    }

    fn child(
        &mut self,
        node: &mut RuleNode,
        reference: &Delegation,
        child: RouteIx,
        above: &Arc<[RuleMatch]>,
    ) {
        let by_name = self.index.how(reference) == RouteReference::Name;
        // A route that names other parents is not asked further: a wildcard may meet the route it stands in.
        if !self.accepts_parent(child) {
            if by_name {
                self.out.refused.insert((node.rule, child), DelegationRefusal::Parents);
            }
            return;
        }
        match self.enter(child, above) {
            Ok(rules) => node.children.push(RouteNode { route: child, rules }),
            // What a wildcard or label happens to find and does not fit is not meant.
            Err(DelegationRefusal::Hostnames) => {
                self.out.refused.insert((node.rule, child), DelegationRefusal::Hostnames);
            }
            Err(why) if by_name => {
                self.out.refused.insert((node.rule, child), why);
            }
            Err(_) => {}
        }
    }

    /// The rules of a child that fit, with all that is below them.
    fn enter(
        &mut self,
        child: RouteIx,
        above: &Arc<[RuleMatch]>,
    ) -> Result<Vec<RuleNode>, DelegationRefusal> {
        let topology = self.topology;
        let route = topology.route(child).ok_or(DelegationRefusal::Matches)?;
        let broken = route.broken || !topology.hostnames_of(child).is_empty();
        if broken {
            return Err(DelegationRefusal::Hostnames);
        }
        let inherits = inherits_matcher(self.documents, self.snapshot, route.object);
        self.chain.push(child);
        let mut rules = Vec::new();
        for (rule, _) in topology.rules_of(child) {
            let Some(left) = self.left.checked_sub(self.chain.len()) else {
                self.out.cut = true;
                break;
            };
            self.left = left;
            let matches = self.fitting(rule, above, inherits);
            if matches.is_empty() {
                continue;
            }
            let node = self.rule(rule, Some(matches.into()));
            rules.push(node);
        }
        self.chain.pop();
        if rules.is_empty() { Err(DelegationRefusal::Matches) } else { Ok(rules) }
    }

    /// Whether a child lets the route above it be its parent: one that names parents must name it, group and kind
    /// included.
    fn accepts_parent(&self, child: RouteIx) -> bool {
        let Some(parent) = self.chain.last().and_then(|p| self.topology.route(*p)) else {
            return false;
        };
        let objects = (self.snapshot.get(parent.object), self.topology.route(child));
        let (Some(parent), Some(child)) = objects else { return false };
        let Some(child) = self.snapshot.get(child.object) else { return false };
        let text = |sym| self.snapshot.text(sym);
        let spec = self.documents.view(child.root).get("spec");
        let list = spec.and_then(|s| s.get("parentRefs")).filter(|l| !l.is_empty());
        let Some(list) = list else { return true };
        list.items().any(|reference| {
            let member = |key| reference.get(key).and_then(View::as_str);
            let namespace = member("namespace").unwrap_or_else(|| text(child.scope.name()));
            member("group") == Some(GROUP)
                && member("kind") == Some(RouteKind::Http.name())
                && member("name") == Some(text(parent.name))
                && namespace == text(parent.scope.name())
        })
    }

    /// The matches by which requests reach a rule of a child.
    fn fitting(&mut self, rule: RuleIx, above: &[RuleMatch], inherits: bool) -> Vec<RuleMatch> {
        let own = self.own(rule);
        let mut found: Vec<RuleMatch> = match inherits {
            true if own.is_empty() => above.to_vec(),
            true => above
                .iter()
                .flat_map(|parent| own.iter().map(|child| parent.joined(child)))
                .take(MOST_MATCHES + 1)
                .collect(),
            false => own.into_iter().filter(|m| above.iter().any(|p| p.includes(m))).collect(),
        };
        if found.len() > MOST_MATCHES {
            self.out.cut = true;
            found.truncate(MOST_MATCHES);
        }
        found
    }

    /// The matches a rule has written.
    fn own(&self, rule: RuleIx) -> Vec<RuleMatch> {
        written_matches(self.documents, self.topology, rule)
    }

    /// The same, and everything where there is none.
    fn written(&self, rule: RuleIx) -> Vec<RuleMatch> {
        let own = self.own(rule);
        if own.is_empty() { vec![RuleMatch::everything()] } else { own }
    }
}

/// The matches a rule has written.
pub fn written_matches(
    documents: &Documents,
    topology: &GatewayTopology,
    rule: RuleIx,
) -> Vec<RuleMatch> {
    let tree = topology.rule(rule).map(|r| documents.view(r.tree));
    let list = tree.and_then(|t| t.get("matches")).into_iter();
    list.flat_map(View::items).map(RuleMatch::read).collect()
}
