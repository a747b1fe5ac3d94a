// SPDX-License-Identifier: Apache-2.0
//! In: TrafficPolicies as JSON. Out: their units and errors, and who is on a target in which order.
//! Not here: what happens to the units (`unit`, `fold`, `tiers`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::unit::Held;
use super::{
    KGATEWAY, OracleSettings, Profile, annotation, at, full_name, grant, group, is_called, list,
    namespace, of_kind, text, text_or,
};

const WEIGHT: &str = "kgateway.dev/policy-weight";

/// What is merged as one, and where it is below `spec`.
pub(super) const UNITS: [(&str, &str); 26] = [
    ("transformation", "/transformation"),
    ("extProc", "/extProc"),
    ("extAuth", "/extAuth"),
    ("rateLimit.local", "/rateLimit/local"),
    ("rateLimit.global", "/rateLimit/global"),
    ("cors", "/cors"),
    ("csrf", "/csrf"),
    ("headerModifiers", "/headerModifiers"),
    ("requestMirror", "/requestMirror"),
    ("autoHostRewrite", "/autoHostRewrite"),
    ("buffer", "/buffer"),
    ("timeouts", "/timeouts"),
    ("retry", "/retry"),
    ("internalRedirect", "/internalRedirect"),
    ("rbac", "/rbac"),
    ("jwtAuth", "/jwtAuth"),
    ("urlRewrite", "/urlRewrite"),
    ("compression.responseCompression", "/compression/responseCompression"),
    ("compression.requestDecompression", "/compression/requestDecompression"),
    ("basicAuth", "/basicAuth"),
    ("apiKeyAuth", "/apiKeyAuth"),
    ("oauth2", "/oauth2"),
    ("tracing", "/tracing"),
    ("faultInjection", "/faultInjection"),
    ("acl", "/acl"),
    ("statPrefix", "/statPrefix"),
];

/// Units of which each provider is a filter of its own.
pub(super) const PROVIDER_KEYED: [&str; 5] =
    ["extAuth", "extProc", "jwtAuth", "rateLimit.global", "oauth2"];

/// A policy as it is written.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    /// `namespace/name`.
    pub name: String,
    /// Whether it has an error, so that nothing of it is merged and everything it reaches answers 500.
    pub broken: bool,
    pub units: BTreeMap<String, Held>,
}

/// All TrafficPolicies.
pub(super) fn all(objects: &[Value]) -> impl Iterator<Item = &Value> {
    of_kind(objects, KGATEWAY, "TrafficPolicy")
}

/// The policies on an object, or on a section of it: heaviest first, then oldest, then by identity. One that reaches
/// the object both by name and by label is there twice as shipped, and once as it is meant.
pub(super) fn on(
    objects: &[Value],
    settings: &OracleSettings,
    profile: Profile,
    target: &Value,
    section: Option<&str>,
) -> Vec<Policy> {
    let mut found = Vec::new();
    for policy in all(objects) {
        let reached =
            [by_name(policy, target, section), by_label(settings, policy, target, section)];
        let times = reached.into_iter().filter(|yes| *yes).count();
        let most = if profile == Profile::Shipped { 2 } else { 1 };
        found.extend(std::iter::repeat_n(policy, times.min(most)));
    }
    found.sort_by_cached_key(|policy| {
        let suffix = section.map(|section| format!("/{section}")).unwrap_or_default();
        let identity = format!("{KGATEWAY}/TrafficPolicy/{}{suffix}", full_name(policy));
        (-i64::from(weight(policy).unwrap_or(0)), age(policy, profile), identity)
    });
    found.into_iter().map(|policy| read(objects, settings, policy)).collect()
}

fn by_name(policy: &Value, target: &Value, section: Option<&str>) -> bool {
    list(policy, "/spec/targetRefs").iter().any(|reference| {
        namespace(policy) == namespace(target)
            && text(reference, "/name") == text(target, "/metadata/name")
            && is_about(reference, target, section)
    })
}

fn by_label(
    settings: &OracleSettings,
    policy: &Value,
    target: &Value,
    section: Option<&str>,
) -> bool {
    let global = settings.global_policy_namespace.as_deref() == Some(namespace(policy));
    list(policy, "/spec/targetSelectors").iter().any(|selector| {
        let wanted = selector["matchLabels"].as_object();
        let labels = &target["metadata"]["labels"];
        let all = |wanted: &serde_json::Map<String, Value>| {
            !wanted.is_empty() && wanted.iter().all(|(name, value)| labels.get(name) == Some(value))
        };
        (global || namespace(policy) == namespace(target))
            && wanted.is_some_and(all)
            && is_about(selector, target, section)
    })
}

/// Whether group, kind and section of a reference are those of the target.
fn is_about(reference: &Value, target: &Value, section: Option<&str>) -> bool {
    text(reference, "/group") == group(target)
        && text(reference, "/kind") == text(target, "/kind")
        && reference.get("sectionName").and_then(Value::as_str) == section
}

/// Nothing if it cannot be read.
fn weight(policy: &Value) -> Option<i32> {
    annotation(policy, WEIGHT).unwrap_or("0").parse().ok()
}

/// Sorts older first. Times are RFC 3339 in UTC with whole seconds, so that text order is time order. No time is the
/// oldest of all in Go; a document without one is about to be created, which makes it the newest.
fn age(policy: &Value, profile: Profile) -> (bool, &str) {
    let created = text(policy, "/metadata/creationTimestamp");
    (created.is_empty() && profile == Profile::Design, created)
}

/// A policy out of its document.
pub(super) fn read(objects: &[Value], settings: &OracleSettings, policy: &Value) -> Policy {
    let name = full_name(policy);
    let mut units = BTreeMap::new();
    for (unit, path) in UNITS {
        let written = at(&policy["spec"], path).filter(|value| !value.is_null());
        if let Some(value) = written {
            units.insert(unit.to_owned(), held(unit, value, policy, &name));
        }
    }
    let exists = |provider: &str| {
        of_kind(objects, KGATEWAY, "GatewayExtension").any(|e| is_called(e, provider))
    };
    let missing = |held: &Held| held.providers.iter().any(|(name, _)| !exists(name));
    let broken = weight(policy).is_none()
        || units.values().any(missing)
        || grant::is_missing(objects, settings, policy, &units);
    Policy { name, broken, units }
}

fn held(unit: &str, value: &Value, policy: &Value, name: &str) -> Held {
    let reference = value.get("extensionRef").filter(|_| PROVIDER_KEYED.contains(&unit));
    let provider = reference.map(|reference| {
        let place = text_or(reference, "/namespace", namespace(policy));
        (format!("{place}/{}", text(reference, "/name")), name.to_owned())
    });
    let can_disable = ["extAuth", "extProc", "jwtAuth"].contains(&unit);
    Held {
        value: value.clone(),
        sources: BTreeSet::from([name.to_owned()]),
        providers: provider.into_iter().collect(),
        disable: can_disable && value.get("disable").is_some(),
    }
}
