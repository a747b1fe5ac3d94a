// SPDX-License-Identifier: Apache-2.0
//! In: what the controller notes while it processes policies. Out: the conditions it writes, in its words, by ancestor.
//! Not here: when it notes something (`plan`).

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::NodeId;
use overrule_family::{Ancestor, Condition};

/// How many ancestors a status has room for.
const ROOM: usize = 16;
/// The most bytes of a message.
const LONGEST: usize = 32_768;

/// Types of conditions.
pub(crate) mod kind {
    pub(crate) const ACCEPTED: &str = "Accepted";
    pub(crate) const MERGED: &str = "Merged";
    pub(crate) const OVERRIDDEN: &str = "Overridden";
    pub(crate) const WARNING: &str = "Warning";
    pub(crate) const AGGREGATED: &str = "Aggregated";
}

/// An ancestor as a status names it. Its section may not exist.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// `Gateway`, `ListenerSet`, `GatewayClass`.
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) section: String,
}

/// The status of one policy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status(Vec<(Place, Vec<Noted>)>);

/// A condition.
#[derive(Debug, Clone)]
struct Noted {
    kind: &'static str,
    status: bool,
    reason: &'static str,
    message: String,
}

impl Status {
    /// Writes a condition; the last of a type counts.
    pub(crate) fn set(
        &mut self,
        at: &Place,
        kind: &'static str,
        (status, reason): (bool, &'static str),
        message: String,
    ) {
        let mut message = message;
        if message.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
            message.truncate(end);
        }
        let noted = Noted { kind, status, reason, message };
        let conditions = match self.0.iter().position(|(place, _)| place == at) {
            Some(known) => self.0.get_mut(known),
            None => {
                self.0.push((at.clone(), Vec::new()));
                self.0.last_mut()
            }
        };
        let Some((_, conditions)) = conditions else { return };
        match conditions.iter_mut().find(|known| known.kind == kind) {
            Some(known) => *known = noted,
            None => conditions.push(noted),
        }
        self.drop_worst();
    }

    /// Accepts, unless something is said already.
    pub(crate) fn accept(&mut self, at: &Place) {
        if self.get(at, kind::ACCEPTED).is_none() {
            let message = "Policy has been accepted.".to_owned();
            self.set(at, kind::ACCEPTED, (true, "Accepted"), message);
        }
    }

    /// Refuses because of what the policy says.
    pub(crate) fn invalid(&mut self, at: &Place, text: &str) {
        self.set(at, kind::ACCEPTED, (false, "Invalid"), sentence(text));
    }

    /// Warns; warnings of several reasons become one.
    pub(crate) fn warn(&mut self, at: &Place, reason: &'static str, message: &str) {
        let known = self.get(at, kind::WARNING).map(|n| (n.reason, n.message.clone()));
        match known {
            Some((known, text)) if known != reason && !text.contains(message) => {
                self.set(at, kind::WARNING, (true, "Warnings"), format!("{text}; {message}"));
            }
            Some((known, _)) if known != reason => {}
            _ => self.set(at, kind::WARNING, (true, reason), message.to_owned()),
        }
    }

    fn get(&self, at: &Place, kind: &str) -> Option<&Noted> {
        let (_, conditions) = self.0.iter().find(|(place, _)| place == at)?;
        conditions.iter().find(|known| known.kind == kind)
    }

    /// While it writes, the controller keeps one ancestor more than there is room for.
    fn drop_worst(&mut self) {
        if self.0.len() > ROOM + 1 {
            self.sort();
            self.0.truncate(ROOM + 1);
        }
    }

    fn sort(&mut self) {
        self.0.sort_by(|(a, of_a), (b, of_b)| {
            let badness = |conditions: &[Noted]| {
                let has =
                    |kind, status| conditions.iter().any(|c| c.kind == kind && c.status == status);
                match (has(kind::ACCEPTED, false), has(kind::OVERRIDDEN, true)) {
                    (true, _) => 0,
                    (_, true) => 1,
                    _ => 2,
                }
            };
            let order = badness(of_a).cmp(&badness(of_b));
            order.then_with(|| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)))
        });
    }

    /// The conditions as they are written in the end.
    pub(crate) fn conditions(mut self, node: impl Fn(&Place) -> Option<NodeId>) -> Vec<Condition> {
        if self.0.len() > ROOM {
            self.sort();
            self.0.truncate(ROOM);
            if let Some((_, conditions)) = self.0.last_mut() {
                conditions.push(Noted {
                    kind: kind::AGGREGATED,
                    status: true,
                    reason: "Aggregated",
                    message: "Ancestors have been truncated because the number of policy ancestors exceeds 16."
                        .to_owned(),
                });
            }
        }
        let mut found = Vec::new();
        for (place, conditions) in self.0 {
            let ancestor = ancestor(&place, node(&place));
            found.extend(conditions.into_iter().map(|Noted { kind, status, reason, message }| {
                Condition { ancestor: Some(ancestor.clone()), kind, status, reason, message }
            }));
        }
        found
    }
}

