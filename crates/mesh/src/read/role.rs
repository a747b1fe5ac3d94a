// SPDX-License-Identifier: Apache-2.0
//! In: what a policy holds and the namespace it is written in. Out: the role Kuma gives it, or why it refuses it.
//! Not here: reading the role from a label (`labels`), what a role means for matching.

use crate::kinds::{self, PolicySchema, ResourceKind};
use crate::labels::PolicyRole;
use crate::targetref::TargetRef;
use serde_json::Value;
use std::fmt;

/// What of a policy decides its role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyShape {
    /// The references of its `to` entries; an entry without one counts as an empty reference.
    pub to: Vec<TargetRef>,
    /// It has at least one `from` entry.
    pub has_from: bool,
}

impl PolicyShape {
    /// Reads the spec of a policy. Lists that the kind does not have do not count; of a type outside the table all do.
    /// A reference that cannot be read counts as an empty one.
    pub fn read(kind: Option<&ResourceKind>, spec: &Value) -> Self {
        let holds = |list: fn(&PolicySchema) -> bool| {
            kind.is_none_or(|kind| kind.policy.as_ref().is_some_and(list))
        };
        let list = |key: &str| spec[key].as_array().map_or(&[][..], Vec::as_slice);
        let reference = |entry: &Value| TargetRef::read(&entry["targetRef"]).unwrap_or_default();
        Self {
            to: if holds(|p| p.to) { list("to").iter().map(reference).collect() } else { vec![] },
            has_from: holds(|p| p.from) && !list("from").is_empty(),
        }
    }
}

/// The namespace of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespace<'a> {
    /// Its name; empty on Universal.
    pub name: &'a str,
    /// The control plane runs in it.
    pub is_system: bool,
}

impl<'a> Namespace<'a> {
    /// A namespace, given the one the control plane runs in.
    pub fn new(name: &'a str, system_namespace: &str) -> Self {
        Self { name, is_system: !name.is_empty() && name == system_namespace }
    }
}

/// Why a policy has no role. Prints as Kuma says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleError {
    /// It is for clients and for servers.
    ToAndFrom,
    /// Some entries are for all clients of an own service and some are not.
    ProducerAndConsumer,
}

impl fmt::Display for RoleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ToAndFrom => "it's not allowed to mix 'to' and 'from' arrays in the same policy",
            Self::ProducerAndConsumer => {
                "it's not allowed to mix producer and consumer items in the same policy"
            }
        })
    }
}

impl std::error::Error for RoleError {}

/// The role of a policy in a namespace.
pub fn policy_role(shape: &PolicyShape, namespace: Namespace<'_>) -> Result<PolicyRole, RoleError> {
    if namespace.is_system || namespace.name.is_empty() {
        return Ok(PolicyRole::System);
    }
    if shape.has_from && !shape.to.is_empty() {
        return Err(RoleError::ToAndFrom);
    }
    if shape.to.is_empty() {
        return Ok(PolicyRole::WorkloadOwner);
    }
    match shape.to.iter().filter(|to| is_producer(to, namespace.name)).count() {
        0 => Ok(PolicyRole::Consumer),
        all if all == shape.to.len() => Ok(PolicyRole::Producer),
        _ => Err(RoleError::ProducerAndConsumer),
    }
}

/// A service or route of the policy's own namespace, by name. One that is found by labels may live anywhere.
fn is_producer(to: &TargetRef, own: &str) -> bool {
    let is_own = to.namespace().is_empty() || to.namespace() == own;
    to.kind.is_one_of(&[kinds::SERVICE, kinds::HTTP_ROUTE]) && !to.name().is_empty() && is_own
}

#[cfg(test)]
mod tests {
    use super::{Namespace, PolicyShape, RoleError, policy_role};
    use crate::kinds::{self, ResourceKind};
    use crate::labels::PolicyRole;
    use serde_json::{Value, json};

    fn role(kind: &str, spec: &Value) -> Result<PolicyRole, RoleError> {
        policy_role(
            &PolicyShape::read(ResourceKind::by_type(kind), spec),
            Namespace::new("shop", "kuma-system"),
        )
    }

    fn to(references: &[Value]) -> Value {
        json!({"to": references.iter().map(|r| json!({"targetRef": r})).collect::<Vec<_>>()})
    }

    #[test]
    fn the_entries_decide() {
        let own = json!({"kind": "MeshService", "name": "cart"});
        let named = json!({"kind": "MeshHTTPRoute", "name": "cart", "namespace": "shop"});
        let other = json!({"kind": "MeshService", "name": "cart", "namespace": "bank"});
        let found = json!({"kind": "MeshService", "labels": {"kuma.io/display-name": "cart"}});
        let external = json!({"kind": "MeshExternalService", "name": "cart"});
        let cases = [
            (to(&[]), Ok(PolicyRole::WorkloadOwner)),
            (to(&[own.clone(), named]), Ok(PolicyRole::Producer)),
            (to(&[other.clone(), found]), Ok(PolicyRole::Consumer)),
            (to(&[external]), Ok(PolicyRole::Consumer)),
            (to(&[own, other]), Err(RoleError::ProducerAndConsumer)),
            (json!({"to": [{}]}), Ok(PolicyRole::Consumer)),
            (json!({"from": [{}]}), Ok(PolicyRole::WorkloadOwner)),
            (json!({"from": [{}], "to": []}), Ok(PolicyRole::WorkloadOwner)),
            (json!({"from": [{}], "to": [{}]}), Err(RoleError::ToAndFrom)),
            (json!(null), Ok(PolicyRole::WorkloadOwner)),
        ];
        for (spec, want) in cases {
            assert_eq!(role("MeshTimeout", &spec), want, "{spec}");
        }
    }

    #[test]
    fn lists_that_a_kind_does_not_have_do_not_count() {
        let both = json!({"to": [{}], "from": [{}]});
        assert_eq!(role("MeshRetry", &both), Ok(PolicyRole::Consumer));
        assert_eq!(role("MeshTLS", &both), Ok(PolicyRole::WorkloadOwner));
        assert_eq!(role("MeshTrace", &both), Ok(PolicyRole::WorkloadOwner));
    }

    #[test]
    fn without_a_namespace_or_in_the_systems_own_the_entries_do_not_matter() {
        let shape = PolicyShape::read(Some(&kinds::TIMEOUT), &json!({"to": [{}], "from": [{}]}));
        for name in ["", "kuma-system"] {
            let namespace = Namespace::new(name, "kuma-system");
            assert_eq!(policy_role(&shape, namespace), Ok(PolicyRole::System));
        }
    }
}
