// SPDX-License-Identifier: Apache-2.0
//! In: documents. Out: the [`Snapshot`] and what was wrong with the rest.
//! Not here: specs. Everything here is `apiVersion`, `kind` and `metadata` (or Kuma's `type`, `mesh`, `name`).

use std::collections::BTreeSet;

use overrule_source::{
    Concerns, Diagnostic, DocId, Documents, NodeKind, NodeRef, Passed, SourceId, TreeNodeId, View,
    Why,
};

use crate::definitions::{self, source_name};
use crate::head::{Head, is_list, is_policy_test};
use crate::rendered::{self, Kustomizations};
use crate::scope::cluster_scoped;
use crate::universal::{self, MeshScope, mesh_scoped};
use crate::{
    At, Created, Fields, GroupKind, Labels, Names, Object, ObjectId, Scope, Snapshot, Sym, codes,
};
use crate::{deletion, placeholder};

/// The snapshot and every finding of this stage.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The resources.
    pub snapshot: Snapshot,
    /// Other definitions of resources that have several, in the order of the resources. They take no part.
    pub variants: Vec<Object>,
    /// Documents that are none of the reader's business, and in which texts they are.
    pub passed: Vec<(SourceId, Passed)>,
    /// What was wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// Turns documents into resources. Order of files and documents does not matter; where two documents define one
/// resource, the first by source name and position stays.
pub fn parse(documents: &Documents) -> Parsed {
    parse_for(documents, &Concerns::default(), DEFAULT_NAMESPACE)
}

/// The same for a reader whom not every kind of resource concerns: nothing is wrong with the others. `namespace` is that of
/// resources that are written without one.
pub fn parse_for(documents: &Documents, concerns: &Concerns, namespace: &str) -> Parsed {
    let mut parser = Parser::new(documents, Names::default(), concerns, namespace);
    parser.kustomizations = Kustomizations::of(documents);
    parser.objects.reserve_exact(documents.len());
    for doc in documents.ids() {
        let root = documents.root(doc);
        if parser.kustomizations.is_patch(root.span().source) {
            parser.pass(NodeRef { doc, node: root.id() }, Why::Patch);
        } else {
            parser.document(root, NodeRef { doc, node: root.id() });
        }
    }
    parser.finish()
}

/// Takes in documents that say something else about the one resource that each of them is. Gives these, too. None if that
/// is not all: if a document is or was something else, or if something about them is to be told.
pub fn again(
    before: &Snapshot,
    documents: &Documents,
    changed: &[DocId],
    namespace: &str,
) -> Option<(Snapshot, Vec<ObjectId>)> {
    let concerns = Concerns::default();
    let mut parser = Parser::new(documents, before.names().clone(), &concerns, namespace);
    for doc in changed {
        let root = documents.root(*doc);
        parser.document(root, NodeRef { doc: *doc, node: root.id() });
    }
    let told = !parser.fields.diagnostics.is_empty()
        || !parser.cluster_scoped.is_empty()
        || parser.objects.iter().any(|object| object.deleted.is_some());
    let roots = parser.objects.iter().map(|object| object.root);
    let whole = roots.eq(changed.iter().map(|doc| NodeRef { doc: *doc, node: TreeNodeId(0) }));
    (!told && whole).then(|| before.with(parser.names, parser.objects)).flatten()
}

/// The namespace of resources that are written without one, unless somebody says otherwise.
pub const DEFAULT_NAMESPACE: &str = "default";

struct Parser<'a> {
    documents: &'a Documents,
    concerns: &'a Concerns,
    names: Names,
    /// Of resources that are written without one.
    namespace: &'a str,
    fields: Fields,
    objects: Vec<Object>,
    /// Kinds that a CustomResourceDefinition of the input declares cluster-scoped.
    cluster_scoped: Vec<GroupKind>,
    /// Kinds that a document of the input describes as policies.
    described: BTreeSet<(String, String)>,
    /// Findings about resources of kinds that concern the reader only if they are described.
    doubtful: Vec<(GroupKind, Diagnostic)>,
    /// Sources whose non-resource documents were reported already.
    reported: BTreeSet<SourceId>,
    kustomizations: Kustomizations<'a>,
    passed: Vec<(SourceId, Passed)>,
}