fn ancestor(place: &Place, node: Option<NodeId>) -> Ancestor {
    match node {
        Some(node) => Ancestor::Node(node),
        None => Ancestor::Named {
            kind: place.kind,
            namespace: place.namespace.clone(),
            name: place.name.clone(),
            section: place.section.clone(),
        },
    }
}

/// A text as the controller puts it into a message: the first letter large, a full stop at the end.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", chars.as_str())
}

/// A place at which policies act, among others: who overrides whom is told by them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ScopeKey {
    Gateway(String),
    GatewayListener(String, String),
    Set(String),
    SetListener(String, String),
    /// A route; its kind tells routes of one name apart.
    Route(String, &'static str),
}

/// Which places override or are merged with which.
#[derive(Debug, Default)]
pub(crate) struct ScopeGraph {
    edges: BTreeMap<ScopeKey, BTreeSet<ScopeKey>>,
    /// ListenerSets by the Gateways they belong to.
    sets: BTreeMap<String, BTreeSet<String>>,
}

impl ScopeGraph {
    pub(crate) fn add(&mut self, parent: ScopeKey, child: ScopeKey) {
        self.edges.entry(parent).or_default().insert(child);
    }

    /// Says that a ListenerSet belongs to a Gateway.
    pub(crate) fn register(&mut self, set: String, gateway: String) {
        self.sets.entry(gateway).or_default().insert(set);
    }

    pub(crate) fn children(&self, of: &ScopeKey) -> BTreeSet<ScopeKey> {
        self.edges.get(of).cloned().unwrap_or_default()
    }

    /// Children of a place, and of what belongs to it. To a listener belong the routes of the whole object.
    pub(crate) fn below(&self, of: &ScopeKey) -> BTreeSet<ScopeKey> {
        let mut found = self.children(of);
        match of {
            ScopeKey::Gateway(gateway) => {
                let first = ScopeKey::GatewayListener(gateway.clone(), String::new());
                let own = self.edges.range(first..).take_while(
                    |(parent, _)| matches!(parent, ScopeKey::GatewayListener(name, _) if name == gateway),
                );
                found.extend(own.flat_map(|(_, children)| children).cloned());
                let sets = self.sets.get(gateway).into_iter().flatten();
                sets.for_each(|set| found.extend(self.of_set(set)));
            }
            ScopeKey::Set(set) => found.extend(self.of_set(set)),
            ScopeKey::GatewayListener(gateway, _) => {
                found.extend(self.routes(&ScopeKey::Gateway(gateway.clone())));
            }
            ScopeKey::SetListener(set, _) => found.extend(self.routes(&ScopeKey::Set(set.clone()))),
            ScopeKey::Route(..) => {}
        }
        found
    }

    /// Children of a ListenerSet and of its listeners.
    fn of_set(&self, set: &str) -> BTreeSet<ScopeKey> {
        let mut found = self.children(&ScopeKey::Set(set.to_owned()));
        let first = ScopeKey::SetListener(set.to_owned(), String::new());
        let own = self.edges.range(first..).take_while(
            |(parent, _)| matches!(parent, ScopeKey::SetListener(name, _) if name == set),
        );
        found.extend(own.flat_map(|(_, children)| children).cloned());
        found
    }

    fn routes(&self, of: &ScopeKey) -> impl Iterator<Item = ScopeKey> {
        let children = self.children(of).into_iter();
        children.filter(|child| matches!(child, ScopeKey::Route(..)))
    }
}

/// Places as messages list them; nothing if there are none.
pub(crate) fn listed(scopes: &BTreeSet<ScopeKey>) -> Option<String> {
    let mut groups: [(&str, Vec<String>); 4] = [
        ("gateway listeners", Vec::new()),
        ("listenersets", Vec::new()),
        ("listenerset listeners", Vec::new()),
        ("routes", Vec::new()),
    ];
    for scope in scopes {
        let [listeners, sets, set_listeners, routes] = &mut groups;
        match scope {
            ScopeKey::Gateway(_) => {}
            ScopeKey::GatewayListener(gateway, name) => {
                listeners.1.push(format!("{gateway}/{name}"))
            }
            ScopeKey::Set(set) => sets.1.push(set.clone()),
            ScopeKey::SetListener(set, name) => set_listeners.1.push(format!("{set}/{name}")),
            ScopeKey::Route(route, _) => routes.1.push(route.clone()),
        }
    }
    let parts =
        groups.into_iter().filter(|(_, names)| !names.is_empty()).map(|(what, mut names)| {
            names.sort();
            format!("these {what}: [{}]", names.join(" "))
        });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}
