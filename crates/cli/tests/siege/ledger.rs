// SPDX-License-Identifier: Apache-2.0
//! In: every write that clients tried, with what they were told, and the history that a server shows. Out: that the two
//! agree. Not here: trying.
//!
//! Every value that is ever written is unique. So each version of the history is the doing of one attempt, and from that it
//! follows whether something acknowledged is missing, something was done by halves, twice, out of order, or over the head of
//! a client that said what it expected.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use crate::ask::{Answer, Ask};
use crate::manifests::Key;
use crate::random::Random;
use crate::server::Server;

/// What a resource is after a write: its number, or gone.
pub type Value = Option<u64>;

/// How many versions of the past are looked at.
const PAST: usize = 20;

/// What a client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Nothing, or that it is unknown: it may have happened.
    Nothing,
    /// It is stored at this version.
    Stored(u64),
    /// It did not happen.
    Refused,
    /// It could not be done (503): it is not, and never will be.
    Failed,
}

/// A write that a client tried.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// What it writes: all of it, or nothing.
    pub writes: BTreeMap<Key, Value>,
    /// The version that it expects the only resource to have.
    pub expects: Option<u64>,
    /// The newest version that anybody had been told of when it began.
    floor: u64,
    told: Told,
    /// The version that it is, according to the history.
    found: Option<u64>,
}

/// What is there: number and version.
type State = BTreeMap<Key, (u64, u64)>;

#[derive(Default)]
struct Book {
    attempts: Vec<Attempt>,
    /// The newest version that was told to anybody.
    newest: u64,
    /// The history was compared up to here.
    read: u64,
    /// What the history says is there: number and version.
    state: State,
    /// The same after every version.
    past: BTreeMap<u64, State>,
    next: u64,
    complaints: Vec<String>,
    slowest: std::time::Duration,
    unclear: usize,
}

/// All attempts of all clients.
#[derive(Default)]
pub struct Ledger(Mutex<Book>);

