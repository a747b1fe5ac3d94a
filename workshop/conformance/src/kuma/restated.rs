// SPDX-License-Identifier: Apache-2.0
//! In: a restated case: one function of the mesh family, its input and its answer. Out: what differs. Not here: cases that
//! Kuma's own files hold (`golden`).
//!
//! ```text
//! names       identifiers, stored names, labels
//! references  one reference: what is wrong with it, what it means
//! sets        sets of tags, rules over them
//! confs       merging confs and routes
//! lookup      confs by identifier
//! ordering    kinds, references, policies, entries, matches
//! mtp*        permissions: what is wrong, who reaches what, decisions, filters, filters in listeners
//! read        members of a case
//! ```

mod confs;
mod lookup;
mod mtp;
mod mtp_apply;
mod mtp_decide;
mod mtp_envoy;
mod mtp_filters;
mod names;
mod ordering;
mod read;
mod references;
mod sets;

use serde_json::Value;

pub(super) use mtp_apply::answer as applied;

/// Runs a case; none if the area is not known.
pub(super) fn run(area: &str, case: &Value) -> Option<Result<(), String>> {
    let areas = [
        names::run,
        references::run,
        sets::run,
        confs::run,
        lookup::run,
        ordering::run,
        mtp::run,
        mtp_decide::run,
        mtp_filters::run,
    ];
    areas.iter().find_map(|run| run(area, case))
}

#[cfg(test)]
mod client_tests;
#[cfg(test)]
mod mtp_mesh_tests;
#[cfg(test)]
mod mtp_tests;
#[cfg(test)]
mod tests;
