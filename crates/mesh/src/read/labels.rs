// SPDX-License-Identifier: Apache-2.0
//! In: the labels of a resource, or a resource about to be written. Out: what the labels say, and the labels a control
//! plane would add. Not here: the role a policy gets (`role`), selecting by labels.

use crate::kinds::{self, KindScope, ResourceKind};
use crate::names::{ControlPlane, Mode};
use crate::role::{Namespace, PolicyShape, RoleError, policy_role};
use serde_json::Value;
use std::collections::BTreeMap;

/// Labels by key.
pub type LabelMap = BTreeMap<String, String>;

/// The name a resource was given where it was created.
pub const DISPLAY_NAME: &str = "kuma.io/display-name";
/// The mesh.
pub const MESH: &str = "kuma.io/mesh";
/// On what kind of control plane a resource was created.
pub const ORIGIN: &str = "kuma.io/origin";
/// The zone in which a resource was created.
pub const ZONE: &str = "kuma.io/zone";
/// Whether it was created on Kubernetes or Universal.
pub const ENVIRONMENT: &str = "kuma.io/env";
/// The Kubernetes namespace in which a resource was created.
pub const NAMESPACE: &str = "k8s.kuma.io/namespace";
/// How far a policy reaches.
pub const POLICY_ROLE: &str = "kuma.io/policy-role";
/// What a proxy is: `sidecar`, `gateway`, `zoneingress`, `zoneegress`.
pub const PROXY_TYPE: &str = "kuma.io/proxy-type";
/// `shadow`: a policy that only shadow inspection sees.
pub const EFFECT: &str = "kuma.io/effect";

/// The mesh of a resource that names none.
pub const DEFAULT_MESH: &str = "default";

/// Where a resource was created. Ordered as policies are: a later one wins over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceOrigin {
    /// A value that Kuma does not know.
    Other,
    /// On the global control plane.
    Global,
    /// Nobody said.
    Unknown,
    /// In a zone.
    Zone,
}

/// How far a policy reaches. Ordered as policies are: a later one wins over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyRole {
    /// A value that Kuma does not know.
    Other,
    /// As far as its origin allows; also when nobody said.
    System,
    /// For all clients of a service in the policy's namespace.
    Producer,
    /// For the clients in the policy's namespace.
    Consumer,
    /// For the proxies in the policy's namespace.
    WorkloadOwner,
}

impl PolicyRole {
    /// The value of the label; none for a value that Kuma does not know.
    pub fn label(self) -> Option<&'static str> {
        match self {
            Self::Other => None,
            Self::System => Some("system"),
            Self::Producer => Some("producer"),
            Self::Consumer => Some("consumer"),
            Self::WorkloadOwner => Some("workload-owner"),
        }
    }
}

/// The value under a key, if it says anything.
fn written<'a>(labels: &'a LabelMap, key: &str) -> Option<&'a str> {
    labels.get(key).map(String::as_str).filter(|value| !value.is_empty())
}

/// The name to compare and to show: the label if it says anything, else the name in the store.
pub fn display_name<'a>(name: &'a str, labels: &'a LabelMap) -> &'a str {
    written(labels, DISPLAY_NAME).unwrap_or(name)
}

/// Where it was created.
pub fn origin(labels: &LabelMap) -> ResourceOrigin {
    match written(labels, ORIGIN) {
        None => ResourceOrigin::Unknown,
        Some("global") => ResourceOrigin::Global,
        Some("zone") => ResourceOrigin::Zone,
        Some(_) => ResourceOrigin::Other,
    }
}

/// How far the policy reaches, as its label says.
pub fn role(labels: &LabelMap) -> PolicyRole {
    match written(labels, POLICY_ROLE) {
        None | Some("system") => PolicyRole::System,
        Some("producer") => PolicyRole::Producer,
        Some("consumer") => PolicyRole::Consumer,
        Some("workload-owner") => PolicyRole::WorkloadOwner,
        Some(_) => PolicyRole::Other,
    }
}

/// The zone of origin. A label that is there and empty is told apart from none: some rules ask for its presence.
pub fn zone(labels: &LabelMap) -> Option<&str> {
    labels.get(ZONE).map(String::as_str)
}

/// The Kubernetes namespace of origin, told apart as in [`zone`].
pub fn namespace(labels: &LabelMap) -> Option<&str> {
    labels.get(NAMESPACE).map(String::as_str)
}

/// The zone a synced resource came from: its label, or its name up to the first dot, which is where the names of
/// older versions had it.
pub fn zone_of_synced<'a>(name: &'a str, labels: &'a LabelMap) -> &'a str {
    written(labels, ZONE).unwrap_or_else(|| name.split('.').next().unwrap_or(name))
}

/// Whether only shadow inspection sees the policy.
pub fn is_shadow(labels: &LabelMap) -> bool {
    labels.get(EFFECT).is_some_and(|effect| effect == "shadow")
}

