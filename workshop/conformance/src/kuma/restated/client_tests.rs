// SPDX-License-Identifier: Apache-2.0
//! In: random permissions by tags, and clients with several services. Out: that the answer about each client is that of
//! the filter which the same permissions become, under both rule sets; who a SPIFFE ID stands for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use overrule::{Analysis, Client, InboundId, Options};
use overrule_access::{Because, Certificate, Request, Verdict};
use overrule_envoy::{
    FilterForm, FilterOptions, LegacyInput, LegacySubset, LegacyTag, Protocol, Release,
    SubsetAction, legacy,
};
use overrule_source::Input;
use serde_json::Value;

use super::mtp_envoy::{self, answer};

/// Numbers that look random; the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const SERVICES: [&str; 3] = ["batch", "web", "db"];
const VERSIONS: [&str; 2] = ["v1", "v2"];

/// A mesh with a target, clients of up to three services each, and permissions by tags.
fn world(numbers: &mut Numbers) -> String {
    let mut text = String::from(
        "type: Mesh\nname: m\nmtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}\n\
         ---\ntype: Dataplane\nmesh: m\nname: target\nlabels: {app: target}\n\
         networking: {address: 1.1.1.1, inbound: [{port: 80, name: in, tags: {kuma.io/service: target}}]}\n",
    );
    for client in 0..4 {
        let _ = write!(
            text,
            "---\ntype: Dataplane\nmesh: m\nname: c{client}\nnetworking:\n  address: 1.1.1.2\n  inbound:\n"
        );
        for port in 0..=numbers.below(3) {
            let (service, version) = (numbers.pick(&SERVICES), numbers.pick(&VERSIONS));
            let _ = writeln!(
                text,
                "  - {{port: {}, tags: {{kuma.io/service: {service}, version: {version}}}}}",
                80 + port
            );
        }
    }
    for policy in 0..=numbers.below(3) {
        let _ = write!(
            text,
            "---\ntype: MeshTrafficPermission\nmesh: m\nname: p{policy}\nspec:\n  from:\n"
        );
        for _ in 0..=numbers.below(3) {
            let target = match numbers.below(4) {
                0 => "{kind: Mesh}".to_owned(),
                1 => {
                    format!("{{kind: MeshSubset, tags: {{version: {}}}}}", numbers.pick(&VERSIONS))
                }
                2 => format!("{{kind: MeshService, name: {}}}", numbers.pick(&SERVICES)),
                _ => format!(
                    "{{kind: MeshServiceSubset, name: {}, tags: {{version: {}}}}}",
                    numbers.pick(&SERVICES),
                    numbers.pick(&VERSIONS)
                ),
            };
            let action = numbers.pick(&["Allow", "Deny", "AllowWithShadowDeny"]);
            let _ = writeln!(text, "  - {{targetRef: {target}, default: {{action: {action}}}}}");
        }
    }
    text
}

fn analysis(text: &str, profile: &str) -> Analysis {
    let profiles = BTreeMap::from([("kuma".to_owned(), profile.to_owned())]);
    let options = Options { profiles, compare: false, ..Options::default() };
    Analysis::new(vec![Input::new("world.yaml", text)], &options)
}

/// Whether the filter of the target lets a client pass, and whether it counts it as one that would be refused.
fn filtered(analysis: &Analysis, as_shipped: bool, client: &mtp_envoy::Client) -> (bool, bool) {
    let (target, _) = analysis.named("dataplane/m/target").unwrap();
    filtered_at(analysis, analysis.inbounds(target, None)[0], as_shipped, client)
}

