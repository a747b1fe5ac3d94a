// SPDX-License-Identifier: Apache-2.0
//! The messages of Envoy that we write, under their own names. Not here: which of them to write.
//!
//! Written in the JSON form of proto3: names in camel case, what has its default value left out. Fields stand in
//! alphabetical order, `@type` first, as Kuma prints them, so that equal content is equal bytes.

pub mod bootstrap;
pub mod matcher;
pub mod rbac;

use serde::Serialize;

/// An extension by name, with its typed configuration (`xds.core.v3.TypedExtensionConfig`, and the messages with the
/// same two fields: `Filter`, `HttpFilter`, `ListenerFilter`, `TransportSocket`, `AccessLog`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TypedExtensionConfig<C> {
    /// Which extension. For Envoy only the type of the configuration counts; people read this.
    pub name: &'static str,
    /// Its configuration.
    pub typed_config: C,
}

/// Whether a flag has its default and is left out.
pub(crate) fn is_false(flag: &bool) -> bool {
    !*flag
}
