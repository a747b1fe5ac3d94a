// SPDX-License-Identifier: Apache-2.0
//! In: a snapshot. Out: the resources of each mesh, with the labels a control plane would add, and what is wrong with
//! them. Not here: what policies select, and what that means.

use std::collections::BTreeMap;

use overrule_model::{ObjectId, Scope, Snapshot};
use overrule_source::{Diagnostic, Documents, NodeRef, View};
use serde_json::Value;

use crate::codes;
use crate::dataplane::{Dataplane, MeshGateway};
use crate::kinds::{self, KindName};
use crate::labels::{DISPLAY_NAME, LabelMap, NewResource, ORIGIN, compute_labels};
use crate::names::Mode;
use crate::permission;
use crate::policy::{MeshEntry, Policy};
use crate::profile::Profile;
use crate::resource::{Meta, PlacedResource};
use crate::role::RoleError;
use crate::settings::{LabelSource, Settings};
use crate::shapes;
use crate::targetref::TargetRef;
use crate::targets::Destination;
use crate::validate::{self, AdmissionProblem, Against};

/// The API group of Kuma's kinds on Kubernetes.
pub const GROUP: &str = "kuma.io";

/// Something that was read, and the object it was read from.
#[derive(Debug, Clone)]
pub struct ReadObject<T> {
    /// The object; none if only others speak of it.
    pub object: Option<ObjectId>,
    /// What it says.
    pub it: T,
}

/// Why a control plane would not take a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A reference or an entry is not allowed.
    Invalid,
    /// The release does not know what it says; the founding documents do.
    ByRelease,
    /// Its entries do not agree on what it is for.
    NoRole,
}

/// The resources of one mesh.
#[derive(Debug, Clone, Default)]
pub struct MeshResources {
    /// Its name.
    pub name: Box<str>,
    /// The Mesh itself; none if no file has it.
    pub object: Option<ObjectId>,
    /// Policies, by kind in the order of answers, then by object.
    pub policies: Vec<Policy>,
    /// Their objects.
    pub policy_objects: Vec<ObjectId>,
    /// Those that would be refused, by place.
    pub refused: BTreeMap<u32, Refusal>,
    /// Proxies, by object.
    pub dataplanes: Vec<ReadObject<Dataplane>>,
    /// ExternalServices, by object, each as a proxy with the one inbound that it has at a zone egress.
    pub external: Vec<ReadObject<Dataplane>>,
    /// MeshIdentities, by object.
    pub identities: Vec<ObjectId>,
    /// MeshGateways, by object.
    pub gateways: Vec<MeshGateway>,
    /// Their objects.
    pub gateway_objects: Vec<ObjectId>,
    /// What entries may mean: the Mesh first, then services and routes, by object.
    pub destinations: Vec<Destination>,
    /// Their objects; none for a Mesh that no file has.
    pub destination_objects: Vec<Option<ObjectId>>,
}

impl MeshResources {
    /// Whether a rule set does not take a policy. The founding documents know no roles, and more fields than the release.
    pub fn is_refused(&self, profile: &Profile, policy: &Policy) -> bool {
        match self.refused.get(&policy.place) {
            Some(Refusal::Invalid) => true,
            Some(Refusal::NoRole | Refusal::ByRelease) => *profile == Profile::Release,
            None => false,
        }
    }

    /// Whether a policy takes part under a rule set: it is not refused, and not only a shadow.
    pub fn takes_part(&self, profile: &Profile, policy: &Policy) -> bool {
        !policy.is_shadow() && !self.is_refused(profile, policy)
    }

    /// A proxy by place; after the dataplanes come the external services.
    pub fn proxy(&self, place: usize) -> Option<&ReadObject<Dataplane>> {
        let beyond = |place: usize| self.external.get(place.checked_sub(self.dataplanes.len())?);
        self.dataplanes.get(place).or_else(|| beyond(place))
    }

    /// The policies at these places.
    pub fn policies_at(&self, places: &[u32]) -> Vec<&Policy> {
        places.iter().filter_map(|place| self.policies.get(*place as usize)).collect()
    }
}

