// SPDX-License-Identifier: Apache-2.0
//! In: settings by flag, environment and file, right and wrong. Out: which one counts, and what is said of wrong ones. Not
//! here: what settings do while the server runs.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use crate::ask::Ask;
use crate::manifests::ground;
use crate::number;
use crate::random::Random;
use crate::server::{Ran, Start, finish, overrule};

/// How many first starts are cut short, twice each.
const FIRST_STARTS: usize = 15;

fn file(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Whether a body of two kilobytes is taken.
fn takes_much(start: &Start) -> bool {
    let server = start.run();
    let body = format!("# {}\n{}", "x".repeat(2000), "type: Mesh\nname: m\n");
    let answer = server.ask(&Ask::new("PUT", "/v1/resources/mesh/m").body(&body));
    match answer.status {
        201 => true,
        413 => false,
        _ => panic!("{answer:?}"),
    }
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let folder = TempDir::new().unwrap();
    let config = file(&folder, "config.yaml", "max-body: 1000\nephemeral: true\n");
    let config = config.to_str().unwrap();
    let of_file = Start::new(&["--config", config]);
    assert!(!takes_much(&of_file), "the file counts");
    assert!(takes_much(&of_file.clone().with("OVERRULE_MAX_BODY", "100000")), "environment first");
    let flag = Start::new(&["--config", config, "--max-body", "1000"]);
    assert!(!takes_much(&flag.with("OVERRULE_MAX_BODY", "100000")), "flags first");
    let by_environment = Start::new(&[]).with("OVERRULE_CONFIG", config);
    assert!(!takes_much(&by_environment), "the file may be named by the environment");
}

/// The store that a flag chooses is not mixed with another one that the environment or the file names.
#[test]
fn a_store_that_is_chosen_by_flag_is_the_only_one() {
    let folder = TempDir::new().unwrap();
    let (mine, other) = (folder.path().join("mine"), folder.path().join("other"));
    let config = file(&folder, "config.yaml", &format!("data: {}\n", other.display()));
    let flags = ["--config", config.to_str().unwrap(), "--data", mine.to_str().unwrap()];
    let nowhere = "postgres://postgres@127.0.0.1:9/postgres";
    let server = Start::new(&flags).with("OVERRULE_POSTGRES", nowhere).run();
    server.ask(&Ask::new("POST", "/v1/apply").body(&ground())).expect(201);
    assert!(mine.exists() && !other.exists());
    let start = Start::new(&["--ephemeral"]).with("OVERRULE_DATA", other.to_str().unwrap());
    start.attempt().map(|_| ()).unwrap_or_else(|said| panic!("flags come first: {said}"));
    assert!(!other.exists(), "--ephemeral keeps nothing");
}

fn serve(arguments: &[&str]) -> Ran {
    let folder = TempDir::new().unwrap();
    let all = [&["serve"], arguments].concat();
    finish(overrule(&all).current_dir(folder.path()))
}

#[track_caller]
fn refused(arguments: &[&str], names: &str) {
    let ran = serve(arguments);
    assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
    assert!(ran.err.contains(names), "{arguments:?} does not name {names}: {}", ran.err);
    assert_eq!(ran.out, "", "{arguments:?}");
}

#[test]
fn flags_and_lists_may_come_from_the_environment() {
    let server = Start::new(&[])
        .with("OVERRULE_EPHEMERAL", "yes")
        .with("OVERRULE_HOST", "a.example,b.example")
        .with("OVERRULE_WATCH_FILES", "0")
        .with("OVERRULE_MAX_DOCUMENTS", "2")
        .with("OVERRULE_GRACE", "1")
        .run();
    let named = |host: &str| server.ask(&Ask::new("GET", "/").header("host", host)).status;
    assert_eq!((named("a.example"), named("b.example"), named("c.example")), (200, 200, 421));
    server.ask(&Ask::new("POST", "/v1/apply").body("{}\n---\n{}\n---\n{}\n")).expect(422);
    assert!(!std::path::Path::new("overrule-data").exists(), "it keeps nothing");
}

#[test]
fn wrong_settings_are_named() {
    refused(&["--listen", "nowhere"], "--listen");
    refused(&["--max-body", "many"], "--max-body");
    refused(&["--auth", "guess"], "--auth");
    refused(&["--ephemeral", "--data", "x"], "--data");
    refused(&["--ephemeral", "--tls-cert", "c.pem"], "--tls-key");
    refused(&["--ephemeral", "--client-cert-required"], "client-ca");
    refused(&["--ephemeral", "--trusted-proxy", "ingress"], "ingress");
    refused(&["--ephemeral", "--audit-age", "long"], "--audit-age");
    refused(&["--ephemeral", "--otlp", "collector"], "otlp");
    refused(&["--ephemeral", "--auth", "token", "--admin-token-from", "no-such"], "no-such");
    refused(&["--ephemeral", "--history-age", "long"], "--history-age");
    refused(&["--ephemeral", "--log", "overrule=loud=x"], "--log");
    refused(&["--ephemeral", "--host", "not a host"], "not a host");
    refused(&["--ephemeral", "--tls-cert", "c.pem", "--tls-key", "k.pem"], "c.pem");
    refused(&["--config", "nothing.yaml"], "nothing.yaml");
}

#[test]
fn wrong_settings_of_a_file_are_named() {
    let cases = [
        ("max-bdy: 1\n", "max-bdy"),
        ("max-body: many\n", "max-body"),
        ("listen: nowhere\n", "listen"),
        ("auth: guess\n", "auth"),
        ("tls-cert: c.pem\n", "tls-key"),
        ("client-ca: c.pem\n", "tls-cert"),
        ("client-cert-required: true\n", "client-ca"),
        ("data: x\npostgres: postgres://127.0.0.1:9/x\n", "postgres"),
        ("certificates: [{name: x, grants: [read], san: a}]\n", "certificates"),
        ("max-body: 1\nmax-body: 2\n", "max-body"),
    ];
    let mut wrong = Vec::new();
    for (text, names) in cases {
        let folder = TempDir::new().unwrap();
        let config = file(&folder, "config.yaml", text);
        let arguments = ["--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
        match Start::new(&arguments[2..]).attempt() {
            Ok(_) => wrong.push(format!("{text:?} is taken")),
            Err(said) if !said.starts_with("exit status: 2") => {
                wrong.push(format!("{text:?}: {said}"))
            }
            Err(said) if !said.contains(names) => wrong.push(format!("{text:?} not named: {said}")),
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is wrong with a secret is said without it.
#[test]
fn secrets_are_not_repeated() {
    let folder = TempDir::new().unwrap();
    let config = file(&folder, "config.yaml", "postgres: [geheim-8]\n");
    let said = Start::new(&["--config", config.to_str().unwrap()]).attempt().err().unwrap();
    assert!(!said.contains("geheim-8"), "{said}");
    let config = file(&folder, "config.yaml", "postgres: 'nonsense geheim-8'\n");
    let said = Start::new(&["--config", config.to_str().unwrap()]).attempt().err().unwrap();
    assert!(!said.contains("geheim-8"), "{said}");
}

#[test]
fn other_addresses_need_tls_and_authentication() {
    for arguments in [
        &["--listen", "0.0.0.0:0", "--ephemeral"][..],
        &["--listen", "[::]:0", "--ephemeral"],
        &["--listen", "0.0.0.0:0", "--ephemeral", "--auth", "token"],
    ] {
        let ran = serve(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains("certificate") && ran.err.contains("127.0.0.1"), "{}", ran.err);
    }
    let pair = Pair::new();
    let arguments = ["--listen", "0.0.0.0:0", "--ephemeral", "--auth", "none"];
    let ran = serve(&[&arguments[..], &pair.flags()].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("authentication"), "{}", ran.err);
}

/// A certificate for loopback and its key, in files.
struct Pair {
    folder: TempDir,
    certificate: String,
    key: String,
}

impl Pair {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let path = |name, text: &str| file(&folder, name, text).display().to_string();
        let certificate = path("cert.pem", &made.cert.pem());
        let key = path("key.pem", &made.signing_key.serialize_pem());
        fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        Self { folder, certificate, key }
    }

    fn flags(&self) -> [&str; 4] {
        ["--tls-cert", &self.certificate, "--tls-key", &self.key]
    }
}

#[test]
fn encrypted_and_known_clients_are_answered() {
    let pair = Pair::new();
    let token = pair.folder.path().join("token");
    let manifests = file(&pair.folder, "all.yaml", &ground());
    let own = ["--ephemeral", "--auth", "token", "--admin-token-file", token.to_str().unwrap()];
    let files = ["-f", manifests.to_str().unwrap()];
    let server = Start::new(&[&own[..], &pair.flags(), &files].concat()).run();
    assert!(server.line.starts_with("listening on https://"), "{}", server.line);
    let url = format!("https://{}", server.address);
    let check = |more: &[&str]| {
        finish(&mut overrule(&[&["check", "--server", &url, "--short"], more].concat()))
    };
    let ca = ["--ca-file", &pair.certificate];
    let fine = check(&[&ca[..], &["--token-file", token.to_str().unwrap()]].concat());
    assert_eq!(fine.code, Some(0), "{fine:?}");
    let unknown = check(&ca);
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    assert!(unknown.err.contains("OVERRULE_TOKEN"), "{}", unknown.err);
    let untrusted = check(&["--token-file", token.to_str().unwrap()]);
    assert_eq!(untrusted.code, Some(3), "{untrusted:?}");
    let plain = Ask::new("GET", "/healthz").send(server.address);
    assert!(plain.is_err(), "it talks without encryption: {plain:?}");
}

/// Whenever the first start is cut short, the next one has an admin token to show.
#[test]
fn a_first_start_that_is_killed_locks_nobody_out() {
    let mut random = Random::new(number("OVERRULE_SEED", 7), 200);
    for _ in 0..FIRST_STARTS {
        let folder = TempDir::new().unwrap();
        let data = folder.path().join("data");
        let start = Start::new(&["--data", data.to_str().unwrap(), "--auth", "token"]);
        start.kill_after(Duration::from_millis(random.below(120)));
        start.kill_after(Duration::from_millis(random.below(120)));
        let server = start.run();
        let admin = fs::read_to_string(data.join("admin-token")).expect("the first token was lost");
        server.ask(&Ask::new("GET", "/v1/tokens").token(admin.trim())).expect(200);
    }
}

/// The first admin token is never made where nobody can be shown it: it would be lost for good.
#[test]
fn an_admin_token_is_not_made_for_nobody() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let nowhere = folder.path().join("no/such/folder/token");
    let own = ["--data", data.to_str().unwrap(), "--auth", "token"];
    let wrong = [&own[..], &["--admin-token-file", nowhere.to_str().unwrap()]].concat();
    let said = Start::new(&wrong).attempt().err().unwrap();
    assert!(said.contains("token"), "{said}");
    let token = folder.path().join("token");
    let right = [&own[..], &["--admin-token-file", token.to_str().unwrap()]].concat();
    let server = Start::new(&right).run();
    let admin = fs::read_to_string(&token).expect("the first token was lost");
    server.ask(&Ask::new("GET", "/v1/tokens").token(admin.trim())).expect(200);
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&token).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}
