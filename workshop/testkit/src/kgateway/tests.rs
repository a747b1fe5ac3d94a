// SPDX-License-Identifier: Apache-2.0
//! In: cases with known answers. Out: the oracle finds the same. Not here: the engine, which it is compared with.

mod conformance;
mod corners;
mod small;
