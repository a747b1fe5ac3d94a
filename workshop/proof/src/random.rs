// SPDX-License-Identifier: Apache-2.0
//! In: a seed. Out: clients, policies and requests that meet each other often, the same on every machine. Not here:
//! what they mean.

use std::collections::BTreeMap;

use overrule_access::{AccessRule, Identity, Match, PathMatch};

use crate::client::{ProxyRequest, Wire};
use crate::lab::LabProtocol;
use crate::pki::{Authority, Holder};
use crate::rules::PermissionPolicy;

/// Few, and each nearly another: prefixes that end within a segment, another trust domain that looks like the mesh's.
const IDENTITIES: [&str; 14] = [
    "spiffe://trust-domain.mesh/ns/default/sa/frontend",
    "spiffe://trust-domain.mesh/ns/default/sa/frontend-2",
    "spiffe://trust-domain.mesh/ns/default/sa/api-gateway",
    "spiffe://trust-domain.mesh/ns/default/sa/malicious",
    "spiffe://trust-domain.mesh/ns/default",
    "spiffe://trust-domain.mesh/ns/observability/sa/prometheus",
    "spiffe://trust-domain.mesh/ns/observability/sa/Prometheus",
    "spiffe://trust-domain.mesh/ns/observability-evil/sa/prometheus",
    "spiffe://trust-domain.mesh/ns/legacy/sa/a",
    "spiffe://trust-domain.mesh/ns/writers/sa/writer-1",
    "spiffe://trust-domain.mesh",
    "spiffe://trust-domain.mesh.evil/ns/default/sa/frontend",
    "spiffe://legacy.mesh/ns/default/sa/frontend",
    "spiffe://legacy.mesh/ns/legacy/sa/a",
];

/// The empty one means everyone who has an identity.
const PREFIXES: [&str; 15] = [
    "",
    "spiffe://trust-domain.mesh/",
    "spiffe://trust-domain.mesh",
    "spiffe://trust-domain.mesh/ns/",
    "spiffe://trust-domain.mesh/ns/default",
    "spiffe://trust-domain.mesh/ns/default/",
    "spiffe://trust-domain.mesh/ns/default/sa/f",
    "spiffe://trust-domain.mesh/ns/default/sa/frontend",
    "spiffe://trust-domain.mesh/ns/observability",
    "spiffe://trust-domain.mesh/ns/observability/",
    "spiffe://trust-domain.mesh/ns/legacy/",
    "spiffe://legacy.mesh/",
    "spiffe://legacy.mesh/ns/legacy",
    "spiffe://",
    "spiffe://nobody.mesh/",
];

/// Names do not depend on case, in rules and in requests.
const SERVER_NAMES: [&str; 4] = ["a.test", "b.test", "a.b.test", "A.Test"];
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"];
/// What few clients send: some are no method of HTTP/1.1, some are none at all.
const ODD_METHODS: [&str; 10] =
    ["get", "Get", "FOO", "QUERY", "PROPFIND", "M-SEARCH", "TRACE", "CONNECT", "CONNECT", "G(T"];
const PATHS: [&str; 17] = [
    "/caf%C3%A9",
    "/caf%c3%a9",
    "/a+b",
    "/a%2Bb",
    "/users/@me",
    "/a;v=1",
    "/a%20b",
    "/100%25",
    "/",
    "/metrics",
    "/metrics/",
    "/metrics/a",
    "/api",
    "/api/v1",
    "/api/v1/a",
    "/a~b",
    "/METRICS",
];
/// What rules can have as a path and no request ever has, or only by chance.
const ODD_PATHS: [&str; 8] =
    ["", "metrics", "/metrics?a", "/x/../metrics", "//", "/%6detrics", "/a%20b", "/metrics//a"];

/// Parts of paths: plain ones, dots, encoded and doubly encoded ones, and what is no proper encoding.
const PARTS: [&str; 36] = [
    "metrics",
    "metrics",
    "metrics",
    "api",
    "api",
    "v1",
    "a",
    "a~b",
    "METRICS",
    "",
    "",
    ".",
    "..",
    "%2e",
    "%2E%2e",
    ".%2e",
    "...",
    "%6detrics",
    "m%65trics",
    "%4DETRICS",
    "metric",
    "metricss",
    "metrics;x",
    "metrics.",
    "a%7Eb",
    "a%7eb",
    "%2f",
    "%2F..",
    "%5c",
    "\\",
    "%252e",
    "%25",
    "%",
    "%zz",
    "a%20b",
    "%00",
];
const QUERIES: [&str; 8] = ["", "", "", "", "?", "?a=/metrics", "?x=/../b", "?%2f%2e"];

/// Numbers by splitmix64: short, and good enough to choose with.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Same seed, same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// With a chance of so many percent.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        let at = self.below(u64::try_from(all.len()).unwrap_or(1));
        usize::try_from(at).ok().and_then(|at| all.get(at)).copied().unwrap_or_default()
    }
}

