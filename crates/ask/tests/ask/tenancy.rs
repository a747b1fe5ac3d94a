// SPDX-License-Identifier: Apache-2.0
//! In: worlds with secrets. Out: that no answer to a reader who may not read them depends on what it may not know.
//! Not here: answers to those who may read everything; the command line is tested with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use overrule::Analysis;
use overrule_ask::{Arguments, Asked, Everything, Known, Parameters, RenderedAnswer, Sees, Shared};
use serde_json::Value;

use crate::changes::in_force;
use crate::worlds::{self, Tenant, World};

const SEEDS: u64 = 6;

/// Asks one question, and writes down everything that is said.
pub fn ask<T: Asked>(analysis: &Analysis, sees: &dyn Sees, query: &str) -> String {
    let pairs = query.split('&').filter(|p| !p.is_empty());
    let arguments: Arguments = pairs.map(|p| p.split_once('=').unwrap_or((p, ""))).collect();
    let (shared, asked) = (Shared::read(&arguments).unwrap(), T::read(&arguments).unwrap());
    let known = Known { analysis, sees, source: "overrule check" };
    let mut sink = RenderedAnswer::default();
    let outcome = asked.answer(&known, &shared, &mut sink);
    let mut said = format!("{}: {query}\n{outcome:?}\n{}\n", T::NAME, sink.result);
    let _ = write!(said, "{:#?}\n{:#?}\n", sink.remarks, sink.problems);
    said
}

/// The names of everything that can be asked about.
fn targets(analysis: &Analysis) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for object in analysis.snapshot.all_read() {
        let open = Tenant.object(&analysis.snapshot, object);
        let name = analysis.snapshot.display(object.id).to_string();
        for (section, _) in analysis.sections_of(object.id).into_iter().take(2) {
            found.push((format!("{name}#{}", analysis.snapshot.text(section)), open));
        }
        found.push((name, open));
    }
    found
}

/// Every question that is not about one target.
fn general(analysis: &Analysis, sees: &dyn Sees) -> Vec<String> {
    let mut all = Vec::new();
    for form in ["", "output=wide", "output=yaml", "output=json", "output=json&compare"] {
        all.push(ask::<overrule_ask::Effective>(analysis, sees, form));
        all.push(ask::<overrule_ask::Get>(analysis, sees, form));
        all.push(ask::<overrule_ask::Get>(analysis, sees, &format!("kind=all&{form}")));
        all.push(ask::<overrule_ask::Get>(analysis, sees, &format!("kind=policies&{form}")));
        all.push(ask::<overrule_ask::Check>(analysis, sees, form));
    }
    all.push(ask::<overrule_ask::Check>(analysis, sees, "short"));
    for form in ["tree", "dot", "mermaid", "svg", "json"] {
        all.push(ask::<overrule_ask::Graph>(analysis, sees, &format!("output={form}")));
    }
    for request in ["GET https://a.shop.example.com/x", "GET http://x.example.com/"] {
        all.push(ask::<overrule_ask::Effective>(analysis, sees, &format!("request={request}")));
    }
    let kinds = ["TimeoutPolicy", "PatchPolicy", "AuthPolicy", "TrafficPolicy", "MeshTimeout"];
    for kind in kinds {
        all.push(ask::<overrule_ask::Get>(analysis, sees, &format!("without={kind}")));
        all.push(ask::<overrule_ask::Get>(analysis, sees, &format!("kind={kind}")));
        all.push(ask::<overrule_ask::Effective>(analysis, sees, &format!("kind={kind}")));
    }
    all
}

/// Every question about one target.
fn about(analysis: &Analysis, sees: &dyn Sees, target: &str) -> Vec<String> {
    let q = |rest: &str| format!("target={target}{rest}");
    vec![
        ask::<overrule_ask::Effective>(analysis, sees, &q("")),
        ask::<overrule_ask::Effective>(analysis, sees, &q("&output=table")),
        ask::<overrule_ask::Effective>(analysis, sees, &q("&output=json")),
        ask::<overrule_ask::Explain>(analysis, sees, &q("")),
        ask::<overrule_ask::Explain>(analysis, sees, &q("&output=json")),
        ask::<overrule_ask::Explain>(analysis, sees, &q("&field=a.b")),
        ask::<overrule_ask::Graph>(analysis, sees, &q("&output=json")),
        ask::<overrule_ask::Envoy>(analysis, sees, &q("")),
        ask::<overrule_ask::Reach>(analysis, sees, &format!("policy={target}")),
        ask::<overrule_ask::Reach>(analysis, sees, &format!("policy={target}&output=json")),
        ask::<overrule_ask::Reach>(analysis, sees, &format!("policy={target}&rule=a")),
        ask::<overrule_ask::Can>(analysis, sees, &format!("from=nobody&to={target}&output=json")),
        ask::<overrule_ask::Can>(
            analysis,
            sees,
            &format!("from=spiffe://default/web&to={target}&method=GET&path=/"),
        ),
        ask::<overrule_ask::Can>(analysis, sees, &format!("from={target}&to={target}&output=csv")),
    ]
}

