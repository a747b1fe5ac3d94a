// SPDX-License-Identifier: Apache-2.0
//! In: questions about much input, asked twice, and a cache that somebody tampered with. Out: that the answer is the
//! same, and that nobody is harmed. Not here: the format of an entry (`src/cache/entry.rs` damages every bit of it).

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::common::{Ran, finish, overrule, root};
use crate::{BROKEN, GOOD, many};

/// A folder that is large enough for its answers to be kept, and a place to keep them.
struct Large {
    home: TempDir,
    world: TempDir,
}

/// A comment of more than four megabytes: large, but quickly read.
fn padding() -> String {
    format!("# {}\n", "nothing to see here ".repeat(50)).repeat(4300)
}

impl Large {
    fn new(text: &str) -> Self {
        let (home, world) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(world.path().join("world.yaml"), text).unwrap();
        std::fs::write(world.path().join("padding.yaml"), padding()).unwrap();
        Self { home, world }
    }

    /// The question, about this folder by the same name wherever it is.
    fn command(&self, line: &str) -> Command {
        let mut command = overrule(line.split_whitespace().chain(["-f", "."]));
        command.current_dir(self.world.path());
        command.env_remove("OVERRULE_NO_CACHE").env("XDG_CACHE_HOME", self.home.path());
        command
    }

    fn ask(&self, line: &str) -> Ran {
        finish(&mut self.command(line))
    }

    /// The answer that owes nothing to earlier ones.
    fn fresh(&self, line: &str) -> Ran {
        finish(&mut self.command(&format!("{line} --no-cache")))
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("overrule")
    }

    /// What is kept.
    fn entries(&self) -> Vec<PathBuf> {
        let Ok(found) = std::fs::read_dir(self.folder()) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = found.map(|f| f.unwrap().path()).collect();
        paths.sort();
        paths
    }

    /// The only entry there is.
    fn entry(&self) -> PathBuf {
        let entries = self.entries();
        assert_eq!(entries.len(), 1, "{entries:?}");
        entries[0].clone()
    }
}

/// Tells a file from the one that took its place.
fn identity(path: &Path) -> u64 {
    std::fs::symlink_metadata(path).unwrap().ino()
}

#[track_caller]
fn assert_same(one: &Ran, other: &Ran) {
    assert_eq!(one.out, other.out);
    assert_eq!(one.err, other.err);
    assert_eq!(one.code, other.code);
}

/// Asks three times; the second answer must come from what the first one left, and nothing may differ.
#[track_caller]
fn assert_kept(large: &Large, line: &str) {
    let before = large.entries();
    let fresh = large.fresh(line);
    assert_eq!(large.entries(), before, "--no-cache leaves no trace: {line}");
    let first = large.ask(line);
    let after = large.entries();
    let new: Vec<&PathBuf> = after.iter().filter(|p| !before.contains(p)).collect();
    assert_eq!(new.len(), 1, "one entry for `{line}`: {first:?}");
    let written = identity(new[0]);
    let second = large.ask(line);
    assert_eq!(large.entries(), after, "{line}");
    assert_eq!(identity(new[0]), written, "not answered again: {line}");
    assert_same(&first, &fresh);
    assert_same(&second, &fresh);
}

#[test]
fn every_command_answers_the_same_twice() {
    let large = Large::new(&many(50));
    let broken = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: lost, namespace: shop}\n\
                  spec: {parentRefs: [{name: nowhere}], rules: [{}]}\n";
    std::fs::write(large.world.path().join("lost.yaml"), broken).unwrap();
    let lines = [
        "check",
        "check --short",
        "check -o json",
        "check --fail-on never -q",
        "get all",
        "get httproute -o wide",
        "get -o json",
        "get --without timeoutpolicy",
        "effective",
        "effective -v -o json",
        "effective httproute/shop/r7",
        "effective httproute/shop/r7 --color always",
        "effective httproute/shop/r7 --compare",
        "effective --request http://r7.example.com/",
        "explain httproute/shop/r7",
        "explain httproute/shop/r7 -o yaml",
        "explain httproute/shop/lost",
        "explain httproute/shop/nothing-of-that-name",
        "reach timeoutpolicy/shop/timeouts",
        "graph",
        "graph httproute/shop/r7 -o dot",
        "graph httproute/shop/r7 -o mermaid",
        "graph httproute/shop/r7 -o svg",
        "graph httproute/shop/r7 -o json",
    ];
    for line in lines {
        assert_kept(&large, line);
    }
    let codes = [("check", 1), ("effective httproute/shop/r7", 0), ("explain httproute/shop/x", 1)];
    for (line, code) in codes {
        assert_eq!(large.ask(line).code, Some(code), "these lines end in different ways: {line}");
    }
}

