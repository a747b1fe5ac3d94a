// SPDX-License-Identifier: Apache-2.0
//! In: permissions, and somebody who asks. Out: who may call whom. Not here: merging confs.

pub mod gate;
pub mod identity;
pub mod inbounds;
mod offered;
pub mod permission;
pub mod reachable;
mod services;
