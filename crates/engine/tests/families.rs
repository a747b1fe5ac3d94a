// SPDX-License-Identifier: Apache-2.0
//! In: a small instance of each family of `docs/decisions/0001-one-engine-four-families.md`. Out: that the engine holds
//! all four, with values, origins, losses and one fold per ladder. Not here: the families' real rules; these are
//! models, just large enough that a change of the engine's shape breaks them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation shall stop the test"
)]

#[path = "families/gep713.rs"]
mod gep713;
#[path = "families/kgateway.rs"]
mod kgateway;
#[path = "families/kuadrant.rs"]
mod kuadrant;
#[path = "families/kuma.rs"]
mod kuma;
mod lab;
#[path = "families/resolution.rs"]
mod resolution;