impl<'a> Parser<'a> {
    fn new(
        documents: &'a Documents,
        names: Names,
        concerns: &'a Concerns,
        namespace: &'a str,
    ) -> Self {
        Self {
            documents,
            concerns,
            names,
            namespace,
            fields: Fields::default(),
            objects: Vec::new(),
            cluster_scoped: Vec::new(),
            described: BTreeSet::new(),
            doubtful: Vec::new(),
            reported: BTreeSet::new(),
            kustomizations: Kustomizations::default(),
            passed: Vec::new(),
        }
    }

    /// One document: a resource, a List of them, a bare list of them, or something else.
    fn document(&mut self, root: View<'a>, place: NodeRef) {
        match root.kind() {
            NodeKind::Null => {}
            NodeKind::List => {
                for item in root.items() {
                    self.document(item, NodeRef { node: item.id(), ..place });
                }
            }
            NodeKind::Map => self.mapping(root, place),
            _ => self.not_a_resource(root, place),
        }
    }

    fn mapping(&mut self, root: View<'a>, place: NodeRef) {
        let head = Head::of(root);
        if !head.is_plain() && is_list(root) {
            for item in root.get("items").into_iter().flat_map(View::items) {
                self.document(item, NodeRef { node: item.id(), ..place });
            }
        } else if !head.is_plain() && rendered::is_kustomization(root) {
            self.pass(place, Why::Kustomization);
        } else if let Head { api_version: Some(api_version), kind: Some(kind), .. } = head {
            self.kubernetes(root, (api_version, kind), place);
        } else if root.get("name").is_some() && self.is_universal(root) {
            self.universal(root, place);
        } else {
            self.not_a_resource(root, place);
        }
    }

    /// Whether a document says what it is by its `type`.
    fn is_universal(&self, root: View<'a>) -> bool {
        let Some(word) = root.get("type") else { return false };
        self.concerns.everything() || word.as_str().is_some_and(|w| self.concerns.has_type(w))
    }

    fn pass(&mut self, place: NodeRef, why: Why) {
        let Some(document) = self.documents.get(place.doc) else { return };
        let at = self.documents.view(place).span().start;
        self.passed.push((document.source, Passed { document: document.index, at, why }));
    }

    fn not_a_resource(&mut self, root: View<'a>, place: NodeRef) {
        if is_policy_test(root) {
            self.pass(place, Why::PolicyTest);
            return;
        }
        if !self.concerns.everything() && !self.concerns.is_meant(root) {
            self.pass(place, Why::NoResource);
            return;
        }
        if !self.reported.insert(root.span().source) {
            return;
        }
        let missing = match (root.get("kind").is_some(), root.get("apiVersion").is_some()) {
            (true, false) => "it has `kind` but no `apiVersion`",
            (false, true) => "it has `apiVersion` but no `kind`",
            _ => "it has neither `apiVersion` and `kind` nor `type` and `name`",
        };
        let message = format!("this document is not a resource and is skipped: {missing}");
        self.fields.report(
            &codes::NOT_A_RESOURCE,
            &At::ROOT,
            root,
            message,
            "if it should be one, add the missing fields; this is reported once per file",
        );
    }

    fn kubernetes(&mut self, root: View<'a>, head: (View<'a>, View<'a>), place: NodeRef) {
        let before = self.fields.diagnostics.len();
        let known = self.objects.len() + self.passed.len();
        let kind = self.kubernetes_object(root, head, place);
        let doubtful = match kind {
            Some(kind) => !self.has(kind),
            None => !self.concerns.everything(),
        };
        if doubtful {
            if self.objects.len() + self.passed.len() == known {
                self.pass(place, Why::OtherKind);
            }
            // Whether anything matters of a resource of such a kind is known when all descriptions are.
            let found = self.fields.diagnostics.drain(before..);
            self.doubtful.extend(found.filter_map(|d| Some((kind?, d))));
        }
    }

