// SPDX-License-Identifier: Apache-2.0
//! In: the entries of matched policies, each as the set of clients or services it speaks of. Out: rules
//! over such sets, each with the entries that contribute to it, and the lookups that read them. Not here: what the
//! entries configure, how confs merge, which kinds of reference become which set.
//!
//! ```text
//!  Tag, Subset     sets described by tags, and how they relate                        algebra.rs
//!  combinations    every way to say yes or no to each tag of a list                   combine.rs
//!  build           entries to rules: groups of compatible entries, their combinations build.rs, walk.rs
//!  groups          maximal sets of mutually compatible entries                        cliques.rs, bits.rs
//!  first, exact    rules to the one rule for an element; decide: the same from entries lookup.rs
//!  Work            what a build may cost                                              work.rs
//! ```
//!
//! ```
//! use overrule_mesh::subset::{Subset, Tag, build, exact};
//! use std::collections::BTreeMap;
//! let everyone = Subset::default();
//! let shop = Subset::new([Tag::is("app", "shop")]);
//! let built = build(&[everyone, shop], true, 1000);
//! let client = BTreeMap::from([("app", "shop")]);
//! let rule = exact(&built.rules, &client).and_then(|at| built.rules.get(at));
//! assert_eq!(rule.map(|r| r.relevant.as_slice()), Some([0, 1].as_slice()));
//! ```

mod algebra;
mod bits;
mod build;
mod cliques;
mod combine;
mod lookup;
mod walk;
mod work;

pub use algebra::{Subset, Tag};
pub use build::{Built, ElementRule, MAX_ENTRIES, build};
pub use combine::{Combinations, combinations};
pub use lookup::{decide, deciding, exact, first};
