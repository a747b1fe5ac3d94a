// SPDX-License-Identifier: Apache-2.0
//! What is found below a folder, and what the world can put in the way.

use std::os::unix::fs::symlink;

use crate::common::{Ran, folder, run_on, write};
use crate::{BROKEN, GOOD};

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: other, namespace: shop}\n";

fn names(ran: &Ran) -> Vec<String> {
    let list = ran.json();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|i| i["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_folder_is_read_as_a_reviewer_reads_it() {
    let dir = folder(&[
        ("a.yaml", GOOD),
        ("sub/deep/b.yml", SERVICE),
        (
            "c.json",
            "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"json\"}}",
        ),
        ("README.md", "not: [yaml"),
        (".hidden/x.yaml", BROKEN),
        ("node_modules/x.yaml", BROKEN),
        ("ignored/x.yaml", BROKEN),
        (".overruleignore", "ignored/\n"),
    ]);
    let ran = run_on(dir.path(), "get services -o json");
    assert_eq!(
        (ran.code, names(&ran)),
        (Some(0), vec!["json".into(), "cart".into(), "other".into()])
    );
    assert_eq!(ran.err, "", "nothing of what is left out is mentioned");
    // A file that is named is read whatever its ending.
    let ran = run_on(&dir.path().join("README.md"), "check --short");
    assert!(ran.code == Some(1) && ran.out.contains("README.md:1:"), "{ran:?}");
}

#[test]
fn a_file_named_twice_is_read_once() {
    let dir = folder(&[("a.yaml", GOOD)]);
    let file = dir.path().join("a.yaml");
    let ran = run_on(dir.path(), &format!("check -f {} -f {0}", file.display()));
    assert!(ran.code == Some(0) && ran.err.contains("in 1 file"), "{ran:?}");
}

#[test]
fn links_are_followed_inside_and_refused_outside() {
    let outside = folder(&[("secret.yaml", BROKEN)]);
    let dir = folder(&[("a.yaml", GOOD), ("real/b.yaml", SERVICE)]);
    symlink("..", dir.path().join("real/loop")).unwrap();
    symlink(dir.path(), dir.path().join("real/absolute-loop")).unwrap();
    symlink("real/b.yaml", dir.path().join("alias.yaml")).unwrap();
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink(outside.path().join("secret.yaml"), dir.path().join("out.yaml")).unwrap();
    let ran = run_on(dir.path(), "check");
    assert_eq!(ran.code, Some(0), "what was refused on purpose is no failure: {ran:?}");
    assert!(!ran.out.contains("OV1001") && !ran.out.contains("OV1102"), "{ran:?}");
    for (path, why) in [
        ("out:", "out of the given folder"),
        ("out.yaml:", "out of the given folder"),
        ("loop:", "above it"),
    ] {
        assert!(ran.err.lines().any(|l| l.contains(path) && l.contains(why)), "{path} {ran:?}");
    }
    assert_eq!(run_on(dir.path(), "check -q").err, "", "notes are silenced");
}

#[test]
fn a_link_to_nowhere_is_3_and_the_rest_is_answered() {
    let dir = folder(&[("a.yaml", GOOD)]);
    symlink("nowhere.yaml", dir.path().join("dangling.yaml")).unwrap();
    let ran = run_on(dir.path(), "effective");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.out.contains("request: 5s"), "{ran:?}");
    assert!(ran.err.contains("dangling.yaml: no such file or folder"), "{ran:?}");
}

#[test]
fn a_folder_may_be_called_like_a_file() {
    let dir = folder(&[("x.yaml/a.yaml", GOOD)]);
    assert_eq!(names(&run_on(dir.path(), "get httproutes -o json")), ["cart"]);
    assert_eq!(names(&run_on(&dir.path().join("x.yaml"), "get httproutes -o json")), ["cart"]);
}

#[test]
fn an_empty_folder_is_fine_and_says_so() {
    let dir = folder(&[]);
    for line in ["check", "effective", "get", "get all", "graph"] {
        let ran = run_on(dir.path(), line);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{line}: {ran:?}");
        assert!(ran.err.contains("no resources found in"), "{line}: {ran:?}");
    }
}

#[test]
fn a_chart_is_named_and_not_misread() {
    let dir = folder(&[
        ("a.yaml", GOOD),
        ("chart/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n"),
        ("chart/values.yaml", "replicas: 3\n"),
        (
            "chart/templates/route.yaml",
            "{{- if .Values.on }}\napiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\n{{- end }}\n",
        ),
    ]);
    let ran = run_on(dir.path(), "check --short");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.out.matches("OV1007").count(), 1, "{ran:?}");
    assert!(ran.out.contains("helm template") && !ran.out.contains("error["), "{ran:?}");
}

