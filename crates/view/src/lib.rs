// SPDX-License-Identifier: Apache-2.0
//! In: a resolution and what it was computed from, as a [`Scene`]. Out: what people and programs read.
//! Not here: any decision, any clock, any output stream.
//!
//! ```text
//!  Scene ──► v1::EffectivePolicy, Explanation, Reach, ...   data, the model `overrule/v1`       effective, explain, reach, get
//!                 │
//!                 ├──► json, yaml                             for programs                        print
//!                 └──► tables and prose                       for people; reads only the data     *_text
//! ```

pub mod access;
mod assumed;
mod beside;
mod compare;
mod compare_text;
mod decide;
mod diagnostics;
mod diff;
mod diff_cause;
mod diff_pairs;
mod diff_text;
mod effective;
mod effective_text;
pub mod escape;
mod excerpt;
mod explain;
mod explain_text;
mod field;
mod focus;
mod get;
mod get_text;
mod graph;
mod jsonpath;
mod losses;
mod others;
mod print;
mod reach;
mod reach_text;
mod rules;
mod rules_text;
mod scene;
mod side_by_side_text;
mod steps;
mod style;
mod table;
pub mod tenancy;
pub mod v1;
mod value;
mod words;
mod written;
mod yaml;

pub use assumed::{assumptions, line as assumed_line};
pub use beside::{service_routes_text, unresolved, unresolved_text};
pub use compare::{elsewhere, only_elsewhere};
pub use diagnostics::{diagnostics, diagnostics_short, diagnostics_text, summary};
pub use diff::{EffectiveDiff, changes, changes_for};
pub use diff_text::{changes_text, field_change_line, flow_text, place_text};
pub use effective::effective;
pub use effective_text::{EffectiveTable, effective_policy_text, effective_text};
pub use explain::explain;
pub use explain_text::{explain_text, explanation_text};
pub use get::{deleted_policies, policies, resources, without};
pub use get_text::{policies_table, resources_table, without_table};
pub use graph::{Graph, GraphFocus};
pub use jsonpath::{JsonPath, JsonPathError};
pub use others::Other;
pub use print::{PrintFormat, json, json_line, yaml};
pub use reach::reach;
pub use reach_text::reach_text;
pub use rules::rules;
pub use scene::{Findings, PlacedFindings, Scene, ScenePart};
pub use style::Styles;
pub use table::{Cell, Table, TableFit};
pub use v1::schema;