/// The clients: one for each identity, and those with certificates that are not as they should be.
pub fn holders() -> BTreeMap<String, Holder> {
    let mut all = BTreeMap::new();
    for id in IDENTITIES {
        let other = !id.starts_with("spiffe://trust-domain.mesh/");
        let authority = if other { Authority::Other } else { Authority::Mesh };
        all.insert(id.to_owned(), Holder::of(&[id]).by(authority));
    }
    let [first, _, _, malicious, ..] = IDENTITIES;
    let dns = || vec!["frontend.test".to_owned()];
    let joined = format!("{first},{malicious}");
    let odd = [
        ("two", Holder::of(&[first, malicious])),
        ("two, the other way", Holder::of(&[malicious, first])),
        ("three", Holder::of(&["spiffe://legacy.mesh/a", first, malicious])),
        ("a comma inside", Holder::of(&[&joined])),
        ("no name", Holder::of(&[])),
        ("only DNS", Holder { dns: dns(), ..Holder::of(&[]) }),
        ("DNS too", Holder { dns: dns(), ..Holder::of(&[first]) }),
        ("not SPIFFE", Holder::of(&["https://trust-domain.mesh/ns/default/sa/frontend"])),
        ("expired", Holder { expired: true, ..Holder::of(&[first]) }),
        ("rogue", Holder::of(&[first]).by(Authority::Rogue)),
    ];
    all.extend(odd.into_iter().map(|(name, holder)| (name.to_owned(), holder)));
    all
}

/// Up to four policies. Over TCP some ask for what only HTTP has: such an allow admits nobody, and such a deny is taken
/// without it.
pub fn policies(rng: &mut SplitMix, protocol: LabProtocol) -> Vec<PermissionPolicy> {
    let number = if rng.percent(4) { 0 } else { 1 + rng.below(4) };
    let http = protocol == LabProtocol::Http;
    (0..number)
        .map(|at| PermissionPolicy {
            // A dot and other letters that counters do not like are part of what is proved.
            name: format!("kri_mtp_default_zone.{at}_ns-{at}_p {at}/{at}_"),
            deny: list(rng, 2, |rng| {
                matches(rng, &Taste { exact: 80, http: if http { 60 } else { 8 } })
            }),
            allow: list(rng, 4, |rng| {
                matches(rng, &Taste { exact: 35, http: if http { 45 } else { 15 } })
            }),
            shadow: list(rng, 2, |rng| {
                matches(rng, &Taste { exact: 40, http: if http { 30 } else { 10 } })
            }),
        })
        .collect()
}

/// What matches are like, in percent: denies must be narrow, or nothing is ever allowed.
struct Taste {
    /// Identities that are exact.
    exact: u64,
    /// Matches that ask for method or path.
    http: u64,
}

fn list(rng: &mut SplitMix, most: u64, one: impl Fn(&mut SplitMix) -> Match) -> Vec<Match> {
    let size = if rng.percent(35) { 0 } else { 1 + rng.below(most) };
    (0..size).map(|_| one(rng)).collect()
}

fn matches(rng: &mut SplitMix, taste: &Taste) -> Match {
    let http = rng.percent(taste.http);
    let mut one = Match::default();
    while one == Match::default() {
        if rng.percent(85) {
            one.identity = Some(identity(rng, taste.exact));
        }
        if rng.percent(12) {
            one.sni = Some(rng.pick(&SERVER_NAMES).into());
        }
        if http && rng.percent(50) {
            one.method = Some(if rng.percent(4) { "get" } else { rng.pick(&METHODS) }.into());
        }
        if http && rng.percent(70) {
            let odd = rng.percent(8);
            let path = rng.pick(if odd { &ODD_PATHS[..] } else { &PATHS[..] }).into();
            let exact = rng.percent(40);
            one.path = Some(if exact { PathMatch::Exact(path) } else { PathMatch::Prefix(path) });
        }
    }
    one
}

fn identity(rng: &mut SplitMix, exact: u64) -> Identity {
    if rng.percent(exact) {
        Identity::Exact(rng.pick(&IDENTITIES).into())
    } else {
        Identity::Prefix(rng.pick(&PREFIXES).into())
    }
}

/// How a request is sent: half of them by HTTP/1.1.
fn wire(rng: &mut SplitMix) -> Wire {
    match rng.below(10) {
        0..5 => Wire::Http1,
        5..8 => Wire::Http2,
        _ => Wire::Grpc,
    }
}

/// A request of any of the clients, often for a path that a rule names, however it is spelled.
pub fn ask(
    rng: &mut SplitMix,
    holders: &BTreeMap<String, Holder>,
    rules: &[AccessRule],
) -> ProxyRequest {
    // Handshakes that fail cost a connection each; one in fifty is enough.
    let bad = rng.percent(2);
    let names: Vec<&str> = holders
        .iter()
        .filter(|(_, holder)| holder.is_accepted() != bad)
        .map(|(name, _)| name.as_str())
        .collect();
    let is_odd = rng.percent(5);
    let method = rng.pick(if is_odd { &ODD_METHODS[..] } else { &METHODS[..] });
    let named = rules.iter().filter_map(|rule| rule.matches.path.as_ref());
    let named: Vec<&str> =
        named.map(|(PathMatch::Exact(text) | PathMatch::Prefix(text))| &**text).collect();
    let path = match method {
        "CONNECT" => rng.pick(&["host:443", "host:443", "host", "/metrics"]).to_owned(),
        _ if !named.is_empty() && rng.percent(45) => {
            let named = rng.pick(&named);
            spelling(rng, named)
        }
        _ if rng.percent(2) => {
            rng.pick(&["*", "", "metrics", "http://host/api", " /api\t"]).to_owned()
        }
        _ => path(rng),
    };
    let wire = match wire(rng) {
        // A CONNECT is no call.
        Wire::Grpc if method == "CONNECT" => Wire::Http2,
        wire => wire,
    };
    ProxyRequest {
        wire,
        client: rng.pick(&names).to_owned(),
        sni: rng.percent(60).then(|| rng.pick(&SERVER_NAMES).to_owned()),
        method: method.to_owned(),
        path,
    }
}

