// SPDX-License-Identifier: Apache-2.0
//! In: rules and a laboratory. Out: the bootstrap that our projection makes of them. Not here: the projection.

use std::path::Path;

use overrule_envoy::{
    EnvoyInbound, FilterInput, FilterOptions, HostPort, Projection, TlsFiles, Trust, Upstream,
    Version, bootstrap, filters, json,
};

use crate::failure::HarnessFailure;
use crate::lab::{LabProtocol, RuleLayout, Setup};
use crate::rules::InboundRules;

/// The name of the inbound's listener.
const LISTENER: &str = "inbound";

/// What we emit for these rules, as it is.
///
/// # Errors
/// The rules cannot be projected, or a file has a name that is no text.
pub fn emitted(rules: &InboundRules, setup: &Setup<'_>) -> Result<String, HarnessFailure> {
    inbound(&projected(rules, setup)?, setup, false)
}

/// The filters for these rules.
///
/// # Errors
/// They come in another form than was asked for.
pub fn projected<'a>(
    rules: &'a InboundRules,
    setup: &Setup<'_>,
) -> Result<Projection<'a>, HarnessFailure> {
    let input = FilterInput {
        rules: &rules.rules,
        names: &rules.names,
        protocol: match setup.protocol {
            LabProtocol::Http => overrule_envoy::Protocol::Http,
            LabProtocol::Tcp => overrule_envoy::Protocol::Tcp,
        },
        stat_prefix: LISTENER,
    };
    let form = match setup.form {
        RuleLayout::List => overrule_envoy::FilterForm::List,
        RuleLayout::Tree => overrule_envoy::FilterForm::Tree,
    };
    let version = crate::install::VERSION.parse::<Version>();
    let version = Some(version.map_err(HarnessFailure::of("version of Envoy"))?);
    let projection = filters(&input, &FilterOptions { form, version, ..FilterOptions::default() });
    // What is refused to a user is emitted strictly all the same, and strictness is proved too.
    if projection.form == form {
        Ok(projection)
    } else {
        Err(HarnessFailure::new(format!("cannot be projected: {:?}", projection.problems)))
    }
}

/// The bootstrap for a projection. With `by_domain` each authority is believed for its own trust domain only
/// (`trust-domain.mesh` and `legacy.mesh`), else both for all.
///
/// # Errors
/// A file has a name that is no text.
pub fn inbound(
    projection: &Projection<'_>,
    setup: &Setup<'_>,
    by_domain: bool,
) -> Result<String, HarnessFailure> {
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| HarnessFailure::new("a file name that is no text"))
    };
    let files = setup.files;
    let (certificate, key) = (text(&files.certificate)?, text(&files.key)?);
    let (both, mesh, other) = (text(&files.authorities)?, text(&files.mesh)?, text(&files.other)?);
    let domains = [("trust-domain.mesh", mesh.as_str()), ("legacy.mesh", other.as_str())];
    let trust = if by_domain { Trust::Domains(&domains) } else { Trust::Bundle(&both) };
    let ip = setup.upstream.ip().to_string();
    let here = HostPort { address: "127.0.0.1", port: 0 };
    let upstream = match setup.protocol {
        LabProtocol::Http => Upstream::Envoy,
        LabProtocol::Tcp => {
            Upstream::ServerOnData(HostPort { address: &ip, port: setup.upstream.port() })
        }
    };
    let inbound = EnvoyInbound {
        name: LISTENER,
        listen: here,
        admin: here,
        tls: TlsFiles { certificate: &certificate, key: &key, trust },
        upstream,
        tell: false,
    };
    json(&bootstrap(&inbound, projection)).map_err(HarnessFailure::of("the bootstrap as JSON"))
}
