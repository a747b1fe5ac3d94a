// SPDX-License-Identifier: Apache-2.0
//! In: rules on identities: half exact allows, a quarter prefix allows, a quarter exact denies. Out: instructions of a
//! decision for few and many rules, times against a linear scan and against `cedar-policy` in one run, and whether the
//! bars hold. Not here: Envoy.
//!
//! `cargo bench --manifest-path benches/access/Cargo.toml`, `-- --quick` for a small one. Every answer names who decides.
//! Instructions are counted by valgrind, where there is one.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

#[path = "../../../crates/overrule/benches/report/mod.rs"]
mod report;

use std::fmt::Write as _;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::Duration;

use cedar_policy::{Authorizer, Context, Entities, EntityUid, PolicySet};
use overrule_access::{
    AccessRule, Answer, Compiled, Effect, Identity, Match, PathMatch, Request, RuleSource, Verdict,
    naive,
};
use report::{Report, best};

fn main() -> ExitCode {
    if let Some(rules) = argument("--count") {
        count_among(rules, shape());
        return ExitCode::SUCCESS;
    }
    let quick = std::env::args().any(|a| a == "--quick");
    let mut report = Report::default();
    for shape in [Shape::Segments, Shape::Text, Shape::Http] {
        instructions(shape, 10, if quick { 1_000 } else { 100_000 }, &mut report);
    }
    scan(1_000, 8.0, quick, &mut report);
    if !quick {
        scan(10_000, 60.0, quick, &mut report);
    }
    cedar(if quick { 50 } else { 1_000 }, quick, &mut report);
    building(if quick { 1_000 } else { 100_000 }, &mut report);
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The number after a flag.
fn argument(flag: &str) -> Option<usize> {
    std::env::args().skip_while(|a| a != flag).nth(1).and_then(|n| n.parse().ok())
}

/// What the rules ask for.
#[derive(Clone, Copy)]
enum Shape {
    /// Identities; prefixes end with a slash.
    Segments,
    /// Identities; prefixes end within a segment, at different lengths.
    Text,
    /// Identities with a method or a path.
    Http,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::Segments => "segments",
            Self::Text => "text",
            Self::Http => "http",
        }
    }
}

fn shape() -> Shape {
    let is = |shape: &Shape| std::env::args().any(|a| a == shape.name());
    [Shape::Text, Shape::Http].into_iter().find(is).unwrap_or(Shape::Segments)
}

/// Half exact allows, a quarter prefix allows, a quarter exact denies, each in a namespace of its own.
fn rules(count: usize, shape: Shape) -> Vec<AccessRule> {
    let rule = |n: usize| {
        let exact = Identity::Exact(format!("{}sa/web", namespace(n)).into());
        let (effect, identity) = match n % 4 {
            0 | 1 => (Effect::Allow, exact),
            2 => (Effect::Allow, Identity::Prefix(prefix(n, shape).into())),
            _ => (Effect::Deny, exact),
        };
        let mut matches = Match { identity: Some(identity), ..Match::default() };
        if matches!(shape, Shape::Http) {
            match n % 8 {
                0..4 => matches.method = Some("GET".into()),
                _ => matches.path = Some(PathMatch::Prefix(format!("/api/v{}", n % 5).into())),
            }
        }
        let number = u32::try_from(n).expect("few");
        AccessRule { effect, matches, source: RuleSource(number), policy: number / 10 }
    };
    naive::in_list_order((0..count).map(rule).collect())
}

fn namespace(n: usize) -> String {
    format!("spiffe://trust-domain.mesh/ns/team-{n}-dev/")
}

fn prefix(n: usize, shape: Shape) -> String {
    let namespace = namespace(n);
    match shape {
        // Longer numbers make longer prefixes, but none is the beginning of another.
        Shape::Text => namespace.trim_end_matches("dev/").to_owned(),
        Shape::Segments | Shape::Http => namespace,
    }
}

/// How many identities are asked for.
const ASKED: usize = 10_000;

/// Identities all over the rules, one in eight of them known to none.
fn identities(count: usize) -> Vec<String> {
    let identity = |n: usize| match n % 8 {
        7 => format!("spiffe://trust-domain.mesh/ns/other-{n}/sa/web"),
        _ => format!("{}sa/web", namespace(n * 7_919 % count)),
    };
    (0..ASKED).map(identity).collect()
}