/// Whether the resource was created on a control plane of this mode, as far as its labels say.
pub fn is_locally_originated(mode: Mode, labels: &LabelMap) -> bool {
    let here = match mode {
        Mode::Global => ResourceOrigin::Global,
        Mode::Zone => ResourceOrigin::Zone,
    };
    [here, ResourceOrigin::Unknown].contains(&origin(labels))
}

/// Whether `ref_name` in a policy of `policy_mesh` means the resource, whatever name sync gave it.
pub fn is_referenced(
    policy_mesh: &str,
    ref_name: &str,
    mesh: &str,
    name: &str,
    labels: &LabelMap,
) -> bool {
    policy_mesh == mesh && ref_name == display_name(name, labels)
}

/// A resource about to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewResource<'a> {
    /// Its type; none if it is not in the table.
    pub kind: Option<&'a ResourceKind>,
    /// Its mesh, as written; empty if it names none.
    pub mesh: &'a str,
    /// Its Kubernetes namespace; empty on Universal.
    pub namespace: &'a str,
    /// Its labels, as written.
    pub labels: &'a LabelMap,
    /// The document: `spec` of kinds of the new style and the top level of the others are read from it.
    pub document: &'a Value,
}

/// The labels of a resource after the control plane has added its own. What is written already stays, except the role
/// and the proxy type, which are the control plane's alone.
pub fn compute_labels(
    resource: &NewResource<'_>,
    plane: &ControlPlane<'_>,
) -> Result<LabelMap, RoleError> {
    let kind = resource.kind;
    let mut labels = resource.labels.clone();
    add_mesh(&mut labels, kind, resource.mesh);
    if plane.mode == Mode::Zone && kind.is_some_and(|kind| kind.is_created_on_zone) {
        add_place(&mut labels, plane);
    }
    if !resource.namespace.is_empty() && is_locally_originated(plane.mode, &labels) {
        add_namespace(&mut labels, kind, resource, plane)?;
    }
    if let Some(proxy) = kind.and_then(|kind| proxy_type(kind, resource.document)) {
        labels.insert(PROXY_TYPE.into(), proxy);
    }
    Ok(labels)
}

fn add(labels: &mut LabelMap, key: &str, value: &str) {
    labels.entry(key.into()).or_insert_with(|| value.into());
}

/// Of a type outside the table only its mesh says whether it lives in one.
fn add_mesh(labels: &mut LabelMap, kind: Option<&ResourceKind>, mesh: &str) {
    if kind.map_or(!mesh.is_empty(), |kind| kind.scope == KindScope::Mesh) {
        add(labels, MESH, if mesh.is_empty() { DEFAULT_MESH } else { mesh });
    }
}

fn add_place(labels: &mut LabelMap, plane: &ControlPlane<'_>) {
    add(labels, ORIGIN, "zone");
    if origin(labels) != ResourceOrigin::Global {
        add(labels, ZONE, plane.zone);
        add(labels, ENVIRONMENT, if plane.kubernetes { "kubernetes" } else { "universal" });
    }
}

fn add_namespace(
    labels: &mut LabelMap,
    kind: Option<&ResourceKind>,
    resource: &NewResource<'_>,
    plane: &ControlPlane<'_>,
) -> Result<(), RoleError> {
    if plane.kubernetes {
        add(labels, NAMESPACE, resource.namespace);
    }
    if kind.is_none_or(|kind| !kind.is_policy()) {
        return Ok(());
    }
    let shape = PolicyShape::read(kind, &resource.document["spec"]);
    let role = policy_role(&shape, Namespace::new(resource.namespace, plane.system_namespace))?;
    labels.extend(role.label().map(|label| (POLICY_ROLE.to_owned(), label.to_owned())));
    Ok(())
}