    /// Whether a kind concerns the reader by itself.
    fn has(&self, kind: GroupKind) -> bool {
        self.concerns.has(self.names.text(kind.group), self.names.text(kind.kind))
    }

    /// Takes in an object of Kubernetes. Gives its kind, if it has one.
    fn kubernetes_object(
        &mut self,
        root: View<'a>,
        head: (View<'a>, View<'a>),
        place: NodeRef,
    ) -> Option<GroupKind> {
        let mut word = |view, key| self.fields.needed(Some(view), root, &At::ROOT, key);
        let (api_version, _) = word(head.0, "apiVersion")?;
        let (kind_name, _) = word(head.1, "kind")?;
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let kind =
            GroupKind { group: self.names.intern(group), kind: self.names.intern(kind_name) };
        let told = Some(kind);
        let at = At::ROOT.key("metadata");
        let Some(metadata) = self.fields.map(root, &At::ROOT, "metadata") else {
            if self.fields.member(root, "metadata").is_none() {
                self.fields.missing(&at, root);
            }
            return told;
        };
        if self.fields.member(metadata, "name").is_none()
            && let Some(made) = self.fields.member(metadata, "generateName")
        {
            self.unnamed(kind_name, made, place);
            return told;
        }
        let Some((name, name_view)) = self.fields.required(metadata, &at, "name") else {
            return told;
        };
        if !self.check_name(name, name_view, &at.key("name")) {
            return told;
        }
        let namespace = self.fields.string(metadata, &at, "namespace");
        if let Some((text, view)) = namespace
            && !self.check_name(text, view, &at.key("namespace"))
        {
            return told;
        }
        self.note_kind(root, group, kind);
        let labels = self.labels(metadata, &at);
        let created = self.created(metadata, &at);
        let deleted = self.deleted(metadata, &at);
        let namespace = namespace.map_or(self.namespace, |(text, _)| text);
        let (scope, name) = match mesh_scoped(group, kind_name) {
            None => (Scope::Namespace(self.names.intern(namespace)), self.names.intern(name)),
            Some(told_apart) => {
                let label =
                    self.names.lookup(universal::MESH_LABEL).and_then(|key| labels.get(key));
                let mesh = match (label, self.fields.member(root, "mesh")) {
                    (Some(label), _) => label,
                    (None, Some(mesh)) => self.names.intern(mesh.as_str().unwrap_or("default")),
                    (None, None) => self.names.intern("default"),
                };
                // Kuma's own name for it: a mesh spans namespaces.
                let name = match told_apart {
                    MeshScope::Cluster => self.names.intern(name),
                    MeshScope::Namespaced => {
                        self.names.intern(namespace);
                        self.names.intern(&format!("{name}.{namespace}"))
                    }
                };
                (Scope::Mesh(mesh), name)
            }
        };
        self.objects.push(Object {
            id: ObjectId(0),
            kind,
            version: self.names.intern(version),
            // A namespace is corrected in `finish`, when every CustomResourceDefinition is known.
            scope,
            name,
            labels,
            created,
            deleted,
            root: place,
            at: name_view.span(),
        });
        told
    }

    /// An object whose name will be made by the server.
    fn unnamed(&mut self, kind: &str, made: View<'a>, place: NodeRef) {
        let at = At::ROOT.key("metadata");
        let message =
            format!("this {kind} gets its name when it is created, so it takes no part in answers");
        let help = "give it a name in `metadata.name` to have it answered";
        self.fields.report(&codes::UNNAMED, &at.key("generateName"), made, message, help);
        self.pass(place, Why::Unnamed);
    }