impl Ledger {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap()
    }

    /// A number that was never written.
    pub fn fresh(&self) -> u64 {
        let mut book = self.book();
        book.next += 1;
        book.next
    }

    /// Notes that a write begins.
    pub fn begin(&self, writes: BTreeMap<Key, Value>, expects: Option<u64>) -> usize {
        let mut book = self.book();
        let floor = book.newest;
        book.attempts.push(Attempt { writes, expects, floor, told: Told::Nothing, found: None });
        book.attempts.len() - 1
    }

    /// Notes what was told.
    pub fn told(&self, attempt: usize, told: Told) {
        let mut book = self.book();
        book.attempts[attempt].told = told;
        match told {
            Told::Stored(version) => book.newest = book.newest.max(version),
            Told::Nothing | Told::Failed => book.unclear += 1,
            Told::Refused => {}
        }
    }

    /// Notes how long an answer took.
    pub fn took(&self, answer: &Answer) {
        let mut book = self.book();
        book.slowest = book.slowest.max(answer.took);
    }

    /// Notes something that must not be.
    pub fn complain(&self, what: String) {
        self.book().complaints.push(what);
    }

    /// What must not be, so far.
    #[track_caller]
    pub fn assert_fine(&self) {
        let complaints = &self.book().complaints;
        assert!(complaints.is_empty(), "{} complaints: {complaints:#?}", complaints.len());
    }

    /// A server that ended by itself answered everything that it did.
    #[track_caller]
    pub fn assert_all_told(&self) {
        let book = self.book();
        let untold = |a: &&Attempt| a.told == Told::Nothing && a.found.is_some();
        let untold: Vec<&Attempt> = book.attempts.iter().filter(untold).collect();
        assert!(untold.is_empty(), "done, but not told: {untold:#?}");
    }

    /// The slowest answer.
    pub fn slowest(&self) -> std::time::Duration {
        self.book().slowest
    }

    /// Attempts: all, stored, unclear; and the newest version.
    pub fn counts(&self) -> (usize, usize, usize, u64) {
        let book = self.book();
        let stored = |a: &&Attempt| matches!(a.told, Told::Stored(_));
        let all = book.attempts.len();
        (all, book.attempts.iter().filter(stored).count(), book.unclear, book.newest)
    }

    /// The ground that a server stands on is not part of any attempt.
    pub fn ground(&self, version: u64) {
        let mut book = self.book();
        (book.newest, book.read) = (version, version);
    }

    /// What is there, as text, after the last comparison.
    pub fn texts(&self) -> Vec<String> {
        self.book().state.iter().map(|(key, (value, _))| key.text(*value)).collect()
    }

    /// Compares everything with what a server has. No write may be under way.
    pub fn compare(&self, server: &Server) {
        self.assert_fine();
        let mut book = self.book();
        let entries = history(server, book.read);
        book.read_all(&entries);
        let missing: Vec<&Attempt> = book.missing().collect();
        assert!(missing.is_empty(), "acknowledged, but not in the history: {missing:#?}");
        let newest = server.get("/v1/resources?size=10000");
        assert_eq!(newest.version(), book.read, "the state is not of the newest version");
        listed(&newest, &book.state);
        book.each(server);
    }

    /// Compares a copy with the version that it is; tells it.
    pub fn compare_copy(&self, server: &Server) -> u64 {
        let list = server.get("/v1/resources?size=10000");
        let version = list.version();
        listed(&list, &self.book().past[&version]);
        version
    }

    /// Compares some versions of the past with what the server says of them.
    pub fn compare_past(&self, server: &Server, random: &mut Random) {
        let book = self.book();
        let versions: Vec<u64> = book.past.keys().copied().collect();
        for _ in 0..PAST {
            let version = *random.of(&versions);
            let path = format!("/v1/resources?size=10000&as-of={version}");
            listed(&server.get(&path), &book.past[&version]);
        }
    }
}

/// A version of the history: what it did.
type Entry = (u64, BTreeMap<Key, Value>);

/// The history after a version, oldest first.
fn history(server: &Server, after: u64) -> Vec<Entry> {
    let keys: BTreeMap<String, Key> = Key::all().into_iter().map(|k| (k.target(), k)).collect();
    let mut entries: BTreeMap<u64, BTreeMap<Key, Value>> = BTreeMap::new();
    let mut path = "/v1/history?size=200".to_owned();
    loop {
        let page = server.get(&path).json();
        let items = page["items"].as_array().unwrap().clone();
        for item in &items {
            let version = item["version"].as_u64().unwrap();
            if version <= after {
                continue;
            }
            let target = item["target"].as_str().unwrap();
            let key = *keys.get(target).unwrap_or_else(|| panic!("nobody wrote {target}"));
            let value = match (item["done"].as_str().unwrap(), item["text"].as_str()) {
                ("deleted", None) => None,
                ("created" | "changed", Some(text)) => Some(value_of(key, text)),
                other => panic!("history shows {other:?}: {item}"),
            };
            let twice = entries.entry(version).or_default().insert(key, value);
            assert_eq!(twice, None, "{target} is twice in version {version}");
        }
        let oldest = items.last().map_or(0, |item| item["version"].as_u64().unwrap());
        match page["next"].as_str() {
            Some(next) if oldest > after => {
                path = next.split_once("/v1/").map(|(_, rest)| format!("/v1/{rest}")).unwrap();
            }
            _ => break,
        }
    }
    entries.into_iter().collect()
}

/// The number in a text. The whole text has to be as it was sent.
fn value_of(key: Key, text: &str) -> u64 {
    let (before, after) = match key {
        Key::Timeout(_) => ("connectionTimeout: ", "s}"),
        Key::Retry(_) => ("\"numRetries\":", "}"),
        Key::Limit(_) => ("limit: ", ","),
    };
    let found = text.split_once(before).and_then(|(_, rest)| rest.split_once(after));
    let value = found.and_then(|(number, _)| number.parse().ok());
    let value = value.unwrap_or_else(|| panic!("{} has no number: {text}", key.target()));
    assert_eq!(text.trim(), key.text(value).trim(), "the text was changed");
    value
}

