// SPDX-License-Identifier: Apache-2.0
//! In: documents. Out: the [`Snapshot`] and what was wrong with the rest.
//! Not here: specs. Everything here is `apiVersion`, `kind` and `metadata` (or Kuma's `type`, `mesh`, `name`).

use overrule_source::{Diagnostic, DocId, Documents, NodeKind, NodeRef, TreeNodeId, View};

use crate::deletion;
use crate::scope::cluster_scoped;
use crate::snapshot::by_identity;
use crate::universal::{self, MeshScope, mesh_scoped};
use crate::{
    At, Created, Fields, GroupKind, Labels, Names, Object, ObjectId, Scope, Snapshot, Sym, codes,
};

/// The snapshot and every finding of this stage.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The resources.
    pub snapshot: Snapshot,
    /// What was wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// Turns documents into resources. Order of files and documents does not matter; where two documents define one
/// resource, the first by source name and position stays.
pub fn parse(documents: &Documents) -> Parsed {
    parse_in(documents, DEFAULT_NAMESPACE)
}

/// The same, with the namespace of resources that are written without one.
pub fn parse_in(documents: &Documents, namespace: &str) -> Parsed {
    let mut parser = Parser::new(documents, Names::default(), namespace);
    parser.objects.reserve_exact(documents.len());
    for doc in documents.ids() {
        let root = documents.root(doc);
        parser.document(root, NodeRef { doc, node: root.id() });
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
    let mut parser = Parser::new(documents, before.names().clone(), namespace);
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
    names: Names,
    /// Of resources that are written without one.
    namespace: &'a str,
    fields: Fields,
    objects: Vec<Object>,
    /// Kinds that a CustomResourceDefinition of the input declares cluster-scoped.
    cluster_scoped: Vec<GroupKind>,
    /// Sources whose non-resource documents were reported already.
    reported: Vec<u32>,
}

impl<'a> Parser<'a> {
    fn new(documents: &'a Documents, names: Names, namespace: &'a str) -> Self {
        Self {
            documents,
            names,
            namespace,
            fields: Fields::default(),
            objects: Vec::new(),
            cluster_scoped: Vec::new(),
            reported: Vec::new(),
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
            _ => self.not_a_resource(root),
        }
    }

    fn mapping(&mut self, root: View<'a>, place: NodeRef) {
        let head = Head::of(root);
        if !head.is_plain() && is_list(root) {
            for item in root.get("items").into_iter().flat_map(View::items) {
                self.document(item, NodeRef { node: item.id(), ..place });
            }
        } else if !head.is_plain() && is_kustomization(root) {
            self.kustomization(root);
        } else if let Head { api_version: Some(api_version), kind: Some(kind), .. } = head {
            self.kubernetes(root, (api_version, kind), place);
        } else if root.get("type").is_some() && root.get("name").is_some() {
            self.universal(root, place);
        } else {
            self.not_a_resource(root);
        }
    }

    fn not_a_resource(&mut self, root: View<'a>) {
        if is_policy_test(root) {
            return;
        }
        let source = root.span().source.0;
        if self.reported.contains(&source) {
            return;
        }
        self.reported.push(source);
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

    fn kustomization(&mut self, root: View<'a>) {
        self.fields.report(
            &codes::KUSTOMIZATION,
            &At::ROOT,
            root,
            "this is a kustomization, not a resource; it is not applied".to_owned(),
            "build it first: kustomize build DIR | overrule check -f -",
        );
    }

    fn kubernetes(&mut self, root: View<'a>, head: (View<'a>, View<'a>), place: NodeRef) {
        let mut word = |view, key| self.fields.needed(Some(view), root, &At::ROOT, key);
        let Some((api_version, _)) = word(head.0, "apiVersion") else { return };
        let Some((kind_name, _)) = word(head.1, "kind") else { return };
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let at = At::ROOT.key("metadata");
        let Some(metadata) = self.fields.map(root, &At::ROOT, "metadata") else {
            if self.fields.member(root, "metadata").is_none() {
                self.fields.missing(&at, root);
            }
            return;
        };
        let Some((name, name_view)) = self.fields.required(metadata, &at, "name") else { return };
        if !self.check_name(name, name_view, &at.key("name")) {
            return;
        }
        let kind =
            GroupKind { group: self.names.intern(group), kind: self.names.intern(kind_name) };
        let namespace = self.fields.string(metadata, &at, "namespace");
        if let Some((text, view)) = namespace
            && !self.check_name(text, view, &at.key("namespace"))
        {
            return;
        }
        self.note_scope(root, group, kind);
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
        let tolerable =
            !name.is_empty() && !name.contains(['/', '#', '%']) && name != "." && name != "..";
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

    fn note_scope(&mut self, root: View<'a>, group: &str, kind: GroupKind) {
        if group == "apiextensions.k8s.io"
            && self.names.text(kind.kind) == "CustomResourceDefinition"
        {
            let spec = root.get("spec");
            let text =
                |view: Option<View<'a>>, key| view.and_then(|v| v.get(key)).and_then(View::as_str);
            let names = spec.and_then(|s| s.get("names"));
            if let (Some(group), Some(kind), Some("Cluster")) =
                (text(spec, "group"), text(names, "kind"), text(spec, "scope"))
            {
                let kind =
                    GroupKind { group: self.names.intern(group), kind: self.names.intern(kind) };
                self.cluster_scoped.push(kind);
            }
        }
    }

    /// Settles scopes, sorts, drops duplicates, freezes.
    fn finish(mut self) -> Parsed {
        let default = self.names.intern(self.namespace);
        for object in &mut self.objects {
            let Scope::Namespace(namespace) = object.scope else { continue };
            let known = cluster_scoped(
                self.names.text(object.kind.group),
                self.names.text(object.kind.kind),
            );
            if known.unwrap_or_else(|| self.cluster_scoped.contains(&object.kind)) {
                if namespace != default {
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
        let (names, sources) = (&self.names, &self.documents.sources);
        self.objects.sort_by(|a, b| {
            by_identity(names, a, b)
                .then_with(|| source_name(sources, a).cmp(source_name(sources, b)))
                .then_with(|| a.at.cmp(&b.at))
        });
        let mut kept: Vec<Object> = Vec::with_capacity(self.objects.len());
        for object in self.objects {
            match kept.last() {
                Some(first)
                    if first.kind == object.kind
                        && first.scope == object.scope
                        && first.name == object.name =>
                {
                    let message = format!(
                        "{} `{}` is defined twice; the first one by file and line is used",
                        names.text(object.kind.kind),
                        names.text(object.name)
                    );
                    let d = Diagnostic::new(&codes::DUPLICATE_RESOURCE, message)
                        .at_with(object.at, "this one is ignored")
                        .see(first.at, "this one is used")
                        .field("metadata.name")
                        .help("remove one of them, or give it another name or namespace");
                    self.fields.diagnostics.push(d);
                }
                _ => kept.push(object),
            }
        }
        let (snapshot, mut diagnostics) =
            (Snapshot::freeze(self.names, kept), self.fields.diagnostics);
        diagnostics.extend(deletion::findings(&snapshot));
        Parsed { snapshot, diagnostics }
    }
}

/// What tells what a document is.
#[derive(Clone, Copy)]
struct Head<'a> {
    api_version: Option<View<'a>>,
    kind: Option<View<'a>>,
    metadata: Option<View<'a>>,
}

impl<'a> Head<'a> {
    fn of(root: View<'a>) -> Self {
        let [api_version, kind, metadata] = ["apiVersion", "kind", "metadata"].map(|k| root.get(k));
        Self { api_version, kind, metadata }
    }

    /// Whether it can be nothing but a single resource, as nearly all documents are: no list, no kustomization.
    fn is_plain(self) -> bool {
        let text = |view: Option<View<'a>>| view.and_then(View::as_str);
        self.metadata.is_some()
            && text(self.kind).is_some_and(|kind| !kind.ends_with("List"))
            && text(self.api_version).is_some_and(|api| !api.contains("kustomize"))
    }
}

fn source_name<'s>(sources: &'s overrule_source::SourceMap, object: &Object) -> &'s str {
    sources.get(object.at.source).map_or("", |s| s.name())
}

/// A policy test: manifests and expectations. It is run by `overrule test` and says nothing about this input.
fn is_policy_test(root: View<'_>) -> bool {
    let has = |key: &str| root.get(key).is_some();
    has("name") && (has("input") || has("files")) && !has("kind")
}

/// `kind: List`, `kind: HTTPRouteList`, and kumactl's `{items: [...], total: n}`.
fn is_list(root: View<'_>) -> bool {
    let Some(items) = root.get("items") else { return false };
    let kind = root.get("kind").and_then(View::as_str);
    items.kind() == NodeKind::List
        && (kind.is_none_or(|k| k.ends_with("List")) || root.get("metadata").is_none())
}

fn is_kustomization(root: View<'_>) -> bool {
    let api = root.get("apiVersion").and_then(View::as_str).unwrap_or("");
    let kind = root.get("kind").and_then(View::as_str).unwrap_or("");
    api.starts_with("kustomize.config.k8s.io/")
        || (root.get("kind").is_none()
            && ["resources", "patches", "bases", "patchesStrategicMerge"]
                .iter()
                .any(|k| root.get(k).is_some_and(|v| v.kind() == NodeKind::List)))
        || matches!(kind, "Kustomization" | "Component") && api.contains("kustomize")
}
