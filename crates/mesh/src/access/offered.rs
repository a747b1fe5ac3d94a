// SPDX-License-Identifier: Apache-2.0
//! In: what was resolved under a profile. Out: who may call whom, as every family with identities offers it. Not here:
//! deciding (`gate`).

use overrule_access::{Caller, Enforcement, Request, Ruling};
use overrule_family::{
    Access, CitedClause, Client, ClientSet, ClientTag, FilterSource, Guarded, InboundId,
};
use overrule_model::ObjectId;

use crate::access::services;
use crate::gate::{By, ClauseAt};
use crate::identity;
use crate::inbounds::{self, GuardedInbound, Lookup};
use crate::kinds;

/// The kind of clients.
const CLIENT: &str = "Dataplane";

impl<'a> Access<'a> for Lookup<'a> {
    fn is_client(&self, object: ObjectId) -> bool {
        let kind = self.snapshot.get(object).map(|o| self.snapshot.text(o.kind.kind));
        kind == Some(CLIENT)
    }

    fn caller(&self, client: Client<'_>) -> Caller {
        identity::caller(self.documents, self.resources, client)
    }

    fn inbounds(&self, object: ObjectId, section: Option<&str>) -> Vec<InboundId> {
        let found = inbounds::inbounds(self.documents, self.resources, object, section);
        if found.is_empty() {
            return services::behind(
                self.documents,
                self.snapshot,
                self.resources,
                object,
                section,
            );
        }
        found
    }

    fn name(&self, at: InboundId) -> String {
        inbounds::name(self.snapshot, self.resources, at)
    }

    fn object(&self, at: InboundId) -> Option<ObjectId> {
        self.resources.meshes.get(at.mesh)?.proxy(at.proxy)?.object
    }

    fn inbound(&self, at: InboundId) -> Option<Box<dyn Guarded<'a> + 'a>> {
        Some(Box::new(Lookup::inbound(self, at)?))
    }

    fn clients(&self) -> Vec<ObjectId> {
        let meshes = self.resources.meshes.iter();
        meshes.flat_map(|mesh| mesh.dataplanes.iter().filter_map(|proxy| proxy.object)).collect()
    }

    fn refused(&self) -> Vec<ObjectId> {
        let mut found = Vec::new();
        for mesh in &self.resources.meshes {
            let ours = mesh.policies.iter().filter(|p| *p.kind == kinds::TRAFFIC_PERMISSION);
            let refused = ours.filter(|p| mesh.is_refused(&self.profile, p));
            found.extend(refused.filter_map(|p| mesh.policy_objects.get(p.place as usize)));
        }
        found
    }
}

impl<'a> GuardedInbound<'a> {
    fn cited(&self, by: By) -> Option<CitedClause<'a>> {
        let ClauseAt { policy, clause, node } = self.gate.clause(by)?;
        let object = *self.mesh.policy_objects.get(policy as usize)?;
        let policy = self.mesh.policies.get(policy as usize)?;
        Some(CitedClause { object, identity: policy.meta.kri().to_string(), clause, node })
    }

    fn client_sets(&self, as_shipped: bool) -> Vec<ClientSet> {
        let sets = match as_shipped {
            true => self.gate.release_sets(),
            false => {
                let from = self.gate.deciding_from().into_iter();
                from.map(|f| (f.clients.clone(), f.effect)).collect()
            }
        };
        let tags = |clients: &crate::subset::Subset| {
            let tags = clients.tags().iter();
            let tag = |t: &crate::subset::Tag| {
                let (key, value) = (t.key.to_string(), t.value.to_string());
                ClientTag { key, value, not: t.not }
            };
            tags.map(tag).collect()
        };
        let sets = sets.into_iter();
        sets.map(|(clients, effect)| ClientSet { tags: tags(&clients), effect }).collect()
    }
}

impl<'a> Guarded<'a> for GuardedInbound<'a> {
    fn decide(&self, caller: &Caller, request: Request<'_>) -> Option<Ruling<CitedClause<'a>>> {
        GuardedInbound::decide(self, caller, request).renamed(|by| self.cited(by))
    }

    fn enforcement(&self) -> Enforcement {
        self.enforcement
    }

    fn denies_first(&self) -> bool {
        self.gate.denies_first()
    }

    fn clauses(&self) -> Vec<CitedClause<'a>> {
        self.gate.clauses().into_iter().filter_map(|by| self.cited(by)).collect()
    }

    fn filter_source(&self, as_shipped: bool) -> FilterSource<'a> {
        let Self { mesh, proxy, inbound, gate, enforcement } = self;
        let name = |place: &u32| {
            let policy = mesh.policies.get(*place as usize);
            policy.map_or_else(String::new, |p| p.meta.kri().to_string())
        };
        let listener = &inbound.listener;
        let own = listener.address.is_empty();
        FilterSource {
            mesh: &mesh.name,
            address: if own { &proxy.it.address } else { &listener.address }.to_string(),
            port: u16::try_from(listener.port).unwrap_or(0),
            is_http: inbound.is_http(),
            is_enforced: *enforcement != Enforcement::Off,
            has_rules: gate.has_rules,
            has_client_sets: !gate.from.is_empty(),
            rules: if as_shipped { &gate.permissions.rules } else { gate.listed() },
            names: gate.permissions.policies.iter().map(name).collect(),
            client_sets: self.client_sets(as_shipped),
        }
    }
}