#[test]
fn access_questions_answer_the_same_twice() {
    let mut text = String::new();
    for file in ["mesh/mesh.yaml", "operator.yaml", "owners.yaml"] {
        let path = root().join("examples/access").join(file);
        text.push_str(&std::fs::read_to_string(path).unwrap());
        text.push_str("\n---\n");
    }
    let large = Large::new(&text);
    let (client, service) = ("dataplane/default/frontend-1", "dataplane/default/ledger-1");
    assert_kept(&large, &format!("can {client} {service}"));
    assert_kept(&large, &format!("can {client} {service} -o json --method GET --path /"));
    assert_kept(&large, &format!("envoy {service}"));
    assert_kept(&large, &format!("envoy {service} --form list"));
    // The questions of a file are part of the question, though only its name is typed.
    let questions = large.home.path().join("questions");
    let line = format!("can -o csv --matrix {}", questions.display());
    std::fs::write(&questions, format!("from: [{client}]\nto: [{service}]\n")).unwrap();
    assert_kept(&large, &line);
    let one = large.ask(&line);
    std::fs::write(&questions, format!("from: [{client}, nobody]\nto: [{service}]\n")).unwrap();
    let two = large.ask(&line);
    assert_ne!(one.out, two.out);
    assert_same(&two, &large.fresh(&line));
}

/// A table that tells ages is another one tomorrow.
#[test]
fn what_depends_on_the_time_is_not_kept() {
    let large = Large::new(GOOD);
    let table = large.ask("get policies");
    assert!(table.out.contains("timeouts"), "{table:?}");
    assert_eq!(large.entries(), Vec::<PathBuf>::new());
}

#[test]
fn small_inputs_leave_no_trace() {
    let large = Large::new(GOOD);
    std::fs::remove_file(large.world.path().join("padding.yaml")).unwrap();
    assert_eq!(large.ask("effective").code, Some(0));
    assert!(!large.folder().exists());
}

#[test]
fn it_can_be_switched_off() {
    let large = Large::new(GOOD);
    for (value, kept) in [("1", 0), ("yes", 0), ("true", 0), ("0", 1), ("", 1)] {
        let ran = finish(large.command("effective").env("OVERRULE_NO_CACHE", value));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(large.entries().len(), kept, "{value:?}");
    }
    assert_eq!(large.ask("effective --no-cache").code, Some(0));
    std::fs::remove_dir_all(large.folder()).unwrap();
    let ran = large.ask("effective --no-cache -v");
    assert_eq!(ran.code, Some(0));
    assert!(!large.folder().exists());
}

#[test]
fn another_question_or_another_input_is_answered_anew() {
    let large = Large::new(GOOD);
    let file = large.world.path().join("world.yaml");
    let line = "effective httproute/shop/cart -o json";
    let first = large.ask(line);
    assert_eq!(large.entries().len(), 1);
    std::fs::write(&file, GOOD.replace("request: 5s", "request: 6s")).unwrap();
    let changed = large.ask(line);
    assert!(changed.out.contains("6s") && !first.out.contains("6s"), "{changed:?}");
    std::fs::write(&file, GOOD).unwrap();
    assert_same(&large.ask(line), &first);
    assert_eq!(large.entries().len(), 2, "what was is found again");
    let moved = large.world.path().join("world2.yaml");
    std::fs::rename(&file, &moved).unwrap();
    assert!(large.ask(line).out.contains("world2.yaml"), "places are part of an answer");
    std::fs::rename(&moved, &file).unwrap();
    std::fs::write(large.world.path().join("more.yaml"), BROKEN).unwrap();
    assert_ne!(large.ask(line).err, first.err);
    assert_eq!(large.entries().len(), 4);
    for other in ["effective httproute/shop/cart", "explain httproute/shop/cart -o json"] {
        assert_ne!(large.ask(other).out, first.out);
    }
    let wide = finish(large.command("explain httproute/shop/cart").env("COLUMNS", "200"));
    let narrow = finish(large.command("explain httproute/shop/cart").env("COLUMNS", "40"));
    assert_eq!((wide.code, narrow.code), (Some(0), Some(0)));
    assert_eq!(large.entries().len(), 8, "the width of the terminal is part of the question");
}

