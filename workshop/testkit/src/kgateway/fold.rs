// SPDX-License-Identifier: Apache-2.0
//! In: a path. Out: what the policies of its routes come to, leaf first. Not here: gateways and listeners (`tiers`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::policy::{self, Policy};
use super::unit::{self, Held, How};
use super::{
    KGATEWAY, OracleSettings, PRIORITY, Path, Profile, annotation, find, group, is_called, list,
    namespace, rule, text,
};

/// What policies come to.
#[derive(Debug, Clone, Default)]
pub(super) struct Merged {
    pub units: BTreeMap<String, Held>,
    /// Whether one of them has an error, or is missing.
    pub error: bool,
    /// All of them, with their error.
    pub members: Vec<(String, bool)>,
}

/// All routes of a path, from leaf to root. The annotation of a route says how its policies meet what is below.
pub(super) fn chain(
    objects: &[Value],
    settings: &OracleSettings,
    profile: Profile,
    path: &Path,
) -> Merged {
    let mut merged = Merged::default();
    for (route, index) in path.chain.iter().rev() {
        let object = find(objects, path.route_kind, route);
        let rule = rule(objects, path.route_kind, route, *index);
        let (mut policies, missing) = extensions(objects, settings, object, rule);
        let section = Some(text(rule, "/name")).filter(|name| !name.is_empty());
        if section.is_some() {
            policies.extend(policy::on(objects, settings, profile, object, section));
        }
        policies.extend(policy::on(objects, settings, profile, object, None));
        let level = level(&policies, settings, profile);
        let how = How::of(annotation(object, PRIORITY));
        for (unit, held) in level.units {
            fold(&mut merged.units, &unit, held, how, profile);
        }
        merged.error |= level.error || missing;
        merged.members.extend(level.members);
    }
    merged
}

/// The policies that filters of a rule name, in their order, and whether something they name is missing.
fn extensions(
    objects: &[Value],
    settings: &OracleSettings,
    route: &Value,
    rule: &Value,
) -> (Vec<Policy>, bool) {
    let (mut policies, mut missing) = (Vec::new(), false);
    for filter in list(rule, "/filters").iter().filter(|f| text(f, "/type") == "ExtensionRef") {
        let reference = &filter["extensionRef"];
        let named = format!("{}/{}", namespace(route), text(reference, "/name"));
        let object = objects.iter().find(|object| {
            group(object) == text(reference, "/group")
                && object["kind"] == reference["kind"]
                && is_called(object, &named)
        });
        match object {
            Some(object) if group(object) == KGATEWAY && object["kind"] == "TrafficPolicy" => {
                policies.push(policy::read(objects, settings, object));
            }
            Some(_) => {}
            None => missing = true,
        }
    }
    (policies, missing)
}

/// Policies of one level, highest first: none takes anything from one above it.
pub(super) fn level(policies: &[Policy], settings: &OracleSettings, profile: Profile) -> Merged {
    let mut merged = Merged::default();
    for policy in policies {
        merged.members.push((policy.name.clone(), policy.broken));
        if policy.broken {
            merged.error = true;
            continue;
        }
        for (unit, held) in &policy.units {
            let how = How { deep: is_deep(unit, settings), prefer_new: false };
            fold(&mut merged.units, unit, held.clone(), how, profile);
        }
    }
    merged
}

/// Whether policies of one level combine this unit. Only of access lists they do unless told otherwise.
fn is_deep(unit: &str, settings: &OracleSettings) -> bool {
    let can = ["transformation", "extAuth", "extProc", "acl"].contains(&unit);
    match settings.policy_merge.get(unit) {
        Some(how) => can && how == "DeepMerge",
        None => unit == "acl",
    }
}

fn fold(units: &mut BTreeMap<String, Held>, unit: &str, new: Held, how: How, profile: Profile) {
    let value = match units.remove(unit) {
        Some(there) => unit::fold(unit, there, new, how, profile),
        None => new,
    };
    units.insert(unit.to_owned(), value);
}
