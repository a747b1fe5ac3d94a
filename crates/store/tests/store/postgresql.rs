// SPDX-License-Identifier: Apache-2.0
//! In: a PostgreSQL server that dies, refuses, or speaks TLS. Out: the store tells so, loses nothing and comes back by itself.
//! Not here: what all stores have in common.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use overrule_store::{PgTls, Precondition, Store, StoreError, open_postgres};
use postgres::{Client, NoTls};

use crate::common::{author, fresh_url, key, lab, put, put_if};
use crate::crash::{answer, chance, check, role};
use crate::testing::{PASSWORD, PgLab};

/// Reads until the server answers; meanwhile it must say that it is not available.
fn patiently<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> T {
    let start = Instant::now();
    loop {
        match ask() {
            Ok(found) => return found,
            Err(StoreError::Unavailable(why)) => {
                assert!(start.elapsed() < Duration::from_secs(40), "away too long: {why}");
                sleep(Duration::from_millis(5));
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// Writes numbers under two keys until told to stop. What failed must not be there; only where nobody knows, it may be.
fn write(store: &dyn Store, stop: &AtomicBool) -> (u64, u64, u64) {
    let (mut n, mut revision, mut version, mut failures) = (0, 0, None, 0);
    while !stop.load(Ordering::Relaxed) {
        let text = (n + 1).to_string();
        let expect = version.map_or(Precondition::Absent, Precondition::Version);
        match store.commit(&author(), &[put_if("a", &text, expect), put("b", &text)]) {
            Ok(committed) => {
                assert!(committed.revision > revision, "versions only grow");
                (n, revision) = (n + 1, committed.revision);
                version = Some(revision);
            }
            Err(error @ (StoreError::Unavailable(_) | StoreError::Unknown(_))) => {
                failures += 1;
                let found = patiently(|| store.get(&key("a"), None));
                let there = found.as_ref().map_or(0, |record| record.text.parse().unwrap());
                let perhaps = u64::from(matches!(error, StoreError::Unknown(_)));
                let fits = there == n || there == n + perhaps;
                assert!(fits, "{there} is there, {n} was acknowledged, then {error:?}");
                version = found.map(|record| record.version);
                (n, revision) = (there, version.unwrap_or(0));
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    (n, revision, failures)
}

#[test]
fn a_killed_server_loses_nothing_and_is_found_again() {
    let mut lab = PgLab::new().unwrap();
    let store = open_postgres(&lab.url(), PgTls::Disabled).unwrap();
    let other = open_postgres(&lab.url(), PgTls::Disabled).unwrap();
    let news = other.subscribe();
    let stop = AtomicBool::new(false);
    let (n, revision, failures) = thread::scope(|scope| {
        let writer = scope.spawn(|| write(&*store, &stop));
        for _ in 0..16 {
            sleep(Duration::from_millis(100 + chance(200)));
            lab.kill();
            sleep(Duration::from_millis(chance(150)));
            lab.start().unwrap();
        }
        sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    assert!(failures >= 4, "only {failures} of 16 kills were noticed");
    check(&*store, (n, revision));
    check(&*other, (n, revision));
    let start = Instant::now();
    while *news.borrow() != revision {
        assert!(start.elapsed() < Duration::from_secs(3), "the listener did not come back");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_server_that_is_away_is_reported_fast() {
    let mut lab = PgLab::new().unwrap();
    let store = open_postgres(&lab.url(), PgTls::Disabled).unwrap();
    store.commit(&author(), &[put("a", "1")]).unwrap();
    lab.kill();
    for _ in 0..50 {
        let start = Instant::now();
        let error = store.healthy().unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        assert!(!error.to_string().contains(PASSWORD), "{error}");
        assert!(start.elapsed() < Duration::from_secs(1));
    }
    let closed = open_postgres(&lab.url(), PgTls::Disabled).err().unwrap();
    assert!(matches!(closed, StoreError::Unavailable(_)), "{closed:?}");
    lab.start().unwrap();
    patiently(|| store.healthy());
    assert_eq!(store.get(&key("a"), None).unwrap().unwrap().text, "1");
    store.commit(&author(), &[put("a", "2")]).unwrap();
}

#[test]
fn passwords_come_from_url_environment_or_file_and_are_never_shown() {
    let lab = lab();
    let wrong = lab.url().replace(PASSWORD, "hunter2");
    let error = open_postgres(&wrong, PgTls::Disabled).err().unwrap();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    let bare = fresh_url(&lab).replace(&format!(":{PASSWORD}"), "");
    let ask = |name: &str, value: &str| {
        let mut child = role("connect", &bare);
        child.env_remove("PGPASSWORD").env_remove("PGPASSFILE").env("HOME", "/nowhere");
        answer(child.env(name, value))
    };
    assert_eq!(ask("PGPASSWORD", PASSWORD), "opened");
    let refused = ask("PGPASSWORD", "hunter2");
    assert!(refused.starts_with("Unavailable") && !refused.contains("hunter2"), "{refused}");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pass");
    fs::write(&file, format!("# ours\n127.0.0.1:{}:*:postgres:{PASSWORD}\n", lab.port())).unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(ask("PGPASSFILE", file.to_str().unwrap()), "opened");
    assert!(ask("HOME", "/nowhere").starts_with("Unavailable"));
}

#[test]
fn a_newer_database_is_refused() {
    let lab = lab();
    let url = fresh_url(&lab);
    drop(open_postgres(&url, PgTls::Disabled).unwrap());
    let (plain, schema) = url.split_once("?schema=").unwrap();
    let mut client = Client::connect(plain, NoTls).unwrap();
    let sql = format!("UPDATE {schema}.meta SET number = 9 WHERE name = 'schema'");
    client.batch_execute(&sql).unwrap();
    let error = open_postgres(&url, PgTls::Disabled).err().unwrap();
    assert_eq!(error, StoreError::TooNew { found: 9, known: 2 });
}

#[test]
fn a_database_of_version_1_is_migrated() {
    let lab = lab();
    let url = fresh_url(&lab);
    let (plain, schema) = url.split_once("?schema=").unwrap();
    let mut client = Client::connect(plain, NoTls).unwrap();
    let sql = include_str!("version_1.sql")
        .replace("PRAGMA journal_mode = WAL;", "")
        .replace(" INTEGER", " BIGINT")
        .replace(" TEXT", " TEXT COLLATE \"C\"")
        .replace(" BLOB", " BYTEA")
        .replace("x'0102'", "'\\x0102'");
    let sql = format!("CREATE SCHEMA {schema}; SET search_path TO {schema}; {sql}");
    client.batch_execute(&sql).unwrap();
    let store = open_postgres(&url, PgTls::Disabled).unwrap();
    assert_eq!(store.revision().unwrap(), 2);
    assert_eq!(store.get(&key("a"), Some(1)).unwrap().unwrap().text, "1");
    assert_eq!(store.commit(&author(), &[put("a", "3")]).unwrap().revision, 3);
}

#[test]
fn a_user_without_the_right_to_create_opens_what_is_there() {
    let lab = lab();
    let url = fresh_url(&lab);
    drop(open_postgres(&url, PgTls::Disabled).unwrap());
    let (plain, schema) = url.split_once("?schema=").unwrap();
    let mut client = Client::connect(plain, NoTls).unwrap();
    let sql = format!(
        "CREATE USER {schema}_app PASSWORD '{PASSWORD}'; GRANT USAGE ON SCHEMA {schema} TO {schema}_app;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {schema}_app"
    );
    client.batch_execute(&sql).unwrap();
    let theirs = url.replacen("//postgres:", &format!("//{schema}_app:"), 1);
    let store = open_postgres(&theirs, PgTls::Disabled).unwrap();
    store.commit(&author(), &[put("a", "1")]).unwrap();
}

#[test]
fn a_store_may_be_dropped_among_asynchronous_tasks() {
    let lab = lab();
    let store = open_postgres(&fresh_url(&lab), PgTls::Disabled).unwrap();
    store.commit(&author(), &[put("a", "1")]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move { drop(store) });
}

fn authority(name: &str) -> (rcgen::CertifiedIssuer<'static, rcgen::KeyPair>, String) {
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
    let issuer =
        rcgen::CertifiedIssuer::self_signed(parameters, rcgen::KeyPair::generate().unwrap())
            .unwrap();
    let pem = issuer.pem();
    (issuer, pem)
}

#[test]
fn tls_is_spoken_with_whom_the_authority_names() {
    let (issuer, trusted) = authority("right");
    let (_, stranger) = authority("wrong");
    let key_pair = rcgen::KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned()];
    let parameters = rcgen::CertificateParams::new(names).unwrap();
    let certificate = parameters.signed_by(&key_pair, &issuer).unwrap();
    let lab = PgLab::with(
        &[("own.crt", &certificate.pem()), ("own.key", &key_pair.serialize_pem())],
        &["ssl=on", "ssl_cert_file=own.crt", "ssl_key_file=own.key"],
    )
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let roots = |name: &str, pem: &str| {
        let path = dir.path().join(name);
        fs::write(&path, pem).unwrap();
        PgTls::Roots(path)
    };
    let store = open_postgres(&lab.url(), roots("right.pem", &trusted)).unwrap();
    store.commit(&author(), &[put("a", "1")]).unwrap();
    let mut client = Client::connect(&lab.url(), NoTls).unwrap();
    let sql = "SELECT count(*) FILTER (WHERE ssl), count(*) FILTER (WHERE NOT ssl)
               FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'overrule'";
    // The one that listens comes on a thread of its own.
    for tries in 1.. {
        let row = client.query_one(sql, &[]).unwrap();
        assert_eq!(row.get::<_, i64>(1), 0, "a connection in clear");
        if row.get::<_, i64>(0) >= 2 {
            break;
        }
        assert!(tries < 1_000, "{} connections after 10 s", row.get::<_, i64>(0));
        sleep(Duration::from_millis(10));
    }
    let error = open_postgres(&lab.url(), roots("wrong.pem", &stranger)).err().unwrap();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    let error = open_postgres(&lab.url(), roots("empty.pem", "")).err().unwrap();
    assert!(error.to_string().contains("empty.pem"), "{error}");
    // The right authority, a name that the certificate does not have.
    let elsewhere = lab.url().replace("127.0.0.1", "localhost");
    open_postgres(&elsewhere, PgTls::Disabled).unwrap();
    assert!(open_postgres(&elsewhere, roots("right.pem", &trusted)).is_err());
}
