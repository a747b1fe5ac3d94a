// SPDX-License-Identifier: Apache-2.0
//! In: entries of policies (`to[i]`, `from[i]`, `rules[i]`, a spec with one conf). Out: their confs as Kuma reads them,
//! and merged confs in which every part knows the entry that wrote it. Not here: which entries meet, and their order.
//!
//! ```text
//!  schema      defaults and durations of every kind, as data
//!  defaults    what the schema adds and rewrites while a resource is read; the conf of an entry
//!  duration    Go's text of a duration
//!  plan        how the confs of a kind become one
//!  http_route  identity and hash of the matches of a rule
//!  algebra     what each step of a ladder does to what is in force
//!  confs       confs by step; those that meet are ladders: one value, or one per hostname
//! ```

pub mod algebra;
mod confs;
pub mod defaults;
pub mod duration;
pub mod http_route;
pub mod plan;
pub mod reasons;
pub mod schema;

pub use algebra::{ConfAlgebra, StepConfs};
pub(crate) use confs::{Confs, stand_in};
pub use confs::{Meeting, Merged, merge_by};
pub use defaults::{EntryPosition, conf_of, entry_of, spec_of};
pub use http_route::hash_of_matches;
pub use plan::{Append, ConfStrategy, Keyed, Plan};
