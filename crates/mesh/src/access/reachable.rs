// SPDX-License-Identifier: Apache-2.0
//! In: permissions with `from`, and a destination. Out: which clients may reach it, so that a proxy need not know the
//! others. Not here: rules by SPIFFE ID, deciding about requests.
//!
//! Of a destination only some tags are known before a proxy of it is. So a proxy with one inbound is imagined that has
//! them, and references of permissions are read without the tags nobody can know: that lets pass too many rather than too
//! few, and the real proxy decides.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use overrule_engine::Leaf;
use overrule_source::{Documents, View};

use crate::dataplane::{Dataplane, Tags, tags};
pub use crate::entries::SERVICE;
use crate::kinds::{self, KindName};
use crate::labels::{ORIGIN, ZONE};
use crate::matched::Matched;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resource::{Meta, PlacedResource};
use crate::rules::{SubsetRule, subset_rules_from};
use crate::select::SelectContext;
use crate::subset::Subset;

/// A destination with this tag is in another mesh, and permissions of this one say nothing about it.
pub const OTHER_MESH: &str = "kuma.io/mesh";

/// The tags that are known of every service.
const OF_SERVICES: [&str; 4] =
    ["k8s.kuma.io/namespace", "k8s.kuma.io/service-name", "k8s.kuma.io/service-port", SERVICE];

/// Who may reach one destination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reachable {
    /// Clients, and whether they may; the first that contains a client counts.
    rules: Vec<(Subset, bool)>,
}

impl Reachable {
    /// Of a service that only a tag names. `policies` are those of its mesh.
    pub fn service(
        documents: &Documents,
        policies: &[Policy],
        name: &str,
        known: &BTreeMap<String, String>,
    ) -> Self {
        let mut tags: Tags =
            known.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect();
        tags.insert(SERVICE.into(), name.into());
        Self::imagined(documents, policies, tags, |key, _| OF_SERVICES.contains(&key))
    }

    /// Of a MeshService. `policies` are those of its mesh.
    pub fn backend(documents: &Documents, policies: &[Policy], service: &PlacedResource) -> Self {
        let selector = service.spec(documents).get("selector");
        let mut tags = tags(selector.and_then(|s: View<'_>| s.get("dataplaneTags")));
        for key in [ORIGIN, ZONE] {
            if let Some(value) = service.meta.labels.get(key) {
                tags.insert(key.into(), value.as_str().into());
            }
        }
        Self::imagined(documents, policies, tags, |key, tags| tags.contains_key(key))
    }

    fn imagined(
        documents: &Documents,
        policies: &[Policy],
        tags: Tags,
        is_known: impl Fn(&str, &Tags) -> bool,
    ) -> Self {
        let counts =
            |p: &&Policy| *p.kind == kinds::TRAFFIC_PERMISSION && p.target.kind != kinds::DATAPLANE;
        let mut policies: Vec<Policy> = policies.iter().filter(counts).cloned().collect();
        for wanted in policies.iter_mut().filter_map(|p| p.target.tags.as_mut()) {
            wanted.retain(|key, _| is_known(key, &tags));
        }
        let proxy = with_one_inbound(tags);
        let context = SelectContext { routes: &[], gateways: &[], profile: &Profile::Release };
        let matched = Matched::new(context, &policies.iter().collect::<Vec<_>>(), &proxy);
        let by_inbound = matched.inbounds();
        let selecting = by_inbound.values().next().map_or(&[][..], Vec::as_slice);
        let rules = subset_rules_from(documents, selecting);
        let admits = |rule: SubsetRule<'_>| {
            let admits = admits(documents, &rule);
            (rule.subset, admits)
        };
        Self { rules: rules.into_iter().map(admits).collect() }
    }

    /// Whether a client with these tags may reach it. Who is in no rule may not.
    pub fn by<K, V>(&self, client: &BTreeMap<K, V>) -> bool
    where
        K: Borrow<str> + Ord,
        V: AsRef<str>,
    {
        let first = self.rules.iter().find(|(clients, _)| clients.contains_element(client));
        first.is_some_and(|(_, admits)| *admits)
    }
}

/// Where the inbound listens is nobody's business.
fn with_one_inbound(tags: Tags) -> Dataplane {
    let mut proxy = Dataplane {
        meta: Meta { kind: KindName::Known(&kinds::DATAPLANE), ..Meta::default() },
        address: "".into(),
        inbounds: Vec::new(),
        gateway: None,
        services: Vec::new(),
    };
    proxy.inbounds.push(crate::dataplane::Inbound {
        listener: crate::dataplane::InboundListener { address: "".into(), port: 0 },
        section: "".into(),
        protocol: "".into(),
        tags,
    });
    proxy
}

fn admits(documents: &Documents, rule: &SubsetRule<'_>) -> bool {
    let action = rule.merged.confs.first().and_then(|conf| conf.get(documents, "action"));
    action.is_some_and(|action| match action.leaf(documents) {
        Leaf::Scalar(text) => matches!(text.as_str(), Some("Allow" | "AllowWithShadowDeny")),
        _ => false,
    })
}
