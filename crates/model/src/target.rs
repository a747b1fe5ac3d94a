// SPDX-License-Identifier: Apache-2.0
//! In: `kind/namespace/name#section` as people type it. Out: its parts. Not here: whether it exists.

use std::fmt;
use std::str::FromStr;

/// A target as written on a command line, in JSON or in a test: `httproute/shop/cart#rule-1`, `gatewayclass/edge`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TargetName {
    /// Kind as written: any case, singular, plural or short.
    pub kind: String,
    /// Group, where the kind alone would be ambiguous (`kind.group/...`).
    pub group: Option<String>,
    /// Namespace (or mesh); absent for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// A named part: listener, rule, port.
    pub section: Option<String>,
}

/// Why a text is not a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetNameError(String);

impl fmt::Display for TargetNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid target `{}`; use kind/namespace/name (kind/name if cluster-scoped), optionally #section for a listener, rule or port",
            self.0
        )
    }
}

impl std::error::Error for TargetNameError {}

impl FromStr for TargetName {
    type Err = TargetNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || TargetNameError(text.to_owned());
        let (head, section) = match text.split_once('#') {
            Some((_, "")) => return Err(bad()),
            Some((head, section)) => (head, Some(section.to_owned())),
            None => (text, None),
        };
        let parts: Vec<&str> = head.split('/').collect();
        if parts.iter().any(|p| p.is_empty()) {
            return Err(bad());
        }
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some((*namespace).to_owned()), *name),
            _ => return Err(bad()),
        };
        let (kind, group) = match kind.split_once('.') {
            Some((kind, group)) if !kind.is_empty() && !group.is_empty() => {
                (kind, Some(group.to_owned()))
            }
            Some(_) => return Err(bad()),
            None => (kind, None),
        };
        Ok(Self { kind: kind.to_owned(), group, namespace, name: name.to_owned(), section })
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(group) = &self.group {
            write!(f, ".{group}")?;
        }
        if let Some(namespace) = &self.namespace {
            write!(f, "/{namespace}")?;
        }
        write!(f, "/{}", self.name)?;
        if let Some(section) = &self.section {
            write!(f, "#{section}")?;
        }
        Ok(())
    }
}
