// SPDX-License-Identifier: Apache-2.0
//! In: forms of output, ways to write a target, pipes that are closed. Out: that a script can rely on them, with a server
//! too.

use std::io::Read as _;
use std::net::Ipv4Addr;
use std::process::Stdio;

use overrule_server::{Config, start};

use crate::common::{Ran, finish, folder, overrule, root, run, run_on};
use crate::{BROKEN, GOOD};

/// A text without the places of what it tells: a server has no files.
fn without_places(text: &str) -> Vec<&str> {
    let is_place = |word: &&str| {
        let place = word.trim_matches(['(', ')', ',']).rsplit_once(':');
        place.is_some_and(|(file, line)| {
            file.contains('/') && line.bytes().all(|b| b.is_ascii_digit())
        })
    };
    let is_json =
        |line: &&str| ["\"file\"", "\"line\"", "\"column\""].iter().any(|key| line.contains(key));
    let lines = text.lines().filter(|line| !is_json(line));
    lines.flat_map(str::split_whitespace).filter(|word| !is_place(word)).collect()
}

/// Runs a line without and with a server that has the same manifests. Both say the same.
fn both(files: &str, lines: &[&str]) -> Vec<Ran> {
    let config = Config {
        listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
        ephemeral: true,
        ..Config::default()
    };
    let server = start(config, vec![root().join(files)], overrule::Options::default()).unwrap();
    let url = format!("http://{}", server.address);
    let answer = |line: &&str| {
        let words = shlex::split(line).unwrap();
        let local = finish(overrule(&words).args(["-q", "-f", files]));
        let remote = finish(overrule(&words).args(["-q", "--server", &url]));
        assert_eq!(local.code, remote.code, "{line}: {remote:?}");
        assert_eq!(without_places(&local.out), without_places(&remote.out), "{line}");
        local
    };
    lines.iter().map(answer).collect()
}

#[test]
fn names_are_targets_again() {
    let lines =
        ["get all -o name", "effective -o name", "reach timeoutpolicy/infra/gw-timeouts -o name"];
    for listed in both("examples/shop", &lines) {
        assert_eq!(listed.code, Some(0));
        assert!(listed.out.lines().count() > 1, "{listed:?}");
        for name in listed.out.lines().filter(|name| !name.contains('#')) {
            let one = run(&format!("get {name} -o name -f examples/shop"));
            assert_eq!(one.out, format!("{name}\n"), "{one:?}");
        }
    }
    let refused = run("check -o name -f examples/shop");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("names are for `overrule get`"), "{refused:?}");
}

#[test]
fn what_a_template_takes_is_taken_from_the_json() {
    let lines = [
        "get policies -o 'jsonpath={range .items[*]}{.target}{\"\\n\"}{end}'",
        "effective httproute/shop/cart#checkout -o 'jsonpath={.items[0].spec.timeouts.request}'",
        "explain httproute/shop/cart#checkout -o jsonpath={.items[*].kinds[*].ladder[*].position}",
        "check -o jsonpath={.errors}",
        "graph -o jsonpath={.kind}",
    ];
    let answers = both("examples/shop", &lines);
    let said: Vec<&str> = answers.iter().map(|ran| ran.out.as_str()).collect();
    let policies = "backendtlspolicy/shop/payments-tls\ntimeoutpolicy/infra/gw-timeouts\n\
                    timeoutpolicy/shop/checkout-timeouts\n";
    assert_eq!(said, [policies, "30s", "1 2 1 2", "0", "Graph"]);
    let wrong = run("get -f examples/shop -o jsonpath={.items[");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("invalid jsonpath, character 9"), "{wrong:?}");
}

#[test]
fn a_target_may_be_two_words() {
    let pairs = [
        ("explain httproute cart -n shop", "explain httproute/shop/cart"),
        (
            "effective httproute cart#checkout -n shop",
            "effective httproute/shop/cart#checkout -n shop",
        ),
        ("get httproute cart -n shop", "get httproute/shop/cart -n shop"),
        ("reach timeoutpolicy gw-timeouts -n infra", "reach timeoutpolicy/infra/gw-timeouts"),
        ("graph gateway infra/edge", "graph gateway/infra/edge"),
    ];
    for (two, one) in pairs {
        let answers = both("examples/shop", &[two, one]);
        assert_eq!(answers[0].out, answers[1].out, "{two}");
        assert_eq!(answers[0].code, Some(0), "{two}");
    }
    let twice = run("explain httproute/shop/cart cart -f examples/shop");
    assert_eq!(twice.code, Some(2));
    assert!(twice.err.contains("names everything already"), "{twice:?}");
}

