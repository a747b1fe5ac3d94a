// SPDX-License-Identifier: Apache-2.0
//! In: folders and files in every bad state. Out: a clear error, or a store for this user's eyes only. Not here: crashes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use overrule_store::{Deadline, Store, StoreError, open_folder};

use crate::common::{author, key, named, put};

fn refusal(dir: &Path) -> StoreError {
    open_folder(dir).err().expect("the store opened")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_was_written_is_there_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_folder(dir.path()).unwrap();
    store.commit(&author(), &[put("a", "1")]).unwrap();
    let before = store.snapshot(None).unwrap();
    drop(store);
    let store = open_folder(dir.path()).unwrap();
    assert_eq!(store.snapshot(None).unwrap(), before);
    assert_eq!(*store.subscribe().borrow(), 1);
}

#[test]
fn files_are_private() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("deep/data");
    let store = open_folder(&data).unwrap();
    store.commit(&author(), &[put("a", "1")]).unwrap();
    assert_eq!(mode(&data), 0o700);
    let mut seen = 0;
    for file in fs::read_dir(&data).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 3, "the journal is missing");
    drop(store);
    fs::set_permissions(data.join("overrule.db"), PermissionsExt::from_mode(0o644)).unwrap();
    open_folder(&data).unwrap();
    assert_eq!(mode(&data.join("overrule.db")), 0o600);
}

#[test]
fn a_folder_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let first = open_folder(dir.path()).unwrap();
    let error = refusal(dir.path());
    let text = error.to_string();
    assert!(matches!(error, StoreError::Unavailable(_)), "{text}");
    assert!(text.contains("in use") && text.contains(&std::process::id().to_string()), "{text}");
    drop(first);
    open_folder(dir.path()).unwrap();
}

/// A restart need not wait for the last breath of the process before.
#[test]
fn an_owner_that_is_leaving_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let first = open_folder(dir.path()).unwrap();
    let leaving = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(first);
    });
    open_folder(dir.path()).unwrap();
    leaving.join().unwrap();
}

#[test]
fn a_damaged_file_is_named_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_folder(dir.path()).unwrap();
    let many: Vec<_> = (0..300).map(|n| put(&format!("r{n}"), &"x".repeat(500))).collect();
    store.commit(&author(), &many).unwrap();
    drop(store);
    let file = dir.path().join("overrule.db");
    let whole = fs::read(&file).unwrap();
    assert!(whole.len() > 100_000);
    for (what, spoil) in [
        (
            "not a database",
            Box::new(|bytes: &mut Vec<u8>| bytes[..16].fill(7)) as Box<dyn Fn(&mut Vec<u8>)>,
        ),
        ("pages overwritten", Box::new(|bytes: &mut Vec<u8>| bytes[8192..65536].fill(0xA5))),
        ("cut in half", Box::new(|bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2))),
    ] {
        let mut bytes = whole.clone();
        spoil(&mut bytes);
        fs::write(&file, &bytes).unwrap();
        let error = refusal(dir.path());
        assert!(matches!(error, StoreError::Damaged(_)), "{what}: {error:?}");
        assert!(error.to_string().contains("backup"), "{error}");
    }
    fs::write(&file, &whole).unwrap();
    let store = open_folder(dir.path()).unwrap();
    assert_eq!(store.snapshot(None).unwrap().records.len(), 300);
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("overrule.db");
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE theirs (a)").unwrap();
    drop(other);
    let error = refusal(dir.path()).to_string();
    assert!(error.contains("another program"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_unavailable() {
    // Not even root writes here.
    for dir in ["/proc/overrule-test", "/dev/null/x"] {
        let error = refusal(Path::new(dir));
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        assert!(error.to_string().contains(dir), "{error}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(matches!(refusal(file.path()), StoreError::Unavailable(_)));
}

#[test]
fn a_redacted_text_is_in_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_folder(dir.path()).unwrap();
    store.commit(&author(), &[put("a", "hunter2-hunter2")]).unwrap();
    assert!(found(dir.path(), b"hunter2-hunter2"), "the search finds nothing at all");
    store.commit(&author(), &[put("a", "clean")]).unwrap();
    store.redact(Deadline::usual(), &named("root"), &key("a")).unwrap();
    assert!(!found(dir.path(), b"hunter2-hunter2"));
    assert_eq!(store.get(&key("a"), None).unwrap().unwrap().text, "clean");
}

fn found(dir: &Path, needle: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().any(|file| {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        bytes.windows(needle.len()).any(|part| part == needle)
    })
}

/// A database of version 1, as the first schema made it.
const VERSION_1: &str = include_str!("version_1.sql");

fn make_version_1(dir: &Path) {
    let file = rusqlite::Connection::open(dir.join("overrule.db")).unwrap();
    file.execute_batch(VERSION_1).unwrap();
}

#[test]
fn a_database_of_version_1_is_migrated() {
    let dir = tempfile::tempdir().unwrap();
    make_version_1(dir.path());
    for _ in 0..2 {
        let store = open_folder(dir.path()).unwrap();
        check_version_1(&*store);
    }
    let store = open_folder(dir.path()).unwrap();
    assert_eq!(store.commit(&author(), &[put("a", "3")]).unwrap().revision, 3);
    drop(store);
    let file = rusqlite::Connection::open(dir.path().join("overrule.db")).unwrap();
    let sql = "SELECT number FROM meta WHERE name = 'schema'";
    assert_eq!(file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
}

fn check_version_1(store: &dyn Store) {
    assert_eq!(store.revision().unwrap(), 2);
    assert_eq!(store.get(&key("a"), None).unwrap().unwrap().text, "2");
    assert_eq!(store.get(&key("a"), Some(1)).unwrap().unwrap().text, "1");
    assert_eq!(store.changes(0, 9).unwrap().len(), 2);
    assert_eq!(store.tokens().unwrap()[0].id, "t");
    assert_eq!(store.audit_log(None, 9).unwrap()[0].action, "put");
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    make_version_1(dir.path());
    let path = dir.path().join("overrule.db");
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch("UPDATE meta SET number = 9 WHERE name = 'schema'").unwrap();
    drop(file);
    assert_eq!(refusal(dir.path()), StoreError::TooNew { found: 9, known: 2 });
    let file = rusqlite::Connection::open(&path).unwrap();
    let sql = "SELECT count(*) FROM sqlite_master WHERE name = 'entries_by_key'";
    assert_eq!(file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}