fn filtered_at(
    analysis: &Analysis,
    at: InboundId,
    as_shipped: bool,
    client: &mtp_envoy::Client,
) -> (bool, bool) {
    let source = analysis.access(at).unwrap().filter_source(as_shipped);
    let action = |effect: overrule_access::Effect| match effect {
        overrule_access::Effect::Allow => SubsetAction::Allow,
        overrule_access::Effect::AllowWithShadowDeny => SubsetAction::AllowWithShadowDeny,
        overrule_access::Effect::Deny => SubsetAction::Deny,
    };
    let sets = source.client_sets.iter().map(|set| {
        let tag = |t: &overrule::family_kit::ClientTag| LegacyTag {
            key: t.key.clone(),
            value: t.value.clone(),
            not: t.not,
        };
        LegacySubset { tags: set.tags.iter().map(tag).collect(), action: action(set.effect) }
    });
    let rules: Vec<LegacySubset> = sets.collect();
    let input = LegacyInput {
        rules: &rules,
        mesh: source.mesh,
        protocol: Protocol::Tcp,
        stat_prefix: "in",
    };
    let form = if as_shipped { FilterForm::Kuma(Release::V2_13) } else { FilterForm::List };
    let projection = legacy(&input, &FilterOptions { form, ..FilterOptions::default() });
    let filter = serde_json::to_value(&projection.filters[0].typed_config).unwrap();
    let shadow = filter.get("shadowRules").cloned().map(|mut rules| {
        // It is asked whether a rule matches, whatever that does.
        rules.as_object_mut().unwrap().remove("action");
        serde_json::json!({"rules": rules})
    });
    let matches = |filter: &Value| answer(filter, client).unwrap().0;
    let mut enforced = filter;
    enforced.as_object_mut().unwrap().remove("shadowRules");
    (matches(&enforced), shadow.as_ref().is_some_and(matches))
}

#[test]
fn answers_about_clients_of_several_services_are_those_of_the_filter() {
    let (mut several, mut seen) = (0, BTreeMap::<(bool, bool), usize>::new());
    for seed in 0..400 {
        let text = world(&mut Numbers(seed));
        for profile in ["design", "2.13"] {
            let analysis = analysis(&text, profile);
            let (target, _) = analysis.named("dataplane/m/target").unwrap();
            let at = analysis.inbounds(target, None)[0];
            let inbound = analysis.access(at).unwrap();
            for client in 0..4 {
                let name = format!("dataplane/m/c{client}");
                let object = analysis.named(&name).unwrap().0;
                let caller = analysis.caller(Client::Object(object));
                assert_eq!(caller.certificate, Certificate::Several);
                let tags = caller.tags.clone().unwrap();
                several += usize::from(tags.values().any(|values| values.len() > 1));
                let asked = Request::default();
                let ruling = inbound.ask(&name, &caller, asked, None).unwrap().ruling;
                let shown = (ruling.verdict == Verdict::Allowed, ruling.shadow.is_some());
                let release = profile == "2.13";
                let sans = mtp_envoy::Client::tagged("m", &tags);
                let mut right = filtered(&analysis, release, &sans);
                // Nothing is told of a shadow where nobody decides.
                right.1 &= matches!(ruling.because, Because::Clause(_));
                assert_eq!(shown, right, "{profile} {name} {tags:?}\n{text}");
                *seen.entry(shown).or_default() += 1;
            }
        }
    }
    assert!(several > 500, "{several}");
    assert!(seen.len() >= 3 && seen.values().all(|n| *n > 50), "{seen:?}");
}

const ONE_ALLOW: &str = "type: Mesh\nname: m\nmtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}\n\
---\ntype: Dataplane\nmesh: m\nname: target\nnetworking: {address: 1.1.1.1, inbound: [{port: 80, tags: {kuma.io/service: target}}]}\n\
---\ntype: Dataplane\nmesh: m\nname: worker\nnetworking: {address: 1.1.1.2, inbound: [{port: 80, tags: {kuma.io/service: batch, team: a}}, {port: 81, tags: {kuma.io/service: web}}]}\n";

fn verdicts(text: &str, clients: &[&str]) -> Vec<Verdict> {
    let analysis = analysis(text, "design");
    let (target, _) = analysis.named("dataplane/m/target").unwrap();
    let at = analysis.inbounds(target, None)[0];
    let inbound = analysis.access(at).unwrap();
    let ask = |name: &&str| {
        let caller = analysis.caller(analysis.client(name).unwrap());
        let asked = Request::default();
        inbound.ask(name, &caller, asked, None).unwrap().ruling.verdict
    };
    clients.iter().map(ask).collect()
}

fn permission(from: &str, action: &str) -> String {
    format!(
        "---\ntype: MeshTrafficPermission\nmesh: m\nname: p\nspec: {{from: [{{targetRef: {from}, default: {{action: {action}}}}}]}}\n"
    )
}

#[test]
fn each_service_of_a_client_counts_and_so_does_its_spiffe_id() {
    let clients = ["dataplane/m/worker", "spiffe://m/batch", "spiffe://m/web", "spiffe://m/other"];
    for allowed in ["{kind: MeshService, name: batch}", "{kind: MeshSubset, tags: {team: a}}"] {
        let text = format!("{ONE_ALLOW}{}", permission(allowed, "Allow"));
        let [yes, no] = [Verdict::Allowed, Verdict::Denied];
        assert_eq!(verdicts(&text, &clients), [yes, yes, yes, no], "{allowed}");
    }
}