    /// Kuma's universal form: `type`, `mesh`, `name`, `labels`.
    fn universal(&mut self, root: View<'a>, place: NodeRef) {
        let Some((kind, _)) = self.fields.required(root, &At::ROOT, "type") else { return };
        let Some((name, name_view)) = self.fields.required(root, &At::ROOT, "name") else { return };
        let mesh = self.fields.string(root, &At::ROOT, "mesh").map_or("default", |(text, _)| text);
        let cluster = universal::is_global(kind);
        let labels = self.labels(root, &At::ROOT);
        let created = self.created(root, &At::ROOT);
        let mesh = self.names.intern(mesh);
        self.objects.push(Object {
            id: ObjectId(0),
            kind: GroupKind {
                group: self.names.intern(universal::GROUP),
                kind: self.names.intern(kind),
            },
            version: Sym::EMPTY,
            scope: if cluster { Scope::Cluster } else { Scope::Mesh(mesh) },
            name: self.names.intern(name),
            labels,
            created,
            deleted: None,
            root: place,
            at: name_view.span(),
        });
    }

    /// A DNS subdomain, as the API server demands of almost every name. Kuma's own names are checked by its family.
    fn check_name(&mut self, name: &str, view: View<'a>, at: &At<'_>) -> bool {
        let mut before = b'.';
        let mut fits = |b: u8| {
            let before = std::mem::replace(&mut before, b);
            match b {
                b'a'..=b'z' | b'0'..=b'9' => true,
                b'-' => before != b'.',
                b'.' => !matches!(before, b'.' | b'-'),
                _ => false,
            }
        };
        let ok = name.len() <= 253 && name.bytes().all(&mut fits) && !matches!(before, b'.' | b'-');
        // RBAC objects and some others allow more; only what could be mistaken for a path is refused outright.
        let tolerable = !name.is_empty()
            && (!name.contains(['/', '#', '%']) || placeholder::first(name).is_some())
            && name != "."
            && name != "..";
        if !ok {
            let message = format!("`{at}` is `{name}`, which is not a valid Kubernetes name");
            self.fields.report(&codes::INVALID_NAME, at, view, message, "use lower-case letters, digits, `-` and `.`, at most 253 characters, starting and ending with a letter or digit");
        }
        ok || tolerable
    }

    fn labels(&mut self, of: View<'a>, at: &At<'_>) -> Labels {
        let Some(map) = self.fields.map(of, at, "labels") else { return Labels::default() };
        let at = at.key("labels");
        let mut pairs = Vec::with_capacity(map.len());
        for (key, value) in map.entries() {
            match value.as_str() {
                Some(text) => {
                    pairs.push((self.names.intern(key.key_text()), self.names.intern(text)))
                }
                None => self.fields.wrong_type(&at.key(key.key_text()), value, "a string"),
            }
        }
        Labels::new(pairs)
    }

    fn created(&mut self, of: View<'a>, at: &At<'_>) -> Created {
        let key =
            if of.get("creationTime").is_some() { "creationTime" } else { "creationTimestamp" };
        let Some((text, view)) = self.fields.string(of, at, key) else { return Created::Absent };
        Created::parse(text).unwrap_or_else(|| {
            let at = at.key(key);
            let message = format!("`{at}` is `{text}`, which is not an RFC 3339 time");
            self.fields.report(&codes::BAD_CREATION_TIME, &at, view, message, "write it like 2026-01-31T09:00:00Z, or remove it: an unknown creation time counts as newest");
            Created::Absent
        })
    }

    /// A time that cannot be read marks nothing: the API server refuses such an object, and a deny must not get lost by it.
    fn deleted(&mut self, of: View<'a>, at: &At<'_>) -> Option<Sym> {
        let key = "deletionTimestamp";
        let (text, view) = self.fields.string(of, at, key)?;
        if Created::parse(text).is_some() {
            return Some(self.names.intern(text));
        }
        let at = at.key(key);
        let message = format!("`{at}` is `{text}`, which is not an RFC 3339 time");
        let help = "remove it: the API server sets it when the object is deleted; until then the object takes part";
        self.fields.report(&codes::BAD_DELETION_TIME, &at, view, message, help);
        None
    }

