// SPDX-License-Identifier: Apache-2.0
//! In: bootstraps for rules of all kinds. Out: a real Envoy finds them valid. The binary is the one `OVERRULE_ENVOY`
//! names, or the one the `proof` crate installed; `openssl` makes the certificate. Without them the test says that it did
//! not run.
#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation shall stop the test"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test may look at its environment and say so"
)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use overrule_access::{AccessRule, Effect, Identity, Match, PathMatch};
use overrule_envoy::{
    EnvoyInbound, FilterForm, FilterInput, FilterOptions, HostPort, LegacyInput, LegacySubset,
    LegacyTag, Projection, Protocol, Release, SubsetAction, TlsFiles, Trust, Upstream, Version,
    bootstrap, filters, json, legacy,
};
use support::{exact, names, prefix, rule};

struct Lab {
    envoy: PathBuf,
    directory: tempfile::TempDir,
}

impl Lab {
    fn new() -> Option<Self> {
        let home = std::env::var("HOME").unwrap_or_default();
        let cache = std::env::var("XDG_CACHE_HOME").unwrap_or_else(|_| format!("{home}/.cache"));
        let installed = format!("{cache}/overrule/envoy-1.40.0/envoy/_bin/envoy");
        let envoy = PathBuf::from(std::env::var("OVERRULE_ENVOY").unwrap_or(installed));
        let lab = Self { envoy, directory: tempfile::tempdir().unwrap() };
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-days", "1", "-subj", "/CN=test"])
            .args(["-keyout", &lab.file("key"), "-out", &lab.file("crt")])
            .output();
        let ready = lab.envoy.exists() && made.is_ok_and(|made| made.status.success());
        if !ready {
            eprintln!("did not run: needs Envoy at {} and openssl", lab.envoy.display());
        }
        ready.then_some(lab)
    }

    fn file(&self, name: &str) -> String {
        self.directory.path().join(name).to_string_lossy().into_owned()
    }

