// SPDX-License-Identifier: Apache-2.0
//! In: policies of one type and a proxy. Out: those that select it, in the order they are merged, for the whole proxy and
//! for each inbound and listener. Not here: rules.

use std::collections::BTreeMap;

use crate::dataplane::{Dataplane, InboundListener};
use crate::order::{policies as compare, sort};
use crate::policy::Policy;
use crate::profile::Profile;
use crate::select::{HostListener, SelectContext, Selected, select};

/// Policies that select a proxy.
pub struct Matched<'a> {
    profile: Profile,
    /// In the order they came, each with what it selects.
    pub policies: Vec<(&'a Policy, Selected)>,
    /// Policies whose target cannot be resolved, with the reason.
    pub warnings: Vec<(&'a Policy, String)>,
}

impl<'a> Matched<'a> {
    /// Selects; policies that only count in shadow inspection are left out.
    pub fn new(context: SelectContext<'_>, policies: &[&'a Policy], dataplane: &Dataplane) -> Self {
        let mut matched =
            Self { profile: context.profile.clone(), policies: Vec::new(), warnings: Vec::new() };
        for policy in policies.iter().filter(|p| !p.is_shadow()) {
            match select(context, policy, dataplane) {
                Ok(selected) if selected.any() => matched.policies.push((policy, selected)),
                Ok(_) => {}
                Err(why) => matched.warnings.push((policy, why)),
            }
        }
        matched
    }

    fn sorted(&self, list: &[&'a Policy]) -> Vec<&'a Policy> {
        in_order(&self.profile, list)
    }

    /// All of them.
    pub fn all(&self) -> Vec<&'a Policy> {
        let all: Vec<&'a Policy> = self.policies.iter().map(|(p, _)| *p).collect();
        self.sorted(&all)
    }

    /// By inbound.
    pub fn inbounds(&self) -> BTreeMap<InboundListener, Vec<&'a Policy>> {
        let mut found: BTreeMap<InboundListener, Vec<&'a Policy>> = BTreeMap::new();
        for (policy, selected) in &self.policies {
            for listener in &selected.inbounds {
                found.entry(listener.clone()).or_default().push(policy);
            }
        }
        found.into_iter().map(|(l, list)| (l, self.sorted(&list))).collect()
    }

    /// By listener of the gateway and hostname, in the order they came: so the release has them.
    pub fn by_hostname(&self) -> BTreeMap<HostListener, Vec<&'a Policy>> {
        let mut found: BTreeMap<HostListener, Vec<&'a Policy>> = BTreeMap::new();
        for (policy, selected) in &self.policies {
            for listener in &selected.listeners {
                found.entry(listener.clone()).or_default().push(policy);
            }
        }
        found
    }

    /// By listener of the gateway.
    pub fn by_listener(&self) -> BTreeMap<InboundListener, Vec<&'a Policy>> {
        let mut found: BTreeMap<InboundListener, Vec<&'a Policy>> = BTreeMap::new();
        for (policy, selected) in &self.policies {
            for at in &selected.listeners {
                let list = found.entry(at.listener.clone()).or_default();
                // A listener with several hostnames has the policy once.
                if !list.last().is_some_and(|last| std::ptr::eq(*last, *policy)) {
                    list.push(policy);
                }
            }
        }
        found.into_iter().map(|(l, list)| (l, self.sorted(&list))).collect()
    }
}

/// Policies of one type in the order they are merged: least specific first.
pub fn in_order<'a>(profile: &Profile, list: &[&'a Policy]) -> Vec<&'a Policy> {
    sort(list, |p| &p.target, |a, b| compare(profile, (*a).into(), (*b).into()).0)
}
