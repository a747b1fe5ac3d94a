// SPDX-License-Identifier: Apache-2.0
//! In: a snapshot. Out: the Gateway API topology, where policies attach, and the resolution of GEP-713 kinds.
//! Not here: vendors with rules of their own; they filter the same topology in crates of their own.
//!
//! ```
//! use overrule_gateway::topology::hostname;
//! assert_eq!(hostname::intersect("*.example.com", "shop.example.com"), Some("shop.example.com"));
//! assert_eq!(hostname::intersect("*.example.com", "example.com"), None);
//! ```

pub mod codes_policy;
mod family;
pub mod kinds;
pub mod policy;
pub mod reasons;
pub mod requirements;
pub mod resolve;
pub mod walk;

pub use family::{Gep713, KnownKinds, World};
pub use kinds::Kinds;
pub use overrule_family::{ResolveOptions, Resolved};
pub use overrule_topology as topology;
pub use overrule_topology::codes;
pub use resolve::resolve;
