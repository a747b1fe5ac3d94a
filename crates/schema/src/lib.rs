// SPDX-License-Identifier: Apache-2.0
//! In: an object, and the schemas of its kind. Out: what an API server with these CRDs refuses or drops, with line,
//! column and remedy. Not here: what any field means, and whether objects fit together.
//!
//! ```text
//!  table     schemas as data: a tree of fields with types, bounds, patterns, defaults, rules      table.rs
//!  words     what to say about each pattern and rule                                              words.rs
//!  check     an object against the tree                                                           check.rs
//!  cel       the rules (`x-kubernetes-validations`) over the object as it is written              cel/
//! ```
//!
//! The API server fills in defaults before it looks at rules, and so does this: a field that is absent and has a
//! default is seen with it. A rule is looked at where everything below it is sound, because the API server does not
//! look at rules of an unsound object, and what a rule says about one is noise.

mod cel;
mod check;
mod choices;
pub mod codes;
mod duplicates;
mod format;
mod table;
mod words;

pub use table::{KindSchema, SchemaTable};
