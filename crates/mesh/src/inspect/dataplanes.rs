// SPDX-License-Identifier: Apache-2.0
//! In: a policy or a service. Out: the proxies it selects, in pages: `_resources/dataplanes`, `_dataplanes`.
//! Not here: what the policy then does.

use std::borrow::Cow;

use hashbrown::HashMap;
use overrule_model::ObjectId;
use overrule_source::View;
use serde_json::{Value, json};

use super::answer::{InspectAnswer, RefusedField, error, not_found};
use super::ask::{InspectQuery, encoded};
use super::shape::meta;
use super::{InspectInput, Inspector, Scope};
use crate::dataplane::{Dataplane, Tags, matches, tags};
use crate::kinds::{self, ResourceKind};
use crate::policy::Policy;
use crate::select::{SelectContext, select};

/// How many are on a page, and at most.
const USUAL: usize = 100;
const MOST: usize = 1000;

/// What is asked for.
pub(super) struct Asked<'a> {
    pub(super) kind: &'static ResourceKind,
    pub(super) name: &'a str,
    pub(super) query: &'a InspectQuery<'a>,
    pub(super) base: &'a str,
}

impl Inspector {
    pub(super) fn dataplanes(
        &self,
        live: InspectInput<'_>,
        mesh: &str,
        checks_mesh: bool,
        asked: &Asked<'_>,
    ) -> Result<InspectAnswer, InspectAnswer> {
        let scope =
            if checks_mesh { Some(self.scope(live, mesh)?) } else { self.any_scope(live, mesh) };
        let missing = || not_found("Could not retrieve policy");
        let object = self.find(live, asked.kind, mesh, asked.name).ok_or_else(missing)?;
        let scope = scope.ok_or_else(missing)?;
        let page = Page::read(asked.query)?;
        let selected = self.memo.dataplanes.get(&object, || object, || scope.selected(object));
        let proxy = |place: &u32| scope.proxy(*place as usize);
        let named: Cow<'_, [u32]> = match asked.query.get("name") {
            None => Cow::Borrowed(&selected),
            Some(part) => {
                let has = |place: &&u32| proxy(place).is_some_and(|p| p.meta.name.contains(part));
                Cow::Owned(selected.iter().filter(has).copied().collect())
            }
        };
        let page_of = named.iter().skip(page.offset).take(page.size);
        let items: Vec<Value> = page_of.filter_map(proxy).map(|p| meta(&p.meta)).collect();
        let mut shown = json!({"total": named.len(), "items": items});
        let end = page.offset.saturating_add(page.size);
        if let Some(members) = shown.as_object_mut().filter(|_| end < named.len()) {
            members.insert("next".into(), json!(next(mesh, checks_mesh, asked, end)));
        }
        Ok(InspectAnswer::ok(&shown))
    }
}

/// Where the next page is.
fn next(mesh: &str, checks_mesh: bool, asked: &Asked<'_>, offset: usize) -> String {
    let Asked { kind, name, query, base } = asked;
    let endpoint = if checks_mesh { "_resources/dataplanes" } else { "_dataplanes" };
    let query = query.with("offset", &offset.to_string());
    let (mesh, name) = (encoded(mesh), encoded(name));
    format!("{base}/meshes/{mesh}/{}/{name}/{endpoint}?{query}", kind.path)
}

/// A page of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    size: usize,
    offset: usize,
}

impl Page {
    pub(super) fn read(query: &InspectQuery<'_>) -> Result<Self, InspectAnswer> {
        let size = match query.get("size").map(str::parse::<usize>) {
            None => USUAL,
            Some(Ok(size)) if (1..=MOST).contains(&size) => size,
            Some(Ok(size)) if size > MOST => {
                return Err(refused("size", &too_large(size)));
            }
            Some(_) => return Err(refused("size", "Invalid format")),
        };
        let offset = match query.get("offset").map(str::parse) {
            None => 0,
            Some(Ok(offset)) => offset,
            Some(Err(_)) => return Err(refused("offset", "Invalid format")),
        };
        Ok(Self { size, offset })
    }
}

fn too_large(size: usize) -> String {
    format!("Invalid page size of {size}. Maximum page size is {MOST}")
}

fn refused(field: &str, why: &str) -> InspectAnswer {
    let detail = if field == "size" { "Invalid page size" } else { "Invalid offset" };
    let cause = RefusedField { field: field.into(), message: why.into() };
    error(400, "Could not retrieve resources", detail, &[cause])
}