/// Everything a tenant is told, by question.
fn told(analysis: &Analysis, targets: &[(String, bool)]) -> BTreeMap<String, String> {
    let mut all = general(analysis, &Tenant);
    for (target, open) in targets {
        if *open {
            all.extend(about(analysis, &Tenant, target));
        }
    }
    all.into_iter().map(|said| (said.lines().next().unwrap().to_owned(), said)).collect()
}

/// Policies, by name, that set a value at a target that may be read, as one who reads everything sees it; if asked, those
/// too that act there without setting one.
fn acting(analysis: &Analysis, without_values: bool) -> BTreeSet<String> {
    let answer = ask::<overrule_ask::Effective>(analysis, &Everything, "output=json");
    let json = answer.lines().skip(2).take_while(|l| *l != "[]").collect::<Vec<_>>().join("\n");
    let json: Value =
        serde_json::Deserializer::from_str(&json).into_iter().next().unwrap().unwrap();
    let open: BTreeSet<String> =
        targets(analysis).into_iter().filter(|t| t.1).map(|t| t.0).collect();
    let mut names = BTreeSet::new();
    for item in json["items"].as_array().unwrap() {
        let target = item["target"].as_str().unwrap();
        let object = target.split('#').next().unwrap();
        // What is only referred to has no object to ask: be generous, names are what is allowed.
        if !open.contains(object) && analysis.named(object).is_some() {
            continue;
        }
        let origins =
            item["origins"].as_object().unwrap().values().flat_map(|o| o.as_array().unwrap());
        names.extend(origins.map(|o| o["policy"].as_str().unwrap().to_owned()));
        let broken = item["error"].as_array().into_iter().flatten();
        names.extend(broken.map(|e| e["policy"].as_str().unwrap().to_owned()));
        let on = item["policies"].as_array().unwrap().iter();
        let acts = on
            .filter(|p| without_values && (p["outcome"] == "in force" || p["outcome"] == "partly"));
        names.extend(acts.map(|p| p["policy"].as_str().unwrap().to_owned()));
    }
    names
}

/// The first difference of two answers, for people.
fn same(
    world: &World,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
    why: &str,
) {
    for (question, said) in before {
        let Some(now) = after.get(question) else { continue };
        if said != now {
            let at = said.bytes().zip(now.bytes()).take_while(|(a, b)| a == b).count();
            let near = |text: &str| {
                let bytes = &text.as_bytes()[at.saturating_sub(300)..text.len().min(at + 300)];
                String::from_utf8_lossy(bytes).into_owned()
            };
            let (said, now) = (near(said), near(now));
            panic!("{}: {why}: {question}\n--- before\n{said}\n--- after\n{now}", world.name);
        }
    }
}

#[test]
fn no_answer_holds_a_secret() {
    for world in worlds::all(SEEDS) {
        let analysis = world.analyse(0);
        let targets = targets(&analysis);
        let acting = acting(&analysis, false);
        for (question, said) in told(&analysis, &targets) {
            for mark in ["labelmark", "commentmark", "filemark", "secret-"] {
                assert!(!said.contains(mark), "{}: {question}: {mark}\n{said}", world.name);
            }
            for word in said.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '.')) {
                let named = |n: &String| n.rsplit('/').next() == Some(word);
                let fine = !word.starts_with("namemark") || acting.iter().any(named);
                assert!(fine, "{}: {question}: {word}\n{said}", world.name);
            }
        }
    }
}

#[test]
fn what_has_no_meaning_changes_nothing() {
    for world in worlds::all(SEEDS) {
        let (before, after) = (world.analyse(0), world.analyse(1));
        let targets = targets(&before);
        same(&world, &told(&before, &targets), &told(&after, &targets), "files, comments, labels");
    }
}