fn request(identity: &str) -> Request<'_> {
    Request {
        identity: Some(identity),
        sni: Some("backend.example"),
        method: Some("GET"),
        path: Some("/api/v1/users"),
        ..Request::default()
    }
}

#[inline(never)]
fn decide_all(compiled: &Compiled, identities: &[String]) -> usize {
    let allowed = |identity: &&String| {
        let Answer { verdict, by, by_tree, .. } = compiled.decide(&request(identity));
        black_box((by, by_tree));
        verdict == Verdict::Allowed
    };
    identities.iter().filter(allowed).count()
}

/// What runs under valgrind.
fn count_among(count: usize, shape: Shape) {
    let compiled = Compiled::new(&rules(count, shape));
    let allowed = decide_all(&compiled, &identities(count));
    assert!(allowed > ASKED / 8 && allowed < ASKED, "some of each: {allowed}");
}

/// Instructions of a decision among few and many rules, each counted in a process of its own.
fn instructions(shape: Shape, few: usize, many: usize, report: &mut Report) {
    let name = shape.name();
    let counted = [few, many].map(|rules| counted(rules, shape));
    let [Some(one), Some(two)] = counted else {
        report.line(format!("  {name}: not counted, there is no valgrind that works here"));
        return;
    };
    for (rules, count) in [(few, one), (many, two)] {
        report.line(format!("  {name}, a decision among {rules} rules: {count:.1} instructions"));
    }
    let what = format!("{name}, a decision among {many} rules instead of {few}: instructions");
    report.at_most(what, two / one, 1.3);
}