#[test]
fn a_kustomization_is_named() {
    let dir = folder(&[
        ("kustomization.yaml", "resources: [a.yaml]\nnamePrefix: eu-\n"),
        ("a.yaml", GOOD),
    ]);
    let ran = run_on(dir.path(), "check --short");
    assert!(
        ran.code == Some(0) && ran.out.contains("kustomization.yaml:1:1: warning[OV1108]"),
        "{ran:?}"
    );
    assert!(ran.out.contains("kustomize build"), "{ran:?}");
}

/// Files of a repository that nobody wrote for a cluster, or not for policies.
const OTHERS: [(&str, &str); 14] = [
    (
        "rbac.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: system:reader\n  labels: {a: 1}\n",
    ),
    ("job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: migrate-\n"),
    ("kubeadm.yaml", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"),
    ("kind.yaml", "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes: []\n"),
    ("skaffold.yaml", "apiVersion: skaffold/v4\nkind: Config\nbuild: {}\n"),
    ("notes/v1.yaml", "bug fixes: |\n  none\n? odd\n"),
    ("package.json", "{\"name\": \"web\", \"type\": \"module\", \"private\": true}"),
    ("clusters.yaml", "- name: a\n  type: EDS\n- {name: a, type: STATIC}\n"),
    (
        "openapi.json",
        "{\"openapi\": \"3.1.0\", \"definitions\": {\"a\": {\"properties\": {\"apiVersion\": {\"type\": \"string\"}}}}}",
    ),
    (".github-ish/ci.yml", "on: push\njobs: {a: {steps: [{run: 'x'}, {with: {y: no}}]}}\n"),
    ("broken.json", "{\"a\": [1, 2"),
    ("broken.yaml", "key: \"never closed\nother: [\n"),
    ("latin.yaml", "name: caf\u{e9}\n"),
    (
        "flux.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec: {path: ./apps}\n",
    ),
];

#[test]
fn what_is_none_of_ours_passes_in_one_line() {
    let dir = folder(&[("a.yaml", GOOD)]);
    for (name, text) in OTHERS {
        let path = dir.path().join(name.trim_start_matches('.'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let bytes: Vec<u8> = match name {
            "latin.yaml" => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect(),
            _ => text.as_bytes().to_vec(),
        };
        write(&path, &bytes);
    }
    let ran = run_on(dir.path(), "check --short");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.err.contains("6 resources in 15 files"), "{ran:?}");
    assert!(
        ran.err.contains("14 documents passed over") && ran.err.lines().count() == 2,
        "{ran:?}"
    );
    let ran = run_on(dir.path(), "check -v");
    for (name, _) in OTHERS {
        let name = name.trim_start_matches('.');
        let told = |l: &str| l.contains("passed over: ") && l.contains(name);
        assert_eq!(ran.err.lines().filter(|l| told(l)).count(), 1, "{name}: {ran:?}");
    }
    assert_eq!(run_on(dir.path(), "check -q").err, "");
}

#[test]
fn a_broken_file_of_ours_is_an_error_and_hides_nothing() {
    let broken = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: [\n";
    let dir = folder(&[("a.yaml", &format!("{GOOD}---\n{broken}---\n{SERVICE}"))]);
    let ran = run_on(dir.path(), "check --short");
    assert!(ran.code == Some(1) && ran.out.contains("OV1001"), "{ran:?}");
    assert!(ran.err.contains("7 resources"), "{ran:?}");
    // Whatever is named is judged.
    let dir = folder(&[("notes.yaml", "a: [\n")]);
    assert_eq!(run_on(dir.path(), "check").code, Some(0));
    assert_eq!(run_on(&dir.path().join("notes.yaml"), "check").code, Some(1));
}

#[test]
fn variants_are_named_once_and_each_is_checked() {
    let (dev, prod) = (GOOD.to_owned(), GOOD.replace("5s", "7s"));
    let dir = folder(&[("dev/a.yaml", &dev), ("prod/a.yaml", &prod), ("same/a.yaml", &dev)]);
    let ran = run_on(dir.path(), "check --short");
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 1), "{ran:?}");
    assert!(ran.out.contains("note[OV1116]") && ran.out.contains("prod"), "{ran:?}");
    let ran = run_on(dir.path(), "effective");
    assert!(
        ran.out.contains("request: 5s") && ran.err.contains("defined in several files"),
        "{ran:?}"
    );
    let ran = run_on(&dir.path().join("prod"), "effective");
    assert!(ran.out.contains("request: 7s") && !ran.err.contains("several"), "{ran:?}");
    // What is wrong in a variant is found, and a route of `prod` means the gateway of `prod`.
    let other =
        prod.replace("name: web", "name: other").replace("sectionName: web", "sectionName: other");
    let dir = folder(&[("dev/a.yaml", &dev), ("prod/a.yaml", &other)]);
    let ran = run_on(dir.path(), "check --short");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let wrong = prod.replace("port: 80", "port: 800000");
    let dir = folder(&[("dev/a.yaml", &dev), ("prod/a.yaml", &wrong)]);
    let ran = run_on(dir.path(), "check --short");
    assert!(
        ran.code == Some(1) && ran.out.contains("prod/a.yaml") && ran.out.contains("OV1107"),
        "{ran:?}"
    );
}

#[test]
fn a_placeholder_is_unknown_and_not_wrong() {
    let route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: \"${APP}\", namespace: \"${NS}\"}\nspec:\n  hostnames: [\"${HOST}\"]\n";
    let dir = folder(&[("a.yaml", GOOD), ("b.yaml", route)]);
    let ran = run_on(dir.path(), "check --short");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.out.matches("note[OV1114]").count(), 3, "{ran:?}");
    assert!(!ran.out.contains("error[") && ran.out.contains("${HOST}"), "{ran:?}");
}

