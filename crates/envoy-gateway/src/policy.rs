// SPDX-License-Identifier: Apache-2.0
//! In: objects of Envoy Gateway's kinds. Out: policies as written. Not here: whether their targets exist, what their
//! fields mean.

use std::sync::Arc;

use overrule_engine::PolicyId;
use overrule_gateway::topology::GROUP as GATEWAY_API;
use overrule_model::{Object, ObjectId, Selector, SelectorClause, Snapshot, Sym};
use overrule_source::{CowVec, Documents, NodeKind, NodeRef, Span, View};
use smallvec::SmallVec;

use crate::kinds::{ALL, GROUP, KindInfo, KindRole};

/// All policies of one snapshot, by kind, namespace, name.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// The policies.
    pub list: CowVec<Arc<Policy>>,
}

impl Policies {
    /// A policy by its number.
    pub(crate) fn get(&self, id: PolicyId) -> Option<&Arc<Policy>> {
        self.list.get(id.0 as usize)
    }

    /// The numbers of the policies of a kind.
    pub(crate) fn of_kind(&self, kind: usize) -> impl Iterator<Item = (PolicyId, &Arc<Policy>)> {
        let start = self.list.partition_point(|p| p.kind < kind);
        let ids = (u32::try_from(start).unwrap_or(u32::MAX)..).map(PolicyId);
        ids.zip(self.list.iter().skip(start)).take_while(move |(_, p)| p.kind == kind)
    }
}

/// How a policy is merged with the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MergeType {
    /// Kubernetes' strategic merge: some lists are merged by key.
    Strategic,
    /// RFC 7386: lists are replaced.
    Json,
    /// The policy above counts for nothing (EnvoyProxy only).
    Replace,
}

impl MergeType {
    /// The name in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strategic => "StrategicMerge",
            Self::Json => "JSONMerge",
            Self::Replace => "Replace",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Strategic, Self::Json, Self::Replace].into_iter().find(|m| m.name() == name)
    }
}

/// A policy as written.
#[derive(Debug)]
pub struct Policy {
    /// The object.
    pub object: ObjectId,
    /// Its number in [`ALL`].
    pub kind: usize,
    /// What is known of its kind.
    pub info: &'static KindInfo,
    /// Its namespace.
    pub namespace: Sym,
    /// What it targets: references, then selectors, as written.
    pub targets: Vec<PolicyTarget>,
    /// The spec; the object if it has none.
    pub spec: NodeRef,
    /// `mergeType`, if it can be read.
    pub merge: Option<MergeType>,
    /// `priority` of an EnvoyPatchPolicy.
    pub priority: i64,
    /// Where to point when the policy as a whole is meant.
    pub at: Span,
}

/// A target as written.
#[derive(Debug, Clone)]
pub struct PolicyTarget {
    /// API group.
    pub group: Sym,
    /// Kind.
    pub kind: Sym,
    /// Which objects.
    pub objects: TargetObjects,
    /// The field it stands in.
    pub field: String,
    /// Where it is written.
    pub at: Span,
}

/// Which objects of a kind a target means.
#[derive(Debug, Clone)]
pub enum TargetObjects {
    /// The one of this name in the namespace of the policy; a section of it.
    Named(Sym, Option<(Sym, Span)>),
    /// Those with these labels, in some namespaces. None if the selector cannot be read: it selects nothing.
    Selected(Option<(Selector, TargetNamespaces)>),
}

/// In which namespaces a selector looks.
#[derive(Debug, Clone)]
pub enum TargetNamespaces {
    /// That of the policy.
    Same,
    /// All of them.
    All,
    /// Those with these labels.
    Labelled(Selector),
}

impl PolicyTarget {
    /// The section of it.
    pub(crate) fn section(&self) -> Option<Sym> {
        match &self.objects {
            TargetObjects::Named(_, section) => section.map(|(name, _)| name),
            TargetObjects::Selected(_) => None,
        }
    }
}

