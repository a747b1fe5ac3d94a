// SPDX-License-Identifier: Apache-2.0
//! `overrule envoy`: what a proxy needs to enforce the permissions of its inbounds.

use overrule::kuma::gate::Gate;
use overrule::kuma::inbounds::GuardedInbound;
use overrule::overrule_access::{Effect, Enforcement};
use overrule::{Analysis, InboundId};
use overrule_envoy::{
    FilterForm as Arrangement, FilterInput, FilterOptions, HostPort, LegacyInput, LegacySubset,
    LegacyTag, Projection, Protocol, Release, TlsFiles, Trust, Upstream, Version,
};
use serde_json::{Value, json};

use crate::{Envoy, Exit, Failure, Form, Known, Outcome, Shared, Sink, form, write_value};

use crate::select;

/// What can be refused before anything is read.
pub(crate) fn validate(_: &Shared, asked: &Envoy) -> Result<(), Failure> {
    options(asked).map(drop)
}

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Envoy,
    sink: &mut dyn Sink,
) -> Outcome {
    let options = options(asked)?;
    let analysis = known.analysis;
    let (object, section) = select::named(known, shared, &asked.target)?;
    let inbounds = analysis.inbounds(object.id, section.as_deref());
    if inbounds.is_empty() {
        return Err(Failure::NotFound(format!("`{}` has no such inbound", asked.target)));
    }
    if asked.bootstrap && inbounds.len() > 1 {
        let names: Vec<String> = inbounds.iter().map(|at| analysis.inbound_name(*at)).collect();
        return Err(Failure::Usage(format!(
            "a bootstrap is for one inbound; name one of: {}",
            names.join(", ")
        )));
    }
    let mut found = Vec::new();
    let mut refused = false;
    for at in inbounds {
        let Some(one) = OneInbound::new(analysis, at) else { continue };
        let (value, is_refused) = one.value(asked, &options, sink)?;
        refused |= is_refused;
        found.push(value);
    }
    let single = found.len() == 1;
    let all = match found.pop() {
        Some(only) if single => only,
        last => found.into_iter().chain(last).collect(),
    };
    // Envoy reads both; JSON is what the mapping of its messages is defined for.
    write_value(sink, form(shared, Form::Json)?, &all)?;
    Ok(Exit::findings(refused))
}

fn options(asked: &Envoy) -> Result<FilterOptions, Failure> {
    let arrangement = match asked.form.as_str() {
        "tree" => Arrangement::Tree,
        "list" => Arrangement::List,
        "kuma" => Arrangement::Kuma(Release::V2_13),
        other => {
            return Err(Failure::Usage(format!("--form takes tree, list or kuma, not `{other}`")));
        }
    };
    let version = match &asked.envoy_version {
        None => None,
        Some(text) => Some(
            text.parse::<Version>()
                .map_err(|e| Failure::Usage(format!("--envoy-version {text}: {e}")))?,
        ),
    };
    Ok(FilterOptions { form: arrangement, version, ..FilterOptions::default() })
}

/// An inbound and everything its filters are made of.
struct OneInbound<'a> {
    name: String,
    mesh: String,
    names: Vec<String>,
    gate: &'a Gate,
    protocol: Protocol,
    address: String,
    port: u16,
    /// Whether the proxy knows its clients.
    enforced: bool,
}

impl<'a> OneInbound<'a> {
    fn new(analysis: &'a Analysis, at: InboundId) -> Option<Self> {
        let answer = analysis.shown().find(|a| a.family.name() == overrule::kuma::FAMILY)?;
        let GuardedInbound { mesh, proxy, inbound, gate, enforcement } =
            analysis.inbound(answer, at)?;
        let name = |place: &u32| {
            let policy = mesh.policies.get(*place as usize);
            policy.map_or_else(String::new, |p| p.meta.kri().to_string())
        };
        Some(Self {
            name: analysis.inbound_name(at),
            mesh: mesh.name.to_string(),
            names: gate.permissions.policies.iter().map(name).collect(),
            protocol: if inbound.is_http() { Protocol::Http } else { Protocol::Tcp },
            address: if inbound.listener.address.is_empty() {
                proxy.it.address.to_string()
            } else {
                inbound.listener.address.to_string()
            },
            port: u16::try_from(inbound.listener.port).unwrap_or(0),
            enforced: enforcement != Enforcement::Off,
            gate,
        })
    }

