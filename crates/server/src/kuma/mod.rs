// SPDX-License-Identifier: Apache-2.0
//! Kuma's own paths: resources of meshes, and the Inspect API. Errors have that API's shape.

pub mod inspect;
pub mod resources;
