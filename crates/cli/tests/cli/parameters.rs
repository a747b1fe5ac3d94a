// SPDX-License-Identifier: Apache-2.0
//! In: the tables of parameters. Out: that the command line, the OpenAPI document, HTTP and the client have each of them.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

use overrule_ask::{Asked, Layout, Parameter, Parameters, Required, Shared, Takes};
use overrule_server::{Config, Extensions, openapi, start};
use serde_json::Value;

use crate::common::{Ran, finish, overrule, run};

/// A value that a parameter takes.
fn sample(row: &Parameter) -> &'static str {
    match row.takes {
        Takes::Flag => "true",
        Takes::Number(_) => "80",
        Takes::Word(words) | Takes::Choice { words, .. } => words.first().unwrap(),
        _ if row.name == "request" => "GET /",
        _ => "1.35.0",
    }
}

/// A row as it is typed.
fn typed(row: &Parameter) -> Vec<String> {
    let value = (row.takes != Takes::Flag).then(|| sample(row).to_owned());
    // What may stand alone is written by name: its place would be that of another.
    let by_name = !row.positional || row.flagged.is_some();
    let flag = by_name.then(|| format!("--{}", row.name));
    flag.into_iter().chain(value).collect()
}

/// What must stand beside a row.
fn beside<T: Parameters>(row: &Parameter) -> Vec<&'static Parameter> {
    let is_wanted = |other: &&Parameter| {
        other.name != row.name
            && (other.required != Required::No || row.requires == Some(other.name))
    };
    T::TABLE.iter().filter(is_wanted).collect()
}

/// The command line of a question with this parameter.
fn line<T: Asked>(row: &Parameter) -> Vec<String> {
    // In the order of the table, because places say which is which.
    let beside = beside::<T>(row);
    let own = T::TABLE.iter();
    let all = own.filter(|own| own.name == row.name || beside.iter().any(|b| b.name == own.name));
    let mut line = vec![T::NAME.to_owned()];
    line.extend(all.flat_map(typed));
    if row.shared.is_some() {
        line.extend(typed(row));
    }
    line
}

/// A server that tells which paths it was asked for.
fn recorder() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> =
                lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            stream.write_all(answer).unwrap();
            if sender.send(head[0].clone()).is_err() {
                return;
            }
        }
    });
    (address, receiver)
}

struct Fronts {
    document: Value,
    server: SocketAddr,
    recorder: SocketAddr,
    asked: Receiver<String>,
}

impl Fronts {
    /// Every parameter of a question.
    fn walk<T: Asked>(&self) {
        let help = run(&format!("{} --help", T::NAME)).out;
        let pointer = format!("/paths/~1v1~1{}/get/parameters", T::NAME);
        let documented = self.document.pointer(&pointer).unwrap().as_array().unwrap();
        for row in T::TABLE.iter().chain(Shared::TABLE).chain(Layout::TABLE) {
            let name = format!("{} of {}", row.name, T::NAME);
            let shown = match row.positional {
                true => {
                    help.contains(&format!("[{}]", row.value_name))
                        || help.contains(&format!("<{}>", row.value_name))
                }
                false => help.contains(&format!("--{}", row.name)),
            };
            assert!(shown || !row.on_command_line(), "{name}: {help}");
            let found = documented.iter().find(|p| p["name"] == row.name);
            assert_eq!(found.is_some(), row.in_query(), "{name}: {documented:?}");
            if let Some(found) = found {
                let about = row.http_help.unwrap_or(row.help);
                assert_eq!(found["description"], about, "{name}");
                assert_eq!(found["required"], row.required != Required::No, "{name}");
            }
            self.accepted::<T>(row);
        }
        let own = T::TABLE.iter();
        own.filter(|row| row.on_command_line()).for_each(|row| self.sent::<T>(row));
    }

    /// HTTP takes it, or has never heard of it.
    fn accepted<T: Asked>(&self, row: &Parameter) {
        let rows = beside::<T>(row).into_iter().chain([row]);
        let query: Vec<String> =
            rows.map(|r| format!("{}={}", r.name, sample(r).replace(' ', "+"))).collect();
        let url = format!("http://{}/v1/{}?{}", self.server, T::NAME, query.join("&"));
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let text = agent.get(&url).call().unwrap().body_mut().read_to_string().unwrap();
        let unknown = text.contains(&format!("unknown parameter `{}`", row.name));
        assert_eq!(unknown, !row.in_query(), "{url}: {text}");
        assert!(unknown || !text.contains("bad request: parameter"), "{url}: {text}");
    }

    /// A client passes it on, or keeps it to itself.
    fn sent<T: Asked>(&self, row: &Parameter) {
        let line = line::<T>(row);
        let ran: Ran =
            finish(overrule(&line).args(["--server", &format!("http://{}", self.recorder)]));
        assert_eq!(ran.code, Some(0), "{line:?}: {ran:?}");
        let asked = self.asked.recv().unwrap();
        let value = sample(row).replace(' ', "%20");
        let sent = asked.contains(&format!("{}={value}", row.name));
        assert_eq!(sent, row.in_query(), "{line:?}: {asked}");
    }
}

#[test]
fn every_parameter_is_everywhere() {
    let listen = Some((Ipv4Addr::LOCALHOST, 0).into());
    let config = Config { listen, ephemeral: true, ..Config::default() };
    let server = start(config, Vec::new(), overrule::Options::default()).unwrap();
    let (recorder, asked) = recorder();
    let fronts = Fronts {
        document: openapi::document(&Extensions::default()),
        server: server.address,
        recorder,
        asked,
    };
    fronts.walk::<overrule_ask::Check>();
    fronts.walk::<overrule_ask::Get>();
    fronts.walk::<overrule_ask::Effective>();
    fronts.walk::<overrule_ask::Explain>();
    fronts.walk::<overrule_ask::Reach>();
    fronts.walk::<overrule_ask::Can>();
    fronts.walk::<overrule_ask::Envoy>();
    fronts.walk::<overrule_ask::Graph>();
    Shared::TABLE.iter().for_each(|row| fronts.sent::<overrule_ask::Get>(row));
    // What the client says about itself.
    let layout = Layout { color: true, width: Some(80), columns: Some(80) }.sent();
    let names: Vec<&str> = layout.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, Layout::TABLE.iter().map(|row| row.name).collect::<Vec<_>>());
}

#[test]
fn every_setting_of_the_server_is_a_flag() {
    let help = run("serve --help").out;
    for row in Config::TABLE {
        assert!(help.contains(&format!("--{}", row.name)), "{}", row.name);
        assert!(
            row.env.is_none_or(|name| help.contains(&format!("[env: {name}="))),
            "{}",
            row.name
        );
        assert!(row.heading.is_some_and(|heading| help.contains(&format!("\n{heading}:\n"))));
    }
}