#[test]
fn a_patch_of_a_kustomization_is_no_resource() {
    let patch = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: infra}\nspec: {listeners: []}\n";
    let dir = folder(&[
        ("base/a.yaml", GOOD),
        ("prod/kustomization.yaml", "resources: [../base]\npatches: [{path: gateway.yaml}]\n"),
        ("prod/gateway.yaml", patch),
    ]);
    let ran = run_on(dir.path(), "check --short");
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 1), "{ran:?}");
    assert!(ran.out.contains("warning[OV1108]") && ran.out.contains("kustomize build"), "{ran:?}");
}

#[test]
fn byte_order_marks_and_windows_lines_change_no_place() {
    let text = GOOD
        .replace("name: edge, sectionName", "")
        .replace("kind: Gateway, name: edge}", "kind: Gateway, name: egde}");
    let plain = folder(&[("a.yaml", &text)]);
    let expected = run_on(plain.path(), "check -o json").json()["items"].clone();
    assert_eq!(expected[0]["code"], "OV1301");
    let variants = [
        format!("\u{feff}{text}"),
        text.replace('\n', "\r\n"),
        format!("\u{feff}{}", text.replace('\n', "\r\n")),
    ];
    for variant in variants {
        let dir = folder(&[("a.yaml", &variant)]);
        let found = run_on(dir.path(), "check -o json").json()["items"].clone();
        for key in ["line", "column"] {
            assert_eq!(found[0]["at"][key], expected[0]["at"][key], "{variant:?}");
        }
        assert_eq!(found.as_array().unwrap().len(), 1, "{variant:?}");
    }
}

#[test]
fn kinds_can_be_kept_apart() {
    let (kind, rest) = GOOD.split_once("---\n").unwrap();
    let dir = folder(&[("manifests/a.yaml", rest), ("kinds/timeout.yaml", kind)]);
    let manifests = dir.path().join("manifests");
    let without = run_on(&manifests, "check --short");
    assert!(without.out.contains("OV1313"), "{without:?}");
    let kinds = dir.path().join("kinds");
    let with = run_on(&manifests, &format!("effective --kinds {}", kinds.display()));
    assert!(with.out.contains("request: 5s"), "{with:?}");
    let wrong = run_on(&manifests, &format!("check --short --kinds {}", manifests.display()));
    assert!(wrong.code == Some(1) && wrong.out.contains("OV1317"), "{wrong:?}");
}

#[test]
fn namespaces_and_labels_narrow_the_answer() {
    let other =
        GOOD.replace("namespace: shop", "namespace: other").replace("app: cart", "app: other");
    let (_, other) = other.split_once("---\n").unwrap();
    let other = other.split_once("---\n").unwrap().1.to_owned();
    let dir = folder(&[("a.yaml", GOOD), ("b.yaml", &other)]);
    let count = |line: &str| {
        let ran = run_on(dir.path(), line);
        ran.json()["items"].as_array().unwrap().len()
    };
    assert_eq!(count("get httproutes -o json"), 2);
    assert_eq!(count("get httproutes -o json -n shop"), 1);
    assert_eq!(count("get httproutes -o json -n shop -A"), 2);
    assert_eq!(count("get httproutes -o json -l app=cart"), 1);
    assert_eq!(count("effective -o json -l app!=cart"), 1);
    assert_eq!(count("effective -o json -n other"), 1);
    assert_eq!(run_on(dir.path(), "explain httproute/cart -n other").code, Some(0));
}

#[test]
fn a_large_file_is_no_problem() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("a.yaml"), crate::many(20_000).as_bytes());
    let ran = run_on(dir.path(), "check");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("20006 resources"), "{}", ran.err);
}
