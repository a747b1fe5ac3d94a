// SPDX-License-Identifier: Apache-2.0
//! In: random worlds of every family and random edits. Out: whether the analysis after every change is the one that is
//! made from scratch, findings included. Not here: how fast that is (`benches/change.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise"
)]

#[path = "live/content.rs"]
mod content;
#[path = "live/everything.rs"]
mod everything;

use std::collections::BTreeMap;
use std::sync::Arc;

use overrule::engine::{LadderId, PolicyId};
use overrule::gateway::Gep713;
use overrule::live::{Edit, KeyedText, Workspace};
use overrule::model::Created;
use overrule::source::Input;
use overrule::{Analysis, Assume, Options, Touched};
use overrule_testkit::fleet::{FleetSpec, ManifestFormat, PerLevel, manifests};
use overrule_testkit::rng::Rng;
use overrule_testkit::{envoygateway, generate, kgateway, kuadrant, kuma, yaml};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

use content::other_content;
use everything::everything;

/// A text, and since when its keeper has it.
struct Kept {
    resource: Value,
    text: String,
    created: Option<Created>,
}

impl Kept {
    fn of(resource: &Value, created: Option<Created>) -> Self {
        let text = yaml::documents(std::slice::from_ref(resource));
        Self { resource: resource.clone(), text, created }
    }

    fn given(&self, name: &str) -> KeyedText {
        let input = Input::new(name, self.text.as_bytes());
        KeyedText { key: name.into(), input, created: self.created }
    }
}

/// Texts by name, as the workspace and the analysis from scratch get them.
type Texts = BTreeMap<String, Kept>;

/// What identifies a resource, as the name of its text.
fn name_of(resource: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let meta = &resource["metadata"];
    match resource["type"].as_str() {
        Some(kind) => format!("{kind}/{}/{}", text(&resource["mesh"]), text(&resource["name"])),
        None => format!(
            "{}/{}/{}",
            text(&resource["kind"]),
            text(&meta["namespace"]),
            text(&meta["name"])
        ),
    }
}

fn from_scratch(texts: &Texts, options: &Options) -> Analysis {
    let input = |(name, text): (&String, &Kept)| Input::new(name.as_str(), text.text.as_bytes());
    let time = |(name, text): (&String, &Kept)| Some((name.as_str().into(), text.created?));
    let times = Assume::Kept(Arc::new(texts.iter().filter_map(time).collect()));
    let options = Options { assume_created: times, ..options.clone() };
    Analysis::new(texts.iter().map(input).collect(), &options)
}

/// One random history: a world, then edits drawn from another world, each version compared with scratch.
struct History {
    rng: Rng,
    options: Options,
    texts: Texts,
    workspace: Workspace,
    /// Effective policies that were compared.
    compared: usize,
    /// Changes of the content of a policy, and how many of them were made of the analysis before, by family.
    contents: BTreeMap<&'static str, [usize; 2]>,
}

impl History {
    fn new(seed: u64, resources: &[Value], options: Options) -> Self {
        let mut rng = Rng::new(seed, "live", 0);
        let texts: Texts = resources.iter().map(|r| (name_of(r), text(&mut rng, r))).collect();
        let given = texts.iter().map(|(name, text)| text.given(name));
        let workspace = Workspace::new(given.collect(), options.clone());
        let contents = BTreeMap::new();
        Self { rng, options, texts, workspace, compared: 0, contents }
    }

    /// Changes one to three texts: some go, some come, some say something else.
    fn step(&mut self, from: &[Value]) {
        let mut edits = Vec::new();
        for _ in 0..=self.rng.below(3) {
            let names: Vec<String> = self.texts.keys().cloned().collect();
            if self.rng.percent(30) && !names.is_empty() {
                let name = self.rng.pick(&names).clone();
                self.texts.remove(&name);
                edits.push(Edit::Remove(name.into()));
            } else if !from.is_empty() {
                let resource = self.rng.pick(from).clone();
                let (name, text) = (name_of(&resource), text(&mut self.rng, &resource));
                edits.push(Edit::Put(text.given(&name)));
                self.texts.insert(name, text);
            }
        }
        self.change(edits);
    }

