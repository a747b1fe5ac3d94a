// SPDX-License-Identifier: Apache-2.0
//! In: a list of policies of one kind that select something. Out: what they say, as JSON in the shapes of the API.
//! Not here: who is selected by them; whoever has the same list gets the same part.

use std::collections::BTreeMap;

use bytes::Bytes;
use hashbrown::HashMap;
use overrule_engine::{StepId, Traced};
use serde_json::{Value, json};

use super::memo::Weigh;
use super::shape::{by_kri, bytes, matchers, meta, with_index};
use super::{Flavour, Scope};
use crate::conf::{EntryPosition, conf_of, hash_of_matches};
use crate::entries::{Item, inbound_entries};
use crate::kinds::{HTTP_ROUTE, TRAFFIC_PERMISSION};
use crate::kri::Kri;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::rules::{
    MergedRule, ResourceRule, SubsetRule, resource_rules_by, subset_rules_from, subset_rules_to,
    whole_rule,
};

/// A JSON list, and whether anything is in it.
#[derive(Debug)]
pub(super) struct List {
    pub(super) json: Bytes,
    pub(super) any: bool,
}

impl List {
    fn of(items: Vec<Value>) -> Self {
        Self { any: !items.is_empty(), json: bytes(&Value::Array(items)) }
    }
}

/// What policies say about destinations, as the view of all rules shows it.
#[derive(Debug)]
pub(super) struct To {
    /// By the tags of services.
    pub(super) tagged: List,
    /// By resource.
    pub(super) resources: List,
    /// Matches of routes, with the hash that stands for them.
    pub(super) matches: BTreeMap<String, Value>,
}

/// What policies say about destinations, to be looked up by identity.
#[derive(Debug, Default)]
pub(super) struct Out {
    pub(super) by_kri: HashMap<Kri, Fragments>,
}

/// What one resource rule is in lists of policies and, if it is of routes, in lists of routes.
#[derive(Debug)]
pub(super) struct Fragments {
    pub(super) policy: Bytes,
    pub(super) route: Option<Bytes>,
}

/// What policies say about inbound traffic.
#[derive(Debug)]
pub(super) struct In {
    /// By the tags of clients.
    pub(super) tagged: List,
    /// One after another.
    pub(super) rules: List,
    /// The same in lists of policies.
    pub(super) fragment: Bytes,
}

/// What policies say about a whole proxy.
#[derive(Debug)]
pub(super) struct Whole {
    /// In the view of all rules.
    pub(super) rule: Bytes,
    /// In lists of policies.
    pub(super) fragment: Bytes,
}

impl Weigh for To {
    fn weight(&self) -> usize {
        let matches = self.matches.values().map(|m| 64 + m.to_string().len());
        self.tagged.json.len() + self.resources.json.len() + matches.sum::<usize>()
    }
}

impl Weigh for Out {
    fn weight(&self) -> usize {
        let fragment = |f: &Fragments| f.policy.len() + f.route.as_ref().map_or(0, Bytes::len);
        self.by_kri.values().map(|f| 200 + fragment(f)).sum()
    }
}

impl Weigh for In {
    fn weight(&self) -> usize {
        self.tagged.json.len() + self.rules.json.len() + self.fragment.len()
    }
}

impl Weigh for Whole {
    fn weight(&self) -> usize {
        self.rule.len() + self.fragment.len()
    }
}

