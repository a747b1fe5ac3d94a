// SPDX-License-Identifier: Apache-2.0
//! The whole pipeline agrees with a deliberately naive second implementation of Kuma's rules on random worlds, under both
//! rule sets: what every proxy gets as a whole, at each inbound, for each client that entries describe, and for each
//! destination and port that some entry names; and on a fleet of replicas. `OVERRULE_WORLDS=20000` runs more worlds,
//! `OVERRULE_SEED=7` only that one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may fail loudly, and says how much it compared"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use overrule::engine::{KindId, NodeId, PathId, Resolution};
use overrule::source::{Input, SingleLetters};
use overrule::{Analysis, Options};
use overrule_testkit::kuma::{Fleet, OracleConf, Profile, decide, fleet_documents, resolve, world};
use overrule_testkit::yaml;
use serde_json::Value;

/// Where something holds, in words: proxy, kind, place.
type Place = (String, String, String);
/// What holds in each place; nothing where somebody could say something and nobody does.
type Found = BTreeMap<Place, Option<Value>>;

/// So many worlds that differ are told, and no more are looked at.
const ENOUGH: usize = 5;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

fn seeds() -> Range<u64> {
    match number("OVERRULE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("OVERRULE_WORLDS").unwrap_or(300),
    }
}

/// An analysis under both profiles. The worlds have nothing in them that a control plane would refuse.
fn analysis(documents: &[Value]) -> Analysis {
    let options =
        Options { compare: true, single_letters: SingleLetters::Text, ..Options::default() };
    Analysis::new(vec![Input::new("world.yaml", yaml::documents(documents))], &options)
}

/// Reads the answers of one profile off the paths.
struct Reader<'a> {
    analysis: &'a Analysis,
    resolution: &'a Resolution,
    /// Tags of the nodes that stand for clients.
    clients: BTreeMap<NodeId, BTreeMap<String, String>>,
}

impl<'a> Reader<'a> {
    fn new(analysis: &'a Analysis, profile: Profile) -> Self {
        let mut answers = analysis.answers.iter();
        let answer = answers.find(|a| a.family.name() == "kuma" && a.profile == profile.name());
        let nodes = analysis.meshes().nodes.meshes.iter().flat_map(|mesh| &mesh.clients);
        let tags = |subset: &overrule::kuma::subset::Subset| {
            subset.tags().iter().map(|t| (t.key.to_string(), t.value.to_string())).collect()
        };
        Self {
            analysis,
            resolution: &answer.expect("an answer").resolution,
            clients: nodes.map(|(subset, node)| (*node, tags(subset))).collect(),
        }
    }

    /// The identifier of the object of a node.
    fn kri(&self, node: NodeId, section: &str) -> String {
        let object = self.analysis.topology.nodes.get(node).and_then(|n| n.object);
        let meta = &self.analysis.meshes().resources.metas[&object.expect("an object")];
        let mut kri = meta.kri();
        kri.section = section.to_owned();
        kri.to_string()
    }

    /// What a path is about: the proxy, and a word for the place.
    fn place(&self, path: PathId) -> (String, String) {
        let nodes = self.resolution.paths.nodes(path);
        let text = |node: NodeId| {
            let node = self.analysis.topology.nodes.get(node).expect("a node");
            let names = &self.analysis.snapshot;
            (names.text(node.kind).to_owned(), names.text(node.section).to_owned())
        };
        let [_, proxy, rest @ ..] = nodes.as_slice() else { panic!("nothing above a proxy") };
        let place = match rest {
            [] => "proxy".to_owned(),
            [one] => match text(*one) {
                (kind, section) if kind == "Inbound" => format!("inbound {section}"),
                (kind, _) if kind == "Destination" => "any".to_owned(),
                _ => format!("to {}", self.kri(*one, "")),
            },
            [above, below] => match text(*below) {
                (kind, section) if kind == "Port" => format!("to {}", self.kri(*above, &section)),
                (kind, _) if kind == "Match" => format!("match at {}", text(*above).1),
                _ => format!("inbound {} from {:?}", text(*above).1, self.clients[below]),
            },
            _ => panic!("paths are not that long"),
        };
        (self.kri(*proxy, ""), place)
    }

    fn kind(&self, kind: KindId) -> String {
        self.analysis.snapshot.text(self.resolution.kind(kind).expect("a kind").kind).to_owned()
    }

    /// Everything that is said; matches are left out, the naive implementation does not know them.
    fn found(&self) -> Found {
        let mut found = Found::new();
        for (kind, _) in self.resolution.kinds() {
            for (path, ladder) in self.resolution.contexts(kind) {
                let (proxy, place) = self.place(path);
                if place.starts_with("match") {
                    continue;
                }
                let effective = self.resolution.effective(ladder);
                let value = effective
                    .and_then(|e| e.value.as_ref())
                    .map(|v| v.to_json(&self.analysis.documents));
                let key = (proxy, self.kind(kind), place);
                assert!(found.insert(key.clone(), value).is_none(), "twice: {key:?}");
            }
        }
        found
    }
}

