// SPDX-License-Identifier: Apache-2.0
//! In: EnvoyPatchPolicies. Out: which Gateways and classes they patch, and their statuses. Not here: the patches.

use overrule_engine::PolicyId;
use overrule_gateway::topology::GROUP as GATEWAY_API;
use overrule_model::{GroupKind, ObjectKey, Scope, Sym};

use super::Plan;
use crate::kinds::KindRole;
use crate::policy::{Policy, PolicyTarget, TargetObjects};
use crate::reasons;
use crate::status::{Place, kind};

impl Plan<'_> {
    pub(super) fn patches(&mut self) {
        for (id, policy) in self.in_order(KindRole::Patch) {
            if let Some(target) = policy.targets.first() {
                self.patch(id, policy, target);
            }
        }
    }

    fn patch(&mut self, id: PolicyId, policy: &Policy, target: &PolicyTarget) {
        let TargetObjects::Named(name, _) = target.objects else { return };
        let (group, of) = (self.text(target.group).to_owned(), self.text(target.kind).to_owned());
        let shares = self.proxies.iter().any(|proxy| proxy.shared);
        let place = |kind, namespace: &str| Place {
            kind,
            namespace: namespace.to_owned(),
            name: self.text(name).to_owned(),
            section: String::new(),
        };
        let (on_class, on_gateway) =
            (place("GatewayClass", ""), place("Gateway", self.namespace(policy)));
        let topology = self.fabric.world.topology;
        let gateway = self.gateway_called(policy.namespace, name);
        let shared = gateway.map_or(shares, |gateway| self.is_shared(gateway));
        let class = topology
            .classes
            .iter()
            .find(|class| topology.nodes.get(class.node).is_some_and(|node| node.name == name));
        let merges = |node| {
            let mut gateways = topology.gateways.iter().zip(&self.proxies);
            gateways.any(|(g, proxy)| {
                proxy.shared && topology.class(g.class).is_some_and(|c| c.node == node)
            })
        };
        let class = class.filter(|class| merges(class.node)).map(|class| class.node);
        let is = |kind: &str| group == GATEWAY_API && of == kind;
        if is("GatewayClass") && class.is_some() {
            return self.accept_patch(id, policy, &on_class, class);
        }
        if shared {
            let text = format!(
                "TargetRef.Group:{group} TargetRef.Kind:{of} TargetRef.Namespace:{} TargetRef.Name:{} not found or not accepted (MergeGateways=true).",
                self.namespace(policy),
                self.text(name)
            );
            return self.refuse_patch(id, &on_class, (false, "Invalid"), text);
        }
        if !is("Gateway") {
            let text = format!(
                "TargetRef.Group:{group} TargetRef.Kind:{of}, only TargetRef.Group:gateway.networking.k8s.io and TargetRef.Kind:Gateway is supported."
            );
            return self.refuse_patch(id, &on_gateway, (false, "Invalid"), text);
        }
        if let Some(gateway) = gateway {
            let node = topology.gateway(gateway).map(|g| g.node);
            self.accept_patch(id, policy, &on_gateway, node);
        }
    }

    fn gateway_called(
        &self,
        namespace: Sym,
        name: Sym,
    ) -> Option<overrule_gateway::topology::GatewayIx> {
        let names = self.fabric.world.snapshot.names();
        let kind = GroupKind { group: names.lookup(GATEWAY_API)?, kind: names.lookup("Gateway")? };
        let key = ObjectKey { kind, scope: Scope::Namespace(namespace), name };
        let object = self.fabric.world.snapshot.find(key)?;
        let topology = self.fabric.world.topology;
        let gateway = topology.gateway_of(topology.object_node(object.id)?)?;
        self.fabric.serves(gateway).then_some(gateway)
    }

    fn accept_patch(
        &mut self,
        id: PolicyId,
        policy: &Policy,
        place: &Place,
        node: Option<overrule_engine::NodeId>,
    ) {
        if !self.fabric.world.ground.patches {
            let text = "EnvoyPatchPolicy is disabled in the EnvoyGateway configuration".to_owned();
            self.miss(id, 0, &reasons::DISABLED);
            return self.set(id, place, kind::ACCEPTED, (false, "Disabled"), text);
        }
        if let Some(node) = node {
            self.land(id, policy, 0, node);
        }
        if let Some(status) = self.status(id) {
            status.accept(place);
        }
    }

    fn refuse_patch(
        &mut self,
        id: PolicyId,
        place: &Place,
        (status, reason): (bool, &'static str),
        text: String,
    ) {
        self.miss(id, 0, &overrule_gateway::reasons::KIND_NOT_ALLOWED);
        self.set(id, place, kind::ACCEPTED, (status, reason), text);
    }
}