    fn check(&self, config: &str) -> Result<(), String> {
        let path = self.file("config.json");
        std::fs::write(&path, config).unwrap();
        let mut command = Command::new(&self.envoy);
        command.args(["--mode", "validate", "--log-level", "error", "-c"]).arg(Path::new(&path));
        let output = command.output().unwrap();
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// With everything a bootstrap can vary in.
    fn check_all(&self, projection: &Projection<'_>, about: &str) -> usize {
        let [certificate, key] = ["crt", "key"].map(|name| self.file(name));
        let server = HostPort { address: "127.0.0.1", port: 1 };
        let domains = [("trust.mesh", certificate.as_str()), ("other.mesh", &certificate)];
        let variants = [
            (Upstream::Envoy, Trust::Bundle(&certificate), false),
            (Upstream::Server(server), Trust::Domains(&domains), true),
            (Upstream::ServerOnData(server), Trust::Bundle(&certificate), true),
        ];
        for (upstream, trust, tell) in variants {
            let any = HostPort { address: "127.0.0.1", port: 0 };
            let tls = TlsFiles { certificate: &certificate, key: &key, trust };
            let inbound =
                EnvoyInbound { name: "in:1", listen: any, admin: any, tls, upstream, tell };
            let config = json(&bootstrap(&inbound, projection)).unwrap();
            if let Err(error) = self.check(&config) {
                panic!("{about} {upstream:?}: {error}\n{config}");
            }
        }
        variants.len()
    }
}

fn all_kinds() -> Vec<AccessRule> {
    let path = |path: PathMatch, of: Match| Match { path: Some(path), ..of };
    let method = |name: &str, of: Match| Match { method: Some(name.into()), ..of };
    let sni = |of: Match| Match { sni: Some("a.io".into()), ..of };
    let of = [
        exact("spiffe://t/a"),
        exact(""),
        prefix("spiffe://t/"),
        prefix(""),
        method("GET", Match::default()),
        method("GET", exact("spiffe://t/a")),
        method("POST", path(PathMatch::Prefix("/a".into()), prefix("spiffe://t/n/"))),
        path(PathMatch::Exact("/".into()), Match::default()),
        path(PathMatch::Prefix("/".into()), exact("spiffe://t/b")),
        path(PathMatch::Exact("".into()), exact("spiffe://t/b")),
        path(PathMatch::Prefix("".into()), exact("spiffe://t/b")),
        sni(Match::default()),
        sni(method("PUT", path(PathMatch::Exact("/x".into()), exact("spiffe://t/c")))),
    ];
    let effects = [Effect::Deny, Effect::Allow, Effect::AllowWithShadowDeny];
    let pairs = effects.into_iter().flat_map(|e| of.iter().map(move |m| (e, m.clone())));
    (0..).zip(pairs).map(|(n, (effect, matches))| rule(effect, matches, n % 5)).collect()
}

#[test]
fn envoy_takes_what_we_write() {
    let Some(lab) = Lab::new() else { return };
    let all = all_kinds();
    let known = |r: &&AccessRule| {
        r.matches.identity.as_ref().is_some_and(|id| *id != Identity::Prefix("".into()))
    };
    let kuma: Vec<_> = all.iter().filter(known).cloned().collect();
    let first = [all[0].clone()];
    let names = names(4).into_iter().chain(["kri_mtp_x.y z_".to_owned()]).collect::<Vec<_>>();
    let mut count = 0;
    for protocol in [Protocol::Http, Protocol::Tcp] {
        let forms = [
            (FilterForm::List, &all[..]),
            (FilterForm::Tree, &all[..]),
            (FilterForm::Kuma(Release::V2_13), &kuma[..]),
            (FilterForm::List, &first[..]),
            (FilterForm::Tree, &first[..]),
            (FilterForm::List, &[]),
            (FilterForm::Tree, &[]),
            (FilterForm::Kuma(Release::V2_14), &[]),
        ];
        for (form, rules) in forms {
            let input = FilterInput { rules, names: &names, protocol, stat_prefix: "in:1" };
            let version = Some(Version::RESUMES);
            let options =
                FilterOptions { form, version, tell_allows: true, ..FilterOptions::default() };
            let projection = filters(&input, &options);
            assert_eq!(projection.form, form);
            count += lab.check_all(&projection, &format!("{protocol:?} {form:?}"));
        }
    }
    eprintln!("{count} bootstraps");
}

#[test]
fn envoy_takes_classic_rules() {
    let Some(lab) = Lab::new() else { return };
    let tag = |not| LegacyTag { key: "kuma.io/service".to_owned(), value: "a".to_owned(), not };
    let all = [
        LegacySubset { tags: vec![tag(false)], action: SubsetAction::Deny },
        LegacySubset { tags: vec![tag(true)], action: SubsetAction::AllowWithShadowDeny },
        LegacySubset { tags: Vec::new(), action: SubsetAction::Deny },
        LegacySubset { tags: Vec::new(), action: SubsetAction::Allow },
    ];
    for protocol in [Protocol::Http, Protocol::Tcp] {
        for rules in [&all[..], &[]] {
            for form in [FilterForm::List, FilterForm::Kuma(Release::V2_13)] {
                let input = LegacyInput { rules, mesh: "m", protocol, stat_prefix: "in" };
                let projection =
                    legacy(&input, &FilterOptions { form, ..FilterOptions::default() });
                lab.check_all(&projection, &format!("{protocol:?} {form:?}"));
            }
        }
    }
}

/// What makes the test above one that can fail.
#[test]
fn envoy_refuses_an_empty_predicate() {
    let Some(lab) = Lab::new() else { return };
    let rules = [rule(Effect::Allow, Match { method: Some("GET".into()), ..Match::default() }, 0)];
    let names = names(1);
    let input =
        FilterInput { rules: &rules, names: &names, protocol: Protocol::Tcp, stat_prefix: "in" };
    let form = FilterForm::Kuma(Release::V2_13);
    let projection = filters(&input, &FilterOptions { form, ..FilterOptions::default() });
    assert!(projection.refused());
    let [certificate, key] = ["crt", "key"].map(|name| lab.file(name));
    let tls = TlsFiles { certificate: &certificate, key: &key, trust: Trust::Bundle(&certificate) };
    let any = HostPort { address: "127.0.0.1", port: 0 };
    let inbound = EnvoyInbound {
        name: "in",
        listen: any,
        admin: any,
        tls,
        upstream: Upstream::Envoy,
        tell: false,
    };
    let error = lab.check(&json(&bootstrap(&inbound, &projection)).unwrap()).unwrap_err();
    assert!(error.contains("Predicate"), "{error}");
}
