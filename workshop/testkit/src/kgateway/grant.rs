// SPDX-License-Identifier: Apache-2.0
//! In: a policy and its world. Out: whether it needs something of another namespace that no ReferenceGrant permits.
//! Not here: Secrets; the worlds name none in other namespaces.

use std::collections::BTreeMap;

use serde_json::Value;

use super::unit::Held;
use super::{
    GATEWAY_API, KGATEWAY, OracleSettings, group, is_called, list, namespace, of_kind, text,
    text_or,
};

/// Whether a provider of a policy, or the service behind it, is out of reach.
pub(super) fn is_missing(
    objects: &[Value],
    settings: &OracleSettings,
    policy: &Value,
    units: &BTreeMap<String, Held>,
) -> bool {
    let mode = settings.reference_grant_mode.as_str();
    let mut providers = units.values().flat_map(|held| &held.providers);
    providers.any(|(provider, _)| {
        let (home, name) = provider.split_once('/').expect("a full name");
        let named = [KGATEWAY, "GatewayExtension", home, name];
        let extension =
            of_kind(objects, KGATEWAY, "GatewayExtension").find(|e| is_called(e, provider));
        (mode == "STRICT" && !permitted(objects, policy, named))
            || (mode != "OFF" && extension.is_some_and(|e| !reaches(objects, e)))
    })
}

/// Whether an extension may send to its service.
fn reaches(objects: &[Value], extension: &Value) -> bool {
    let config = extension["spec"].as_object().expect("a spec").iter();
    config.filter(|(key, _)| *key != "type").all(|(_, config)| {
        let backend = &config["grpcService"]["backendRef"];
        let home = text_or(backend, "/namespace", namespace(extension));
        let kind = text_or(backend, "/kind", "Service");
        permitted(objects, extension, [text(backend, "/group"), kind, home, text(backend, "/name")])
    })
}

fn permitted(objects: &[Value], from: &Value, to: [&str; 4]) -> bool {
    let [to_group, to_kind, to_namespace, to_name] = to;
    to_namespace == namespace(from)
        || of_kind(objects, GATEWAY_API, "ReferenceGrant").any(|grant| {
            let who = list(grant, "/spec/from").iter().any(|f| {
                text(f, "/group") == group(from)
                    && f["kind"] == from["kind"]
                    && text(f, "/namespace") == namespace(from)
            });
            let what = list(grant, "/spec/to").iter().any(|t| {
                text(t, "/group") == to_group
                    && text(t, "/kind") == to_kind
                    && text_or(t, "/name", to_name) == to_name
            });
            namespace(grant) == to_namespace && who && what
        })
}