    /// Changes one policy, so that what does not depend on policies can be kept.
    fn policy(&mut self, from: &[Value]) {
        let there = |r: &&Value| is_policy(r) && self.texts.contains_key(&name_of(r));
        let policies: Vec<&Value> = from.iter().filter(there).collect();
        if policies.is_empty() {
            return;
        }
        let policy = *self.rng.pick(&policies);
        let (name, text) = (name_of(policy), text(&mut self.rng, policy));
        let edit = Edit::Put(text.given(&name));
        self.texts.insert(name, text);
        self.change(vec![edit]);
    }

    /// Changes the content of one policy: it has the same targets and is as old as it was.
    fn content(&mut self, policy: &Value) -> Arc<Analysis> {
        let name = name_of(policy);
        let created = self.texts[&name].created;
        let kept = if kuma::change::is_policy(policy) {
            let mut kept = Kept::of(&kuma::change::other_conf(&mut self.rng, policy), created);
            // Now and then everything stands elsewhere.
            if self.rng.percent(30) {
                kept.text.insert_str(0, "# a remark\n");
            }
            kept
        } else {
            Kept::of(&other_content(&mut self.rng, policy), created)
        };
        let edit = Edit::Put(kept.given(&name));
        self.texts.insert(name, kept);
        let changed = self.change(vec![edit]);
        let [all, shared] = self.contents.entry(family_of(policy)).or_default();
        *all += 1;
        *shared += usize::from(changed.touched != Touched::Everything);
        changed
    }

    fn change(&mut self, edits: Vec<Edit>) -> Arc<Analysis> {
        let changed = self.workspace.change(edits);
        let scratch = from_scratch(&self.texts, &self.options);
        let [expected, found] = [&scratch, &*changed].map(everything);
        self.compared += expected.len();
        if expected != found {
            let lines = |a: &[String], b: &[String]| -> String {
                a.iter().filter(|line| !b.contains(line)).map(|l| format!("{l}\n")).collect()
            };
            let (lost, new) = (lines(&expected, &found), lines(&found, &expected));
            let all: Vec<&str> = self.texts.values().map(|t| t.text.as_str()).collect();
            let all = all.join("---\n");
            panic!("a change differs\nexpected\n{lost}\nfound\n{new}\nworld\n{all}");
        }
        changed
    }
}

/// The family of a policy, by its API group.
fn family_of(policy: &Value) -> &'static str {
    if kuma::change::is_policy(policy) {
        return "kuma";
    }
    let group = policy["apiVersion"].as_str().and_then(|version| version.split('/').next());
    let is_ours = |groups: &[&str]| groups.iter().any(|g| Some(*g) == group);
    let family = overrule::families().iter().find(|family| is_ours(family.groups()));
    family.map_or("gateway", |family| family.name())
}

fn is_policy(resource: &&Value) -> bool {
    resource["kind"].as_str().is_some_and(|kind| kind.ends_with("Policy"))
        || kuma::change::is_policy(resource)
}

/// Policies that say something else now, one after the other: results are shared with the analysis before.
#[test]
fn a_policy_with_other_content_shares_the_rest() {
    let (mut shared, mut changed) = (0, 0);
    for seed in 0..count(40) {
        let resources = gateway_world(seed).0;
        let mut history = History::new(seed, &resources, Options::default());
        for policy in resources.iter().filter(is_policy).take(6) {
            shared += usize::from(history.content(policy).touched != Touched::Everything);
            changed += 1;
        }
    }
    println!("of {changed} changes {shared} share the analysis before");
    assert!(shared * 2 > changed, "{shared} of {changed} changes share the analysis before");
}

/// A resource as a text, sometimes with a time that only its keeper knows.
fn text(rng: &mut Rng, resource: &Value) -> Kept {
    let created = rng.percent(20).then(|| Created::At(i64::try_from(rng.below(3)).unwrap()));
    Kept::of(resource, created)
}