#[test]
fn what_only_some_proxies_of_a_service_have_its_identity_has_not() {
    let other = "---\ntype: Dataplane\nmesh: m\nname: other\nnetworking: {address: 1.1.1.3, inbound: [{port: 80, tags: {kuma.io/service: batch}}]}\n";
    let team = permission("{kind: MeshSubset, tags: {team: a}}", "Allow");
    let text = format!("{ONE_ALLOW}{other}{team}");
    let clients = ["dataplane/m/worker", "dataplane/m/other", "spiffe://m/batch", "spiffe://m/web"];
    let [yes, no] = [Verdict::Allowed, Verdict::Denied];
    assert_eq!(verdicts(&text, &clients), [yes, no, no, yes]);
}

#[test]
fn a_certificate_of_one_identity_has_no_tags() {
    let identity = "---\ntype: MeshIdentity\nmesh: m\nname: i\nspec: {selector: {dataplane: {matchLabels: {}}}, spiffeID: {trustDomain: td, path: '/all'}}\n";
    let batch = permission("{kind: MeshService, name: batch}", "Allow");
    let text = format!("{ONE_ALLOW}{identity}{batch}");
    let no = Verdict::Denied;
    assert_eq!(verdicts(&text, &["dataplane/m/worker", "spiffe://td/all"]), [no, no]);
}

#[test]
fn a_certificate_without_identity_can_be_asked_about() {
    let rules = |allow: &str| {
        format!(
            "{ONE_ALLOW}---\ntype: MeshTrafficPermission\nmesh: m\nname: p\nspec: {{rules: [{{default: {{allow: [{allow}]}}}}]}}\n"
        )
    };
    let clients = ["unnamed", "nobody"];
    let [yes, no] = [Verdict::Allowed, Verdict::Denied];
    let by_name = "{spiffeID: {type: Prefix, value: 'spiffe://m/'}}";
    assert_eq!(verdicts(&rules(by_name), &clients), [no, no]);
    let everybody = format!("{ONE_ALLOW}{}", permission("{kind: Mesh}", "Allow"));
    assert_eq!(verdicts(&everybody, &clients), [yes, no]);
}

#[test]
fn a_denied_request_shows_the_shadow_rule_that_it_matches() {
    let rules = "---\ntype: MeshTrafficPermission\nmesh: m\nname: p\nspec: {rules: [{default: {\
                 deny: [{spiffeID: {type: Exact, value: 'spiffe://td/a'}}], \
                 allowWithShadowDeny: [{spiffeID: {type: Prefix, value: 'spiffe://td'}}]}}]}\n";
    let text = format!("{ONE_ALLOW}{rules}");
    for profile in ["design", "2.13"] {
        let analysis = analysis(&text, profile);
        let (target, _) = analysis.named("dataplane/m/target").unwrap();
        let inbound = analysis.access(analysis.inbounds(target, None)[0]).unwrap();
        let ask = |name: &str| {
            let caller = analysis.caller(analysis.client(name).unwrap());
            let asked = Request::default();
            let ruling = inbound.ask(name, &caller, asked, None).unwrap().ruling;
            (ruling.verdict, ruling.shadow.is_some())
        };
        assert_eq!(ask("spiffe://td/a"), (Verdict::Denied, true), "{profile}");
        assert_eq!(ask("spiffe://td/b"), (Verdict::Allowed, true), "{profile}");
        assert_eq!(ask("spiffe://other/b"), (Verdict::Denied, false), "{profile}");
    }
}

