// SPDX-License-Identifier: Apache-2.0
//! In: policies and the topology. Out: where each reference lands, or why it does not. Not here: ranks.
//!
//! Every (policy, reference) ends in at least one attachment or exactly one rejection.

use std::cell::Cell;
use std::collections::BTreeMap;

use overrule_engine::{Attachment, NodeId, PolicyId, Reason, Rejection};
use overrule_model::{GroupKind, Object, ObjectId, ObjectKey, Scope, Snapshot, Sym, nearest};
use overrule_source::{Diagnostic, Span};
use smallvec::{SmallVec, smallvec};

use super::judge::{kind_allowed, no_target};
use super::labels::{LabelIndex, scope_of, within};
use super::{Policy, Reference, Who};
use crate::codes_policy as codes;
use crate::kinds::{CrossNamespace, Descriptor, Kinds, PolicyClass};
use crate::reasons;
use overrule_topology::grants::{Referent, Referrer};
use overrule_topology::{GatewayTopology, level};

/// The outcome of attaching.
#[derive(Debug, Default)]
pub struct Attached {
    /// Where policies landed, by policy and reference.
    pub attachments: Vec<Attachment>,
    /// Where they did not.
    pub rejections: Vec<Rejection>,
    /// What to tell the user.
    pub diagnostics: Vec<Diagnostic>,
}

/// How a family attaches where it differs from GEP-713.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttachOptions {
    /// A policy without references is not a mistake: something else may lead to it.
    pub targets_optional: bool,
    /// A policy that reaches a target by two references lands there twice.
    pub counts_twice: bool,
    /// A section means every rule of that name, written or generated, and not the one that keeps it.
    pub equal_names: bool,
    /// A policy of an inherited kind that names a Service acts on the routes that are bound to it.
    pub sees_mesh: bool,
    /// The namespace whose policies select targets in every namespace.
    pub selects_everywhere: Option<Sym>,
}

/// Attaches every policy. Cost: one lookup per reference by name; selectors go through an index of label pairs.
pub fn attach(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    kinds: &Kinds,
    policies: &[Policy],
) -> Attached {
    let options = AttachOptions { sees_mesh: true, ..AttachOptions::default() };
    attach_with(snapshot, topology, kinds, policies, options)
}

/// The same by a family's rules.
pub fn attach_with(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    kinds: &Kinds,
    policies: &[Policy],
    options: AttachOptions,
) -> Attached {
    let mut attacher = Attacher {
        snapshot,
        topology,
        options,
        labels: LabelIndex::new(snapshot, policies, options.selects_everywhere),
        budget: Cell::new(100_000),
        out: Attached::default(),
    };
    let descriptors: Vec<&Descriptor> = kinds.iter().collect();
    for (id, policy) in (0..).map(PolicyId).zip(policies) {
        if let Some(descriptor) = descriptors.get(policy.kind) {
            attacher.policy(id, policy, descriptor);
        }
    }
    attacher.out
}

struct Attacher<'a> {
    snapshot: &'a Snapshot,
    topology: &'a GatewayTopology,
    options: AttachOptions,
    labels: LabelIndex,
    budget: Cell<usize>,
    out: Attached,
}