    /// The configuration, and whether it must not be used.
    fn value(
        &self,
        asked: &Envoy,
        options: &FilterOptions,
        sink: &mut dyn Sink,
    ) -> Result<(Value, bool), Failure> {
        let legacy = !self.gate.has_rules && !self.gate.from.is_empty();
        let prefix = format!("inbound:{}:{}", self.address, self.port);
        let is_release = matches!(options.form, Arrangement::Kuma(_));
        let subsets = self.subsets(is_release);
        let rules = if is_release { &self.gate.permissions.rules } else { self.gate.listed() };
        let projection = match legacy {
            true => overrule_envoy::legacy(
                &LegacyInput {
                    rules: &subsets,
                    mesh: &self.mesh,
                    protocol: self.protocol,
                    stat_prefix: &prefix,
                },
                options,
            ),
            false => {
                let input = FilterInput {
                    rules,
                    names: &self.names,
                    protocol: self.protocol,
                    stat_prefix: &prefix,
                };
                overrule_envoy::filters(&input, options)
            }
        };
        let left_out = self.gate.has_rules && !self.gate.from.is_empty();
        if !self.enforced {
            sink.remark(&format!(
                "note: {}: clients are not asked who they are (no mTLS and no MeshIdentity); these filters only count behind mTLS",
                self.name
            ));
        }
        if left_out {
            sink.remark(&format!(
                "note: {}: permissions with `from` are not part of these filters; write them as `rules`",
                self.name
            ));
        }
        for problem in &projection.problems {
            sink.remark(&format!("note: {}: {problem}", self.name));
        }
        let wider = |p: &overrule_envoy::FilterProblem| {
            matches!(p, overrule_envoy::FilterProblem::NotInRelease(_))
        };
        let refused = projection.refused() || left_out || projection.problems.iter().any(wider);
        let failed = |e: serde_json::Error| Failure::World(e.to_string());
        let value = match asked.bootstrap {
            false => json!({
                "inbound": self.name,
                "filters": serde_json::to_value(&projection.filters).map_err(failed)?,
                "listenerFilters": serde_json::to_value(&projection.listener_filters).map_err(failed)?,
                "httpConnectionManager":
                    serde_json::to_value(projection.connection_manager).map_err(failed)?,
            }),
            true => self.bootstrap(asked, &prefix, &projection).map_err(failed)?,
        };
        Ok((value, refused))
    }

    /// Elements of `from` as sets of clients. The release's own filter is made of its own sets.
    fn subsets(&self, is_release: bool) -> Vec<LegacySubset> {
        let action = |effect: Effect| match effect {
            Effect::Allow => overrule_envoy::SubsetAction::Allow,
            Effect::Deny => overrule_envoy::SubsetAction::Deny,
            Effect::AllowWithShadowDeny => overrule_envoy::SubsetAction::AllowWithShadowDeny,
        };
        let tag = |t: &overrule::kuma::subset::Tag| LegacyTag {
            key: t.key.to_string(),
            value: t.value.to_string(),
            not: t.not,
        };
        let sets = match is_release {
            true => self.gate.release_sets(),
            false => {
                let from = self.gate.deciding_from().into_iter();
                from.map(|f| (f.clients.clone(), f.effect)).collect()
            }
        };
        let rules = sets.iter().map(|(clients, effect)| LegacySubset {
            tags: clients.tags().iter().map(tag).collect(),
            action: action(*effect),
        });
        rules.collect()
    }

    fn bootstrap(
        &self,
        asked: &Envoy,
        name: &str,
        projection: &Projection<'_>,
    ) -> Result<Value, serde_json::Error> {
        let file = |name: &str| asked.certs.join(name).display().to_string();
        let (certificate, key, ca) = (file("cert.pem"), file("key.pem"), file("ca.pem"));
        let inbound = overrule_envoy::EnvoyInbound {
            name,
            listen: HostPort { address: "127.0.0.1", port: self.port },
            admin: HostPort { address: "127.0.0.1", port: 0 },
            tls: TlsFiles { certificate: &certificate, key: &key, trust: Trust::Bundle(&ca) },
            upstream: Upstream::Envoy,
            tell: true,
        };
        serde_json::to_value(overrule_envoy::bootstrap(&inbound, projection))
    }
}