    /// Notes what a document says about kinds.
    fn note_kind(&mut self, root: View<'a>, group: &str, kind: GroupKind) {
        let spec = root.get("spec");
        let text =
            |view: Option<View<'a>>, key| view.and_then(|v| v.get(key)).and_then(View::as_str);
        let names = spec.and_then(|s| s.get("names"));
        match (group, self.names.text(kind.kind)) {
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                let Some((group, kind)) = text(spec, "group").zip(text(names, "kind")) else {
                    return;
                };
                if text(spec, "scope") == Some("Cluster") {
                    let (group, kind) = (self.names.intern(group), self.names.intern(kind));
                    self.cluster_scoped.push(GroupKind { group, kind });
                }
                let labels = root.get("metadata").and_then(|m| m.get("labels"));
                if labels.is_some_and(|labels| labels.get(POLICY_LABEL).is_some()) {
                    self.described.insert((group.to_owned(), kind.to_owned()));
                }
            }
            (DESCRIPTORS, _) => {
                if let Some((group, kind)) = text(spec, "group").zip(text(spec, "kind")) {
                    self.described.insert((group.to_owned(), kind.to_owned()));
                }
            }
            _ => {}
        }
    }

    /// Whether a kind takes part in an answer, now that all descriptions are known.
    fn takes_part(&self, kind: GroupKind) -> bool {
        let (group, name) = (self.names.text(kind.group), self.names.text(kind.kind));
        self.concerns.has(group, name)
            || self.described.contains(&(group.to_owned(), name.to_owned()))
    }

    /// Settles scopes, sorts, settles definitions, freezes.
    fn finish(mut self) -> Parsed {
        let default = self.names.intern(self.namespace);
        let mut objects = std::mem::take(&mut self.objects);
        for object in &mut objects {
            let Scope::Namespace(namespace) = object.scope else { continue };
            let known = cluster_scoped(
                self.names.text(object.kind.group),
                self.names.text(object.kind.kind),
            );
            if known.unwrap_or_else(|| self.cluster_scoped.contains(&object.kind)) {
                if namespace != default && self.takes_part(object.kind) {
                    let kind = self.names.text(object.kind.kind);
                    let d = Diagnostic::new(
                        &codes::NAMESPACE_ON_CLUSTER_SCOPED,
                        format!("`{kind}` is cluster-scoped; its namespace is ignored"),
                    );
                    self.fields.diagnostics.push(
                        d.at(object.at)
                            .field("metadata.namespace")
                            .help("remove `metadata.namespace`"),
                    );
                }
                object.scope = Scope::Cluster;
            }
        }
        let doubtful = std::mem::take(&mut self.doubtful);
        let counts = doubtful.into_iter().filter(|(kind, _)| self.takes_part(*kind));
        let mut diagnostics: Vec<Diagnostic> = counts.map(|(_, d)| d).collect();
        diagnostics.append(&mut self.fields.diagnostics);
        let (names, sources) = (&self.names, &self.documents.sources);
        definitions::sort(names, sources, &mut objects);
        let takes_part = |kind| self.takes_part(kind);
        let mut settled = definitions::settle(self.documents, names, objects, &takes_part);
        diagnostics.append(&mut settled.diagnostics);
        let answered: Vec<&str> = settled
            .kept
            .iter()
            .filter(|object| self.takes_part(object.kind))
            .map(|object| source_name(sources, object))
            .collect();
        diagnostics.extend(self.kustomizations.findings(answered));
        diagnostics.extend(rendered::templates(sources));
        let Self { concerns, described, passed, .. } = self;
        let snapshot = Snapshot::freeze(self.names, settled.kept);
        diagnostics.extend(deletion::findings(&snapshot, |kind| {
            let (group, name) = (snapshot.text(kind.group), snapshot.text(kind.kind));
            concerns.has(group, name) || described.contains(&(group.to_owned(), name.to_owned()))
        }));
        Parsed { snapshot, variants: settled.variants, passed, diagnostics }
    }
}

/// The label by which a definition says that its kind is a policy.
const POLICY_LABEL: &str = "gateway.networking.k8s.io/policy";
/// The API group of documents that describe kinds of policies.
const DESCRIPTORS: &str = "overrule";