/// Histories of worlds that `world` makes of seeds. Of so many percent of the changes of content the answer must be made of
/// the one before, in a family.
fn histories(
    (count, family, least): (u64, &str, usize),
    world: impl Fn(u64) -> (Vec<Value>, Options),
) {
    let (mut compared, mut contents) = (0, [0, 0]);
    for seed in 0..count {
        let (first, options) = world(seed * 2);
        let (second, _) = world(seed * 2 + 1);
        let both: Vec<Value> = first.iter().chain(&second).cloned().collect();
        let mut history = History::new(seed, &first, options);
        for _ in 0..5 {
            history.step(&both);
            history.policy(&both);
            let there = history.texts.values().map(|kept| &kept.resource).filter(is_policy);
            let policies: Vec<Value> = there.cloned().collect();
            for _ in 0..policies.len().min(3) {
                let policy = history.rng.pick(&policies);
                history.content(policy);
            }
        }
        compared += history.compared;
        let [all, shared] = history.contents.get(family).copied().unwrap_or_default();
        contents = [contents[0] + all, contents[1] + shared];
    }
    let [all, shared] = contents;
    println!("{compared} answers compared; {shared} of {all} changes of {family} share the rest");
    assert!(shared * 100 >= all * least, "{shared} of {all} changes of {family} share the rest");
    assert!(compared > 100, "hardly anything was compared: {compared}");
}