impl Scope<'_> {
    /// The proxies that an object selects, by place, in the order of their names.
    fn selected(&self, object: ObjectId) -> Vec<u32> {
        let place = self.mesh.policy_objects.iter().position(|o| *o == object);
        let policy = place.and_then(|place| self.mesh.policies.get(place));
        if let Some(policy) = policy {
            return self.selected_by(policy);
        }
        let selectors = self.selectors(object);
        let fits = |place: &&u32| {
            let proxy = self.proxy(**place as usize);
            proxy.is_some_and(|proxy| selectors.iter().any(|s| s.fits(proxy)))
        };
        self.index.by_name.iter().filter(fits).copied().collect()
    }

    /// The same for a policy. Proxies that policies cannot tell apart are looked at once; only those policies do not
    /// count that resolving left out.
    fn selected_by(&self, policy: &Policy) -> Vec<u32> {
        let left_out = !self.mesh.takes_part(self.live.profile, policy);
        let mut known: HashMap<u32, bool> = HashMap::new();
        let mut fits = |place: &&u32| {
            let at = **place as usize;
            let select = || self.proxy(at).is_some_and(|proxy| self.selects(policy, proxy));
            match self.index.slots.get(at).filter(|_| !left_out) {
                Some(slot) => *known.entry(*slot).or_insert_with(select),
                None => select(),
            }
        };
        self.index.by_name.iter().filter(|place| fits(place)).copied().collect()
    }

    fn selects(&self, policy: &Policy, proxy: &Dataplane) -> bool {
        // Here a MeshGateway only counts for proxies that leave their listeners to one.
        let gateways = if proxy.is_built_in() { &self.mesh.gateways[..] } else { &[] };
        let context = SelectContext { routes: self.routes(), gateways, profile: self.live.profile };
        select(context, policy, proxy).is_ok_and(|selected| selected.any())
    }

    /// How a service or a policy of the old style selects; one of these must fit.
    fn selectors(&self, object: ObjectId) -> Vec<Selector> {
        let Some(spec) = self.spec(object) else { return Vec::new() };
        if self.meta(object).is_some_and(|m| m.kind == kinds::SERVICE) {
            return spec.get("selector").and_then(Selector::of_service).into_iter().collect();
        }
        let lists = ["selectors", "sources", "destinations"];
        let items = lists.into_iter().filter_map(|l| spec.get(l)).flat_map(View::items);
        items.map(|item| Selector::Tags(tags(item.get("match")))).collect()
    }
}

/// What selects proxies without a reference.
enum Selector {
    /// One inbound, or the gateway, has these tags.
    Tags(Tags),
    /// The proxy has these labels.
    Labels(Tags),
    /// It is called so.
    Name(String),
}

impl Selector {
    fn of_service(selector: View<'_>) -> Option<Self> {
        let member = |key: &str| selector.get(key).filter(|v| !v.is_null());
        if let Some(wanted) = member("dataplaneTags") {
            return Some(Self::Tags(tags(Some(wanted))));
        }
        if let Some(labels) = member("dataplaneLabels") {
            return Some(Self::Labels(tags(Some(labels.get("matchLabels").unwrap_or(labels)))));
        }
        let name = member("dataplaneRef")?.get("name")?.scalar_text()?;
        Some(Self::Name(name.to_owned()))
    }

    fn fits(&self, proxy: &Dataplane) -> bool {
        match self {
            Self::Tags(wanted) => {
                let gateway = proxy.gateway.iter().map(|g| &g.tags);
                let mut all = proxy.inbounds.iter().map(|i| &i.tags).chain(gateway);
                all.any(|tags| matches(wanted, tags))
            }
            Self::Labels(wanted) => {
                let labels = &proxy.meta.labels;
                wanted.iter().all(|(k, v)| labels.get(&**k).map(String::as_str) == Some(v))
            }
            Self::Name(name) => proxy.meta.display_name() == name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_bounds() {
        let page = |query: &str| {
            Page::read(&InspectQuery::read(query)).map(|p| (p.size, p.offset)).map_err(|answer| {
                let body = answer.body.value();
                let cause = &body["causes"][0];
                format!("{} {}: {}", answer.status, cause["field"], cause["message"])
            })
        };
        assert_eq!(page(""), Ok((100, 0)));
        assert_eq!(page("size=1000&offset=7"), Ok((1000, 7)));
        let large = "Invalid page size of 1001. Maximum page size is 1000";
        assert_eq!(page("size=1001"), Err(format!("400 \"size\": \"{large}\"")));
        for bad in ["size=0", "size=-1", "size=x"] {
            assert_eq!(page(bad), Err("400 \"size\": \"Invalid format\"".into()), "{bad}");
        }
        assert_eq!(page("offset=x"), Err("400 \"offset\": \"Invalid format\"".into()));
    }
}
