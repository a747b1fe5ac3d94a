// SPDX-License-Identifier: Apache-2.0
//! In: numbers. Out: names a platform team would give. Not here: chance; a name depends on its number alone.

use super::{FleetFamily, FleetSpec};

const REGIONS: [&str; 8] =
    ["eu-west", "eu-central", "eu-north", "us-east", "us-west", "ap-south", "ap-east", "sa-east"];
const TEAMS: [&str; 20] = [
    "checkout",
    "payments",
    "catalog",
    "search",
    "identity",
    "shipping",
    "pricing",
    "inventory",
    "orders",
    "loyalty",
    "media",
    "messaging",
    "analytics",
    "fraud",
    "billing",
    "support",
    "partners",
    "mobile",
    "content",
    "returns",
];
const THINGS: [&str; 25] = [
    "cart", "basket", "session", "profile", "ledger", "invoice", "quote", "stock", "label",
    "parcel", "review", "coupon", "wishlist", "address", "token", "consent", "image", "banner",
    "feed", "report", "alert", "ticket", "refund", "voucher", "menu",
];
const ROLES: [&str; 8] = ["api", "web", "admin", "worker", "gateway", "cache", "export", "sync"];
const TIERS: [&str; 4] = ["gold", "silver", "bronze", "internal"];

fn at<'a>(list: &[&'a str], i: u32) -> &'a str {
    list[i as usize % list.len()]
}

fn size(list: &[&str]) -> u32 {
    u32::try_from(list.len()).unwrap()
}

pub(super) fn region(gateway: u32) -> &'static str {
    at(&REGIONS, gateway)
}

pub(super) fn gateway(i: u32) -> String {
    format!("edge-{}-{:02}", region(i), i / size(&REGIONS) + 1)
}

pub(super) fn gateway_namespace(i: u32) -> String {
    format!("gateways-{}", region(i))
}

pub(super) fn listener(l: u32) -> String {
    match l {
        0 => "http".to_owned(),
        1 => "https".to_owned(),
        l => {
            format!("https-{}", at(&TEAMS, l))
                + &if l >= size(&TEAMS) { format!("-{}", l / size(&TEAMS)) } else { String::new() }
        }
    }
}

fn domain(gateway: u32) -> String {
    format!("{}-{:02}.shop.example.com", region(gateway), gateway / size(&REGIONS) + 1)
}

pub(super) fn listener_host(_: &FleetSpec, gateway: u32, l: u32) -> String {
    match l {
        1 => format!("*.{}", domain(gateway)),
        l => format!("*.{}.{}", listener(l).trim_start_matches("https-"), domain(gateway)),
    }
}

/// A host of a route that fits a listener.
pub(super) fn host(spec: &FleetSpec, gateway: u32, l: u32, route: u32) -> String {
    listener_host(spec, gateway, l).replacen('*', &service(route), 1)
}

/// Teams own namespaces; there are as many as the fleet says.
pub(super) fn namespace(spec: &FleetSpec, route: u32) -> String {
    // Neighbouring routes belong to different teams, as routes of one gateway do.
    namespace_at(route.wrapping_mul(2_654_435_761) % spec.namespaces.max(1))
}

/// The n-th namespace.
pub(super) fn namespace_at(n: u32) -> String {
    format!("{}-{:03}", at(&TEAMS, n), n / size(&TEAMS) + 1)
}

pub(super) fn team(spec: &FleetSpec, route: u32) -> String {
    team_of(&namespace(spec, route)).to_owned()
}

/// Whose namespace it is.
pub(super) fn team_of(namespace: &str) -> &str {
    namespace.rsplit_once('-').map_or(namespace, |(team, _)| team)
}

/// A zone of a mesh: a region, and its next data centre when all regions are used.
pub(super) fn zone(n: u32) -> String {
    match n / size(&REGIONS) {
        0 => at(&REGIONS, n).to_owned(),
        centre => format!("{}-{}", at(&REGIONS, n), centre + 1),
    }
}

pub(super) fn tier(route: u32) -> &'static str {
    at(&TIERS, route / 3)
}

/// Unique in the fleet.
pub(super) fn service(i: u32) -> String {
    let (thing, role) = (at(&THINGS, i), at(&ROLES, i / size(&THINGS)));
    match i / (size(&THINGS) * size(&ROLES)) {
        0 => format!("{thing}-{role}"),
        n => format!("{thing}-{role}-{n}"),
    }
}

pub(super) fn path(route: u32, r: u32) -> String {
    format!("{}/v{}", at(&THINGS, route + r), r)
}

/// Two rules out of three have a name; all of them where the family finds rules by what is written only.
pub(super) fn rule_is_named(spec: &FleetSpec, route: u32, r: u32) -> bool {
    spec.family == FleetFamily::Kgateway || (route + r) % 3 != 2
}

/// The section name of a rule.
pub(super) fn rule(spec: &FleetSpec, route: u32, r: u32) -> String {
    if rule_is_named(spec, route, r) {
        format!("{}-{r}", at(&THINGS, route + r))
    } else {
        format!("rule-{}", r + 1)
    }
}