fn proxy_type(kind: &ResourceKind, document: &Value) -> Option<String> {
    if !kind.is_proxy {
        return None;
    }
    if *kind != kinds::DATAPLANE {
        return Some(kind.name.to_ascii_lowercase());
    }
    let is_gateway = document.pointer("/networking/gateway").is_some_and(Value::is_object);
    Some(if is_gateway { "gateway" } else { "sidecar" }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn labels(pairs: &[(&str, &str)]) -> LabelMap {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn absent_and_empty_labels() {
        let (none, empty) = (labels(&[]), labels(&[(ORIGIN, ""), (POLICY_ROLE, ""), (ZONE, "")]));
        for set in [&none, &empty] {
            assert_eq!((origin(set), role(set)), (ResourceOrigin::Unknown, PolicyRole::System));
            assert_eq!(display_name("a", set), "a");
            assert_eq!(zone_of_synced("east.web.shop", set), "east");
        }
        assert_eq!((zone(&none), zone(&empty)), (None, Some("")));
    }

    #[test]
    fn origins_and_roles_are_ordered_by_who_wins() {
        let origin = |value| origin(&labels(&[(ORIGIN, value)]));
        assert!(origin("what") < origin("global"));
        assert!(
            origin("global") < ResourceOrigin::Unknown && ResourceOrigin::Unknown < origin("zone")
        );
        let role = |value| role(&labels(&[(POLICY_ROLE, value)]));
        let roles = ["what", "system", "producer", "consumer", "workload-owner"].map(role);
        assert!(roles.is_sorted_by(|a, b| a < b));
        assert_eq!(roles.map(PolicyRole::label).iter().flatten().count(), 4);
    }

    #[test]
    fn shadow_is_an_exact_word() {
        assert!(is_shadow(&labels(&[(EFFECT, "shadow")])));
        assert!(!is_shadow(&labels(&[(EFFECT, "Shadow")])));
    }

    #[test]
    fn a_reference_stays_in_its_mesh() {
        let shown = labels(&[(DISPLAY_NAME, "a")]);
        assert!(is_referenced("m", "a", "m", "a-77", &shown));
        assert!(!is_referenced("m", "a-77", "m", "a-77", &shown));
        assert!(!is_referenced("m", "a", "n", "a", &shown));
    }

    fn computed(
        plane: &ControlPlane<'_>,
        given: &LabelMap,
        namespace: &str,
        document: &Value,
    ) -> Result<LabelMap, RoleError> {
        let text = |key: &str| document[key].as_str().unwrap_or_default();
        let resource = NewResource {
            kind: ResourceKind::by_type(text("type")),
            mesh: text("mesh"),
            namespace,
            labels: given,
            document,
        };
        compute_labels(&resource, plane)
    }

    const UNIVERSAL: ControlPlane<'_> = ControlPlane {
        mode: Mode::Zone,
        zone: "east",
        kubernetes: false,
        system_namespace: "kuma-system",
    };
    const KUBERNETES: ControlPlane<'_> = ControlPlane { kubernetes: true, ..UNIVERSAL };

    #[test]
    fn proxies_say_what_they_are() {
        for (networking, want) in [
            (json!({"inbound": []}), "sidecar"),
            (json!({"gateway": {"type": "BUILTIN"}}), "gateway"),
            (json!({"gateway": {}}), "gateway"),
        ] {
            let document = json!({"type": "Dataplane", "networking": networking});
            let got = computed(&UNIVERSAL, &LabelMap::new(), "", &document).unwrap();
            let want = labels(&[
                (MESH, "default"),
                (ORIGIN, "zone"),
                (ZONE, "east"),
                (ENVIRONMENT, "universal"),
                (PROXY_TYPE, want),
            ]);
            assert_eq!(got, want);
        }
    }

    #[test]
    fn what_came_from_the_global_control_plane_is_not_placed_in_the_zone() {
        let given = labels(&[(ORIGIN, "global")]);
        let document = json!({"type": "MeshTimeout", "mesh": "m", "spec": {}});
        let got = computed(&KUBERNETES, &given, "shop", &document).unwrap();
        assert_eq!(got, labels(&[(MESH, "m"), (ORIGIN, "global")]));
    }

    #[test]
    fn written_labels_stay_but_the_role_is_computed() {
        let given = labels(&[(MESH, "x"), (ZONE, "y"), (NAMESPACE, "z"), (POLICY_ROLE, "system")]);
        let document = json!({"type": "MeshTimeout", "mesh": "m", "spec": {"rules": [{}]}});
        let got = computed(&KUBERNETES, &given, "shop", &document).unwrap();
        assert_eq!(
            (got[MESH].as_str(), got[ZONE].as_str(), got[NAMESPACE].as_str()),
            ("x", "y", "z")
        );
        assert_eq!(got[POLICY_ROLE], "workload-owner");
    }

    #[test]
    fn on_the_global_control_plane_only_mesh_namespace_and_role_are_added() {
        let plane = ControlPlane { mode: Mode::Global, zone: "", ..KUBERNETES };
        let document = json!({"type": "MeshRetry", "spec": {}});
        let got = computed(&plane, &LabelMap::new(), "kuma-system", &document).unwrap();
        let want = [(MESH, "default"), (NAMESPACE, "kuma-system"), (POLICY_ROLE, "system")];
        assert_eq!(got, labels(&want));
    }

    #[test]
    fn a_policy_without_a_role_is_refused() {
        let item = json!({"targetRef": {"kind": "Mesh"}});
        let document = json!({"type": "MeshTimeout", "spec": {"to": [item], "from": [item]}});
        let got = computed(&KUBERNETES, &LabelMap::new(), "shop", &document);
        assert_eq!(got, Err(RoleError::ToAndFrom));
        assert!(computed(&KUBERNETES, &LabelMap::new(), "kuma-system", &document).is_ok());
    }

    #[test]
    fn a_type_outside_the_table_gets_its_mesh_and_namespace() {
        let document = json!({"type": "Foo", "mesh": "m"});
        let got = computed(&KUBERNETES, &LabelMap::new(), "shop", &document).unwrap();
        assert_eq!(got, labels(&[(MESH, "m"), (NAMESPACE, "shop")]));
    }
}