#[test]
fn check_takes_folders_and_others_say_how_they_are_named() {
    let named = run("check -f examples/shop");
    assert_eq!(run("check examples/shop").out, named.out);
    let elsewhere = run("effective examples/shop");
    assert_eq!(elsewhere.code, Some(1));
    assert!(elsewhere.err.contains("to read it: -f examples/shop"), "{elsewhere:?}");
}

#[test]
fn a_closed_pipe_keeps_what_was_found() {
    let dir = folder(&[("a.yaml", GOOD), ("b.yaml", BROKEN)]);
    assert_eq!(run_on(dir.path(), "check").code, Some(1));
    for line in ["check", "get all"] {
        let whole = run_on(dir.path(), line).code;
        let mut command = overrule(line.split_whitespace());
        command.arg("-f").arg(dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), whole, "{line}: {said}");
        assert!(!said.contains("output closed") && !said.contains("Broken pipe"), "{said}");
    }
}

#[test]
fn everybody_who_can_call_is_listed() {
    let to = "can --to dataplane/default/ledger-1";
    let answers = both("examples/access", &[to, "can --to dataplane/default/ledger-1 -o json"]);
    assert!(answers[0].out.contains("by rules[0].deny[0] of default/ledger-incident"));
    let list = answers[1].json();
    assert_eq!(list["kind"], "CallerList");
    assert_eq!(list["items"][0]["clients"][0], "dataplane/default/backend-1");
    // Whom the list names gets in, and nobody else of the input does.
    for client in ["backend-1", "ledger-1", "frontend-1"] {
        let client = format!("dataplane/default/{client}");
        let one = run(&format!("can {client} dataplane/default/ledger-1 -f examples/access"));
        let listed = list["items"][0]["clients"].as_array().unwrap().iter().any(|c| *c == *client);
        assert_eq!(one.out.starts_with("ALLOWED"), listed, "{one:?}");
    }
    let asked = run("can --to dataplane/default/ledger-1 --method GET -f examples/access");
    assert_eq!(asked.code, Some(2));
}

#[test]
fn a_service_is_the_proxies_behind_it() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec:\n  selector: {app: web}\n  \
                   ports: [{name: http, port: 80, targetPort: 8080}, {name: admin, port: 81, targetPort: 9000}]\n";
    let inbound = |port: u16, tags: &str| format!("{{port: {port}, tags: {{{tags}}}}}");
    let proxy = |name: &str, labels: &str, inbounds: &[String]| {
        format!(
            "---\ntype: Dataplane\nmesh: default\nname: {name}\nlabels: {{{labels}}}\nnetworking: {{address: 10.0.0.1, inbound: [{}]}}\n",
            inbounds.join(", ")
        )
    };
    let mut text = format!("{service}---\ntype: Mesh\nname: default\n");
    // Named by the injector, in the older and in the newer way, and only by its labels.
    text += &proxy(
        "a",
        "",
        &[inbound(8080, "kuma.io/service: web_shop_svc_80"), inbound(1, "kuma.io/service: other")],
    );
    let tags = "kuma.io/service: x, k8s.kuma.io/service-name: web, k8s.kuma.io/namespace: shop";
    text += &proxy("b", "", &[inbound(8080, tags)]);
    let labels = "app: web, k8s.kuma.io/namespace: shop";
    text += &proxy(
        "c",
        labels,
        &[inbound(8080, "kuma.io/service: c"), inbound(5000, "kuma.io/service: c")],
    );
    text += &proxy(
        "d",
        "app: web, k8s.kuma.io/namespace: other",
        &[inbound(8080, "kuma.io/service: d")],
    );
    let dir = folder(&[("a.yaml", &text)]);
    let called = |to: &str| {
        let ran = run_on(dir.path(), &format!("can nobody {to} -o jsonpath={{.items[*].to}}"));
        ran.out.replace("dataplane/default/", "")
    };
    assert_eq!(called("service/shop/web"), "a#8080 b#8080 c#8080");
    assert_eq!(called("service/shop/web#http"), "a#8080 b#8080 c#8080");
    assert_eq!(called("service/shop/web#admin"), "");
}
