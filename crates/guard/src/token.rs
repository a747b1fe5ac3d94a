// SPDX-License-Identifier: Apache-2.0
//! In: random bytes, rows of a token table, and `Authorization` headers. Out: new tokens, and whose token one is. Not
//! here: where the rows are kept, and files that hold tokens.
//!
//! A token is `ovr_<id>_<secret>`: a public id that finds the row, and 256 random bits. The row keeps SHA-256 of those
//! bits. Passwords need a slow, salted hash because people choose few of them; nobody can guess 256 random bits however fast
//! the hash is, and no two are equal, so one plain hash is enough, and checking a token costs microseconds.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::grants::Grants;
use crate::principal::{Denied, How, Principal};
use crate::secret::Secret;

const PREFIX: &str = "ovr_";
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
const HASH_PREFIX: &str = "sha256:";

/// What is kept of a token's secret.
#[derive(Clone, Copy)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    fn of(secret: &[u8; SECRET_BYTES]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// In the same time whether and wherever they differ.
    fn same(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl PartialEq for TokenHash {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl Eq for TokenHash {}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(hidden)")
    }
}

impl fmt::Display for TokenHash {
    /// The form to keep: `sha256:` and 64 digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HASH_PREFIX}{}", HEXLOWER.encode(&self.0))
    }
}

/// A text that is not the hash of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashError;

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the hash of a token: `sha256:` and 64 hexadecimal digits")
    }
}

impl std::error::Error for HashError {}

impl FromStr for TokenHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        text.strip_prefix(HASH_PREFIX).and_then(unhex).map(Self).ok_or(HashError)
    }
}

impl Serialize for TokenHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// A token as its holder shows it, taken apart.
pub struct Token {
    id: String,
    secret: [u8; SECRET_BYTES],
}

/// A new token. `plain` is shown once and kept nowhere.
#[derive(Debug)]
pub struct Minted {
    /// What the holder gets.
    pub plain: Secret,
    /// The public half, by which it is listed and revoked.
    pub id: String,
    /// What is kept.
    pub hash: TokenHash,
}

impl Token {
    /// Makes a token.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn mint() -> Result<Minted, std::io::Error> {
        let mut id = [0; ID_BYTES];
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut id).map_err(std::io::Error::other)?;
        getrandom::fill(&mut secret).map_err(std::io::Error::other)?;
        let id = HEXLOWER.encode(&id);
        let plain = Secret::new(format!("{PREFIX}{id}_{}", HEXLOWER.encode(&secret)));
        Ok(Minted { plain, id, hash: TokenHash::of(&secret) })
    }

    /// Takes a plain token apart.
    ///
    /// # Errors
    /// [`Denied::Malformed`] for every text that [`Token::mint`] cannot have made.
    pub fn parse(plain: &str) -> Result<Self, Denied> {
        let parts = plain.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
        let (id, secret) = parts.ok_or(Denied::Malformed)?;
        unhex::<ID_BYTES>(id).ok_or(Denied::Malformed)?;
        let secret = unhex(secret).ok_or(Denied::Malformed)?;
        Ok(Self { id: id.to_owned(), secret })
    }

    /// The public half.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What would be kept of it.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.secret)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// The public half.
    pub id: String,
    /// Whose it is, or what it is for.
    pub name: String,
    /// The hash of the secret half.
    pub hash: TokenHash,
    /// What it allows.
    pub grants: Grants,
    /// When it was made.
    pub created: Timestamp,
    /// From when on it is worth nothing.
    pub expires: Option<Timestamp>,
    /// When it was taken back.
    pub revoked: Option<Timestamp>,
}

/// All tokens. Immutable: a change makes a new table.
#[derive(Debug, Clone, Default)]
pub struct Tokens {
    by_id: BTreeMap<String, TokenRecord>,
}

impl Tokens {
    /// The table of these rows; of two with one id the later counts.
    pub fn new(rows: impl IntoIterator<Item = TokenRecord>) -> Self {
        Self { by_id: rows.into_iter().map(|row| (row.id.clone(), row)).collect() }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The rows, by id.
    pub fn rows(&self) -> impl Iterator<Item = &TokenRecord> {
        self.by_id.values()
    }

    /// Whose token the value of an `Authorization` header holds.
    ///
    /// An unknown id is compared as well, with a hash that no secret has, so that it looks and lasts like a wrong secret.
    /// Only the holder of the right secret learns that a token has expired or was revoked.
    ///
    /// # Errors
    /// When it holds none that counts now.
    pub fn authenticate(&self, header: Option<&[u8]>, now: Timestamp) -> Result<Principal, Denied> {
        let token = Token::parse(bearer(header.ok_or(Denied::Missing)?)?)?;
        let row = self.by_id.get(&token.id);
        let kept = row.map_or(TokenHash([0; 32]), |row| row.hash);
        let right = kept.same(&token.hash());
        let row = row.filter(|_| right).ok_or(Denied::Unknown)?;
        if row.revoked.is_some() {
            return Err(Denied::Revoked);
        }
        if row.expires.is_some_and(|expires| expires <= now) {
            return Err(Denied::Expired);
        }
        Ok(Principal {
            name: row.name.clone(),
            token: Some(row.id.clone()),
            grants: row.grants.clone(),
            how: How::Token,
        })
    }
}

fn bearer(header: &[u8]) -> Result<&str, Denied> {
    let text = std::str::from_utf8(header).ok().ok_or(Denied::Malformed)?;
    let (scheme, token) = text.split_once(' ').ok_or(Denied::Malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Denied::Malformed);
    }
    Ok(token.trim_matches(' '))
}

/// The bytes of exactly as many lower-case digits. One text per value, so that a token has one spelling.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}
