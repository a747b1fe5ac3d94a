// SPDX-License-Identifier: Apache-2.0
//! In: what a policy refers to besides its targets. Out: the references into other namespaces that no ReferenceGrant
//! permits. Not here: what follows from one; whether what is referred to exists.
//!
//! ```text
//! TrafficPolicy ─ extensionRef ──► GatewayExtension ─ backendRef ──► Service, Backend
//!               └ secretRef ─────► Secret
//! ```
//!
//! The first is checked only if a setting of the controller asks for it; the others always, unless one turns it off. A
//! grant for the second names the GatewayExtension, not the policy.

use overrule_gateway::topology::GROUP as GATEWAY_API;
use overrule_gateway::topology::grants::{GrantIndex, Referent, Referrer};
use overrule_model::{Object, Snapshot, Sym};
use overrule_source::{NodeKind, View};

use crate::kinds::GROUP;
use crate::settings::{ReferenceGrantMode, Settings};

/// Units whose credentials are in a Secret.
const WITH_SECRET: [&str; 2] = ["basicAuth", "apiKeyAuth"];

/// Answers which references are permitted.
#[derive(Clone, Copy)]
pub(super) struct Permissions<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) grants: &'a GrantIndex,
    pub(super) mode: ReferenceGrantMode,
}

/// A reference that is not permitted.
pub(super) struct Forbidden<'d> {
    /// `service/auth/ext`.
    pub(super) wanted: String,
    /// What a grant must say.
    pub(super) help: String,
    /// Where it is written.
    pub(super) at: View<'d>,
}

/// What a reference means that is not written out.
struct Defaults {
    group: &'static str,
    kind: &'static str,
}

impl<'a> Permissions<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, grants: &'a GrantIndex, settings: &Settings) -> Self {
        Self { snapshot, grants, mode: settings.reference_grants }
    }

    /// The GatewayExtension that a policy names, if it must not.
    pub(super) fn extension<'d>(&self, policy: &Object, named: View<'d>) -> Option<Forbidden<'d>> {
        let defaults = Defaults { group: GROUP, kind: "GatewayExtension" };
        match self.mode {
            ReferenceGrantMode::Strict => self.reference(policy, named, &defaults),
            ReferenceGrantMode::Permissive | ReferenceGrantMode::Off => None,
        }
    }

    /// The first backend of an extension that it must not send to.
    pub(super) fn backend<'d>(
        &self,
        extension: &Object,
        config: View<'d>,
    ) -> Option<Forbidden<'d>> {
        let defaults = Defaults { group: "", kind: "Service" };
        let mut refs = Vec::new();
        backend_refs(config, &mut refs);
        refs.into_iter().find_map(|named| self.reference(extension, named, &defaults))
    }

    /// The Secrets that a policy must not read.
    pub(super) fn secrets<'d>(
        &self,
        policy: &Object,
        spec: View<'d>,
    ) -> impl Iterator<Item = (&'static str, Forbidden<'d>)> {
        let defaults = Defaults { group: "", kind: "Secret" };
        WITH_SECRET.into_iter().filter_map(move |unit| {
            let named = spec.get(unit)?.get("secretRef")?;
            Some((unit, self.reference(policy, named, &defaults)?))
        })
    }

    fn reference<'d>(
        &self,
        from: &Object,
        named: View<'d>,
        defaults: &Defaults,
    ) -> Option<Forbidden<'d>> {
        let written = |key| named.get(key).and_then(View::as_str);
        let namespace = written("namespace").filter(|n| !n.is_empty())?;
        let own = self.snapshot.text(from.scope.name());
        if namespace == own || self.mode == ReferenceGrantMode::Off {
            return None;
        }
        let group = written("group").unwrap_or(defaults.group);
        let kind = written("kind").unwrap_or(defaults.kind);
        let name = written("name").unwrap_or("");
        if self.is_granted(from, [group, kind, namespace, name]) {
            return None;
        }
        let from_kind = self.snapshot.text(from.kind.kind);
        let to = if group.is_empty() { kind.to_owned() } else { format!("{group}/{kind}") };
        Some(Forbidden {
            wanted: format!("{}/{namespace}/{name}", kind.to_lowercase()),
            help: format!(
                "add a ReferenceGrant ({GATEWAY_API}) in namespace `{namespace}` from {GROUP}/{from_kind} in `{own}` to {to}, or move it there"
            ),
            at: named,
        })
    }

    /// A name that nobody uses is in no grant.
    fn is_granted(&self, from: &Object, [group, kind, namespace, name]: [&str; 4]) -> bool {
        let sym = |text: &str| match text {
            "" => Some(Sym::EMPTY),
            text => self.snapshot.names().lookup(text),
        };
        let (Some(group), Some(kind), Some(namespace)) = (sym(group), sym(kind), sym(namespace))
        else {
            return false;
        };
        let any = Referent { group, kind, namespace, name: Sym::EMPTY };
        let to = sym(name).map_or(any, |name| Referent { name, ..any });
        let from =
            Referrer { group: from.kind.group, kind: from.kind.kind, namespace: from.scope.name() };
        self.grants.allows(from, to)
    }
}

/// Every `backendRef` in the configuration of an extension, wherever its type has it. The depth is the reader's limit.
fn backend_refs<'d>(config: View<'d>, found: &mut Vec<View<'d>>) {
    match config.kind() {
        NodeKind::List => config.items().for_each(|item| backend_refs(item, found)),
        NodeKind::Map => {
            for (key, value) in config.entries() {
                match key.key_text() {
                    "backendRef" => found.push(value),
                    _ => backend_refs(value, found),
                }
            }
        }
        _ => {}
    }
}