#[test]
fn secret_policies_that_lose_change_nothing() {
    let (mut removed, mut tested) = (0, 0);
    for world in worlds::all(SEEDS) {
        let before = world.analyse(0);
        let acting = acting(&before, true);
        let name = |i: usize| {
            let object = &world.objects[i];
            let metadata = &object["metadata"];
            let name = object["name"].as_str().or(metadata["name"].as_str()).unwrap_or("");
            let namespace = object["mesh"].as_str().or(metadata["namespace"].as_str());
            namespace.map_or(name.to_owned(), |n| format!("{n}/{name}"))
        };
        // Routes of a mesh are policies too, but others act on them.
        let is_policy = |i: usize| {
            let object = &world.objects[i];
            let kind = object["type"].as_str().or(object["kind"].as_str()).unwrap_or("");
            let is_mesh = kind.starts_with("Mesh") && !kind.ends_with("Route");
            let other = [
                "Mesh",
                "MeshService",
                "MeshExternalService",
                "MeshMultiZoneService",
                "MeshGateway",
                "MeshIdentity",
                "MeshTrust",
                // All permissions of an inbound count: none of them loses.
                "MeshTrafficPermission",
            ];
            kind.ends_with("Policy") || (is_mesh && !other.contains(&kind))
        };
        let loses = |i: usize| world.secret[i] && is_policy(i) && !acting.contains(&name(i));
        removed += (0..world.objects.len()).filter(|i| loses(*i)).count();
        let after = world.without(&loses).analyse(0);
        let targets = targets(&before);
        let open: BTreeSet<&str> =
            targets.iter().filter(|t| t.1).map(|t| t.0.split('#').next().unwrap()).collect();
        let values = |analysis| {
            in_force(analysis, &|target: &str| open.contains(target.split('#').next().unwrap()))
        };
        // One that sets no value may still decide which ones are in force, by what it takes out or stands against.
        if values(&before) != values(&after) {
            continue;
        }
        tested += 1;
        same(
            &world,
            &told(&before, &targets),
            &told(&after, &targets),
            "a policy that loses is gone",
        );
    }
    assert!(removed > 30 && tested > 20, "too little to test anything: {removed}, {tested}");
}

#[test]
fn what_may_not_be_read_does_not_exist() {
    let mut asked = 0;
    for world in worlds::all(SEEDS) {
        let all = world.analyse(0);
        let open = world.without(&|i| world.secret[i]).analyse(0);
        for (target, _) in targets(&all).into_iter().filter(|t| !t.1) {
            let (here, there) = (about(&all, &Tenant, &target), about(&open, &Everything, &target));
            for (here, there) in here.iter().zip(&there) {
                asked += 1;
                // What is not there is refused in the same words; some questions are refused before anything is looked up.
                let first = |said: &str| said.lines().nth(1).unwrap().to_owned();
                assert_eq!(first(here), first(there), "{}: {target}", world.name);
                assert!(first(here).starts_with("Err("), "{}: {here}", world.name);
            }
        }
    }
    assert!(asked > 100);
}

/// Who may read everything there is, and everything that could ever be: but is asked object by object.
struct Whole;

impl Sees for Whole {
    fn object(&self, _: &overrule::model::Snapshot, _: &overrule::model::Object) -> bool {
        true
    }

    fn everything(&self) -> bool {
        false
    }

    fn closed(&self, _: &overrule::model::Snapshot, _: &overrule::model::Object) -> bool {
        true
    }
}

#[test]
fn where_nothing_is_hidden_answers_are_whole() {
    for world in worlds::all(3) {
        let analysis = world.analyse(0);
        let both = |f: &dyn Fn(&dyn Sees) -> String| (f(&Everything), f(&Whole));
        let (all, whole) = both(&|s| ask::<overrule_ask::Effective>(&analysis, s, "output=json"));
        assert_eq!(all.lines().nth(1), whole.lines().nth(1), "{}", world.name);
        let items = |said: &str| {
            let items = said.lines().filter(|l| l.starts_with("{\"apiVersion\":"));
            items.map(|l| l.trim_end_matches(',').to_owned()).collect::<BTreeSet<_>>()
        };
        // Paths that nothing reaches but a policy that has nothing to say are told to nobody.
        let (all, whole) = (items(&all), items(&whole));
        let differs = all.symmetric_difference(&whole).next();
        assert!(differs.is_none(), "{}: {differs:#?}", world.name);
        let (all, whole) = both(&|s| ask::<overrule_ask::Check>(&analysis, s, "output=json"));
        assert_eq!(all, whole, "{}", world.name);
        for (target, _) in targets(&analysis) {
            let query = format!("policy={target}&output=json");
            let (all, whole) = both(&|s| ask::<overrule_ask::Reach>(&analysis, s, &query));
            assert_eq!(all, whole, "{}", world.name);
        }
    }
}
