// SPDX-License-Identifier: Apache-2.0
//! In: a proxy and, by identity, something it listens on or sends to. Out: the confs in force there, kind by kind:
//! `_policies`, `_routes`. Not here: what a list of policies says (`parts`).

use bytes::Bytes;

use super::answer::{InspectAnswer, bad_request, error, not_found};
use super::shape::list_of;
use super::{Flavour, Scope};
use crate::chain::{chain, first_hit};
use crate::kri::Kri;

impl Scope<'_> {
    /// Confs of the whole proxy.
    pub(super) fn proxy_policies(&self, place: usize) -> InspectAnswer {
        let single = |kind: &crate::kinds::ResourceKind| kind.policy.is_some_and(|p| p.single);
        let lists = self.lists(place).iter().filter(|lists| single(lists.kind));
        let parts: Vec<_> = lists.map(|lists| self.whole(&lists.all)).collect();
        InspectAnswer::ok(list_of("policies", parts.iter().map(|part| &*part.fragment)))
    }

    /// Rules for the traffic of an inbound. Only the section of its identity is read.
    pub(super) fn inbound_policies(
        &self,
        place: usize,
        kri: &str,
    ) -> Result<InspectAnswer, InspectAnswer> {
        let kri = parsed(kri)?;
        let inbounds = self.proxy(place).map_or(&[][..], |proxy| &proxy.inbounds);
        let asked = inbounds.iter().find(|i| kri.section.is_empty() || *i.section == *kri.section);
        let Some(asked) = asked else { return Err(self.no_inbound()) };
        let first = inbounds.iter().position(|i| i.listener == asked.listener);
        let at = self.lists(place).iter().flat_map(|lists| &lists.at);
        let here = at.filter(|at| at.inbound == first);
        let parts: Vec<_> = here.map(|at| self.inbound(&at.policies)).collect();
        let parts = parts.iter().filter(|part| part.rules.any);
        Ok(InspectAnswer::ok(list_of("policies", parts.map(|part| &*part.fragment))))
    }

    /// The release takes an inbound that is not there for a failure of its own.
    fn no_inbound(&self) -> InspectAnswer {
        match self.flavour {
            Flavour::Compat => error(500, "Failed building response", "Internal Server Error", &[]),
            Flavour::Native => not_found("Could not retrieve inbound"),
        }
    }

    /// Confs for a destination, or for a route to it, or the routes to it.
    pub(super) fn outbound_policies(
        &self,
        place: usize,
        kri: &str,
        way: &Way<'_>,
    ) -> Result<InspectAnswer, InspectAnswer> {
        let kri = parsed(kri)?;
        let mut added = vec![kri.without_section(), kri];
        if let Way::OneRoute(route) = way {
            let route = parsed(route)?;
            added.extend([route.without_section(), route]);
        }
        added.dedup();
        let chain = chain(&self.mesh.name, &added);
        let mut found: Vec<Bytes> = Vec::new();
        for lists in self.lists(place).iter().filter(|l| l.kind.policy.is_some_and(|p| p.to)) {
            let of_routes = lists.kind.is_route();
            let asked = match way {
                Way::Policies => true,
                Way::Routes => of_routes,
                Way::OneRoute(_) => !of_routes,
            };
            if !asked {
                continue;
            }
            let part = self.out(&lists.all);
            let Some(hit) = first_hit(&chain, |kri| part.by_kri.get(kri)) else { continue };
            found.extend(match way {
                Way::Routes => hit.route.clone(),
                _ => Some(hit.policy.clone()),
            });
        }
        let name = if matches!(way, Way::Routes) { "routes" } else { "policies" };
        Ok(InspectAnswer::ok(list_of(name, found.iter().map(|f| &**f))))
    }
}

/// What is asked about a destination.
pub(super) enum Way<'a> {
    /// Confs.
    Policies,
    /// Routes.
    Routes,
    /// Confs of one route.
    OneRoute(&'a str),
}

/// An identity that came in a path.
pub(super) fn parsed(kri: &str) -> Result<Kri, InspectAnswer> {
    Kri::parse(kri).map_err(|why| bad_request(&why.to_string()))
}