impl Scope<'_> {
    /// What these policies say about destinations.
    pub(super) fn make_to(&self, list: &[u32]) -> To {
        let documents = self.live.documents;
        let policies = self.mesh.policies_at(list);
        let tagged = subset_rules_to(documents, &policies, self.routes());
        let mut matches = BTreeMap::new();
        if policies.first().is_some_and(|p| *p.kind == HTTP_ROUTE) {
            for rule in &tagged {
                self.matches(rule, &mut matches);
            }
        }
        let mut by_resource: Vec<ResourceRule<'_>> =
            self.resource_rules(&policies).into_values().collect();
        by_resource.sort_by(|a, b| a.resource.meta.name.cmp(&b.resource.meta.name));
        To {
            tagged: List::of(tagged.iter().map(|rule| self.tagged(rule)).collect()),
            resources: List::of(by_resource.iter().flat_map(|r| self.by_resource(r)).collect()),
            matches,
        }
    }

    fn resource_rules<'p>(&'p self, policies: &[&'p Policy]) -> BTreeMap<Kri, ResourceRule<'p>> {
        let means = |item: &Item<'p>| self.meant(item);
        let resources = &self.mesh.destinations;
        resource_rules_by(self.live.documents, self.live.profile, policies, resources, means)
    }

    fn tagged(&self, rule: &SubsetRule<'_>) -> Value {
        json!({
            "conf": self.conf(&rule.merged),
            "matchers": matchers(&rule.subset),
            "origin": rule.merged.policies().map(meta).collect::<Vec<_>>(),
        })
    }

    /// The first conf; empty if there is none.
    fn conf(&self, merged: &MergedRule<'_>) -> Value {
        merged.confs.first().map_or_else(|| json!({}), |conf| conf.to_json(self.live.documents))
    }

    fn confs(&self, merged: &MergedRule<'_>) -> Vec<Value> {
        merged.confs.iter().map(|conf| conf.to_json(self.live.documents)).collect()
    }

    /// A rule of a resource: one, or as the design has it, one for each of its confs.
    fn by_resource(&self, rule: &ResourceRule<'_>) -> Vec<Value> {
        let confs = self.confs(&rule.merged);
        let resource = meta(&rule.resource.meta);
        if *self.live.profile == Profile::Release {
            return vec![json!({
                "conf": confs,
                "origin": rule.merged.origins.iter().map(with_index).collect::<Vec<_>>(),
                "resourceMeta": resource,
                "resourceSectionName": rule.section,
            })];
        }
        let mut once = rule.merged.clone();
        once.name_policies_once();
        let origin: Vec<Value> = once.policies().map(meta).collect();
        let one = |conf| {
            let mut shown = json!({"conf": conf, "origin": origin, "resourceMeta": resource});
            // The design speaks of whole resources only; a port is told where there is one.
            if let Some(members) = shown.as_object_mut().filter(|_| !rule.section.is_empty()) {
                members.insert("resourceSectionName".into(), json!(rule.section));
            }
            shown
        };
        confs.into_iter().map(one).collect()
    }

    /// The matches of the routes in a rule, by the hash that stands for them.
    fn matches(&self, rule: &SubsetRule<'_>, found: &mut BTreeMap<String, Value>) {
        let documents = self.live.documents;
        let rules = rule.merged.confs.first().and_then(|conf| conf.get(documents, "rules"));
        for rule in rules.map(|r| r.items(documents)).unwrap_or_default() {
            let matches = rule.get(documents, "matches");
            let hash = hash_of_matches(documents, matches.as_ref());
            found.insert(hash, matches.map(|m| m.to_json(documents)).unwrap_or_default());
        }
    }

    /// What these policies say about destinations, by identity.
    pub(super) fn make_out(&self, list: &[u32]) -> Out {
        let policies = self.mesh.policies_at(list);
        let Some(of) = policies.first().map(|p| p.kind) else { return Out::default() };
        let kind = of.name;
        let rules = self.resource_rules(&policies);
        let fragments = |rule: &ResourceRule<'_>| {
            let origins: Vec<Value> = rule.merged.policies().map(by_kri).collect();
            let policy =
                json!({"kind": kind, "conf": self.confs(&rule.merged), "origins": origins});
            let rules = of.is_route().then(|| {
                if *of == HTTP_ROUTE { self.http_rules(rule) } else { self.tcp_rules(rule) }
            });
            let route =
                rules.map(|rules| json!({"kind": kind, "rules": rules, "origins": origins}));
            Fragments { policy: bytes(&policy), route: route.as_ref().map(bytes) }
        };
        Out { by_kri: rules.iter().map(|(kri, rule)| (kri.clone(), fragments(rule))).collect() }
    }

    /// Rules of routes in the order they are merged, each with the policy that owns it.
    fn http_rules(&self, rule: &ResourceRule<'_>) -> Vec<Value> {
        let documents = self.live.documents;
        let rules = |conf: &Traced| conf.get(documents, "rules").map(|r| r.items(documents));
        let all = rule.merged.confs.iter().filter_map(rules).flatten();
        let shown = |one: Traced| {
            let matches = one.get(documents, "matches");
            let hash = hash_of_matches(documents, matches.as_ref());
            let owner = rule.merged.by_matches.get(&hash).map(|o| o.policy.meta.kri().to_string());
            json!({
                "conf": one.get(documents, "default").map_or_else(|| json!({}), |d| d.to_json(documents)),
                "matches": matches.map(|m| m.to_json(documents)),
                "kri": owner.unwrap_or_default(),
            })
        };
        all.map(shown).collect()
    }

    fn tcp_rules(&self, rule: &ResourceRule<'_>) -> Vec<Value> {
        let documents = self.live.documents;
        let conf = |conf: &Traced| {
            let default = conf.get(documents, "default").map(|d| d.to_json(documents));
            json!({"conf": default.unwrap_or_else(|| json!({})), "kri": "", "matches": null})
        };
        rule.merged.confs.iter().map(conf).collect()
    }

    /// What these policies say about inbound traffic.
    pub(super) fn make_in(&self, list: &[u32]) -> In {
        let documents = self.live.documents;
        let policies = self.mesh.policies_at(list);
        let kind = policies.first().map_or("", |p| p.kind.name);
        let design = *self.live.profile != Profile::Release;
        let tagged = subset_rules_from(documents, &policies);
        let (mut rules, mut short) = (Vec::new(), Vec::new());
        let mut origins: Vec<Value> = Vec::new();
        for (item, from) in inbound_entries(self.live.profile, &policies) {
            let position = if from { EntryPosition::From } else { EntryPosition::Rules };
            let conf = conf_of(documents, item.policy.kind, StepId(0), item.entry.node, position);
            let mut conf = conf.to_json(documents);
            if !design && *item.policy.kind == TRAFFIC_PERMISSION {
                without_sni(&mut conf);
            }
            let kri = item.policy.meta.kri().to_string();
            let key = if design { "origin" } else { "kri" };
            short.push(json!({"conf": conf, key: kri}));
            rules.push(json!({"conf": [conf], "origin": [with_index(&item)]}));
            let origin = json!({"kri": kri});
            // 2.13 names a policy as often as it has rules.
            if self.flavour == Flavour::Compat || !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        let fragment = json!({"kind": kind, "rules": short, "origins": origins});
        In {
            tagged: List::of(tagged.iter().map(|rule| self.tagged(rule)).collect()),
            rules: List::of(rules),
            fragment: bytes(&fragment),
        }
    }

    /// What these policies say about the whole proxy.
    pub(super) fn make_whole(&self, list: &[u32]) -> Whole {
        let policies = self.mesh.policies_at(list);
        let kind = policies.first().map_or("", |p| p.kind.name);
        let merged = whole_rule(self.live.documents, &policies);
        let conf = self.conf(&merged);
        let origin: Vec<Value> = merged.policies().map(meta).collect();
        let origins: Vec<Value> = merged.policies().map(by_kri).collect();
        Whole {
            rule: bytes(&json!({"conf": conf, "origin": origin})),
            fragment: bytes(&json!({"kind": kind, "conf": conf, "origins": origins})),
        }
    }
}

/// The release has no server names in permissions and keeps none.
fn without_sni(conf: &mut Value) {
    let lists = conf.as_object_mut().into_iter().flatten();
    for one in lists.filter_map(|(_, list)| list.as_array_mut()).flatten() {
        if let Some(members) = one.as_object_mut() {
            members.remove("sni");
        }
    }
}
