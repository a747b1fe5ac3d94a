// SPDX-License-Identifier: Apache-2.0
//! In: a policy and its world. Out: whether it needs something of another namespace that no ReferenceGrant permits.

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
    let mut secrets = Vec::new();
    named(&policy["spec"], "secretRef", &mut secrets);
    if mode != "OFF" && !secrets.iter().all(|to| permitted_to(objects, policy, to, "Secret")) {
        return true;
    }
    let mut providers = units.values().flat_map(|held| &held.providers);
    providers.any(|(provider, _)| {
        let (home, name) = provider.split_once('/').expect("a full name");
        let it = [KGATEWAY, "GatewayExtension", home, name];
        let extension =
            of_kind(objects, KGATEWAY, "GatewayExtension").find(|e| is_called(e, provider));
        (mode == "STRICT" && !permitted(objects, policy, it))
            || (mode != "OFF" && extension.is_some_and(|e| !reaches(objects, e)))
    })
}

/// Whether an extension may send to its services.
fn reaches(objects: &[Value], extension: &Value) -> bool {
    let mut backends = Vec::new();
    named(&extension["spec"], "backendRef", &mut backends);
    backends.iter().all(|to| permitted_to(objects, extension, to, "Service"))
}

/// What has this name, wherever it is.
fn named<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v Value>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        if key == name {
            found.push(value);
        }
        named(value, name, found);
    }
    value.as_array().into_iter().flatten().for_each(|value| named(value, name, found));
}

/// Whether an object may use what a reference of it names.
fn permitted_to(objects: &[Value], from: &Value, to: &Value, usual: &str) -> bool {
    let home = text_or(to, "/namespace", namespace(from));
    permitted(
        objects,
        from,
        [text(to, "/group"), text_or(to, "/kind", usual), home, text(to, "/name")],
    )
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