/// The resources of all meshes.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// By name.
    pub meshes: Vec<MeshResources>,
    /// Who every object is, by object: labels as a control plane would have them.
    pub metas: BTreeMap<ObjectId, Meta>,
    /// Documents of all of them.
    pub roots: BTreeMap<ObjectId, NodeRef>,
    /// What only the release refuses.
    pub by_release: Vec<Diagnostic>,
    /// The control plane they are meant for.
    pub settings: Settings,
}

impl Resources {
    /// Whether there is anything of Kuma's.
    pub fn is_empty(&self) -> bool {
        self.metas.is_empty()
    }

    /// The spec of an object; for kinds that have none, all of it.
    pub fn spec<'d>(&self, documents: &'d Documents, object: ObjectId) -> Option<View<'d>> {
        let root = documents.view(*self.roots.get(&object)?);
        Some(root.get("spec").unwrap_or(root))
    }
}

/// Reads everything of Kuma's.
pub fn parse(
    documents: &Documents,
    snapshot: &Snapshot,
    settings: &Settings,
) -> (Resources, Vec<Diagnostic>) {
    let mut reader = Reader::new(documents, settings);
    let ours = |kind: &overrule_model::GroupKind| snapshot.text(kind.group) == GROUP;
    let mut all: Vec<_> = snapshot.kinds().filter(|(kind, _)| ours(kind)).collect();
    // Policies stand in the order of answers.
    all.sort_by_key(|(kind, _)| place_of_kind(snapshot.text(kind.kind)));
    for (_, objects) in all {
        for object in objects {
            reader.object(object);
        }
    }
    reader.finish()
}

/// A policy by itself, as if it were alone in its mesh; none if it is none, or if anything is wrong with it.
pub(crate) fn read_policy(
    documents: &Documents,
    object: &overrule_model::Object,
    settings: &Settings,
) -> Option<Policy> {
    let mut reader = Reader::new(documents, settings);
    reader.object(object);
    let Reader { mut meshes, diagnostics, by_release, .. } = reader;
    let (_, mut mesh) = meshes.pop_first()?;
    mesh.policies.pop().filter(|_| diagnostics.is_empty() && by_release.is_empty())
}

fn place_of_kind(name: &str) -> usize {
    kinds::KINDS.iter().position(|k| k.name == name).unwrap_or(usize::MAX)
}

