// SPDX-License-Identifier: Apache-2.0
//! In: classes and Gateways that name an EnvoyProxy. Out: the settings of each Gateway's proxy. Not here: what they mean.

use overrule_engine::{Attachment, NodeId, PolicyId};
use overrule_model::ObjectId;
use overrule_source::View;
use serde_json::Value;

use super::Plan;
use crate::kinds::{GROUP, KindRole, number};
use crate::merge::written;
use crate::policy::MergeType;

/// The proxy of a Gateway.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProxyOf {
    /// The EnvoyProxy that the Gateway names.
    pub(crate) own: Option<PolicyId>,
    /// The one of its class.
    pub(crate) class: Option<PolicyId>,
    /// How the two become one.
    pub(crate) merge: Option<MergeType>,
    /// Whether all Gateways of the class share a proxy.
    pub(crate) shared: bool,
    /// The settings.
    pub(crate) value: Value,
}

impl Plan<'_> {
    pub(super) fn find_proxies(&mut self) {
        let topology = self.fabric.world.topology;
        let mut found = Vec::with_capacity(topology.gateways.len());
        let mut landed: Vec<(PolicyId, NodeId)> = Vec::new();
        for gateway in &topology.gateways {
            let class = topology.class(gateway.class).map(|class| class.node);
            let of_class = class.and_then(|node| topology.nodes.get(node)?.object);
            let class_proxy =
                of_class.and_then(|object| self.named_proxy(object, &["parametersRef"]));
            let at_class = class_proxy.map(|id| self.spec(id).clone());
            let shared = at_class
                .as_ref()
                .and_then(|spec| spec.get("mergeGateways"))
                .and_then(Value::as_bool)
                .unwrap_or(false);
            let path = ["infrastructure", "parametersRef"];
            // One proxy for all Gateways has the settings of the class.
            let own = self.named_proxy(gateway.object, &path).filter(|_| !shared);
            let merge = own.and_then(|id| self.policy(id)).and_then(|policy| policy.merge);
            let merge = merge.filter(|merge| *merge != MergeType::Replace && class_proxy.is_some());
            landed.extend(class_proxy.zip(class));
            landed.extend(own.map(|id| (id, gateway.node)));
            let value = match (own, class_proxy, merge) {
                (Some(own), Some(class), Some(merge)) => self.merged_proxy(own, class, merge),
                (Some(own), ..) => self.spec(own).clone(),
                (None, ..) => at_class.unwrap_or_default(),
            };
            found.push(ProxyOf { own, class: class_proxy, merge, shared, value });
        }
        self.proxies = found;
        landed.sort_unstable();
        landed.dedup();
        for (id, node) in landed {
            let Some(policy) = self.policy(id) else { continue };
            self.attachments.push(Attachment { policy: id, reference: 0, node, at: policy.at });
            self.landed.insert((id, 0));
        }
    }

    fn merged_proxy(&self, own: PolicyId, class: PolicyId, merge: MergeType) -> Value {
        let nodes = [own, class].map(|id| self.policy(id).map(|policy| policy.spec));
        let [Some(own), Some(class)] = nodes else { return Value::Null };
        let documents = self.fabric.world.documents;
        self.plans.merged(documents, (KindRole::Proxy, merge), written(0, own), written(1, class))
    }

    /// The EnvoyProxy that an object names in its spec.
    fn named_proxy(&self, object: ObjectId, path: &[&str]) -> Option<PolicyId> {
        let world = self.fabric.world;
        let object = world.snapshot.get(object)?;
        let mut at = world.documents.view(object.root).get("spec")?;
        for key in path {
            at = at.get(key)?;
        }
        let text = |key| at.get(key).and_then(View::as_str);
        if (text("group"), text("kind")) != (Some(GROUP), Some("EnvoyProxy")) {
            return None;
        }
        let own = world.snapshot.text(object.scope.name());
        let proxy = self.fabric.find(
            GROUP,
            "EnvoyProxy",
            text("namespace").unwrap_or(own),
            text("name")?,
        )?;
        let mut all = world.policies.of_kind(number(KindRole::Proxy));
        all.find(|(_, policy)| policy.object == proxy.id).map(|(id, _)| id)
    }
}