impl Attacher<'_> {
    fn policy(&mut self, id: PolicyId, policy: &Policy, descriptor: &Descriptor) {
        let Some(object) = self.snapshot.get(policy.object) else { return };
        if policy.references.is_empty() {
            if !self.options.targets_optional {
                self.reject(id, 0, &reasons::NO_TARGET, policy.at);
                self.out.diagnostics.push(no_target(policy, descriptor));
            }
            return;
        }
        // Objects of one reference are distinct; only a second reference can meet a target again.
        let mut seen = (policy.references.len() > 1).then(BTreeMap::new);
        for (index, reference) in (0_u32..).zip(&policy.references) {
            let refusal = match (&policy.content, &reference.who) {
                (None, _) => Some(&reasons::INVALID_POLICY),
                (_, Who::Unreadable) => Some(&reasons::UNREADABLE_REFERENCE),
                _ => None,
            };
            if let Some(reason) = refusal {
                self.reject(id, index, reason, reference.at);
                continue;
            }
            match self.nodes(object, descriptor, reference) {
                Ok(Landed { nodes, diagnostics }) => {
                    self.out.diagnostics.extend(diagnostics);
                    self.land(id, index, reference, nodes, &mut seen);
                }
                Err((reason, diagnostic)) => {
                    self.reject(id, index, reason, reference.at);
                    self.out.diagnostics.push(*diagnostic);
                }
            }
        }
    }

    fn reject(&mut self, policy: PolicyId, reference: u32, reason: Reason, at: Span) {
        self.out.rejections.push(Rejection { policy, reference, reason, at });
    }

    fn land(
        &mut self,
        policy: PolicyId,
        index: u32,
        reference: &Reference,
        nodes: Vec<NodeId>,
        seen: &mut Option<BTreeMap<NodeId, (Span, bool)>>,
    ) {
        let (mut landed, empty) = (false, nodes.is_empty());
        let named = matches!(reference.who, Who::Named(..));
        for node in nodes {
            if let Some((first, by_name)) = seen.as_ref().and_then(|seen| seen.get(&node)) {
                // Once by name and once by label, not more.
                let twice = self.options.counts_twice && *by_name != named;
                let message = match twice {
                    true => {
                        "this policy reaches one target twice, and counts twice where values are combined"
                    }
                    false => "this policy reaches one target twice; it counts once",
                };
                let d = Diagnostic::new(&codes::DUPLICATE_TARGET, message)
                    .at_with(reference.at, "again here")
                    .see(*first, "first here")
                    .field(reference.field.to_string())
                    .help("remove one of the two references");
                self.out.diagnostics.push(d);
                if !twice {
                    continue;
                }
            }
            if let Some(seen) = seen {
                seen.entry(node).or_insert((reference.at, named));
            }
            self.out.attachments.push(Attachment {
                policy,
                reference: index,
                node,
                at: reference.at,
            });
            landed = true;
        }
        if !landed {
            let reason =
                if empty { &reasons::SECTION_NOT_FOUND } else { &reasons::DUPLICATE_TARGET };
            self.reject(policy, index, reason, reference.at);
        }
    }

    /// The nodes a reference means.
    fn nodes(
        &self,
        policy: &Object,
        descriptor: &Descriptor,
        reference: &Reference,
    ) -> Result<Landed, Refusal> {
        let kind = GroupKind { group: reference.group, kind: reference.kind };
        kind_allowed(self.snapshot, descriptor, reference)?;
        let own = policy.scope.name();
        let namespace = reference.namespace.map_or(own, |(ns, _)| ns);
        let scope = scope_of(self.snapshot, policy, reference);
        let mut landed = Landed::default();
        let objects: Vec<ObjectId> = match &reference.who {
            Who::Named(name, at) => {
                let found = self.snapshot.find(ObjectKey { kind, scope, name: *name });
                let missing = || self.not_found(policy, reference, (*name, scope), *at);
                let found = found.ok_or_else(missing)?.id;
                // Others of the kind are there: the name is wrong, more likely than not.
                if self.snapshot.assumed(found).is_some() && self.snapshot.was_read(kind) {
                    landed.diagnostics.push(*missing().1);
                }
                vec![found]
            }
            Who::Unreadable => Vec::new(),
            Who::Labelled(selector) => {
                let within =
                    within(self.snapshot, policy, reference, self.options.selects_everywhere);
                let found = self.labels.select(self.snapshot, kind, within, selector);
                if found.is_empty() {
                    return Err(self.selects_nothing(reference));
                }
                found
            }
        };
        if scope != Scope::Cluster && namespace != own {
            self.permitted(policy, descriptor, reference, namespace)?;
        }
        for object in objects {
            match (self.nodes_of(object, reference), &reference.who) {
                (Ok(nodes), _) => landed.nodes.extend(self.sides(descriptor, nodes)),
                // One object of many that lacks the section does not keep the policy from the others.
                (Err((_, diagnostic)), Who::Labelled(_)) => landed.diagnostics.push(*diagnostic),
                (Err(refusal), _) => return Err(refusal),
            }
        }
        Ok(landed)
    }

    /// The nodes of an object that a reference means.
    fn nodes_of(
        &self,
        object: ObjectId,
        reference: &Reference,
    ) -> Result<SmallVec<[NodeId; 1]>, Refusal> {
        let named = reference.section.filter(|_| self.options.equal_names);
        let equal = named.and_then(|(name, _)| self.topology.rules_called(object, name));
        match (equal, named) {
            (Some([]), Some((name, at))) => Err(self.no_section(object, reference, name, at)),
            (Some(nodes), _) => Ok(nodes.into()),
            (None, _) => Ok(smallvec![self.node(object, reference)?]),
        }
    }

    /// For an inherited kind, a Service that routes are bound to is what its clients see: what stands there acts on those
    /// routes. It is also a backend if the kind goes that far.
    fn sides(
        &self,
        descriptor: &Descriptor,
        nodes: SmallVec<[NodeId; 1]>,
    ) -> SmallVec<[NodeId; 1]> {
        if !self.options.sees_mesh || descriptor.class == PolicyClass::Direct {
            return nodes;
        }
        let to_backends = descriptor.effective_at >= level::BACKEND;
        let sides = |node: NodeId| {
            let frontend = self.topology.frontend_node(node);
            let backend = (frontend.is_none() || to_backends).then_some(node);
            frontend.into_iter().chain(backend)
        };
        nodes.into_iter().flat_map(sides).collect()
    }

    fn node(&self, object: ObjectId, reference: &Reference) -> Result<NodeId, Refusal> {
        match reference.section {
            None => self.topology.object_node(object).ok_or_else(|| self.outside(reference)),
            Some((section, at)) => {
                let found = self.topology.section_node(object, section);
                found.ok_or_else(|| self.no_section(object, reference, section, at))
            }
        }
    }

    fn permitted(
        &self,
        policy: &Object,
        descriptor: &Descriptor,
        reference: &Reference,
        namespace: Sym,
    ) -> Result<(), Refusal> {
        let text = |sym| self.snapshot.text(sym);
        let name_sym = match &reference.who {
            Who::Named(name, _) => *name,
            Who::Labelled(_) | Who::Unreadable => Sym::EMPTY,
        };
        let GroupKind { group, kind } = policy.kind;
        let from = Referrer { group, kind, namespace: policy.scope.name() };
        let to =
            Referent { group: reference.group, kind: reference.kind, namespace, name: name_sym };
        let granted = descriptor.cross_namespace == CrossNamespace::ReferenceGrant
            && self.topology.grants.allows(from, to);
        if granted {
            return Ok(());
        }
        let own = text(policy.scope.name());
        let message = format!(
            "`{}` in namespace `{own}` may not target {} `{}` in namespace `{}`",
            descriptor.kind,
            text(reference.kind),
            text(name_sym),
            text(namespace)
        );
        let help = match descriptor.cross_namespace {
            CrossNamespace::Forbidden => "move the policy into the target's namespace".to_owned(),
            CrossNamespace::ReferenceGrant => format!(
                "add a ReferenceGrant in namespace `{}` from {}/{} in `{own}`, or move the policy there",
                text(namespace),
                descriptor.group,
                descriptor.kind
            ),
        };
        let at = reference.namespace.map_or(reference.at, |(_, at)| at);
        let d = Diagnostic::new(&codes::CROSS_NAMESPACE, message)
            .at(at)
            .field(format!("{}.namespace", reference.field))
            .help(help);
        Err((&reasons::NOT_PERMITTED, Box::new(d)))
    }

    fn not_found(
        &self,
        policy: &Object,
        reference: &Reference,
        (name, scope): (Sym, Scope),
        at: Span,
    ) -> Refusal {
        let text = |sym| self.snapshot.text(sym);
        let (kind, wanted) = (text(reference.kind), text(name));
        let namespace = reference.namespace.map_or(policy.scope.name(), |(ns, _)| ns);
        let all = self.snapshot.of_kind(text(reference.group), kind);
        let written = || all.iter().filter(|o| self.snapshot.assumed(o.id).is_none());
        let here = written().filter(|o| o.scope.name() == namespace);
        let elsewhere = written().find(|o| o.name == name);
        let near = self.suggest(wanted, all.len(), here.map(|o| text(o.name)));
        let help = match (near.as_slice(), elsewhere) {
            ([], Some(other)) => format!(
                "there is one in namespace `{}`; a target must be in the policy's namespace unless a ReferenceGrant permits it",
                text(other.scope.name())
            ),
            ([], None) if all.is_empty() => format!(
                "no `{kind}` was read at all; add its manifests with -f, and check group and kind"
            ),
            ([], None) => "check the name; `overrule get` lists what was read".to_owned(),
            (near, _) => format!(
                "did you mean {}?",
                near.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" or ")
            ),
        };
        let place = if namespace.is_empty() {
            String::new()
        } else {
            format!(" in namespace `{}`", text(namespace))
        };
        let d = Diagnostic::new(
            &codes::TARGET_NOT_FOUND,
            format!("target {kind} `{wanted}` does not exist{place}"),
        )
        .at(at)
        .field(format!("{}.name", reference.field))
        .help(help);
        let kind = GroupKind { group: reference.group, kind: reference.kind };
        let d = self.snapshot.with_deletion(d, ObjectKey { kind, scope, name });
        (&reasons::TARGET_NOT_FOUND, Box::new(d))
    }

    /// The nearest names, as long as the budget of comparisons lasts: help must not make a broken fleet slow.
    fn suggest<'n>(
        &self,
        word: &str,
        cost: usize,
        names: impl Iterator<Item = &'n str>,
    ) -> Vec<&'n str> {
        match self.budget.get().checked_sub(cost) {
            Some(left) => {
                self.budget.set(left);
                nearest(word, names, 3)
            }
            None => Vec::new(),
        }
    }

    fn no_section(
        &self,
        object: ObjectId,
        reference: &Reference,
        section: Sym,
        at: Span,
    ) -> Refusal {
        let text = |sym| self.snapshot.text(sym);
        let known: Vec<&str> =
            self.topology.sections_of(object).map(|(name, _)| text(name)).collect();
        let help = match nearest(text(section), known.iter().copied(), 1).first() {
            Some(near) => format!("did you mean `{near}`? it has: {}", known.join(", ")),
            None if known.is_empty() => {
                "the target has no sections; remove `sectionName`".to_owned()
            }
            None => format!("it has: {}", known.join(", ")),
        };
        let message =
            format!("{} has no section `{}`", self.snapshot.display(object), text(section));
        let mut d = Diagnostic::new(&codes::SECTION_NOT_FOUND, message)
            .at(at)
            .field(format!("{}.sectionName", reference.field))
            .help(help);
        if let Some(target) = self.snapshot.get(object) {
            d = d.see(target.at, "the target");
        }
        (&reasons::SECTION_NOT_FOUND, Box::new(d))
    }

    fn outside(&self, reference: &Reference) -> Refusal {
        let kind = self.snapshot.text(reference.kind);
        let message = format!(
            "a `{kind}` is not part of the Gateway API hierarchy, so no path passes through it"
        );
        let d = Diagnostic::new(&codes::TARGET_KIND_NOT_ALLOWED, message)
            .at(reference.at)
            .field(format!("{}.kind", reference.field))
            .help("target a GatewayClass, Gateway, ListenerSet, route or backend");
        (&reasons::KIND_NOT_ALLOWED, Box::new(d))
    }

    fn selects_nothing(&self, reference: &Reference) -> Refusal {
        let kind = self.snapshot.text(reference.kind);
        let d = Diagnostic::new(
            &codes::SELECTOR_MATCHES_NOTHING,
            format!("no `{kind}` of the policy's namespace has these labels"),
        )
        .at(reference.at)
        .field(reference.field.to_string())
        .help("check the labels of the targets; selectors reach the policy's own namespace only");
        (&reasons::SELECTOR_MATCHES_NOTHING, Box::new(d))
    }
}

pub(super) type Refusal = (Reason, Box<Diagnostic>);

/// What a reference means, and what is wrong with parts of it.
#[derive(Default)]
struct Landed {
    nodes: Vec<NodeId>,
    diagnostics: Vec<Diagnostic>,
}