struct Reader<'a> {
    documents: &'a Documents,
    settings: &'a Settings,
    meshes: BTreeMap<Box<str>, MeshResources>,
    metas: BTreeMap<ObjectId, Meta>,
    roots: BTreeMap<ObjectId, NodeRef>,
    diagnostics: Vec<Diagnostic>,
    by_release: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    fn new(documents: &'a Documents, settings: &'a Settings) -> Self {
        Self {
            documents,
            settings,
            meshes: BTreeMap::new(),
            metas: BTreeMap::new(),
            roots: BTreeMap::new(),
            diagnostics: Vec::new(),
            by_release: Vec::new(),
        }
    }

    fn object(&mut self, object: &overrule_model::Object) {
        let Some(mut resource) = PlacedResource::read(self.documents, object.root) else { return };
        let role = self.complete(&mut resource, object);
        self.shape(&resource);
        self.metas.insert(object.id, resource.meta.clone());
        self.roots.insert(object.id, object.root);
        let kind = resource.meta.kind.clone();
        let of = &resource.meta;
        let name = if kind == kinds::MESH { of.name.clone() } else { of.mesh.clone() };
        if name.is_empty() {
            return;
        }
        let mesh = self.meshes.entry(name.clone().into()).or_default();
        if kind == kinds::MESH {
            mesh.object = Some(object.id);
        }
        if kind == kinds::DATAPLANE {
            let it = Dataplane::read(self.documents, &resource);
            mesh.dataplanes.push(ReadObject { object: Some(object.id), it });
        }
        if kind == kinds::OLD_EXTERNAL_SERVICE {
            let it = Dataplane::of_external(self.documents, &resource);
            mesh.external.push(ReadObject { object: Some(object.id), it });
        }
        if kind == kinds::IDENTITY {
            mesh.identities.push(object.id);
        }
        if kind == kinds::GATEWAY {
            mesh.gateways.push(MeshGateway::read(self.documents, &resource));
            mesh.gateway_objects.push(object.id);
        }
        if let Some(destination) = Destination::read(self.documents, &resource) {
            mesh.destinations.push(destination);
            mesh.destination_objects.push(Some(object.id));
        }
        if let Some(mut policy) = Policy::read(self.documents, &resource) {
            let place = u32::try_from(mesh.policies.len()).unwrap_or(u32::MAX);
            policy.place = place;
            let mut problems = validate::policy(self.documents, &policy);
            if self.settings.labels == LabelSource::Computed {
                written_short(self.documents, &mut policy);
            }
            if *policy.kind == kinds::TRAFFIC_PERMISSION {
                problems.extend(permission::problems(self.documents, &policy));
            }
            let refusal = refusal(self.documents, self.settings, &policy, &problems);
            mesh.refused.extend(refusal.map(|why| (place, why)));
            for p in problems {
                let span = self.documents.view(p.node).span();
                // Some of the control plane's messages are whole sentences.
                let message = format!("{}: {}", p.field, p.message.trim_end_matches('.'));
                let usual = || "the control plane refuses this policy; correct the field".into();
                let found = Diagnostic::new(&codes::INVALID, message).at(span).field(p.field);
                let found = found.help(p.help.unwrap_or_else(usual));
                if p.release_only {
                    self.by_release.push(found)
                } else {
                    self.diagnostics.push(found)
                }
            }
            if let Some(why) = role {
                mesh.refused.entry(place).or_insert(Refusal::NoRole);
                self.diagnostics.push(mixed(object, why));
            }
            mesh.policies.push(policy);
            mesh.policy_objects.push(object.id);
        }
    }

    /// Tells what is not as it must be, and so is read as if it were not there.
    fn shape(&mut self, resource: &PlacedResource) {
        let spec = resource.spec(self.documents);
        let below = spec.id() != self.documents.view(resource.root).id();
        let path = if below { "spec." } else { "" };
        for flaw in shapes::flaws(resource.meta.kind.known(), spec, path) {
            let message = format!("{}: {}", flaw.field, flaw.message);
            let found = Diagnostic::new(&codes::WRONG_SHAPE, message).at(flaw.at.span());
            self.diagnostics.push(found.field(flaw.field).help(
                "the control plane refuses this resource; here the field counts as if it were not there",
            ));
        }
    }

    /// Gives a resource the labels that a control plane would give it.
    fn complete(
        &self,
        resource: &mut PlacedResource,
        object: &overrule_model::Object,
    ) -> Option<RoleError> {
        if self.settings.labels == LabelSource::AsWritten {
            return None;
        }
        let root = self.documents.view(resource.root);
        let kubernetes = root.get("metadata").is_some() && root.get("type").is_none();
        let namespace = match (kubernetes, object.scope) {
            (true, Scope::Cluster) | (false, _) => "",
            (true, _) => namespace_of(root),
        };
        let kind = resource.meta.kind.known();
        let in_namespace = kubernetes && kind.is_some_and(|k| !k.is_cluster_scoped);
        let written = root.get("metadata").and_then(|m| m.get("namespace"));
        if in_namespace && written.is_none() {
            resource.meta.name.push_str(".default");
        }
        let namespace = if in_namespace { namespace } else { "" };
        // On Kubernetes even kinds without one are written below `spec`.
        let top = if kubernetes && kind.is_some_and(|k| !k.is_new_style) {
            root.get("spec")
        } else {
            Some(root)
        };
        // A mesh has thousands of proxies: of them only this is asked, and of policies only those in namespaces.
        let gateway = || top.and_then(|t| t.get("networking")).and_then(|n| n.get("gateway"));
        let document = match kind {
            Some(k) if k.is_proxy => gateway().map_or(
                Value::Null,
                |g| serde_json::json!({"networking": {"gateway": g.to_json()}}),
            ),
            Some(k) if k.is_policy() && !namespace.is_empty() => {
                top.map_or(Value::Null, View::to_json)
            }
            _ => Value::Null,
        };
        if kubernetes && !resource.meta.labels.contains_key(DISPLAY_NAME) {
            let name = root.get("metadata").and_then(|m| m.get("name"));
            let name = name.and_then(|n| n.scalar_text()).unwrap_or_default();
            resource.meta.labels.insert(DISPLAY_NAME.into(), name.into());
        }
        let written = NewResource {
            kind,
            mesh: &resource.meta.mesh,
            namespace,
            labels: &resource.meta.labels,
            document: &document,
        };
        let computed: Result<LabelMap, RoleError> =
            compute_labels(&written, &self.settings.plane(kubernetes));
        match computed {
            Ok(mut labels) => {
                // A zone sees resources of the global control plane with this label, and proxies are in zones.
                if self.settings.mode == Mode::Global && kind.is_some_and(|k| !k.is_proxy) {
                    labels.entry(ORIGIN.into()).or_insert_with(|| "global".into());
                }
                resource.meta.labels = labels;
                None
            }
            Err(why) => {
                // It has every label but the role.
                let written = NewResource { document: &Value::Null, ..written };
                let plane = self.settings.plane(kubernetes);
                if let Ok(labels) = compute_labels(&written, &plane) {
                    resource.meta.labels = labels;
                }
                Some(why)
            }
        }
    }

    /// A mesh that only its resources speak of is there too: without it a control plane would not take them. What is
    /// stored is told in full, so there it is not.
    fn finish(mut self) -> (Resources, Vec<Diagnostic>) {
        for (name, mesh) in &mut self.meshes {
            mesh.name = name.clone();
            if mesh.object.is_none() && self.settings.labels == LabelSource::Computed {
                let meta = Meta {
                    kind: KindName::Known(&kinds::MESH),
                    name: name.to_string(),
                    ..Meta::default()
                };
                mesh.destinations.push(Destination { meta, ports: Vec::new() });
                mesh.destination_objects.push(None);
            }
        }
        let resources = Resources {
            meshes: self.meshes.into_values().collect(),
            metas: self.metas,
            roots: self.roots,
            by_release: self.by_release,
            settings: self.settings.clone(),
        };
        (resources, self.diagnostics)
    }
}