#[test]
fn standard_input_is_known_by_its_content() {
    let large = Large::new("");
    let ask = |text: &str| {
        let mut command = overrule(["effective", "httproute/shop/cart", "-f", "-"]);
        command.env_remove("OVERRULE_NO_CACHE").env("XDG_CACHE_HOME", large.home.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The answer comes after all of it was read, so nobody waits for anybody.
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = format!("{}{GOOD}", padding());
    let first = ask(&text);
    let written = identity(&large.entry());
    assert_eq!(ask(&text), first);
    assert_eq!(identity(&large.entry()), written);
    assert!(ask(&text.replace("request: 5s", "request: 6s")).contains("6s"));
}

/// Half an answer is not given twice: what could not be read today may be readable tomorrow.
#[test]
fn what_could_not_be_read_is_not_kept() {
    let large = Large::new(GOOD);
    let ran = large.ask("effective -f not-there.yaml");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(large.entries(), Vec::<PathBuf>::new());
}

#[test]
fn a_damaged_entry_is_ignored_and_replaced() {
    let large = Large::new(GOOD);
    let line = "explain httproute/shop/cart";
    let fresh = large.ask(line);
    let entry = large.entry();
    let good = std::fs::read(&entry).unwrap();
    let flipped = |place: usize| {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        bytes
    };
    let damaged = [
        Vec::new(),
        good[..1].to_vec(),
        good[..good.len() / 2].to_vec(),
        good[..good.len() - 1].to_vec(),
        [&good[..], b"\n"].concat(),
        flipped(0),
        flipped(15),
        flipped(20),
        flipped(good.len() / 2),
        flipped(good.len() - 1),
        b"something else\n".to_vec(),
        vec![0; good.len()],
        vec![0; 40 << 20],
    ];
    for bytes in damaged {
        std::fs::write(&entry, &bytes).unwrap();
        assert_same(&large.ask(line), &fresh);
        assert_eq!(std::fs::read(large.entry()).unwrap(), good, "it is whole again");
    }
    // The answer to another question under the name of this one.
    large.ask("explain httproute/shop/cart -o json");
    let other = large.entries().into_iter().find(|p| *p != entry).unwrap();
    std::fs::copy(&other, &entry).unwrap();
    assert_same(&large.ask(line), &fresh);
    assert_eq!(std::fs::read(&entry).unwrap(), good);
}

#[test]
fn a_link_in_the_place_of_an_entry_is_not_followed() {
    let large = Large::new(GOOD);
    let line = "explain httproute/shop/cart";
    let fresh = large.ask(line);
    let entry = large.entry();
    // A link to an entry that would be right shows best whether it is followed.
    let elsewhere = large.home.path().join("elsewhere");
    std::fs::rename(&entry, &elsewhere).unwrap();
    let before = std::fs::read(&elsewhere).unwrap();
    symlink(&elsewhere, &entry).unwrap();
    assert_same(&large.ask(line), &fresh);
    assert!(std::fs::symlink_metadata(&entry).unwrap().is_file(), "it was replaced, not used");
    assert_eq!(std::fs::read(&elsewhere).unwrap(), before);
    assert_ne!(identity(&entry), identity(&elsewhere));
}

#[test]
fn an_entry_that_others_could_write_is_replaced() {
    let large = Large::new(GOOD);
    let fresh = large.ask("effective");
    let (entry, written) = (large.entry(), identity(&large.entry()));
    std::fs::set_permissions(&entry, std::fs::Permissions::from_mode(0o620)).unwrap();
    assert_same(&large.ask("effective"), &fresh);
    assert_ne!(identity(&entry), written);
    assert_eq!(std::fs::metadata(&entry).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_folder_that_is_not_private_is_not_used() {
    let large = Large::new(GOOD);
    let fresh = large.fresh("effective");
    std::fs::create_dir(large.folder()).unwrap();
    std::fs::set_permissions(large.folder(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_same(&large.ask("effective"), &fresh);
    let told = large.ask("effective -v");
    assert!(told.err.contains("note: answers are not kept") && told.err.contains("chmod 700"));
    assert_eq!((told.out, told.code), (fresh.out.clone(), fresh.code));
    assert_eq!(large.entries(), Vec::<PathBuf>::new());
    // A link to a folder that would do.
    std::fs::remove_dir(large.folder()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::set_permissions(elsewhere.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    symlink(elsewhere.path(), large.folder()).unwrap();
    assert_same(&large.ask("effective"), &fresh);
    assert!(large.ask("effective -v").err.contains("note: answers are not kept"));
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// Nowhere to keep anything is no reason to complain.
#[test]
fn without_a_place_there_is_an_answer() {
    let large = Large::new(GOOD);
    let fresh = large.fresh("effective");
    let nowhere =
        finish(large.command("effective").env_remove("XDG_CACHE_HOME").env_remove("HOME"));
    assert_same(&nowhere, &fresh);
    let relative =
        finish(large.command("effective").env("XDG_CACHE_HOME", "cache").env_remove("HOME"));
    assert_same(&relative, &fresh);
    assert!(!large.world.path().join("cache").exists());
    let file = large.home.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert_same(&finish(large.command("effective").env("XDG_CACHE_HOME", &file)), &fresh);
    let home = finish(
        large.command("effective").env_remove("XDG_CACHE_HOME").env("HOME", large.home.path()),
    );
    assert_same(&home, &fresh);
    assert_eq!(std::fs::read_dir(large.home.path().join(".cache/overrule")).unwrap().count(), 1);
}

/// A limit on the size of files stands for a full disk: nothing can be written.
#[test]
fn a_full_disk_costs_nothing_but_time() {
    let large = Large::new(GOOD);
    let fresh = large.fresh("effective");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]);
    let asked = large.command("effective");
    command.arg(asked.get_program()).args(asked.get_args());
    for (name, value) in asked.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(large.world.path()).stdin(Stdio::null());
    assert_same(&finish(&mut command), &fresh);
    assert!(large.folder().exists(), "it tried");
    assert_eq!(large.entries(), Vec::<PathBuf>::new(), "and left nothing behind");
    assert_same(&large.ask("effective"), &fresh);
    assert_eq!(large.entries().len(), 1);
}

#[test]
fn many_at_once_do_not_disturb_each_other() {
    let large = Large::new(GOOD);
    let lines = ["effective", "explain httproute/shop/cart"];
    let fresh = lines.map(|line| large.fresh(line));
    for _ in 0..3 {
        let asked = lines.iter().chain(&lines).chain(&lines);
        let running: Vec<_> = asked
            .map(|line| {
                let mut command = large.command(line);
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for (child, fresh) in running.into_iter().zip(fresh.iter().cycle()) {
            let output = child.wait_with_output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), fresh.out);
            assert_eq!(String::from_utf8(output.stderr).unwrap(), fresh.err);
            assert_eq!(output.status.code(), fresh.code);
        }
        let entries = large.entries();
        assert_eq!(entries.len(), 2, "{entries:?}");
        assert!(entries.iter().all(|p| p.extension().is_some_and(|e| e == "answer")));
    }
}

#[test]
fn no_secret_is_kept() {
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\n\
                  stringData: {password: hunter2hunter2}\ndata: {key: aHVudGVyMmh1bnRlcjI=}\nbad: [\n";
    let large = Large::new(&format!("{GOOD}{}", secret.replace("bad: [\n", "")));
    std::fs::write(large.world.path().join("bad.yaml"), secret).unwrap();
    for line in ["check", "get all -o json", "effective -o json", "graph -o json"] {
        large.ask(line);
    }
    let entries = large.entries();
    assert_eq!(entries.len(), 4);
    for entry in entries {
        let text = String::from_utf8_lossy(&std::fs::read(entry).unwrap()).into_owned();
        assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMmh1bnRlcjI"), "{text}");
    }
}
