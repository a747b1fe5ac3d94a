// SPDX-License-Identifier: Apache-2.0
//! In: seeds and small random worlds. Out: manifests, and answers to compare the engine with.
//! Not here: anything a user runs; only tests, benches and xtask depend on this crate.
//!
//! ```text
//!  deletion worlds in which something is being deleted                          for properties
//!  fleet    deterministic fleets of any size, as YAML or JSON, streamed      for benches, fuzz seeds, demonstrations
//!  gen      proptest strategies for small, nasty worlds                      for properties
//!  oracle   the effective policies of a world, computed the slow way        to compare with
//!  run      the real pipeline, and its answers in the oracle's form         to be compared
//!  yaml     JSON values as block YAML                                       what people write
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "test code: a broken expectation shall stop the test"
)]

pub mod deletion;
pub mod envoygateway;
pub mod fleet;
pub mod generate;
pub mod kgateway;
pub mod kuadrant;
pub mod kuma;
pub mod oracle;
pub mod rng;
pub mod run;
pub mod yaml;
