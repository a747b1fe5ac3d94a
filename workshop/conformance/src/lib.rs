// SPDX-License-Identifier: Apache-2.0
//! In: cases in the formats of other projects. Out: what differs from our answer. Not here: our own format of tests
//! (the `cases` crate), reading files and choosing cases (`xtask conformance`).

pub mod kuma;