#[test]
fn the_release_drops_server_names_and_says_so() {
    let world = |list: &str, one: &str| {
        format!(
            "{ONE_ALLOW}---\ntype: MeshTrafficPermission\nmesh: m\nname: p\nspec: {{rules: [{{default: {{{list}: [{one}]}}}}]}}\n"
        )
    };
    let sni = "sni: {type: Exact, value: a.b}";
    let id = "spiffeID: {type: Exact, value: 'spiffe://td/a'}";
    let ask = |text: &str, profile: &str, client: &str, sni: Option<&str>| {
        let analysis = analysis(text, profile);
        let (target, _) = analysis.named("dataplane/m/target").unwrap();
        let inbound = analysis.access(analysis.inbounds(target, None)[0]).unwrap();
        let caller = analysis.caller(analysis.client(client).unwrap());
        let asked = Request { sni, ..Request::default() };
        assert!(analysis.diagnostics.iter().any(|d| d.code.id == "OV1628"), "{profile} {text}");
        inbound.ask(client, &caller, asked, None).unwrap().ruling.verdict
    };
    let [yes, no] = [Verdict::Allowed, Verdict::Denied];
    let both = world("allow", &format!("{{{id}, {sni}}}"));
    let only = world("allow", &format!("{{{sni}}}"));
    for (text, client, name, design, release) in [
        (&both, "spiffe://td/a", Some("a.b"), yes, yes),
        (&both, "spiffe://td/a", Some("other"), no, yes),
        (&both, "spiffe://td/b", Some("a.b"), no, no),
        (&only, "spiffe://td/b", Some("other"), no, yes),
        (&only, "unnamed", None, no, yes),
    ] {
        assert_eq!(ask(text, "design", client, name), design, "{client} {name:?}");
        assert_eq!(ask(text, "2.13", client, name), release, "{client} {name:?}");
    }
    let deny = format!(
        "{}---\ntype: MeshTrafficPermission\nmesh: m\nname: a\nspec: {{rules: [{{default: {{allow: [{{{id}}}]}}}}]}}\n",
        world("deny", &format!("{{{sni}}}"))
    );
    assert_eq!(ask(&deny, "design", "spiffe://td/a", None), yes);
    assert_eq!(ask(&deny, "2.13", "spiffe://td/a", None), no, "a deny of everybody");
}

#[test]
fn a_zone_egress_asks_who_may_call_an_external_service() {
    let outside = |routing: &str| {
        format!(
            "{}---\ntype: ExternalService\nmesh: m\nname: pay\ntags: {{kuma.io/service: pay, kuma.io/protocol: http}}\nnetworking: {{address: pay.example.com:443}}\n",
            ONE_ALLOW.replacen("name: m\n", &format!("name: m\n{routing}"), 1)
        )
    };
    let of = |target: &str, from: &str, action: &str| {
        permission(from, action).replace("{from:", &format!("{{targetRef: {target}, from:"))
    };
    let egress = outside("routing: {zoneEgress: true}\n");
    let clients = ["dataplane/m/worker", "dataplane/m/target", "nobody"];
    let ask = |text: &str, profile: &str| -> Vec<Verdict> {
        let analysis = analysis(text, profile);
        let (service, _) = analysis.named("externalservice/m/pay").unwrap();
        let at = analysis.inbounds(service, None)[0];
        let inbound = analysis.access(at).unwrap();
        assert_eq!(inbound.name(), "externalservice/m/pay#443");
        let source = inbound.filter_source(profile == "2.13");
        assert_eq!((&*source.address, source.port, source.is_http), ("pay.example.com", 443, true));
        let ask = |name: &&str| {
            let caller = analysis.caller(analysis.client(name).unwrap());
            let asked = Request::default();
            let ruling = inbound.ask(name, &caller, asked, None).unwrap().ruling;
            if let Some(tags) = &caller.tags {
                let sans = mtp_envoy::Client::tagged("m", tags);
                let right = filtered_at(&analysis, at, profile == "2.13", &sans).0;
                assert_eq!(ruling.verdict == Verdict::Allowed, right, "{name} {profile}");
            }
            ruling.verdict
        };
        clients.iter().map(ask).collect()
    };
    let [yes, no] = [Verdict::Allowed, Verdict::Denied];
    let batch = "{kind: MeshService, name: batch}";
    for profile in ["design", "2.13"] {
        let by = |target: &str| ask(&format!("{egress}{}", of(target, batch, "Allow")), profile);
        assert_eq!(ask(&egress, profile), [no, no, no], "nobody without a permission");
        assert_eq!(by("{kind: Mesh}"), [yes, no, no]);
        assert_eq!(by("{kind: MeshService, name: pay}"), [yes, no, no]);
        assert_eq!(by("{kind: MeshSubset, tags: {kuma.io/protocol: http}}"), [yes, no, no]);
        assert_eq!(by("{kind: MeshService, name: other}"), [no, no, no]);
        assert_eq!(by("{kind: Dataplane}"), [no, no, no]);
    }
    let analysis = analysis(&outside(""), "design");
    let (service, _) = analysis.named("externalservice/m/pay").unwrap();
    assert!(analysis.inbounds(service, None).is_empty(), "what goes past the egress is not asked");
}
