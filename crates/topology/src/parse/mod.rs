// SPDX-License-Identifier: Apache-2.0
//! In: the trees of Gateway API objects, Services, Namespaces and ReferenceGrants. Out: [`GatewayResources`], and what is
//! wrong inside single objects. Not here: links between objects (`connect`).
//!
//! Bad parts shrink the result and never widen it: a selector that cannot be read selects nothing, a hostname that is
//! no hostname fits nothing.

mod allowed;
mod assumed;
mod fields;
mod gateway;
mod members;
mod others;
mod route;
mod rule;

use hashbrown::HashMap;
use overrule_model::{At, Fields, GroupKind, Object, ObjectId, Snapshot, Sym};
use overrule_source::{Diagnostic, Documents, NodeRef, Span, View};

use super::assume::Assumptions;
use super::grants::GrantIndex;
use super::graph::RouteKind;
use super::hostname::{self, HostIx};
use super::resources::{GatewayResources, Words};
use super::{GROUP, X_GROUP, schemas};
use crate::codes;

/// Reads the specs of all Gateway API objects. Names go to the interner of the snapshot.
pub fn parse(
    documents: &Documents,
    snapshot: &mut Snapshot,
) -> (GatewayResources, Vec<Diagnostic>) {
    parse_assuming(documents, snapshot, &Assumptions::default())
}

/// The same for a snapshot with placeholders, which have no tree.
pub fn parse_assuming(
    documents: &Documents,
    snapshot: &mut Snapshot,
    assumed: &Assumptions,
) -> (GatewayResources, Vec<Diagnostic>) {
    let mut reader = Reader::new(documents, snapshot);
    reader.assumed = Some(assumed);
    reader.each(GROUP, "GatewayClass", Reader::class);
    reader.each(GROUP, "Gateway", Reader::gateway);
    reader.each(GROUP, "ListenerSet", Reader::listener_set);
    reader.each(X_GROUP, "XListenerSet", Reader::listener_set);
    // In the order of the objects: by name of the kind.
    let mut kinds = RouteKind::ALL;
    kinds.sort_unstable_by_key(|kind| kind.name());
    let routes: usize = kinds.iter().map(|k| reader.snapshot.of_kind(GROUP, k.name()).len()).sum();
    reader.out.reserve(routes);
    for kind in kinds {
        reader.each(GROUP, kind.name(), |reader, head| reader.route(head, kind));
    }
    reader.each("", "Service", Reader::service);
    reader.each("", "Namespace", Reader::namespace);
    reader.each(GROUP, "ReferenceGrant", Reader::grant);
    (reader.out, reader.fields.diagnostics)
}

/// Every ReferenceGrant, for families whose policies refer to more than targets. What is wrong with one is told by
/// [`parse`].
pub fn read_grants(documents: &Documents, snapshot: &mut Snapshot) -> GrantIndex {
    let mut reader = Reader::new(documents, snapshot);
    reader.each(GROUP, "ReferenceGrant", Reader::grant);
    reader.out.grants
}

/// What is needed of an object while the snapshot is borrowed for interning.
#[derive(Debug, Clone, Copy)]
struct Head {
    id: ObjectId,
    kind: GroupKind,
    namespace: Sym,
    name: Sym,
    root: NodeRef,
    at: Span,
}

impl Head {
    fn of(object: &Object) -> Self {
        Self {
            id: object.id,
            kind: object.kind,
            namespace: object.scope.name(),
            name: object.name,
            root: object.root,
            at: object.at,
        }
    }
}

struct Reader<'a> {
    documents: &'a Documents,
    snapshot: &'a mut Snapshot,
    fields: Fields,
    out: GatewayResources,
    /// What placeholders have.
    assumed: Option<&'a Assumptions>,
    /// `rule-1`, `rule-2`, as far as any route needed them.
    rule_names: Vec<Sym>,
    /// Names of sections of the object at hand: where they are, and at which position.
    seen: HashMap<Sym, (Span, usize)>,
}

impl<'a> Reader<'a> {
    fn new(documents: &'a Documents, snapshot: &'a mut Snapshot) -> Self {
        let words = words(snapshot);
        Self {
            documents,
            snapshot,
            fields: Fields::default(),
            out: GatewayResources { words, ..GatewayResources::default() },
            assumed: None,
            rule_names: Vec::new(),
            seen: HashMap::new(),
        }
    }

    /// Calls `read` for every object of a kind, by namespace and name.
    fn each(&mut self, group: &str, kind: &str, mut read: impl FnMut(&mut Self, Head)) {
        let objects = self.snapshot.of_kind(group, kind);
        let first = objects.first().map_or(0, |o| o.id.0);
        let end = objects.last().map_or(0, |o| o.id.0 + 1);
        for id in first..end {
            if let Some(head) = self.snapshot.get(ObjectId(id)).map(Head::of) {
                self.fields.by_schema = schemas::has(group, kind, self.documents.view(head.root));
                read(self, head);
            }
        }
    }

    fn intern(&mut self, text: &str) -> Sym {
        self.snapshot.names_mut().intern(text)
    }

    /// The `spec` of an object, after checking the fields beside it.
    fn spec(&mut self, head: Head) -> Option<View<'a>> {
        let root = self.documents.view(head.root);
        let [spec] = self.members(root, &At::ROOT, fields::OBJECT)?;
        if spec.is_none() {
            self.fields.missing(&At::ROOT.key("spec"), root);
        }
        spec
    }

    /// A hostname that may be used, or a finding. Capitals are reported and read as lower case.
    fn hostname(&mut self, text: &str, view: View<'a>, at: &At<'_>) -> Option<HostIx> {
        let flaw = match hostname::check(text) {
            Ok(()) => return Some(self.out.hosts.add(text, self.snapshot.names_mut())),
            Err(flaw) => flaw,
        };
        let message = format!("`{at}` is `{text}`, which is not a valid hostname");
        self.fields.report(&codes::INVALID_HOSTNAME, at, view, message, flaw.help());
        match flaw {
            hostname::Flaw::Capitals => {
                let lower = text.to_ascii_lowercase();
                Some(self.out.hosts.add(&lower, self.snapshot.names_mut()))
            }
            _ => None,
        }
    }
}

fn words(snapshot: &mut Snapshot) -> Words {
    let names = snapshot.names_mut();
    let rules = RouteKind::ALL.map(|kind| names.intern(kind.rule_name()));
    let mut word = |text| names.intern(text);
    Words {
        class: word("GatewayClass"),
        listener: word("Listener"),
        rules,
        service_port: word("ServicePort"),
        http: word("HTTP"),
        https: word("HTTPS"),
        tls: word("TLS"),
        tcp: word("TCP"),
        udp: word("UDP"),
        group: word(GROUP),
        x_group: word(X_GROUP),
        gateway: word("Gateway"),
        listener_set: word("ListenerSet"),
        x_listener_set: word("XListenerSet"),
        http_route: word("HTTPRoute"),
        service: word("Service"),
        secret: word("Secret"),
        delegation_group: word("delegation.kgateway.dev"),
        namespace_label: word("kubernetes.io/metadata.name"),
    }
}