/// What goes before a segment, and is nothing to a server that cuts parameters.
const BEFORE: [&str; 8] = ["/;x", "/", "/.", "/.;x", "/a/..", "/a/..;x", "/a/%2e%2e;x", "/;"];
/// What goes behind one.
const BEHIND: [&str; 8] = [";", ";x", ";a=b;c", "%3B", "%3bx=%2e", ";%41", ";..", ";\u{e9}"];
/// What goes behind all.
const TAILS: [&str; 10] =
    ["", "", "", "?", "?a=\u{c3}\u{a9}", "/", "/x", "/..", "/%2e%2E/x?y", "/;x/y"];

/// A spelling of a path, or something near: what means the same to some server, and what nearly does.
pub fn spelling(rng: &mut SplitMix, path: &str) -> String {
    let mut out = String::new();
    // One byte more or less now and then, so that not all of them are the same path.
    let often = if rng.percent(50) { 30 } else { 4 };
    for byte in decoded(path) {
        let plain = byte == b'/' || rng.percent(100 - often);
        match byte {
            b'/' => {
                if !out.is_empty() && rng.percent(often / 2) {
                    out.push_str(rng.pick(&BEHIND));
                }
                if rng.percent(often / 2) {
                    out.push_str(rng.pick(&BEFORE));
                }
                out.push('/');
            }
            // Escaped in either case, or as it is, which only HTTP/2 takes outside ASCII.
            _ if plain && byte != b'%' && byte > b' ' => out.push(char::from(byte)),
            _ if rng.percent(50) => out.push_str(&format!("%{byte:02x}")),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    if rng.percent(often / 2) {
        out.push_str(rng.pick(&BEHIND));
    }
    if out.is_empty() {
        out.push('/');
    }
    out + rng.pick(&TAILS)
}

/// The bytes of a path without escapes.
fn decoded(path: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(escaped.unwrap_or(*byte));
        rest = escaped.and_then(|_| after.get(2..)).unwrap_or(after);
    }
    out
}

fn path(rng: &mut SplitMix) -> String {
    // Half of them are plain, or hardly any rule on paths would ever match.
    let mut path = if rng.percent(50) { rng.pick(&PATHS).to_owned() } else { String::new() };
    while path.is_empty() || rng.percent(45) {
        path.push('/');
        path.push_str(rng.pick(&PARTS));
    }
    path + rng.pick(&QUERIES)
}

/// Pieces that paths are tidied up by, and letters between them.
const WILD: [&str; 46] = [
    "\u{c3}\u{a9}",
    "\u{e9}",
    "\u{e2}\u{82}\u{ac}",
    " ",
    "\t",
    "%e9",
    "/",
    "/",
    "/",
    "/",
    ".",
    ".",
    "..",
    "%2e",
    "%2E",
    "%",
    "%2",
    "%25",
    "%41",
    "%7e",
    "%2d",
    "%20",
    "%3f",
    "%23",
    "%c3%a9",
    "%ff",
    "%00",
    "%2f",
    "%5C",
    "\\",
    ";",
    ";x=1",
    ":",
    "@",
    "&",
    "=",
    "+",
    ",",
    "|",
    "\"",
    "<",
    "^",
    "{",
    "a",
    "B",
    "2e",
];

/// A path, or nearly one, of pieces that proxies treat in many ways.
pub fn wild_path(rng: &mut SplitMix) -> String {
    let mut path = String::from(if rng.percent(3) { "http://host/" } else { "/" });
    // Short ones, so that pieces that refuse the whole do not refuse nearly all.
    for _ in 0..rng.below(9) {
        path.push_str(rng.pick(&WILD));
    }
    path + if rng.percent(3) { "#f" } else { rng.pick(&QUERIES) }
}

/// A request of a client that everything is allowed, for such a path.
pub fn wild(rng: &mut SplitMix) -> ProxyRequest {
    ProxyRequest {
        wire: wire(rng),
        client: "spiffe://trust-domain.mesh/ns/default/sa/frontend".to_owned(),
        sni: None,
        method: "GET".to_owned(),
        path: wild_path(rng),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same() {
        let all = holders();
        let make = |seed| {
            let mut rng = SplitMix::new(seed);
            (policies(&mut rng, LabProtocol::Http), ask(&mut rng, &all, &[]))
        };
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }
}
