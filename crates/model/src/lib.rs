// SPDX-License-Identifier: Apache-2.0
//! In: documents with spans. Out: a [`Snapshot`], the frozen and sorted set of resources that an answer is computed from.
//! Not here: what a Gateway or a policy means; families read the specs they know.
//!
//! ```
//! use overrule_source::{read_one, ReadOptions};
//! let read = read_one("a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n", &ReadOptions::default());
//! let parsed = overrule_model::parse(&read.documents);
//! let service = parsed.snapshot.objects().next().unwrap();
//! assert_eq!(parsed.snapshot.display(service.id).to_string(), "service/default/web");
//! ```

mod article;
mod assumed;
pub mod codes;
mod created;
mod definitions;
mod deletion;
mod field;
mod head;
mod labels;
mod names;
mod object;
mod parse;
pub mod placeholder;
mod rendered;
mod scope;
mod snapshot;
mod suggest;
mod target;
mod universal;

pub use article::with_article;
pub use assumed::{Assumed, Placeholder, assume};
pub use created::Created;
pub use field::{At, Fields, Seg, UNKNOWN_SHOWN};
pub use labels::{Labels, Selector, SelectorClause, SelectorError};
pub use names::{Names, Sym};
pub use object::{GroupKind, Object, ObjectId, Scope};
pub use parse::{DEFAULT_NAMESPACE, Parsed, again, parse, parse_for};
pub use scope::{cluster_scoped, short_names};
pub use snapshot::{Display, ObjectKey, Snapshot, is_called, key_of};
pub use suggest::nearest;
pub use target::{TargetName, TargetNameError};
pub use universal::GROUP as UNIVERSAL_GROUP;
