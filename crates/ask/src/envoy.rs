// SPDX-License-Identifier: Apache-2.0
//! `overrule envoy`: what a proxy needs to enforce the permissions of its inbounds.

use overrule::family_kit::{ClientSet, FilterSource};
use overrule::overrule_access::Effect;
use overrule_envoy::{
    FilterForm as Arrangement, FilterInput, FilterOptions, HostPort, LegacyInput, LegacySubset,
    LegacyTag, Projection, Protocol, TlsFiles, Trust, Upstream, Version,
};
use serde_json::{Value, json};

use crate::{AskError, AskResult, Envoy, Exit, Form, Known, Shared, Sink, form, write_value};

use crate::select;

/// What can be refused before anything is read.
pub(crate) fn validate(_: &Shared, asked: &Envoy) -> Result<(), AskError> {
    options(asked).map(drop)
}

pub(crate) fn run(
    known: &Known<'_>,
    shared: &Shared,
    asked: &Envoy,
    sink: &mut dyn Sink,
) -> AskResult {
    let options = options(asked)?;
    let analysis = known.analysis;
    let (object, section) = select::named(known, shared, &asked.target)?;
    let inbounds = analysis.inbounds(object.id, section.as_deref());
    if inbounds.is_empty() {
        return Err(AskError::NotFound(format!("`{}` has no such inbound", asked.target)));
    }
    if asked.bootstrap && inbounds.len() > 1 {
        let named = inbounds.iter().filter_map(|at| analysis.access(*at));
        let names: Vec<String> = named.map(|inbound| inbound.name().to_owned()).collect();
        return Err(AskError::Usage(format!(
            "a bootstrap is for one inbound; name one of: {}",
            names.join(", ")
        )));
    }
    let mut found = Vec::new();
    let mut refused = false;
    for at in inbounds {
        let Some(inbound) = analysis.access(at) else { continue };
        let source = inbound.filter_source(options.form.is_exact());
        let one = OneInbound { name: inbound.name(), source };
        if one.mixes(&options, sink) {
            refused = true;
            continue;
        }
        let (value, is_refused) = one.value(asked, &options, sink)?;
        refused |= is_refused;
        found.push(value);
    }
    // Nothing to write is an empty list: whoever parses the answer gets a document.
    let single = found.len() == 1;
    let all = match found.pop() {
        Some(only) if single => only,
        last => found.into_iter().chain(last).collect(),
    };
    // Envoy reads both; JSON is what the mapping of its messages is defined for.
    write_value(sink, form(shared, Form::Json)?, &all)?;
    Ok(Exit::findings(refused))
}

fn options(asked: &Envoy) -> Result<FilterOptions, AskError> {
    let arrangement = Arrangement::named(&asked.form).ok_or_else(|| {
        AskError::Usage(format!("--form takes {}, not `{}`", Arrangement::NAMES, asked.form))
    })?;
    let version = match &asked.envoy_version {
        None => None,
        Some(text) => Some(
            text.parse::<Version>()
                .map_err(|e| AskError::Usage(format!("--envoy-version {text}: {e}")))?,
        ),
    };
    Ok(FilterOptions { form: arrangement, version, ..FilterOptions::default() })
}

/// An inbound and everything its filters are made of.
struct OneInbound<'a> {
    name: &'a str,
    source: FilterSource<'a>,
}

impl OneInbound<'_> {
    /// Tells of permissions with `from` beside others with `rules`. Both decide, and no filter of ours can say so: there
    /// is none. The filter of the release is the one it has, which passes over `from`.
    fn mixes(&self, options: &FilterOptions, sink: &mut dyn Sink) -> bool {
        if !(self.source.has_rules && self.source.has_client_sets) {
            return false;
        }
        let exact = options.form.is_exact();
        let (kind, what) = match exact {
            true => ("note", "the filter of the release leaves out permissions with `from` here"),
            false => ("error", "no filter can enforce permissions with `from` beside `rules`"),
        };
        sink.remark(&format!("{kind}: {}: {what}; write them as `rules`", self.name));
        !exact
    }

    /// The configuration, and whether it must not be used.
    fn value(
        &self,
        asked: &Envoy,
        options: &FilterOptions,
        sink: &mut dyn Sink,
    ) -> Result<(Value, bool), AskError> {
        let source = &self.source;
        let prefix = format!("inbound:{}:{}", source.address, source.port);
        let protocol = if source.is_http { Protocol::Http } else { Protocol::Tcp };
        let subsets: Vec<LegacySubset> = source.client_sets.iter().map(subset).collect();
        let projection = match source.has_client_sets && !source.has_rules {
            true => overrule_envoy::legacy(
                &LegacyInput { rules: &subsets, mesh: source.mesh, protocol, stat_prefix: &prefix },
                options,
            ),
            false => {
                let (rules, names) = (source.rules, &source.names);
                let input = FilterInput { rules, names, protocol, stat_prefix: &prefix };
                overrule_envoy::filters(&input, options)
            }
        };
        if !source.is_enforced {
            sink.remark(&format!(
                "note: {}: clients are not asked who they are (no mTLS and no MeshIdentity); these filters only count behind mTLS",
                self.name
            ));
        }
        for problem in &projection.problems {
            sink.remark(&format!("note: {}: {problem}", self.name));
        }
        let wider = |p: &overrule_envoy::FilterProblem| {
            matches!(p, overrule_envoy::FilterProblem::NotInRelease(_))
        };
        let refused = projection.refused() || projection.problems.iter().any(wider);
        let failed = |e: serde_json::Error| AskError::World(e.to_string());
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
            listen: HostPort { address: "127.0.0.1", port: self.source.port },
            admin: HostPort { address: "127.0.0.1", port: 0 },
            tls: TlsFiles { certificate: &certificate, key: &key, trust: Trust::Bundle(&ca) },
            upstream: Upstream::Envoy,
            tell: true,
        };
        serde_json::to_value(overrule_envoy::bootstrap(&inbound, projection))
    }
}

fn subset(set: &ClientSet) -> LegacySubset {
    let tags = set.tags.iter();
    let tag = |t: &overrule::family_kit::ClientTag| LegacyTag {
        key: t.key.clone(),
        value: t.value.clone(),
        not: t.not,
    };
    LegacySubset {
        tags: tags.map(tag).collect(),
        action: match set.effect {
            Effect::Allow => overrule_envoy::SubsetAction::Allow,
            Effect::Deny => overrule_envoy::SubsetAction::Deny,
            Effect::AllowWithShadowDeny => overrule_envoy::SubsetAction::AllowWithShadowDeny,
        },
    }
}
