// SPDX-License-Identifier: Apache-2.0
//! In: a proxy, or a MeshGateway, and the policies that select it. Out: every rule of every kind: `_rules`.
//! Not here: what a list of policies says (`parts`).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use overrule_access::Enforcement;
use serde_json::{Value, json};

use super::answer::InspectAnswer;
use super::memo::Weigh;
use super::shape::{bytes, meta_bytes};
use super::{Flavour, Scope};
use crate::dataplane::{Dataplane, MeshGateway, ProxyGateway};
use crate::identity::enforcement;
use crate::kinds;
use crate::matched::Matched;
use crate::resolve::{AtPort, Lists, taking_part};
use crate::resource::Meta;
use crate::select::SelectContext;

/// An answer, less who it is about.
#[derive(Debug)]
pub(super) struct Rendered {
    head: Bytes,
    tail: Bytes,
}

impl Weigh for Rendered {
    fn weight(&self) -> usize {
        self.head.len() + self.tail.len()
    }
}

/// The rules of a kind while they are written.
#[derive(Default)]
struct Kinds {
    json: Vec<u8>,
    matches: BTreeMap<String, Value>,
}

impl Scope<'_> {
    /// The rules of a proxy.
    pub(super) fn rules(&self, place: usize) -> Option<InspectAnswer> {
        let proxy = self.proxy(place)?;
        let slot = (self.number, *self.index.slots.get(place)?);
        let rendered =
            self.inspector.memo.rules.get(&slot, || slot, || self.render(proxy, self.lists(place)));
        Some(spliced(&rendered, &proxy.meta))
    }

    /// The rules of the proxies that a MeshGateway configures.
    pub(super) fn gateway_rules(&self, place: usize) -> Option<InspectAnswer> {
        let gateway = self.mesh.gateways.get(place)?;
        // Places of gateways are told apart from slots by the highest bit.
        let slot = (self.number, u32::try_from(place).ok()? | 1 << 31);
        let rendered = self.inspector.memo.rules.get(
            &slot,
            || slot,
            || {
                let proxy = invented(gateway);
                self.render(&proxy, &self.selecting(&proxy))
            },
        );
        Some(spliced(&rendered, &gateway.meta))
    }

    /// The policies that select a proxy that is not there.
    fn selecting(&self, proxy: &Dataplane) -> Vec<Lists> {
        let live = self.live;
        let context = SelectContext {
            routes: self.routes(),
            gateways: &self.mesh.gateways,
            profile: live.profile,
        };
        let of_kind = |(kind, _): (&'static kinds::ResourceKind, kinds::PolicySchema)| {
            let list = taking_part(live.resources, self.mesh, live.profile, kind);
            let matched = Matched::new(context, &list, proxy);
            Lists::new(kind, proxy, &matched, &matched.all())
        };
        kinds::policies().filter_map(of_kind).collect()
    }

    fn render(&self, proxy: &Dataplane, lists: &[Lists]) -> Rendered {
        let mut kinds = Kinds::default();
        for list in lists {
            self.kind(proxy, list, &mut kinds);
        }
        let matches = kinds.matches.into_iter();
        let matches: Value = matches.map(|(hash, m)| json!({"hash": hash, "match": m})).collect();
        let head = format!("{{\"httpMatches\":{matches},\"resource\":");
        let tail = [&b",\"rules\":["[..], &kinds.json, b"]}"].concat();
        Rendered { head: head.into(), tail: tail.into() }
    }

    fn kind(&self, proxy: &Dataplane, lists: &Lists, out: &mut Kinds) {
        let Some(holds) = lists.kind.policy else { return };
        let whole = holds.single.then(|| self.whole(&lists.all));
        let to = holds.to.then(|| self.to(&lists.all));
        let has_inbounds = (holds.from || holds.rules) && !lists.at.is_empty();
        let tagged = to.as_ref().is_some_and(|to| to.tagged.any);
        // 2.13 does not look at resource rules when it decides whether there is anything.
        let compat = self.flavour == Flavour::Compat;
        if compat && !tagged && !has_inbounds && whole.is_none() {
            return;
        }
        let (from, inbound) =
            if has_inbounds { self.inbounds(proxy, &lists.at) } else { (Vec::new(), Vec::new()) };
        let none = || Bytes::from_static(b"[]");
        let shows_tagged = tagged && !self.is_exclusive();
        let to_rules =
            to.as_ref().filter(|_| shows_tagged).map_or_else(none, |t| t.tagged.json.clone());
        let resources = to.as_ref().map_or_else(none, |to| to.resources.json.clone());
        let any_resources = to.as_ref().is_some_and(|to| to.resources.any);
        if let Some(to) = &to {
            out.matches.extend(to.matches.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
        let any = shows_tagged || any_resources || !from.is_empty() || !inbound.is_empty();
        if !any && whole.is_none() {
            return;
        }
        let comma = if out.json.is_empty() { "" } else { "," };
        let mut put = |name: &str, json: &[u8]| {
            out.json.extend_from_slice(name.as_bytes());
            out.json.extend_from_slice(json);
        };
        put(&format!("{comma}{{\"type\":\"{}\",\"toRules\":", lists.kind.name), &to_rules);
        put(",\"toResourceRules\":", &resources);
        put(",\"fromRules\":", &joined(&from));
        put(",\"inboundRules\":", &joined(&inbound));
        put(",\"warnings\":", &bytes(&self.warnings(proxy, lists)));
        if let Some(whole) = whole {
            put(",\"proxyRule\":", &whole.rule);
        }
        out.json.push(b'}');
    }

    /// Rules for inbound traffic, by port: by the tags of clients, and in order.
    fn inbounds(&self, proxy: &Dataplane, at: &[AtPort]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut tagged, mut rules) = (Vec::new(), Vec::new());
        for at in at {
            let part = self.inbound(&at.policies);
            let port = bytes(&described(proxy, at));
            let one =
                |json: &[u8]| [&b"{\"inbound\":"[..], &port, b",\"rules\":", json, b"}"].concat();
            if part.tagged.any {
                tagged.push(one(&part.tagged.json));
            }
            if part.rules.any {
                rules.push(one(&part.rules.json));
            }
        }
        (tagged, rules)
    }

    fn warnings(&self, proxy: &Dataplane, lists: &Lists) -> Value {
        let unresolved = |(place, why): &(u32, String)| {
            let policy = self.mesh.policies.get(*place as usize).map(|p| &p.meta);
            let (mesh, name) = policy.map_or(("", ""), |m| (&m.mesh, &m.name));
            let why = crate::quote::quoted(why);
            format!("unable to resolve TargetRef on policy: mesh:{mesh} name:{name} error:{why}")
        };
        let mut told: Vec<String> = lists.unresolved.iter().map(unresolved).collect();
        let asks = || enforcement(self.live.documents, self.live.resources, self.mesh, proxy);
        if self.flavour == Flavour::Native
            && *lists.kind == kinds::TRAFFIC_PERMISSION
            && asks() == Enforcement::Off
        {
            told.push("Mesh is not Mtls enabled this policy will have no effect".to_owned());
        }
        json!(told)
    }
}