impl Book {
    fn read_all(&mut self, entries: &[Entry]) {
        for (version, did) in entries {
            assert_eq!(*version, self.read + 1, "a version is missing in the history");
            let attempt = self.matching(*version, did);
            let tried = &self.attempts[attempt].writes;
            assert_eq!(tried, did, "version {version} is a write by halves");
            self.judge(attempt, *version);
            for (key, value) in did {
                match value {
                    Some(value) => self.state.insert(*key, (*value, *version)),
                    None => self.state.remove(key),
                };
            }
            self.read = *version;
            self.past.insert(*version, self.state.clone());
        }
    }

    /// The attempt that a version is the doing of.
    fn matching(&mut self, version: u64, did: &BTreeMap<Key, Value>) -> usize {
        let touches = |a: &Attempt| {
            did.iter().any(|(key, value)| {
                // A number is of one attempt only; deletions may look alike.
                value.is_some() && a.writes.get(key) == Some(value)
            })
        };
        let exact = |a: &Attempt| a.told == Told::Stored(version);
        let deletes = |a: &Attempt| {
            a.writes == *did && a.found.is_none() && a.told == Told::Nothing && a.floor < version
        };
        let at = |fits: &dyn Fn(&Attempt) -> bool| self.attempts.iter().position(fits);
        let found = at(&touches).or_else(|| at(&exact)).or_else(|| at(&deletes));
        found.unwrap_or_else(|| panic!("nobody tried what version {version} did: {did:?}"))
    }

    fn judge(&mut self, attempt: usize, version: u64) {
        let found = &mut self.attempts[attempt];
        assert_eq!(found.found, None, "done twice, now as version {version}: {found:?}");
        found.found = Some(version);
        let attempt = &self.attempts[attempt];
        let not_done = [Told::Refused, Told::Failed];
        assert!(!not_done.contains(&attempt.told), "refused and done as {version}: {attempt:?}");
        if let Told::Stored(told) = attempt.told {
            assert_eq!(told, version, "another version was told: {attempt:?}");
        }
        assert!(attempt.floor < version, "version {version} came after newer ones: {attempt:?}");
        if let Some(expected) = attempt.expects {
            let key = attempt.writes.keys().next().unwrap();
            let there = self.state.get(key).map(|(_, version)| *version);
            assert_eq!(there, Some(expected), "a lost update at {version}: {attempt:?}");
        }
    }

    fn missing(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|a| matches!(a.told, Told::Stored(_)) && a.found != told(a))
    }

    /// Each resource is what the history says.
    fn each(&self, server: &Server) {
        for key in Key::all() {
            let path = format!("{}?output=text", key.own_path());
            let answer = server.ask(&Ask::new("GET", &path));
            let there = match answer.status {
                404 => None,
                200 => Some((value_of(key, &answer.body), etag(&answer))),
                _ => panic!("{answer:?}"),
            };
            assert_eq!(there, self.state.get(&key).copied(), "{}", key.target());
        }
    }
}

/// The list of resources says the same as the history.
fn listed(list: &Answer, state: &State) {
    let known: BTreeSet<String> = Key::all().into_iter().map(Key::target).collect();
    let items = list.json()["items"].as_array().unwrap().clone();
    let listed = items.iter().map(|item| {
        (item["target"].as_str().unwrap().to_owned(), item["version"].as_u64().unwrap())
    });
    let listed: BTreeMap<String, u64> = listed.filter(|(t, _)| known.contains(t)).collect();
    let state = state.iter().map(|(key, (_, version))| (key.target(), *version));
    assert_eq!(listed, state.collect::<BTreeMap<_, _>>(), "the list differs from the history");
}

