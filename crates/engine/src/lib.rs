// SPDX-License-Identifier: Apache-2.0
//! In: policies that landed on nodes of a topology, ranked. Out: one effective value per target path, with the
//! origin of every part of it and the outcome of everything that lost. Not here: any vendor, any kind, any file.
//!
//! All families are one idea: contributions ranked on a ladder, folded step by step.
//!
//! ```text
//!  Rank      position with named keys; the one comparator says which key decided        rank.rs
//!  Ladder    ranked steps, in groups; equal ladders are one ladder                      ladder.rs
//!  Algebra   what a family does with each step: skip, keep, replace, fill, merge        fold.rs
//!  MergePlan how two values become one, as data per path                                plan.rs, merge.rs
//!  Traced    the value; every part knows the step that wrote it                         traced.rs
//!  Effective value, losses and the log of the fold, once per distinct ladder            effective.rs
//!  Paths     root-to-leaf walks; two bits each, and eight bytes per run of sections     paths.rs
//!  Resolution all of it, immutable; everything that explains only reads it              resolution.rs
//! ```
//!
//! A comparison names the key that decided, which is the sentence an explanation prints:
//!
//! ```
//! use overrule_engine::Rank;
//! let keys = ["level", "created", "name"];
//! let (gateway, route) = (Rank::new([1, 500, 0]), Rank::new([4, 100, 1]));
//! let decision = gateway.against(&route);
//! assert!(decision.order.is_lt(), "the gateway's policy stands above");
//! assert_eq!(decision.key.map(|k| keys[k]), Some("level"), "although the route's is older");
//! ```

mod effective;
mod fold;
mod folded;
mod ladder;
mod local;
mod losses;
mod merge;
mod outcome;
mod paths;
mod plan;
mod rank;
mod reason;
mod resolution;
mod room;
mod standing;
mod topology;
mod traced;
mod unresolved;
mod words;

pub use effective::{Effective, FoldAction, FoldEntry, Guard, GuardCheck, SeenValue};
pub use fold::{Action, Algebra, Fold, Op, Turn};
pub use ladder::{Group, LadderId, Ladders, PolicyId, Rung, Step, StepId};
pub use local::{Landed, LocalLadders};
pub use losses::{Loss, LossIter, Losses, Met, Steps};
pub use merge::{Combine, Merger, Prefer};
pub use outcome::{Fate, Outcome, Tally};
pub use paths::{PathId, Paths};
pub use plan::{ListRule, MergePlan, MergeRule, Nulls, PlanId};
pub use rank::{KeyValues, Rank, RankDecision, RankKey, RankKeys};
pub use reason::{Reason, ReasonInfo};
pub use resolution::{
    Attachment, KindId, KindResult, NewKind, NewSteps, PathFailure, PerStep, PolicyEntry,
    Rejection, Resolution, ResolutionBuilder, Subjects,
};
pub use topology::{Level, Node, NodeId, Topology};
pub use traced::{FieldKey, Leaf, Place, SharedText, Traced, dotted, pointer_segments};
pub use unresolved::{Unresolved, UnresolvedTarget};
pub use words::FamilyWords;
