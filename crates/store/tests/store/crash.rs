// SPDX-License-Identifier: Apache-2.0
//! In: a child process that writes and is killed, or runs out of disk, or may not write. Out: every acknowledged write is there,
//! every other wholly there or wholly absent. Not here: PostgreSQL, whose server is killed in `postgresql`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use overrule_store::{
    Deadline, PgTls, Retention, Store, StoreError, open_folder, open_memory, open_postgres,
};

use crate::common::{author, key, named, put};

const ROLE: &str = "OVERRULE_STORE_TEST_ROLE";
const WHERE: &str = "OVERRULE_STORE_TEST_WHERE";

/// Not a test: what the children do.
#[test]
#[ignore = "run by other tests in a process of its own"]
fn child() {
    let place = std::env::var(WHERE).unwrap();
    match std::env::var(ROLE).unwrap().as_str() {
        "write" => write_forever(&*open_folder(Path::new(&place)).unwrap()),
        "fill" => fill(&*open_folder(Path::new(&place)).unwrap()),
        "open" => match open_folder(Path::new(&place)) {
            Ok(_) => println!("\nanswer opened"),
            Err(error) => println!("\nanswer {error:?}"),
        },
        "connect" => match open_postgres(&place, PgTls::Disabled) {
            Ok(_) => println!("\nanswer opened"),
            Err(error) => println!("\nanswer {error:?}"),
        },
        other => panic!("{other}"),
    }
}

/// This test binary, made to do a child's work.
fn arguments() -> [&'static str; 4] {
    ["--exact", "crash::child", "--ignored", "--nocapture"]
}

pub fn role(role: &str, place: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments()).env(ROLE, role).env(WHERE, place).stdin(Stdio::null());
    command
}

/// The line in which a child answers.
pub fn answer(command: &mut Command) -> String {
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("answer "));
    line.unwrap_or_else(|| panic!("no answer: {text}")).to_owned()
}

fn number(store: &dyn Store) -> u64 {
    store.get(&key("a"), None).unwrap().map_or(0, |record| record.text.parse().unwrap())
}

/// Each commit writes one number under two keys; now and then history is cut or redacted.
fn write_forever(store: &dyn Store) {
    let mut n = number(store);
    loop {
        n += 1;
        let text = n.to_string();
        let both = [put("a", &text), put("b", &text), put(&format!("c{}", n % 7), &text)];
        let committed = store.commit(&author(), &both).unwrap();
        println!("\nack {n} {}", committed.revision);
        if n.is_multiple_of(40) {
            store.prune(&Retention { entries: Some(60), age: None }).unwrap();
        }
        if n.is_multiple_of(25) {
            store.redact(Deadline::usual(), &named("root"), &key("c1")).unwrap();
        }
    }
}

/// Enough chance for a test: the low digits of the clock.
pub fn chance(below: u64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::from(now.subsec_nanos() / 7) % below
}

/// What holds for a store whatever happened to its writer, given the last acknowledged number and revision.
pub fn check(store: &dyn Store, acknowledged: (u64, u64)) {
    let n = number(store);
    let (acknowledged_n, acknowledged_revision) = acknowledged;
    assert!(
        n == acknowledged_n || n == acknowledged_n + 1,
        "{n} is there, {acknowledged_n} was acknowledged last"
    );
    assert!(store.revision().unwrap() >= acknowledged_revision, "a revision is lost");
    assert_eq!(n == 0, store.get(&key("b"), None).unwrap().is_none());
    if let Some(b) = store.get(&key("b"), None).unwrap() {
        assert_eq!(b.text, n.to_string(), "half a commit");
        assert_eq!(b.version, store.revision().unwrap());
    }
    // The history alone makes the same present.
    let mut bytes = Vec::new();
    store.dump(&mut bytes).unwrap();
    let again = open_memory().unwrap();
    again.restore(&mut bytes.as_slice()).unwrap();
    assert_eq!(again.snapshot(None).unwrap(), store.snapshot(None).unwrap());
}

#[test]
fn a_killed_writer_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut last = (0, 0);
    let mut written = 0;
    for _ in 0..30 {
        let mut command = role("write", dir.path().to_str().unwrap());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut seen = Vec::new();
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let mut words = line.split(' ');
                if words.next() == Some("ack") {
                    // A line that the kill has cut was not acknowledged.
                    let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
                    seen.extend(<[u64; 2]>::try_from(numbers).map(|[n, revision]| (n, revision)));
                }
            }
            seen
        });
        sleep(Duration::from_millis(60 + chance(140)));
        child.kill().unwrap();
        child.wait().unwrap();
        let seen = reader.join().unwrap();
        written += seen.len();
        assert!(seen.iter().is_sorted_by(|a, b| a.1 < b.1), "versions only grow");
        assert!(seen.first().is_none_or(|first| first.1 > last.1), "a revision was used twice");
        last = seen.last().copied().unwrap_or(last);
        let store = open_folder(dir.path()).unwrap();
        check(&*store, last);
        last = (number(&*store), store.revision().unwrap());
    }
    println!("{written} commits acknowledged over 30 kills");
    assert!(written > 300, "only {written} commits: the test tests little");
}

fn fill(store: &dyn Store) {
    let mut n = 0;
    let error = loop {
        let text = format!("{n} {}", "x".repeat(20_000));
        match store.commit(&author(), &[put("a", &text)]) {
            Ok(_) => n += 1,
            Err(error) => break error,
        }
        assert!(n < 10_000, "the disk never fills");
    };
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    // Reading goes on.
    let record = store.get(&key("a"), None).unwrap().unwrap();
    assert!(record.text.starts_with(&format!("{} ", n - 1)));
    assert_eq!(store.revision().unwrap(), n);
    println!("\nanswer {n}");
}

#[test]
fn a_full_disk_refuses_writes_and_harms_nothing() {
    let dir = tempfile::tempdir().unwrap();
    // A limit on the size of files stands for a disk of that size: writing beyond it is an error.
    let limit = r#"trap '' XFSZ; ulimit -f 3000; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.arg("-c").arg(limit).arg(std::env::current_exe().unwrap()).args(arguments());
    command.env(ROLE, "fill").env(WHERE, dir.path());
    let written: u64 = answer(&mut command).parse().unwrap();
    assert!(written > 5, "{written}");
    let store = open_folder(dir.path()).unwrap();
    assert_eq!(store.revision().unwrap(), written);
    let record = store.get(&key("a"), None).unwrap().unwrap();
    assert!(record.text.starts_with(&format!("{} ", written - 1)));
    assert_eq!(store.commit(&author(), &[put("a", "after")]).unwrap().revision, written + 1);
}

#[test]
fn a_read_only_folder_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    drop(open_folder(&data).unwrap());
    fs::set_permissions(&data, PermissionsExt::from_mode(0o555)).unwrap();
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    fs::set_permissions(data.join("overrule.db"), PermissionsExt::from_mode(0o444)).unwrap();
    fs::set_permissions(data.join("overrule.lock"), PermissionsExt::from_mode(0o444)).unwrap();
    let mut command = role("open", data.to_str().unwrap());
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        // Root may write anywhere, so someone else tries, with a copy of this program where anyone may run it.
        let program = dir.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let (role, place) = ("open", data.clone());
        command = Command::new(program);
        command.args(arguments()).env(ROLE, role).env(WHERE, place);
        command.uid(65534).gid(65534).current_dir("/");
    }
    let answer = answer(&mut command);
    assert!(answer.starts_with("Unavailable") && answer.contains("denied"), "{answer}");
    fs::set_permissions(&data, PermissionsExt::from_mode(0o755)).unwrap();
}