/// How many histories: more on request, for a long run.
fn count(usual: u64) -> u64 {
    std::env::var("OVERRULE_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

fn gateway_world(seed: u64) -> (Vec<Value>, Options) {
    let bytes: Vec<u8> = seed.to_le_bytes().iter().cycle().take(32).copied().collect();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let made = generate::world().new_tree(&mut runner).unwrap().current();
    (made.resources, Options::default())
}

/// One family under a profile of its own, compared with the others.
fn under(family: &str, profile: &str) -> Options {
    let profiles = [(family.to_owned(), profile.to_owned())].into();
    Options { profiles, compare: true, ..Options::default() }
}

#[test]
fn gateway_api() {
    histories((count(12), "gateway", 30), gateway_world);
}

#[test]
fn kuadrant_policies() {
    for profile in ["design", "latest", "operator"] {
        let world = |seed: u64| {
            let mut rng = Rng::new(seed, "live-kuadrant", 0);
            let one_block = profile == "operator";
            let shape = kuadrant::WorldShape { one_block, ..Default::default() };
            let resources = kuadrant::world(&mut rng, &shape);
            (resources, under("kuadrant", profile))
        };
        histories((count(6), "kuadrant", 40), world);
    }
}

#[test]
fn kgateway_policies() {
    for profile in ["design", "shipped"] {
        let world = |seed: u64| {
            let (resources, settings) = kgateway::world::objects(seed);
            let mut ours = overrule::SettingValues::default();
            let mut set = |key: &str, value: Value| ours.set("kgateway", key, value);
            set("globalPolicyNamespace", settings.global_policy_namespace.into());
            set("delegationWildcardNamespace", settings.delegation_wildcard_namespace.into());
            // Some are misspelt on purpose; such a setting is refused, and changes nothing.
            set("policyMerge", serde_json::json!(settings.policy_merge));
            (resources, Options { settings: ours, ..under("kgateway", profile) })
        };
        histories((count(8), "kgateway", 20), world);
    }
}

#[test]
fn envoy_gateway_policies() {
    for profile in ["design", "shipped"] {
        let world =
            |seed: u64| (envoygateway::world::objects(seed), under("envoygateway", profile));
        // Every change is resolved as a whole: claims and validation depend on all policies.
        histories((count(8), "envoygateway", 0), world);
    }
}

#[test]
fn proxies_of_meshes() {
    for profile in ["design", "2.13"] {
        let world = |seed: u64| (kuma::world::documents(seed), under("kuma", profile));
        histories((count(8), "kuma", 30), world);
    }
}

#[test]
fn families_together() {
    let world = |seed: u64| {
        let mut rng = Rng::new(seed, "live-all", 0);
        let mut all = kuadrant::world(&mut rng, &kuadrant::WorldShape::default());
        all.extend(kgateway::world::objects(seed).0);
        all.extend(envoygateway::world::objects(seed));
        all.extend(kuma::world::documents(seed).into_iter().take(20));
        (all, Options::default())
    };
    histories((count(4), "kuadrant", 0), world);
}

#[test]
fn with_assumptions() {
    let assuming = |(resources, options): (Vec<Value>, Options)| {
        (resources, Options { assume_missing: true, ..options })
    };
    histories((count(4), "gateway", 0), |seed| assuming(gateway_world(seed)));
    let world = |seed: u64| {
        let mut rng = Rng::new(seed, "live-assumed", 0);
        let mut all = kuadrant::world(&mut rng, &kuadrant::WorldShape::default());
        all.extend(kgateway::world::objects(seed).0);
        all.extend(kuma::world::documents(seed).into_iter().take(20));
        // What is gone is referred to, and comes back with some edit.
        all.retain(|r| r["kind"] != "Gateway" || rng.percent(50));
        assuming((all, Options::default()))
    };
    histories((count(2), "kuadrant", 0), world);
}

#[test]
fn a_text_may_change_its_name_and_its_content_at_once() {
    let kind = "apiVersion: overrule/v1\nkind: PolicyKind\nmetadata: {name: t}\n\
                spec: {group: a.io, kind: TPolicy, class: Inherited}\n";
    let policy = "apiVersion: a.io/v1\nkind: TPolicy\nmetadata: {name: p, namespace: shop}\n\
                  spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: g}}\n";
    let text = |key: &str, name: &str, text: &str| {
        let input = Input::new(name, text.as_bytes());
        KeyedText { key: key.into(), input, created: None }
    };
    let texts = vec![text("kind", "kind", kind), text("policy", "old", policy)];
    let mut workspace = Workspace::new(texts, Options::default());
    let changed = policy.replace("name: g", "name: h");
    let after = workspace.change(vec![Edit::Put(text("policy", "new", &changed))]);
    let inputs = vec![Input::new("kind", kind), Input::new("new", changed.as_bytes())];
    let scratch = Analysis::new(inputs, &Options::default());
    assert_eq!(everything(&after), everything(&scratch));
}

/// A text that is called as its key is, of no known age.
fn given(name: &str, text: &str) -> KeyedText {
    KeyedText { key: name.into(), input: Input::new(name, text.as_bytes()), created: None }
}

#[test]
fn ladders_without_the_changed_policy_keep_their_results() {
    let kinds = |kind: &str| {
        format!(
            "apiVersion: overrule/v1\nkind: PolicyKind\nmetadata: {{name: {}}}\n\
             spec: {{group: a.io, kind: {kind}, class: Inherited}}\n",
            kind.to_lowercase()
        )
    };
    let policy = |kind: &str, value: u8| {
        format!(
            "apiVersion: a.io/v1\nkind: {kind}\nmetadata: {{name: p, namespace: shop}}\nspec:\n  \
             targetRef: {{group: gateway.networking.k8s.io, kind: Gateway, name: g}}\n  \
             defaults: {{limit: {value}}}\n"
        )
    };
    let gateway = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n\
                   metadata: {name: g, namespace: shop}\nspec: {gatewayClassName: c, listeners: \
                   [{name: web, port: 80, protocol: HTTP}]}\n";
    let route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n\
                 metadata: {name: r, namespace: shop}\n\
                 spec: {parentRefs: [{name: g}], rules: [{name: a}]}\n";
    let mut texts: BTreeMap<&str, String> = [
        ("a-kind", kinds("APolicy")),
        ("b-kind", kinds("BPolicy")),
        ("a", policy("APolicy", 1)),
        ("b", policy("BPolicy", 1)),
        ("gateway", gateway.to_owned()),
        ("route", route.to_owned()),
    ]
    .into();
    let all = texts.iter().map(|(name, text)| given(name, text)).collect();
    let mut workspace = Workspace::new(all, Options::default());
    let before = Arc::clone(workspace.analysis());
    texts.insert("a", policy("APolicy", 2));
    let after = workspace.change(vec![Edit::Put(given("a", &texts["a"]))]);
    let inputs = texts.iter().map(|(name, text)| Input::new(*name, text.as_bytes())).collect();
    assert_eq!(everything(&after), everything(&Analysis::new(inputs, &Options::default())));
    let mut kept = Vec::new();
    for (kind, result) in after.gateway().kinds() {
        let (_, ladder) = after.gateway().contexts(kind).next().expect("the rule of the route");
        let [was, is] =
            [&*before, &*after].map(|a| a.gateway().effective(ladder).expect("a value"));
        kept.push((after.snapshot.text(result.kind), std::ptr::eq(was, is)));
    }
    assert_eq!(kept, [("APolicy", false), ("BPolicy", true)]);
}

/// Analyses made of each other, when policies of all levels say something else one after the other: on hundreds of ladders
/// or on one, stronger or weaker than they were.
#[test]
fn analyses_go_on_from_each_other() {
    let spec = FleetSpec {
        gateways: 1,
        listeners: 2,
        routes: 150,
        rules: 2,
        namespaces: 4,
        kinds: 1,
        policies: PerLevel { gateway: 3, listener: 4, route: 250, rule: 200 },
        conflicts: 20,
        per_file: 1,
        ..FleetSpec::bar8()
    };
    let mut texts: BTreeMap<String, String> = manifests(&spec, ManifestFormat::Yaml).collect();
    let all = texts.iter().map(|(name, text)| given(name, text)).collect();
    let mut workspace = Workspace::new(all, Options::default());
    let is_policy = |text: &str| text.contains("  targetRefs:\n");
    let policies: Vec<String> =
        texts.iter().filter(|(_, text)| is_policy(text)).map(|(name, _)| name.clone()).collect();
    // All of the gateway, some of the others, and one twice.
    let few = policies.iter().skip(3).step_by(150);
    let (mut many, mut kept) = (0, 0);
    for name in policies.iter().take(3).chain(few).chain(policies.first()) {
        let text = &texts[name];
        let text = if text.contains("  overrides:\n") {
            text.replace("  overrides:\n", "  defaults:\n")
        } else {
            text.replace("  defaults:\n", "  overrides:\n")
        };
        let text = text.replace("requests: ", "requests: 1").replace("issuer: \"", "issuer: \"x-");
        let before = Arc::clone(workspace.analysis());
        let whole = workspace.change(vec![Edit::Put(given(name, &text))]);
        texts.insert(name.clone(), text);
        let inputs = texts.iter().map(|(name, text)| Input::new(name.as_str(), text.as_bytes()));
        let scratch = Analysis::new(inputs.collect(), &Options::default());
        assert_eq!(everything(&whole), everything(&scratch), "after {name}");
        let (was, is) = (before.gateway(), whole.gateway());
        let policy = whole.policies::<Gep713>().unwrap().iter().position(|p| {
            whole.documents.sources.get(p.at.source).is_some_and(|s| s.name() == name.as_str())
        });
        let ladders = is.ladders_of(PolicyId(u32::try_from(policy.unwrap()).unwrap())).len();
        many += usize::from(ladders > 256);
        // Made of the one before: ladders without the policy have the very same result.
        let same = |l: &LadderId| match (was.effective(*l), is.effective(*l)) {
            (Some(was), Some(is)) => std::ptr::eq(was, is),
            _ => false,
        };
        kept += (0..).map(LadderId).take(is.ladders.len()).filter(same).count();
    }
    println!("{many} changes of many ladders, {kept} results kept");
    assert!(many > 1 && kept > 1_000, "{many} changes of many ladders, {kept} results kept");
}
