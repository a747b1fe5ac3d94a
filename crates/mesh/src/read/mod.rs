// SPDX-License-Identifier: Apache-2.0
//! In: documents. Out: the resources of every mesh as a control plane would have them, and their nodes. Not here: whether
//! they are valid (`admit`), what policies say.
//!
//! ```text
//! kinds, kri, names, labels, role        what resources are called, and what their labels say
//! resource, dataplane, policy, targetref resources as they are written
//! resources, topology                    all of them by mesh, and their nodes
//! ```

pub mod dataplane;
pub(crate) mod derive;
pub mod kinds;
pub mod kri;
pub mod labels;
pub mod names;
pub mod policy;
pub(crate) mod quote;
pub mod resource;
pub(crate) mod resources;
pub mod role;
pub mod targetref;
pub mod topology;
