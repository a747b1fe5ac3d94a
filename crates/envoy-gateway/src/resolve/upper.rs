// SPDX-License-Identifier: Apache-2.0
//! In: listeners, Gateways and classes. Out: the ladders of ClientTrafficPolicies, EnvoyProxies and patches. Not here:
//! rows.

use overrule_engine::{LadderId, NodeId, PolicyId, Rung};
use overrule_gateway::topology::ListenerIx;

use super::recipe::{Deed, RungPlan};
use super::rows::{Rows, Verdict};
use crate::fabric::Wire;
use crate::reasons;

impl Rows<'_, '_, '_> {
    /// The ladder of a listener's ClientTrafficPolicy.
    pub(super) fn client(&mut self, kind: usize, ix: ListenerIx) -> LadderId {
        let winner = self.plan.clients.get(&ix).copied();
        let topology = self.plan.world().topology;
        let Some(listener) = topology.listener(ix) else { return LadderId::EMPTY };
        if !self.plan.fabric.is_ready(ix) || self.plan.fabric.wire(listener) == Wire::Udp {
            return LadderId::EMPTY;
        }
        let mut rungs = Vec::new();
        let mut taken = false;
        for node in self.upper(ix) {
            let Some(id) = self.plan.holder(kind, node) else { continue };
            let verdict = match winner.filter(|winner| (winner.policy, winner.node) == (id, node)) {
                Some(winner) if winner.fields.is_empty() && !winner.fails => {
                    taken = true;
                    Verdict::idle(Deed::Skip, &reasons::SETS_NOTHING_HERE)
                }
                Some(winner) => {
                    taken = true;
                    Verdict {
                        keep: winner.fields,
                        failed: self.plan.translation(id).failed(),
                        fails: winner.fails,
                        ..Verdict::idle(Deed::Take, &reasons::TAKES)
                    }
                }
                None if taken
                    && rungs.iter().any(|(_, plan): &(Rung, RungPlan)| plan.deed == Deed::Take) =>
                {
                    Verdict::idle(Deed::Shadowed, &reasons::CLAIMED)
                }
                None if self.plan.shared_ports.contains(&(id, ix)) => {
                    taken = true;
                    Verdict::idle(Deed::Skip, &reasons::SHARED_PORT)
                }
                None => Verdict::idle(Deed::Skip, &reasons::CLAIMED),
            };
            rungs.extend(self.rung(id, node, verdict));
        }
        self.ladder_of(kind, rungs, None)
    }

    /// The ladder of a Gateway's EnvoyProxy.
    pub(super) fn proxy(
        &mut self,
        kind: usize,
        gateway: NodeId,
        class: NodeId,
        place: usize,
    ) -> LadderId {
        let Some(proxy) = self.plan.proxies.get(place).cloned() else { return LadderId::EMPTY };
        let takes = || Verdict::idle(Deed::Take, &reasons::TAKES);
        let rungs = match (proxy.own, proxy.class, proxy.merge) {
            (Some(own), Some(of_class), Some(merge)) => {
                let both = ((own, gateway), (of_class, class));
                self.unit(kind, merge, both, takes()).into_iter().collect()
            }
            (own, of_class, _) => {
                let own = own.and_then(|own| self.rung(own, gateway, takes()));
                let verdict = match own {
                    Some(_) => Verdict::idle(Deed::Shadowed, &reasons::CLOSER_PROXY),
                    None => takes(),
                };
                let of_class = of_class.and_then(|id| self.rung(id, class, verdict));
                own.into_iter().chain(of_class).collect::<Vec<_>>()
            }
        };
        self.ladder_of(kind, rungs, None)
    }

    /// The ladder of the patches at a node, in their order.
    pub(super) fn patches(&mut self, kind: usize, ids: &[PolicyId], node: NodeId) -> LadderId {
        let mut rungs = Vec::new();
        for id in ids {
            let verdict = match rungs.is_empty() {
                true => Verdict::idle(Deed::Take, &reasons::APPLIED_IN_ORDER),
                false => Verdict::idle(Deed::Beside, &reasons::APPLIED_IN_ORDER),
            };
            rungs.extend(self.rung(*id, node, verdict));
        }
        self.ladder_of(kind, rungs, None)
    }
}
