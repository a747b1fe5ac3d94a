// SPDX-License-Identifier: Apache-2.0
//! In: a server and the texts it has. Out: that it answers what a server does that never had anything else. Not here: how
//! it came to have them.

use crate::ask::Ask;
use crate::manifests::ground;
use crate::server::{Server, Start};

/// Questions whose answers depend on nothing but the texts.
pub const QUESTIONS: [&str; 6] = [
    "/v1/effective",
    "/v1/get?kind=policies",
    "/v1/graph",
    "/v1/check",
    "/meshes/default/dataplanes/proxy-0/_rules",
    "/meshes/default/dataplanes/proxy-1/_policies",
];

/// A server that has nothing but the ground and these texts.
pub fn fresh(texts: &[String]) -> Server {
    let server = Start::new(&["--ephemeral"]).run();
    let all = [&[ground()], texts].concat().join("\n---\n");
    server.ask(&Ask::new("POST", "/v1/apply").body(&all)).expect(201);
    server
}

/// Compares what a server answers with what one answers that computed it from scratch.
pub fn compare(server: &Server, texts: &[String]) {
    let fresh = fresh(texts);
    for question in QUESTIONS {
        let (here, there) = (server.get(question), fresh.get(question));
        assert_eq!(here.body, there.body, "{question} is not what it is from scratch");
    }
    assert!(server.get("/v1/effective").body.contains("connectionTimeout"), "nothing is in force");
}
