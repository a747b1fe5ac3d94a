// SPDX-License-Identifier: Apache-2.0
//! In: cases with known answers. Out: the naive implementation finds the same. Not here: what it is compared with.

mod conformance;
mod sentences;