fn counted(rules: usize, shape: Shape) -> Option<f64> {
    let program = std::env::current_exe().expect("the bench has a file");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file=/dev/null"]);
    valgrind.arg("--toggle-collect=*decide_all*").arg(program);
    let output = valgrind.args(["--count", &rules.to_string(), shape.name()]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let count = text.lines().find_map(|line| line.split_once("Collected :"))?.1.trim();
    let count: f64 = count.parse().ok()?;
    assert!(count > ASKED as f64, "nothing was counted: {text}");
    Some(count / ASKED as f64)
}

/// Time of one decision, the best of some rounds over the identities.
fn per_decision(rounds: usize, identities: &[String], mut all: impl FnMut(&[String])) -> Duration {
    best(rounds, || all(identities)).0 / u32::try_from(identities.len()).expect("few")
}

/// What the scan reads of a rule, and no more.
struct Line {
    text: Box<str>,
    prefix: bool,
    verdict: Verdict,
    source: RuleSource,
}

fn lines(rules: &[AccessRule]) -> Vec<Line> {
    let line = |rule: &AccessRule| {
        let (text, prefix) = match rule.matches.identity.clone().expect("an identity") {
            Identity::Exact(text) => (text, false),
            Identity::Prefix(text) => (text, true),
        };
        let verdict = if rule.effect.allows() { Verdict::Allowed } else { Verdict::Denied };
        Line { text, prefix, verdict, source: rule.source }
    };
    rules.iter().map(line).collect()
}

/// The scan that the lists mean: denies, then allows, the first that fits. It names who decides, and nothing else: no list
/// of all matches, no second attribution, nothing is normalised or allocated.
fn scanned(lines: &[Line], identity: &str) -> (Verdict, Option<RuleSource>) {
    let fits = |line: &&Line| match line.prefix {
        true => identity.starts_with(&*line.text),
        false => *identity == *line.text,
    };
    lines.iter().find(fits).map_or((Verdict::Denied, None), |l| (l.verdict, Some(l.source)))
}

fn scan(count: usize, bar: f64, quick: bool, report: &mut Report) {
    let rules = rules(count, Shape::Segments);
    let compiled = Compiled::new(&rules);
    let lines = lines(&rules);
    let identities = identities(count);
    for identity in identities.iter().take(500) {
        let answer = compiled.decide(&request(identity));
        assert_eq!((answer.verdict, answer.by), scanned(&lines, identity));
    }
    let (rounds, some) = if quick { (3, 500) } else { (7, 4_000) };
    let ours = per_decision(rounds * 3, &identities, |all| {
        black_box(decide_all(&compiled, all));
    });
    let theirs = per_decision(rounds, &identities[..some], |all| {
        for identity in all {
            black_box(scanned(&lines, identity));
        }
    });
    row(report, &format!("compiled, {count} rules"), ours);
    row(report, &format!("linear scan, {count} rules"), theirs);
    let share = bar * ours.as_secs_f64() / theirs.as_secs_f64();
    let times = theirs.as_secs_f64() / ours.as_secs_f64();
    report.at_most(
        format!("{bar:.0} decisions of {count} rules, in scans ({times:.0}x)"),
        share,
        1.0,
    );
}

fn row(report: &mut Report, what: &str, time: Duration) {
    report.line(format!("  {what:<44}{:>12.1} ns", time.as_secs_f64() * 1e9));
}

/// The same rules as permits and forbids, one policy each.
fn cedar_policies(rules: &[AccessRule]) -> PolicySet {
    let mut text = String::new();
    for rule in rules {
        let verb = if rule.effect.allows() { "permit" } else { "forbid" };
        match rule.matches.identity.as_ref().expect("an identity") {
            Identity::Exact(id) => {
                writeln!(text, "{verb}(principal == Spiffe::\"{id}\", action, resource);")
            }
            Identity::Prefix(id) => writeln!(
                text,
                "{verb}(principal, action, resource) when {{ context.id like \"{id}*\" }};"
            ),
        }
        .expect("text");
    }
    text.parse().expect("policies")
}

fn cedar_request(identity: &str) -> cedar_policy::Request {
    let uid = |kind: &str, id: &str| -> EntityUid {
        format!("{kind}::\"{id}\"").parse().expect("a name")
    };
    let id = cedar_policy::RestrictedExpression::new_string(identity.to_owned());
    let context = Context::from_pairs([("id".to_owned(), id)]).expect("a context");
    let (action, resource) = (uid("Action", "call"), uid("Service", "backend"));
    cedar_policy::Request::new(uid("Spiffe", identity), action, resource, context, None)
        .expect("a request")
}

fn cedar(count: usize, quick: bool, report: &mut Report) {
    const BAR: f64 = 2_000.0;
    let rules = rules(count, Shape::Segments);
    let compiled = Compiled::new(&rules);
    let identities = identities(count);
    let policies = cedar_policies(&rules);
    let (authorizer, entities) = (Authorizer::new(), Entities::empty());
    // Requests are made before the clock runs.
    let some = if quick { 20 } else { 100 };
    let requests: Vec<_> = identities.iter().take(some).map(|i| cedar_request(i)).collect();
    let (time, answers) = best(if quick { 1 } else { 5 }, || {
        let answer = |r| authorizer.is_authorized(r, &policies, &entities).decision();
        requests.iter().map(answer).collect::<Vec<_>>()
    });
    for (identity, answer) in identities.iter().zip(&answers) {
        let allowed = compiled.decide(&request(identity)).verdict == Verdict::Allowed;
        assert_eq!(allowed, *answer == cedar_policy::Decision::Allow, "{identity}");
    }
    let theirs = time / u32::try_from(some).expect("few");
    let ours = per_decision(20, &identities, |all| {
        black_box(decide_all(&compiled, all));
    });
    row(report, &format!("cedar-policy, {count} rules"), theirs);
    let share = BAR * ours.as_secs_f64() / theirs.as_secs_f64();
    let times = theirs.as_secs_f64() / ours.as_secs_f64();
    if quick {
        report.line(format!("  {times:.0}x of cedar-policy at {count} rules"));
    } else {
        let what = format!("{BAR:.0} decisions of {count} rules, in cedar's ({times:.0}x)");
        report.at_most(what, share, 1.0);
    }
}

/// Making the compiled form.
fn building(count: usize, report: &mut Report) {
    for shape in [Shape::Segments, Shape::Text, Shape::Http] {
        let rules = rules(count, shape);
        let (time, compiled) = best(3, || Compiled::new(&rules));
        assert_eq!(compiled.len(), count);
        report.row(&format!("{}, compiling {count} rules", shape.name()), time, None);
    }
}