fn spliced(rendered: &Arc<Rendered>, who: &Meta) -> InspectAnswer {
    InspectAnswer::ok([rendered.head.clone(), meta_bytes(who), rendered.tail.clone()])
}

/// The proxy that a MeshGateway would configure.
fn invented(gateway: &MeshGateway) -> Dataplane {
    Dataplane {
        meta: gateway.meta.clone(),
        address: "".into(),
        inbounds: Vec::new(),
        gateway: Some(ProxyGateway {
            built_in: true,
            tags: gateway.selectors.first().cloned().unwrap_or_default(),
        }),
        services: Vec::new(),
    }
}

/// What a proxy listens on. Tags are null where there are none.
fn described(proxy: &Dataplane, at: &AtPort) -> Value {
    let inbound = at.inbound.and_then(|place| proxy.inbounds.get(place));
    let of_gateway = proxy.gateway.as_ref().filter(|g| g.built_in).map(|g| &g.tags);
    let tags = of_gateway.or(inbound.map(|i| &i.tags)).filter(|tags| !tags.is_empty());
    let tags = tags.map(|t| t.iter().map(|(k, v)| (k.to_string(), json!(&**v))).collect());
    let tags = tags.map_or(Value::Null, Value::Object);
    let mut shown = json!({"port": at.port, "tags": tags});
    let number = at.port.to_string();
    let name = inbound.map(|i| &*i.section).filter(|section| *section != number);
    if let (Some(name), Some(members)) = (name, shown.as_object_mut()) {
        members.insert("name".into(), json!(name));
    }
    shown
}

fn joined(items: &[Vec<u8>]) -> Vec<u8> {
    [&b"["[..], &items.join(&b","[..]), b"]"].concat()
}