/// Reads every policy.
pub fn parse(documents: &Documents, snapshot: &mut Snapshot) -> Policies {
    let mut found: Vec<(usize, &'static KindInfo, Object)> = Vec::new();
    for (number, info) in ALL.iter().enumerate() {
        // A kind nobody uses yet still has a name in answers.
        snapshot.names_mut().intern(GROUP);
        snapshot.names_mut().intern(info.kind);
        let objects = snapshot.of_kind(GROUP, info.kind);
        found.extend(objects.iter().map(|object| (number, info, object.clone())));
    }
    let read = found.into_iter();
    let list: Vec<Arc<Policy>> = read
        .map(|(kind, info, object)| Arc::new(policy(documents, snapshot, kind, info, &object)))
        .collect();
    Policies { list: list.into() }
}

fn policy(
    documents: &Documents,
    snapshot: &mut Snapshot,
    kind: usize,
    info: &'static KindInfo,
    object: &Object,
) -> Policy {
    let root = documents.view(object.root);
    let spec = root.get("spec").filter(|spec| spec.kind() == NodeKind::Map);
    let written = spec.unwrap_or(root);
    let merge = spec.and_then(|s| s.get("mergeType")).and_then(View::as_str);
    let priority = spec.and_then(|s| s.get("priority")).and_then(View::as_i64).unwrap_or(0);
    let targets = match info.role {
        KindRole::Proxy => Vec::new(),
        _ => spec.map(|spec| targets(snapshot, spec)).unwrap_or_default(),
    };
    Policy {
        object: object.id,
        kind,
        info,
        namespace: object.scope.name(),
        targets,
        spec: Documents::node_ref(written, object.root.doc),
        merge: merge.and_then(MergeType::from_name),
        priority,
        at: object.at,
    }
}

/// `targetRef` alone if it is there, else `targetRefs`; then `targetSelectors`.
fn targets(snapshot: &mut Snapshot, spec: View<'_>) -> Vec<PolicyTarget> {
    let mut found = Vec::new();
    let list = |key| spec.get(key).into_iter().flat_map(View::items);
    match spec.get("targetRef").filter(|target| target.kind() == NodeKind::Map) {
        Some(target) => found.extend(named(snapshot, target, "spec.targetRef".to_owned())),
        None => {
            for (n, target) in list("targetRefs").enumerate() {
                found.extend(named(snapshot, target, format!("spec.targetRefs[{n}]")));
            }
        }
    }
    for (n, target) in list("targetSelectors").enumerate() {
        found.extend(selected(snapshot, target, format!("spec.targetSelectors[{n}]")));
    }
    found
}

fn text<'v>(of: View<'v>, key: &str) -> Option<&'v str> {
    of.get(key).and_then(View::as_str).filter(|text| !text.is_empty())
}

fn named(snapshot: &mut Snapshot, target: View<'_>, field: String) -> Option<PolicyTarget> {
    let (kind, name) = (text(target, "kind")?, text(target, "name")?);
    let names = snapshot.names_mut();
    let section =
        target.get("sectionName").and_then(|at| Some((names.intern(at.as_str()?), at.span())));
    Some(PolicyTarget {
        group: names.intern(text(target, "group").unwrap_or(GATEWAY_API)),
        kind: names.intern(kind),
        objects: TargetObjects::Named(names.intern(name), section),
        field,
        at: target.span(),
    })
}

fn selected(snapshot: &mut Snapshot, target: View<'_>, field: String) -> Option<PolicyTarget> {
    let kind = text(target, "kind")?;
    let labels = selector(snapshot, target);
    let namespaces = namespaces(snapshot, target);
    let names = snapshot.names_mut();
    Some(PolicyTarget {
        group: names.intern(text(target, "group").unwrap_or(GATEWAY_API)),
        kind: names.intern(kind),
        objects: TargetObjects::Selected(labels.zip(namespaces)),
        field,
        at: target.span(),
    })
}

fn namespaces(snapshot: &mut Snapshot, target: View<'_>) -> Option<TargetNamespaces> {
    let Some(of) = target.get("namespaces").filter(|v| !v.is_null()) else {
        return Some(TargetNamespaces::Same);
    };
    match text(of, "from").unwrap_or("Same") {
        "Same" => Some(TargetNamespaces::Same),
        "All" => Some(TargetNamespaces::All),
        "Selector" => Some(TargetNamespaces::Labelled(selector(snapshot, of.get("selector")?)?)),
        _ => None,
    }
}

/// A label selector; none if it cannot be read.
pub(crate) fn selector(snapshot: &mut Snapshot, of: View<'_>) -> Option<Selector> {
    let mut requirements = Vec::new();
    let names = snapshot.names_mut();
    for (key, value) in of.get("matchLabels").into_iter().flat_map(View::entries) {
        let value = names.intern(value.as_str()?);
        requirements.push(SelectorClause::Equals(names.intern(key.key_text()), value));
    }
    for clause in of.get("matchExpressions").into_iter().flat_map(View::items) {
        let key = names.intern(text(clause, "key")?);
        let values = clause.get("values").into_iter().flat_map(View::items);
        let values: Option<SmallVec<[Sym; 2]>> =
            values.map(|value| Some(names.intern(value.as_str()?))).collect();
        let values = values?;
        requirements.push(match text(clause, "operator")? {
            "In" if !values.is_empty() => SelectorClause::In(key, values),
            "NotIn" if !values.is_empty() => SelectorClause::NotIn(key, values),
            "Exists" => SelectorClause::Exists(key),
            "DoesNotExist" => SelectorClause::Absent(key),
            _ => return None,
        });
    }
    Some(Selector { requirements })
}