fn told(attempt: &Attempt) -> Option<u64> {
    match attempt.told {
        Told::Stored(version) => Some(version),
        _ => None,
    }
}

/// The version in the header that conditions are made of.
pub fn etag(answer: &Answer) -> u64 {
    answer.header("etag").and_then(|v| v.trim_matches('"').parse().ok()).unwrap()
}

#[cfg(test)]
mod itself {
    //! What the ledger must not let pass.

    use super::*;

    const ONE: Key = Key::Retry(1);
    const TWO: Key = Key::Retry(2);

    type Writes<'a> = &'a [(Key, Value)];

    /// Attempts with what was told, and the history: what each version did.
    fn read(tried: &[(Writes<'_>, Option<u64>, Told)], did: &[Writes<'_>]) -> Book {
        let mut book = Book::default();
        for (writes, expects, told) in tried {
            let writes = writes.iter().copied().collect();
            book.attempts.push(Attempt {
                writes,
                expects: *expects,
                floor: 0,
                told: *told,
                found: None,
            });
        }
        let did = did.iter().map(|writes| writes.iter().copied().collect());
        book.read_all(&(1..).zip(did).collect::<Vec<Entry>>());
        book
    }

    #[test]
    fn what_is_right_passes() {
        let tried: [(Writes<'_>, _, _); 4] = [
            (&[(ONE, Some(1))], None, Told::Stored(1)),
            (&[(ONE, Some(2)), (TWO, Some(3))], None, Told::Nothing),
            (&[(ONE, None)], None, Told::Nothing),
            (&[(ONE, Some(4))], Some(1), Told::Refused),
        ];
        let book = read(&tried, &[tried[0].0, tried[1].0, tried[2].0]);
        assert_eq!(book.missing().count(), 0);
        assert_eq!(book.state, State::from([(TWO, (3, 2))]));
        // What nobody was told of may as well not have happened.
        assert_eq!(read(&tried, &[tried[0].0]).missing().count(), 0);
    }

    #[test]
    fn what_is_lost_is_found() {
        let tried: [(Writes<'_>, _, _); 1] = [(&[(ONE, Some(1))], None, Told::Stored(1))];
        assert_eq!(read(&tried, &[]).missing().count(), 1);
    }

    #[test]
    #[should_panic(expected = "by halves")]
    fn halves_are_found() {
        let tried: [(Writes<'_>, _, _); 1] =
            [(&[(ONE, Some(1)), (TWO, Some(2))], None, Told::Nothing)];
        read(&tried, &[&[(ONE, Some(1))]]);
    }

    #[test]
    #[should_panic(expected = "done twice")]
    fn repetitions_are_found() {
        let tried: [(Writes<'_>, _, _); 1] = [(&[(ONE, Some(1))], None, Told::Nothing)];
        read(&tried, &[tried[0].0, tried[0].0]);
    }

    #[test]
    #[should_panic(expected = "refused and done")]
    fn what_was_refused_is_found() {
        let tried: [(Writes<'_>, _, _); 1] = [(&[(ONE, Some(1))], None, Told::Refused)];
        read(&tried, &[tried[0].0]);
    }

    #[test]
    #[should_panic(expected = "a lost update")]
    fn lost_updates_are_found() {
        let tried: [(Writes<'_>, _, _); 3] = [
            (&[(ONE, Some(1))], None, Told::Stored(1)),
            (&[(ONE, Some(2))], Some(1), Told::Stored(2)),
            (&[(ONE, Some(3))], Some(1), Told::Stored(3)),
        ];
        read(&tried, &[tried[0].0, tried[1].0, tried[2].0]);
    }

    #[test]
    #[should_panic(expected = "nobody tried")]
    fn what_nobody_tried_is_found() {
        read(&[], &[&[(ONE, Some(1))]]);
    }
}
