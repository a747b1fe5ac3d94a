// SPDX-License-Identifier: Apache-2.0
//! In: permissions. Out: what is told about them.

use overrule_engine::Topology;
use overrule_source::{Diagnostic, Input, ReadOptions, read};

use crate::{Profile, ProxyOptions, Settings, World, resolve, topology};

const MESH: &str =
    "{type: Mesh, name: m, skipCreatingInitialPolicies: ['*'], mtls: {enabledBackend: ca}}";
const WEB: &str = "{type: Dataplane, mesh: m, name: web-1, labels: {app: web}, networking: {address: 10.0.0.1, \
    inbound: [{port: 8080, name: http, protocol: http}, {port: 9090}, {port: 9091, name: db}]}}";

fn design() -> Profile {
    Profile::Design { system: "kuma-system".into() }
}

/// What is told of a policy with this spec.
fn all(spec: &str, profile: &Profile) -> Vec<Diagnostic> {
    let policy = format!("{{type: MeshTrafficPermission, mesh: m, name: p, spec: {spec}}}");
    let input = vec![Input::new("a.yaml", [MESH, WEB, &policy].join("\n---\n"))];
    let documents = read(input, &ReadOptions::default()).documents;
    let mut snapshot = overrule_model::parse(&documents).snapshot;
    let (resources, wrong) = crate::parse(&documents, &snapshot, &Settings::default());
    assert!(wrong.is_empty(), "{wrong:#?}");
    let topology = topology::build(&documents, &mut snapshot, &resources, &mut Topology::default());
    let world = World {
        documents: &documents,
        snapshot: &snapshot,
        resources: &resources,
        topology: &topology,
        profile,
    };
    let told = crate::report(world, &resolve(world, &ProxyOptions::default()));
    assert!(told.iter().all(|d| d.primary.is_some() && d.help.is_some()), "{told:#?}");
    told
}

/// Codes and fields, without what all fields begin with.
fn fields(spec: &str, profile: &Profile) -> Vec<String> {
    let all = all(spec, profile);
    let short = |d: &Diagnostic| {
        let field = d.field.trim_start_matches("spec.").replace("].default.", ".");
        format!("{} {}", d.code.id.trim_start_matches("OV"), field.replace("rules[", ""))
    };
    // What the release refuses of all this is told once for each policy, and tested elsewhere.
    all.iter().filter(|d| d.code.id != "OV1040").map(short).collect()
}

fn exact(id: &str) -> String {
    format!("{{spiffeID: {{type: Exact, value: 'spiffe://{id}'}}}}")
}

fn prefix(id: &str, more: &str) -> String {
    format!("{{spiffeID: {{type: Prefix, value: 'spiffe://{id}'}}{more}}}")
}

fn one(lists: &[(&str, &[String])]) -> String {
    let list = |(name, list): &(&str, &[String])| format!("{name}: [{}]", list.join(", "));
    format!("{{default: {{{}}}}}", lists.iter().map(list).collect::<Vec<_>>().join(", "))
}

fn rules(rules: &[String]) -> String {
    format!("{{rules: [{}]}}", rules.join(", "))
}

#[test]
fn prefixes_end_at_boundaries() {
    let allow = [prefix("td/ns/obs", ""), prefix("td/ns/a/", ""), exact("td/ns/b")];
    let spec = one(&[("allow", &allow), ("deny", &[prefix("other", "")])]);
    let want = ["1621 default.deny[0].spiffeID.value", "1621 default.allow[0].spiffeID.value"];
    assert_eq!(fields(&spec, &design()), want);
    let told = all(&spec, &design());
    assert!(told[0].message.contains("denies clients of the trust domain `spiffe://other-evil`"));
    assert!(told[1].message.contains("admits `spiffe://td/ns/obs-evil`"), "{told:#?}");
    assert!(told[1].help.as_deref().unwrap().contains("`spiffe://td/ns/obs/`"));
    // The release refuses a slash at the end altogether.
    let allow = [prefix("td/ns/obs", ""), exact("td/ns/b")];
    let spec = one(&[("allow", &allow), ("deny", &[prefix("other", "")])]);
    let told = all(&rules(&[spec]), &Profile::Release);
    assert_eq!(told.len(), 2);
    assert!(told[1].help.as_deref().unwrap().contains("rejects a slash"));
}

#[test]
fn no_flood() {
    let many: Vec<String> = (0..50).map(|i| prefix(&format!("td/ns/{i}-x"), "")).collect();
    let mut told = all(&one(&[("allow", &many)]), &design());
    // What the release refuses is one finding more.
    assert_eq!(told.len(), super::MOST_TOLD + 1);
    told.retain(|d| d.code.id != "OV1040");
    assert!(told.last().unwrap().message.ends_with("for 30 more matches of this policy"));
}

