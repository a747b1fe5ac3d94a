// SPDX-License-Identifier: Apache-2.0
//! In: a server with a copy of another one's store, or with files that change. Out: that it has what they have. Not here:
//! stores that are killed (`crash`).

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ask::Ask;
use crate::ledger::Ledger;
use crate::load::{Load, Trouble};
use crate::manifests::{Key, ground};
use crate::server::{Server, Start};
use crate::{apart, turn};

/// A copy that is made under load is one version, whole, with all of its history.
#[test]
fn a_copy_under_load_is_one_version() {
    let _turn = turn();
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let server = Start::new(&["--data", &path("one")]).run();
    let ledger = Arc::new(Ledger::default());
    let ask = Ask::new("POST", "/v1/apply").body(&ground());
    ledger.ground(server.ask(&ask).expect(201).version());
    let load = Load::start(&[server.address], &ledger, Trouble::Unavailable, 3, 51);
    std::thread::sleep(Duration::from_millis(600));
    let copy = server.get("/v1/backup").body;
    std::thread::sleep(Duration::from_millis(200));
    load.stop();
    ledger.compare(&server);
    fs::write(path("copy"), &copy).unwrap();
    let start = Start::new(&["--data", &path("two"), "--restore", &path("copy")]);
    let restored = start.run();
    let version = ledger.compare_copy(&restored);
    let history = format!("/v1/history?size=1000&before={}", version + 1);
    let told = |server: &Server| server.get(&history).body.replace(&server.url(), "");
    assert_eq!(told(&server), told(&restored));
    assert!(told(&server).contains("timeout-"), "nothing is in the copy");
    // A store that has something is not overwritten.
    drop(restored);
    let said = start.attempt().err().expect("a copy was read into a store that is not empty");
    assert!(said.starts_with("exit status: 3"), "{said}");
}

/// A copy that is cut short is not read at all.
#[test]
fn half_a_copy_is_none() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let server = Start::new(&["--ephemeral"]).run();
    server.ask(&Ask::new("POST", "/v1/apply").body(&ground())).expect(201);
    let copy = server.get("/v1/backup").body;
    let lines: Vec<&str> = copy.lines().collect();
    for (n, cut) in [lines.len() / 2, lines.len() - 1].into_iter().enumerate() {
        fs::write(path("copy"), lines[..cut].join("\n")).unwrap();
        let data = path(&format!("data-{n}"));
        let said = Start::new(&["--data", &data, "--restore", &path("copy")]).attempt().err();
        let said = said.unwrap_or_else(|| panic!("{cut} of {} lines were taken", lines.len()));
        assert!(said.starts_with("exit status: 3"), "{said}");
        let server = Start::new(&["--data", &data]).run();
        assert_eq!(server.get("/v1/resources").json()["total"], 0, "a part of it is there");
    }
}

fn becomes(server: &Server, path: &str, status: u16) {
    let since = Instant::now();
    while server.ask(&Ask::new("GET", path)).status != status {
        assert!(since.elapsed() < Duration::from_secs(10), "{path} does not become {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Files are followed: what they say is there, and what they no longer say is not. While one of them cannot be read, what
/// it had before cannot be known, so nothing is removed; what the others say still counts.
#[test]
fn files_are_followed() {
    let folder = TempDir::new().unwrap();
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    let write = |name: &str, text: &str| fs::write(files.join(name), text).unwrap();
    write("ground.yaml", &ground());
    write("one.yaml", &Key::Timeout(1).text(1));
    let arguments = ["--ephemeral", "-f", files.to_str().unwrap(), "--watch-files"];
    let server = Start::new(&arguments).run();
    let [one, two, three] =
        [Key::Timeout(1), Key::Limit(2), Key::Retry(3)].map(|key| key.own_path());
    server.get(&one);
    write("two.yaml", &Key::Limit(2).text(2));
    becomes(&server, &two, 200);
    write("broken.yaml", "type: MeshTimeout\nname: [\n");
    fs::remove_file(files.join("one.yaml")).unwrap();
    write("three.yaml", &Key::Retry(3).text(3));
    becomes(&server, &three, 200);
    server.get(&one);
    fs::remove_file(files.join("broken.yaml")).unwrap();
    becomes(&server, &one, 404);
    let fresh = apart::fresh(&[Key::Limit(2).text(2), Key::Retry(3).text(3)]);
    for question in apart::QUESTIONS {
        assert_eq!(server.get(question).body, fresh.get(question).body, "{question}");
    }
}