/// What the naive answer says of a place that ours speaks of.
fn naive(answer: &OracleConf, place: &str, mesh: &str) -> Option<Value> {
    let to = |key: &str| answer.to.get(key).cloned();
    let mesh = || to(&format!("kri_m____{mesh}_"));
    if let Some(kri) = place.strip_prefix("to ") {
        let whole = kri.rsplit_once('_').map(|(whole, _)| format!("{whole}_"));
        return to(kri).or_else(|| to(&whole.expect("a section"))).or_else(mesh);
    }
    match place.strip_prefix("inbound ").map(|rest| rest.split_once(" from ")) {
        None if place == "any" => mesh(),
        None => answer.single.clone(),
        Some(None) => {
            let section = place.trim_start_matches("inbound ");
            let everyone = |from: &Vec<_>| decide(from, &BTreeMap::new());
            let inbound = answer.inbounds.get(section).cloned();
            inbound.or_else(|| answer.from.get(section).and_then(everyone))
        }
        Some(Some((section, client))) => {
            let entries = answer.from.get(section)?;
            let about = entries.iter().find(|from| format!("{:?}", from.tags) == client)?;
            decide(entries, &about.tags)
        }
    }
}

/// Every place the naive answer speaks of.
fn places(answer: &OracleConf) -> BTreeSet<String> {
    let to = answer
        .to
        .keys()
        .map(|kri| if kri.starts_with("kri_m_") { "any".to_owned() } else { format!("to {kri}") });
    let inbounds = answer.inbounds.keys().map(|section| format!("inbound {section}"));
    let clients = answer.from.iter().flat_map(|(section, entries)| {
        entries.iter().map(move |from| match from.tags.is_empty() {
            true => format!("inbound {section}"),
            false => format!("inbound {section} from {:?}", from.tags),
        })
    });
    let single = answer.single.iter().map(|_| "proxy".to_owned());
    to.chain(inbounds).chain(clients).chain(single).collect()
}

/// Everything that is different in one world, and how many values were compared.
fn differences(documents: &[Value], profile: Profile) -> (Vec<String>, usize) {
    let analysis = analysis(documents);
    for mesh in &analysis.meshes().resources.meshes {
        assert!(mesh.refused.is_empty(), "{:?}", analysis.diagnostics);
    }
    let theirs = resolve(documents, profile);
    if !analysis.answers.iter().any(|a| a.family.name() == "kuma") {
        return (Vec::new(), 0);
    }
    let ours = Reader::new(&analysis, profile).found();
    let mut wrong = Vec::new();
    let nothing = OracleConf::default();
    for ((proxy, kind, place), value) in &ours {
        let mesh = proxy.split('_').nth(2).expect("a mesh");
        let answer = theirs[proxy].get(kind.as_str()).unwrap_or(&nothing);
        let naive = naive(answer, place, mesh);
        if naive != *value {
            wrong.push(format!("{proxy} {kind} {place}\n    ours  {value:?}\n    naive {naive:?}"));
        }
    }
    for (proxy, answers) in &theirs {
        for (kind, answer) in answers {
            for place in places(answer) {
                let key = (proxy.clone(), (*kind).to_owned(), place);
                if !ours.contains_key(&key) {
                    wrong.push(format!("only the naive one speaks of {key:?}"));
                }
            }
        }
    }
    (wrong, ours.values().flatten().count())
}

/// Takes out documents, and entries of policies, as long as something stays wrong.
fn in_small(mut documents: Vec<Value>, profile: Profile) -> String {
    let is_wrong = |documents: &[Value]| !differences(documents, profile).0.is_empty();
    for at in (0..documents.len()).rev() {
        let removed = documents.remove(at);
        if !is_wrong(&documents) {
            documents.insert(at, removed);
        }
    }
    for at in 0..documents.len() {
        for list in ["to", "from", "rules"] {
            let count = documents[at]["spec"][list].as_array().map_or(0, Vec::len);
            for entry in (0..count).rev().take(count.saturating_sub(1)) {
                let kept = documents[at].clone();
                documents[at]["spec"][list].as_array_mut().expect("a list").remove(entry);
                if !is_wrong(&documents) {
                    documents[at] = kept;
                }
            }
        }
    }
    let wrong = differences(&documents, profile).0.join("\n  ");
    format!("{}\n  {wrong}", yaml::documents(&documents))
}

fn compare(profile: Profile) {
    let (mut compared, mut different) = (0, Vec::new());
    for seed in seeds() {
        let (wrong, values) = differences(&world::documents(seed), profile);
        compared += values;
        if !wrong.is_empty() {
            println!("seed {seed}:\n  {}", wrong.join("\n  "));
            different.push(seed);
        }
        if different.len() == ENOUGH {
            break;
        }
    }
    println!("{}: {compared} values compared", profile.name());
    if let Some(seed) = different.first() {
        let small = in_small(world::documents(*seed), profile);
        panic!("they differ; in small:\n{small}");
    }
    assert!(compared > 5 * seeds().count(), "the worlds must have something to say: {compared}");
}

#[test]
fn the_design_agrees() {
    compare(Profile::Design);
}

#[test]
fn the_release_agrees() {
    compare(Profile::Release);
}

/// Replicas share what they get: each of them must still get its own.
#[test]
fn a_fleet_agrees() {
    let documents = fleet_documents(Fleet { proxies: 60, shapes: 12, services: 40, policies: 120 });
    for profile in Profile::ALL {
        let (wrong, compared) = differences(&documents, profile);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(compared > 60 * 20, "{compared}");
    }
}