#[test]
fn requests_are_not_seen_on_tcp() {
    let get = [prefix("td/", ", method: GET"), "{path: {type: Exact, value: /a}}".into()];
    let conf = one(&[("allow", &get), ("deny", &[prefix("td/x/", ", method: PUT")])]);
    let at = |target: &str| format!("{{targetRef: {target}, rules: [{conf}]}}");
    let want = ["1622 0.allow[0]", "1623 0.deny[0]"];
    for target in ["Mesh", "Dataplane, labels: {app: web}", "Dataplane, name: web-1"] {
        let spec = at(&format!("{{kind: {target}}}"));
        assert_eq!(fields(&spec, &design()), want, "{target}");
        let said = &all(&spec, &design())[0].message;
        let words = ["`allow`", "2 inbounds", "such as `9090` of `web-1`", "for 1 more match"];
        assert!(words.iter().all(|w| said.contains(w)), "{said}");
    }
    assert!(fields(&at("{kind: Dataplane, sectionName: http}"), &design()).is_empty());
    let one = all(&at("{kind: Dataplane, sectionName: db}"), &design());
    assert!(one[0].message.contains("`db` of `web-1`, which the policy selects, speaks TCP"));
    // The release does not take such a policy, and says only that.
    let told = fields(&at("{kind: Mesh}"), &Profile::Release);
    assert!(!told.is_empty() && told.iter().all(|t| t.starts_with("1601 ")), "{told:?}");
}

#[test]
fn repeated_covered_and_void() {
    let allow = [
        prefix("td/", ""),
        prefix("td/ns/a/", ""),
        exact("td/ns/b"),
        exact("other/x"),
        exact("other/x"),
        exact("bad/ns/x"),
        prefix("bad/ns/", ""),
        prefix("bad/", ""),
    ];
    let deny = [prefix("bad/ns/", ""), prefix("td/ns/a/", ", sni: {type: Exact, value: x}")];
    let spec = rules(&[one(&[("allow", &allow), ("deny", &deny)])]);
    let want = [
        "1628 0.deny[1].sni",
        "1625 0.allow[5]",
        "1625 0.allow[6]",
        "1624 0.allow[4]",
        "1626 0.allow[1]",
        "1626 0.allow[2]",
    ];
    assert_eq!(fields(&spec, &design()), want);
    let told = all(&spec, &design());
    assert!(told[0].message.ends_with("then denies the same clients whatever name they ask for"));
    let first = &told[1];
    assert!(first.message.starts_with("`spec.rules[0].default.deny[0]` denies"));
    assert_eq!(first.related.len(), 1);
}

#[test]
fn in_the_release_the_first_decides() {
    let (narrow, wide) = ([exact("td/a")], [prefix("td", "")]);
    // That the prefix has no boundary is told elsewhere.
    let fields = |spec: &str, profile: &Profile| {
        let all = fields(spec, profile).into_iter();
        all.filter(|told| !told.starts_with("1621")).collect::<Vec<_>>()
    };
    let later = rules(&[one(&[("allow", &narrow)]), one(&[("deny", &wide)])]);
    assert_eq!(fields(&later, &design()), ["1625 0.allow[0]"]);
    assert!(fields(&later, &Profile::Release).is_empty());
    let wider_later = rules(&[one(&[("allow", &narrow)]), one(&[("allow", &wide)])]);
    assert_eq!(fields(&wider_later, &design()), ["1626 0.allow[0]"]);
    assert!(fields(&wider_later, &Profile::Release).is_empty());
    let first = rules(&[one(&[("deny", &wide)]), one(&[("allow", &narrow)])]);
    for profile in [design(), Profile::Release] {
        assert_eq!(fields(&first, &profile), ["1625 1.allow[0]"]);
    }
}

#[test]
fn what_else_is_asked_for() {
    let path = |kind: &str, value: &str| format!("{{path: {{type: {kind}, value: {value}}}}}");
    let covers = |wide: &str, narrow: &str| {
        let lists = [("allow", &[wide.to_owned(), narrow.to_owned()][..])];
        let target = "targetRef: {kind: Dataplane, sectionName: http}";
        let spec = format!("{{{target}, rules: [{}]}}", one(&lists));
        // What the release drops is told elsewhere.
        let told: Vec<String> = fields(&spec, &design());
        told.iter().filter(|t| !t.starts_with("1628")).eq(["1626 0.allow[1]"])
    };
    let (exactly, below) = (|value| path("Exact", value), |value| path("Prefix", value));
    let get = prefix("td/", ", method: GET, path: {type: Exact, value: /a/b}");
    let sni = prefix("td/a/", ", sni: {type: Exact, value: x}");
    let method = || "{method: GET}".to_owned();
    for (wide, narrow) in [
        (below("/a"), below("/a/b")),
        (below("/a"), exactly("/a")),
        (below("/a"), below("/a/")),
        (below("/"), exactly("/a/b/c")),
        (below("/a"), get.clone()),
        (method(), get.clone()),
        (prefix("td/", ""), sni),
    ] {
        assert!(covers(&wide, &narrow), "{wide} {narrow}");
        assert!(!covers(&narrow, &wide.replace("GET", "PUT")), "{narrow} {wide}");
    }
    for (one, other) in [
        (below("/a"), below("/ab")),
        (prefix("td/", ", method: PUT"), get),
        (exact("td/a"), prefix("td/a/", "")),
        (method(), exact("td/a")),
    ] {
        assert!(!covers(&one, &other) && !covers(&other, &one), "{one} {other}");
    }
}

/// All pairs of these would be 400 million.
#[test]
fn long_lists() {
    let id = |i: usize| match i % 2 {
        0 => exact(&format!("td/ns/{i}/sa/web")),
        _ => prefix(&format!("td/ns/{i}/sa/web/"), ""),
    };
    let last = exact("td/ns/1/sa/web/x");
    let list: Vec<String> = (0..20_000).map(id).chain([last]).collect();
    assert_eq!(fields(&one(&[("allow", &list)]), &design()), ["1626 default.allow[20000]"]);
}
