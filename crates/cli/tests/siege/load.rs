// SPDX-License-Identifier: Apache-2.0
//! In: servers and a ledger. Out: clients that write at random until told to stop, and note what they are told. Not here:
//! whether that is right.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::ask::{Answer, Ask};
use crate::ledger::{Ledger, Told, Value, etag};
use crate::manifests::Key;
use crate::random::Random;

/// Clients that write.
pub struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// What clients put up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Connections break, because the server is killed. Then they stop.
    Killed,
    /// Answers say 503 or 504, because the database is away. Then they try something else.
    Unavailable,
    /// The same, because lines to the database hang. What is stored may then be read back late.
    Lines,
    /// Either, because the server ends by itself.
    Ending,
}

impl Load {
    /// Starts clients; each talks to all of the servers.
    pub fn start(
        to: &[SocketAddr],
        ledger: &Arc<Ledger>,
        trouble: Trouble,
        clients: u64,
        seed: u64,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let one = |n: u64| {
            let mut client = Client {
                to: to.to_vec(),
                ledger: Arc::clone(ledger),
                random: Random::new(seed, n + 1),
                trouble,
            };
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || while !stop.load(Ordering::Relaxed) && client.write() {})
        };
        let threads = (0..clients).map(one).collect();
        Self { stop, threads }
    }

    /// Waits until all clients have stopped.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

struct Client {
    to: Vec<SocketAddr>,
    ledger: Arc<Ledger>,
    random: Random,
    trouble: Trouble,
}

impl Client {
    /// Writes something; whether to go on.
    fn write(&mut self) -> bool {
        let to = *self.random.of(&self.to);
        let key = *self.random.of(&Key::all());
        match self.random.below(10) {
            0..3 => self.one(to, key, None),
            3..6 => self.guarded(to, key),
            6 | 7 => self.several(to, "/v1/apply"),
            8 => self.several(to, "/v1/delete"),
            _ => self.gone(to, key),
        }
    }

    fn one(&mut self, to: SocketAddr, key: Key, expects: Option<u64>) -> bool {
        let value = self.ledger.fresh();
        let mut ask = Ask::new("PUT", &key.path()).body(&key.text(value));
        if let Some(version) = expects {
            ask = ask.header("if-match", &format!("\"{version}\""));
        }
        self.attempt(to, &ask, BTreeMap::from([(key, Some(value))]), expects)
    }

    /// Reads a version and writes only if nobody else has written since.
    fn guarded(&mut self, to: SocketAddr, key: Key) -> bool {
        match Ask::new("GET", &key.own_path()).send(to) {
            Ok(answer) if answer.status == 200 => self.one(to, key, Some(etag(&answer))),
            Ok(answer) if answer.status == 404 => self.one(to, key, None),
            Ok(answer) => self.odd(&answer),
            Err(error) => self.broken(&error),
        }
    }

    fn several(&mut self, to: SocketAddr, path: &str) -> bool {
        let mut writes: BTreeMap<Key, Value> = BTreeMap::new();
        for _ in 0..=self.random.below(4) {
            let key = *self.random.of(&Key::all());
            let value = self.ledger.fresh();
            writes.insert(key, Some(value));
        }
        let texts: Vec<String> = writes.iter().map(|(k, v)| k.text(v.unwrap_or(0))).collect();
        if path == "/v1/delete" {
            writes.values_mut().for_each(|value| *value = None);
        }
        let ask = Ask::new("POST", path).body(&texts.join("\n---\n"));
        self.attempt(to, &ask, writes, None)
    }

    fn gone(&mut self, to: SocketAddr, key: Key) -> bool {
        self.attempt(to, &Ask::new("DELETE", &key.path()), BTreeMap::from([(key, None)]), None)
    }

    fn attempt(
        &mut self,
        to: SocketAddr,
        ask: &Ask,
        writes: BTreeMap<Key, Value>,
        expects: Option<u64>,
    ) -> bool {
        let attempt = self.ledger.begin(writes, expects);
        match ask.send(to) {
            Ok(answer) => {
                self.ledger.took(&answer);
                self.ledger.told(attempt, meaning(&answer));
                match answer.status {
                    200 | 201 => self.reads_own(to, &answer),
                    404 | 409 => true,
                    _ => self.odd(&answer),
                }
            }
            Err(error) => {
                self.ledger.told(attempt, Told::Nothing);
                self.broken(&error)
            }
        }
    }

    /// Who was told that something is stored sees it at once.
    fn reads_own(&mut self, to: SocketAddr, stored: &Answer) -> bool {
        if self.random.below(8) > 0 || self.trouble == Trouble::Lines {
            return true;
        }
        match Ask::new("GET", "/v1/resources?size=1").send(to) {
            Ok(answer) if answer.status == 200 => {
                if answer.version() < stored.version() {
                    let (saw, wrote) = (answer.version(), stored.version());
                    self.ledger.complain(format!("wrote {wrote} and saw {saw}"));
                }
                true
            }
            Ok(answer) => self.odd(&answer),
            Err(error) => self.broken(&error),
        }
    }

    fn odd(&mut self, answer: &Answer) -> bool {
        // 504: nobody knows what became of a write.
        let expected = matches!(answer.status, 503 | 504) && self.trouble != Trouble::Killed;
        if !expected {
            self.ledger.complain(format!("{answer:?}"));
        }
        // The database is away: hammering it helps nobody.
        std::thread::sleep(Duration::from_millis(20));
        expected
    }

    fn broken(&mut self, error: &std::io::Error) -> bool {
        if matches!(self.trouble, Trouble::Unavailable | Trouble::Lines) {
            self.ledger.complain(format!("no answer: {error}"));
        }
        false
    }
}

/// What an answer to a write means.
fn meaning(answer: &Answer) -> Told {
    match answer.status {
        200 | 201 => Told::Stored(answer.version()),
        400..500 => Told::Refused,
        503 => Told::Failed,
        _ => Told::Nothing,
    }
}