/// Whether a control plane takes a policy. To the letter, it passes over fields it does not know.
fn refusal(
    documents: &Documents,
    settings: &Settings,
    policy: &Policy,
    problems: &[AdmissionProblem],
) -> Option<Refusal> {
    let to_the_letter = settings.labels == LabelSource::AsWritten;
    if to_the_letter && *policy.kind == kinds::TRAFFIC_PERMISSION {
        let spec = documents.view(policy.root).get("spec").map(View::to_json);
        let found = permission::violations(&spec.unwrap_or_default());
        return (!found.is_empty()).then_some(Refusal::Invalid);
    }
    let counts = |p: &&AdmissionProblem| !to_the_letter || p.against != Against::Fields;
    let mut refuses = problems.iter().filter(counts).peekable();
    refuses.peek()?;
    match refuses.any(|p| !p.release_only) {
        true => Some(Refusal::Invalid),
        false => Some(Refusal::ByRelease),
    }
}

fn namespace_of(root: View<'_>) -> &str {
    let written = root.get("metadata").and_then(|m| m.get("namespace"));
    written.and_then(|n| n.scalar_text()).filter(|n| !n.is_empty()).unwrap_or("default")
}

/// What a policy may leave out: a reference without a kind is one to the whole mesh, and a permission without a list of
/// rules has one.
pub(crate) fn written_short(documents: &Documents, policy: &mut Policy) {
    if policy.target == TargetRef::default() {
        policy.target = TargetRef::whole_mesh();
    }
    let spec = documents.view(policy.root).get("spec");
    let lists = policy.rules.len() + policy.from.len();
    if let Some(spec) = spec.filter(|_| policy.single.is_some() && lists == 0)
        && policy.kind.policy.is_some_and(|p| p.may_be_short)
    {
        let node = NodeRef { doc: policy.root.doc, node: spec.id() };
        policy.rules.push(MeshEntry { target: TargetRef::whole_mesh(), node, index: 0 });
    }
}

fn mixed(object: &overrule_model::Object, why: RoleError) -> Diagnostic {
    let help = match why {
        RoleError::ToAndFrom => "write two policies: one with `to`, one with `from`",
        RoleError::ProducerAndConsumer => {
            "write two policies: one about services of this namespace, one about others"
        }
    };
    Diagnostic::new(&codes::NO_ROLE, format!("2.13 refuses this policy: {why}"))
        .at(object.at)
        .field("spec")
        .help(help)
}
