// SPDX-License-Identifier: Apache-2.0
//! In: Services, Namespaces and ReferenceGrants. Out: ports, labels, grants. Not here: who refers to them.

use overrule_model::{At, Labels, Sym};
use overrule_source::View;

use super::super::grants::{Referent, Referrer};
use super::super::resources::{PortSpec, ServiceSpec, count};
use super::members::{Member, is_unreadable};
use super::{Head, Reader, fields};

/// Most elements of `from` and of `to`, as the API server has it.
const MOST_GRANTS: usize = 16;

impl<'a> Reader<'a> {
    pub(super) fn service(&mut self, head: Head) {
        let start = count(&self.out.ports);
        let root = self.documents.view(head.root);
        self.assumed_ports(head);
        // Only `ports` matters here, so nothing else of a Service is checked.
        if let Some(spec) = self.fields.map(root, &At::ROOT, "spec") {
            let at = At::ROOT.key("spec");
            let list = self.fields.list(spec, &at, "ports");
            let at = at.key("ports");
            for (index, item) in list.into_iter().flat_map(View::items).enumerate() {
                self.service_port(item, &at.index(index));
            }
        }
        let ports = start..count(&self.out.ports);
        self.out.services.push(ServiceSpec { object: head.id, ports });
    }

    fn service_port(&mut self, of: View<'a>, at: &At<'_>) {
        let member = of.get("port").filter(|v| !v.is_null());
        let number = self.port(member, of, at);
        if number == 0 {
            return;
        }
        let (name, at) = match self.fields.string(of, at, "name") {
            Some((text, view)) => (self.intern(text), view.span()),
            None => (self.intern(&number.to_string()), member.unwrap_or(of).span()),
        };
        self.out.ports.push(PortSpec { name, number, at });
    }

    /// The labels of a namespace and the one the API server adds.
    pub(super) fn namespace(&mut self, head: Head) {
        if self.is_assumed(head) {
            self.out.open_namespaces.insert(head.name);
        }
        let key = self.out.words.namespace_label;
        let labels = self.snapshot.get(head.id).map(|o| &o.labels);
        let pairs = labels.into_iter().flat_map(Labels::iter).chain([(key, head.name)]);
        self.out.namespaces.insert(head.name, Labels::new(pairs));
    }

    pub(super) fn grant(&mut self, head: Head) {
        let Some(spec) = self.spec(head) else { return };
        let at = At::ROOT.key("spec");
        let Some([from, to]) = self.members(spec, &at, fields::GRANT) else { return };
        let mut referrers = Vec::new();
        for (index, item) in self.grant_list(from, spec, &at, "from").into_iter().enumerate() {
            referrers.extend(self.referrer(item, &at.key("from").index(index)));
        }
        for (index, item) in self.grant_list(to, spec, &at, "to").into_iter().enumerate() {
            if let Some(to) = self.referent(item, &at.key("to").index(index), head) {
                referrers.iter().for_each(|from| self.out.grants.add(*from, to));
            }
        }
    }

    fn referrer(&mut self, of: View<'a>, at: &At<'_>) -> Option<Referrer> {
        let [group, kind, namespace] = self.members(of, at, fields::GRANT_FROM)?;
        let group = self.grant_group(group, of, at)?;
        let (kind, _) = self.needed(kind, of, at, "kind")?;
        let (namespace, _) = self.needed(namespace, of, at, "namespace")?;
        Some(Referrer { group, kind: self.intern(kind), namespace: self.intern(namespace) })
    }

    fn referent(&mut self, of: View<'a>, at: &At<'_>, head: Head) -> Option<Referent> {
        let [group, kind, name] = self.members(of, at, fields::GRANT_TO)?;
        let group = self.grant_group(group, of, at)?;
        let (kind, _) = self.needed(kind, of, at, "kind")?;
        let unreadable = is_unreadable(name);
        let name = self.symbol(name, at, "name");
        // A name that cannot be read must not turn into "any name".
        let kind = self.intern(kind);
        (!unreadable).then_some(Referent { group, kind, namespace: head.namespace, name })
    }

    /// The group must be written, if only as the empty string of the core group.
    fn grant_group(&mut self, member: Member<'a>, of: View<'a>, at: &At<'_>) -> Option<Sym> {
        let (text, _) = self.needed(member, of, at, "group")?;
        Some(self.intern(text))
    }

    fn grant_list(
        &mut self,
        member: Member<'a>,
        of: View<'a>,
        at: &At<'_>,
        key: &str,
    ) -> Vec<View<'a>> {
        if member.is_none() {
            self.fields.missing(&at.key(key), of);
        }
        let Some(list) = self.list(member, at, key) else { return Vec::new() };
        if list.len() > MOST_GRANTS {
            let at = at.key(key);
            let message = format!(
                "`{at}` has {} elements, at most {MOST_GRANTS} are allowed; the rest is ignored",
                list.len()
            );
            let code = &overrule_model::codes::BAD_VALUE;
            self.fields.flaw(code, &at, list, message, "split it into several ReferenceGrants");
        }
        list.items().take(MOST_GRANTS).collect()
    }
}
