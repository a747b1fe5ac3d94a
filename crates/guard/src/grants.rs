// SPDX-License-Identifier: Apache-2.0
//! In: grants as text (`read`, `write:mesh/default`, `read:namespace/shop`, `admin`). Out: whether they allow something.
//! Not here: who holds them.
//!
//! The rules, all of them:
//!
//! - `admin` is everything. `write` includes `read`. A grant without a scope is for everything.
//! - What belongs to no mesh and no namespace (a GatewayClass, a Zone) is read only by whoever reads everything: its
//!   fields may name other tenants.
//! - `mesh/m` covers the Mesh `m` itself and everything in it; `namespace/n` everything in that namespace.
//! - An object that is in a mesh *and* in a namespace is read by the readers of either. To write it takes both, because it
//!   changes both: a writer of a namespace must not put rules into any mesh by naming it, nor the other way round.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longer names exist neither as meshes nor as namespaces.
const NAME_BYTES: usize = 253;

/// What one may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// See.
    Read,
    /// See and change.
    Write,
    /// See and change everything, and hand out tokens.
    Admin,
}

/// Where one may do it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantScope {
    /// Everywhere.
    All,
    /// In one mesh.
    Mesh(String),
    /// In one namespace.
    Namespace(String),
}

/// A role in a scope. Built by parsing, so that a name in it is always a proper one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    role: Role,
    scope: GrantScope,
}

/// What somebody wants to see or change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protected<'a> {
    /// Something that belongs to no namespace and no mesh.
    Cluster,
    /// Something in a namespace.
    Namespace(&'a str),
    /// A mesh, or something in it.
    Mesh(&'a str),
    /// Something of a mesh that is kept in a namespace.
    Both {
        /// The mesh.
        mesh: &'a str,
        /// The namespace.
        namespace: &'a str,
    },
}

/// Why a text is not a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantError {
    /// Not `read`, `write` or `admin`.
    Role(String),
    /// Not `mesh/NAME` or `namespace/NAME`.
    Scope(String),
    /// Not the name of a mesh or a namespace.
    Name(String),
    /// `admin` has no scope.
    ScopedAdmin,
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Role(text) => {
                write!(f, "{text:?} is not a role; the roles are `read`, `write` and `admin`")
            }
            Self::Scope(text) => {
                write!(f, "{text:?} is not a scope; write `mesh/NAME` or `namespace/NAME`")
            }
            Self::Name(text) => {
                write!(f, "{text:?} cannot be the name of a mesh or a namespace")
            }
            Self::ScopedAdmin => {
                f.write_str("`admin` is for everything and takes no scope; use `write:…` instead")
            }
        }
    }
}

impl std::error::Error for GrantError {}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl GrantScope {
    fn is_mesh(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Mesh(mesh) => mesh == name,
            Self::Namespace(_) => false,
        }
    }

    fn is_namespace(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => namespace == name,
            Self::Mesh(_) => false,
        }
    }
}

fn name(text: &str) -> Result<String, GrantError> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if text.is_empty() || text.len() > NAME_BYTES || !text.bytes().all(good) {
        return Err(GrantError::Name(shortened(text)));
    }
    Ok(text.to_owned())
}

/// Enough of a wrong text to recognise it, so that an error is never as long as its input.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

impl Grant {
    /// A grant for everything.
    #[must_use]
    pub fn everywhere(role: Role) -> Self {
        Self { role, scope: GrantScope::All }
    }

    /// A grant in a scope.
    ///
    /// # Errors
    /// When the name in the scope cannot be one, and for `admin` in a scope.
    pub fn new(role: Role, scope: GrantScope) -> Result<Self, GrantError> {
        match (&role, &scope) {
            (_, GrantScope::All) => {}
            (Role::Admin, _) => return Err(GrantError::ScopedAdmin),
            (_, GrantScope::Mesh(text) | GrantScope::Namespace(text)) => {
                name(text)?;
            }
        }
        Ok(Self { role, scope })
    }

    /// The role.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The scope.
    #[must_use]
    pub fn scope(&self) -> &GrantScope {
        &self.scope
    }
}

impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let (role, scope) = match text.split_once(':') {
            Some((role, scope)) => (role, Some(scope)),
            None => (text, None),
        };
        let role = match role {
            "read" => Role::Read,
            "write" => Role::Write,
            "admin" => Role::Admin,
            other => return Err(GrantError::Role(shortened(other))),
        };
        let scope = match scope.map(|scope| scope.split_once('/').ok_or(scope)) {
            None => GrantScope::All,
            Some(Ok(("mesh", mesh))) => GrantScope::Mesh(mesh.to_owned()),
            Some(Ok(("namespace", namespace))) => GrantScope::Namespace(namespace.to_owned()),
            Some(_) => return Err(GrantError::Scope(shortened(text))),
        };
        Self::new(role, scope)
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = self.role.word();
        match &self.scope {
            GrantScope::All => f.write_str(role),
            GrantScope::Mesh(mesh) => write!(f, "{role}:mesh/{mesh}"),
            GrantScope::Namespace(namespace) => write!(f, "{role}:namespace/{namespace}"),
        }
    }
}

impl Serialize for Grant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Grant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// All that somebody may do. None is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Vec<Grant>")]
pub struct Grants(Vec<Grant>);

impl From<Vec<Grant>> for Grants {
    fn from(grants: Vec<Grant>) -> Self {
        Self::new(grants)
    }
}

impl Grants {
    /// These grants, sorted, each once.
    #[must_use]
    pub fn new(mut grants: Vec<Grant>) -> Self {
        grants.sort();
        grants.dedup();
        Self(grants)
    }

    /// No grant.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Everything.
    #[must_use]
    pub fn admin() -> Self {
        Self(vec![Grant::everywhere(Role::Admin)])
    }

    /// The grants, one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter()
    }

    /// Whether this may be seen.
    #[must_use]
    pub fn may_read(&self, target: &Protected<'_>) -> bool {
        match *target {
            Protected::Cluster => self.reads_all(),
            Protected::Mesh(mesh) => self.mesh(Role::Read, mesh),
            Protected::Namespace(namespace) => self.namespace(Role::Read, namespace),
            Protected::Both { mesh, namespace } => {
                self.mesh(Role::Read, mesh) || self.namespace(Role::Read, namespace)
            }
        }
    }

    /// Whether this may be changed.
    #[must_use]
    pub fn may_write(&self, target: &Protected<'_>) -> bool {
        match *target {
            Protected::Cluster => self.writes_all(),
            Protected::Mesh(mesh) => self.mesh(Role::Write, mesh),
            Protected::Namespace(namespace) => self.namespace(Role::Write, namespace),
            Protected::Both { mesh, namespace } => {
                self.mesh(Role::Write, mesh) && self.namespace(Role::Write, namespace)
            }
        }
    }

    /// Whether tokens may be handed out and backups taken.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.all(Role::Admin)
    }

    /// Whether everything may be seen: such a reader needs no filter.
    #[must_use]
    pub fn reads_all(&self) -> bool {
        self.all(Role::Read)
    }

    /// Whether everything may be changed.
    #[must_use]
    pub fn writes_all(&self) -> bool {
        self.all(Role::Write)
    }

    /// Whether anything may be changed at all.
    #[must_use]
    pub fn writes_any(&self) -> bool {
        self.0.iter().any(|grant| grant.role >= Role::Write)
    }

    /// Whether anything may be seen at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn all(&self, role: Role) -> bool {
        self.0.iter().any(|grant| grant.role >= role && grant.scope == GrantScope::All)
    }

    fn mesh(&self, role: Role, mesh: &str) -> bool {
        self.0.iter().any(|grant| grant.role >= role && grant.scope.is_mesh(mesh))
    }

    fn namespace(&self, role: Role, namespace: &str) -> bool {
        self.0.iter().any(|grant| grant.role >= role && grant.scope.is_namespace(namespace))
    }
}

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, grant) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{grant}")?;
        }
        Ok(())
    }
}

impl FromStr for Grants {
    type Err = GrantError;

    /// Reads `read:mesh/a,write:namespace/b`. The empty text is not a grant.
    fn from_str(text: &str) -> Result<Self, GrantError> {
        if text.trim().is_empty() {
            return Ok(Self::none());
        }
        let grants: Result<Vec<Grant>, GrantError> =
            text.split(',').map(|one| one.trim().parse()).collect();
        Ok(Self::new(grants?))
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        Self::new(grants.into_iter().collect())
    }
}
