// SPDX-License-Identifier: Apache-2.0
//! In: objects. Out: whether the one who asks may read them. Not here: tokens and roles (whoever asks knows those), and
//! how answers are kept free of the rest (`overrule::view::tenancy`).
//!
//! # What a restricted reader is told
//!
//! The reader of a target sees the values in force there and the names of the policies that set them. Of what it may not
//! read it learns nothing else:
//!
//! - `effective`: targets it may not read are absent. Elements of a path it may not read are left out, and results that
//!   are alike then are one. Policies it may not read are named where they set a value; their block, file and line, and
//!   what of them lost, are not told. Other profiles are not compared.
//! - `explain`: the rungs of its own policies, numbered among themselves, and the result. No rungs, steps or reasons of
//!   others; what its own policies lost is told with the names in force there, without the rule, because the rule may
//!   lie in a policy that lost too.
//! - `reach`: of its own policies, the targets it may read. A reference to what it may not read looks like a reference to
//!   what does not exist.
//! - `get`: its own rows. Targets, outcomes and counts are those it may read; conditions of controllers are left out.
//! - `can`: the verdict and the name of who decides, if the target may be read; what a hidden permission matches, and
//!   hidden permissions that did not decide, are left out. A list of everybody who can call has only the permissions and
//!   the clients that may be read, and always says so.
//! - `envoy`: the whole configuration of an inbound it may read: all of it is in force.
//! - `graph`: nodes it may read, joined over those it may not; its own policies; no rejections.
//! - `check`: findings that one of its documents has by itself.
//! - Everything else, down to suggestions in messages, counts and exit codes, is made of what it may read. What it may
//!   not read answers as what does not exist.
//!
//! In a mesh a path is of its proxy as much as of where it leads, so both must be readable; clients that policies
//! describe are not objects and are left out.
//!
//! A reader of whom it is certain that it may read everything that could ever act on an object ([`Sees::closed`]: all of a
//! mesh) is told everything about it, because nothing is left to hide.

pub use overrule::view::tenancy::{Everything, Sees};
