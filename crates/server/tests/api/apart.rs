// SPDX-License-Identifier: Apache-2.0
//! Connections are served by threads that do nothing else.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use overrule_server::extension::{Endpoint, Problem, Reply};
use overrule_server::{Config, Extension, Extensions, start};
use serde_json::{Value, json};

use crate::client::{Client, config};

/// How many requests hold a thread of endpoints, and whether they may go on.
static STUCK: (Mutex<(usize, bool)>, Condvar) = (Mutex::new((0, false)), Condvar::new());

#[derive(Debug)]
struct Stuck;

impl Extension for Stuck {
    fn endpoints(&self) -> Vec<Endpoint> {
        vec![Endpoint::reading("stuck", "/stuck", "Holds its thread.", |_| {
            Box::pin(async {
                let (state, changed) = &STUCK;
                let mut state = state.lock().unwrap();
                state.0 += 1;
                changed.notify_all();
                let _done = changed.wait_while(state, |(_, free)| !*free).unwrap();
                Ok(Reply::fine(&json!({})))
            })
        })]
    }

    fn schemas(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn owns(&self, _path: &str) -> bool {
        false
    }

    fn error(&self, _problem: &Problem) -> Value {
        json!({})
    }

    fn error_schema(&self) -> &'static str {
        "Anything"
    }
}

#[test]
fn signs_of_life_need_no_thread_that_endpoints_use() {
    let settings = Config {
        extensions: Extensions::new(&[&Stuck]),
        probe_listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
        ..config()
    };
    let running = start(settings, Vec::<PathBuf>::new(), overrule::Options::default()).unwrap();
    let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(60)));
    let agent: ureq::Agent = agent.build().into();
    let client = |address| Client { agent: agent.clone(), ..Client::new(address, None) };
    let (main, probes) = (client(running.address), client(running.probes.unwrap()));
    let threads = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        let (state, changed) = &STUCK;
        for _ in 0..threads {
            scope.spawn(|| main.get("/stuck").expect(200));
        }
        let held = changed.wait_while(state.lock().unwrap(), |(held, _)| *held < threads).unwrap();
        drop(held);
        let alive: Vec<u16> = [&main, &probes].map(|client| client.get("/healthz").status).to_vec();
        state.lock().unwrap().1 = true;
        changed.notify_all();
        assert_eq!(alive, [200, 200]);
    });
}
