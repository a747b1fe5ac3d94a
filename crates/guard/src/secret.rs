// SPDX-License-Identifier: Apache-2.0
//! In: the name of an environment variable, or a path. Out: the secret in it. Not here: secrets in arguments; every user
//! of a machine can read those.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// No secret we read is near this size; a file that is cannot be one.
const MOST_BYTES: u64 = 64 << 10;

/// Text that neither `Debug` nor `Display` shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides this text from now on.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text. Whoever calls this sends it to the one place it is for.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// In an environment variable of this name.
    Env(String),
    /// In this file.
    File(PathBuf),
}

/// Why there is no secret. Never contains any of its text.
#[derive(Debug)]
pub enum SecretError {
    /// The text is neither `env:NAME` nor `file:PATH`. It is not repeated: it may be the secret itself.
    Source,
    /// The variable is not set, or not text.
    Unset(String),
    /// The file cannot be read.
    Unreadable(PathBuf, std::io::Error),
    /// Not a plain file.
    NotAFile(PathBuf),
    /// Everybody on the machine may read or write the file.
    Exposed(PathBuf),
    /// Longer than a secret can be.
    TooLong(String),
    /// Nothing in it.
    Empty(String),
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source => f.write_str("a secret is given as `env:NAME` or `file:PATH`"),
            Self::Unset(name) => {
                write!(f, "the environment variable {name} is not set to a text")
            }
            Self::Unreadable(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::NotAFile(path) => write!(f, "{} is not a file", path.display()),
            Self::Exposed(path) => write!(
                f,
                "{} can be read or written by every user of this machine; run `chmod o= {}` (and replace the secret)",
                path.display(),
                path.display()
            ),
            Self::TooLong(place) => write!(f, "{place} is too long for a secret"),
            Self::Empty(place) => write!(f, "{place} is empty"),
        }
    }
}

impl std::error::Error for SecretError {}

impl FromStr for SecretSource {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Ok(Self::Env(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
            _ => Err(SecretError::Source),
        }
    }
}

/// Reads a secret, without the line break editors put at its end.
///
/// # Errors
/// When there is none, or when everybody on the machine could read it as well.
pub fn read_secret(source: &SecretSource) -> Result<Secret, SecretError> {
    let (place, text) = match source {
        SecretSource::Env(name) => (name.clone(), environment(name)?),
        SecretSource::File(path) => (path.display().to_string(), file(path)?),
    };
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(SecretError::Empty(place));
    }
    if text.len() as u64 >= MOST_BYTES {
        return Err(SecretError::TooLong(place));
    }
    Ok(Secret::new(text.to_owned()))
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads secrets from outside")]
fn environment(name: &str) -> Result<String, SecretError> {
    std::env::var(name).ok().ok_or_else(|| SecretError::Unset(name.to_owned()))
}

fn file(path: &Path) -> Result<String, SecretError> {
    let bytes = private(path, MOST_BYTES)?;
    let text = |e| SecretError::Unreadable(path.to_owned(), std::io::Error::other(e));
    String::from_utf8(bytes).map_err(text)
}

/// Reads a file that nobody else must read: a password, a key.
pub(crate) fn private(path: &Path, most: u64) -> Result<Vec<u8>, SecretError> {
    let unreadable = |error| SecretError::Unreadable(path.to_owned(), error);
    // Before opening, because opening a named pipe waits for a writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(SecretError::NotAFile(path.to_owned()));
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    // Of the open file, so that it cannot be exchanged in between.
    if exposed(&file).map_err(unreadable)? {
        return Err(SecretError::Exposed(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

#[cfg(unix)]
fn exposed(file: &std::fs::File) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode();
    let flags = rustix::fs::fstatvfs(file)?.f_flag;
    Ok(is_exposed(mode, flags.contains(rustix::fs::StatVfsMountFlags::RDONLY)))
}

/// Whether others than owner and group have any right to it. The group may read: that is how secrets reach a service. A
/// volume that is mounted read-only, as containers get their secrets, is theirs alone, whatever the modes in it say.
#[cfg(unix)]
fn is_exposed(mode: u32, read_only_volume: bool) -> bool {
    mode & 0o002 != 0 || (mode & 0o004 != 0 && !read_only_volume)
}

#[cfg(not(unix))]
fn exposed(_: &std::fs::File) -> std::io::Result<bool> {
    Ok(false)
}

#[cfg(all(test, unix))]
mod tests {
    use super::is_exposed;

    #[test]
    fn secrets_of_containers_are_accepted() {
        for (mode, read_only, exposed) in [
            (0o600, false, false),
            (0o400, false, false),
            (0o440, false, false),
            (0o440, true, false),
            (0o644, true, false),
            (0o644, false, true),
            (0o604, false, true),
            (0o602, true, true),
            (0o666, true, true),
        ] {
            assert_eq!(is_exposed(mode, read_only), exposed, "{mode:o} {read_only}");
        }
    }
}
