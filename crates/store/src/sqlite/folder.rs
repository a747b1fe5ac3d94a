// SPDX-License-Identifier: Apache-2.0
//! In: the path of a folder. Out: the folder, its lock and its database file, for this user's eyes only.
//! Not here: what is in the database.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::StoreError;

const DATABASE: &str = "overrule.db";
const LOCK: &str = "overrule.lock";
/// How long a folder may be in use before we say so: a second in all.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Owning the folder. The system gives the lock up when the process ends, however it ends.
pub(super) struct Lock(#[expect(dead_code, reason = "held, never read")] File);

/// Creates the folder if needed and takes its lock.
pub(super) fn own(dir: &Path) -> Result<Lock, StoreError> {
    create(dir).map_err(|error| unusable(dir, &error))?;
    let path = dir.join(LOCK);
    let mut file = private(&path).map_err(|error| unusable(&path, &error))?;
    match lock(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(dir, &mut file)),
        Err(TryLockError::Error(error)) => return Err(unusable(&path, &error)),
    }
    // The number is a help for people; the lock itself is the file's.
    let _ = write_owner(&mut file);
    Ok(Lock(file))
}

/// Waits for a lock that is on its way out: of a process that is ending, or copied into a child that has not become another
/// program yet.
fn lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            decided => return decided,
        }
    }
    file.try_lock()
}

/// The database file, created empty if needed, so that SQLite gives its journal the same mode.
pub(super) fn database(dir: &Path) -> Result<PathBuf, StoreError> {
    // SQLite is asked to follow no link, and the folder's path may have some.
    let dir = fs::canonicalize(dir).map_err(|error| unusable(dir, &error))?;
    let path = dir.join(DATABASE);
    private(&path).map_err(|error| unusable(&path, &error))?;
    Ok(path)
}

/// Bytes of the files beside the database, and of itself.
pub(super) fn size(database: &Path) -> u64 {
    let entries = database.parent().and_then(|dir| fs::read_dir(dir).ok());
    let files = entries.into_iter().flatten().flatten().filter_map(|entry| entry.metadata().ok());
    files.filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}

/// Only a folder we make gets its mode from us: one that is there may be shared on purpose, and its files are private anyway.
fn create(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    narrow(&file)?;
    Ok(file)
}

/// Takes the rights of others from a file that was there.
#[cfg(unix)]
fn narrow(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = file.metadata()?.permissions();
    if permissions.mode() & 0o077 == 0 {
        return Ok(());
    }
    permissions.set_mode(0o600);
    file.set_permissions(permissions)
}

fn write_owner(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}

fn in_use(dir: &Path, file: &mut File) -> StoreError {
    let mut owner = String::new();
    let who = match file.read_to_string(&mut owner) {
        Ok(_) if !owner.trim().is_empty() => format!("process {}", owner.trim()),
        _ => "another process".to_owned(),
    };
    StoreError::Unavailable(format!(
        "{} is in use by {who}; stop it, or name another folder",
        dir.display()
    ))
}

fn unusable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{} cannot be used: {error}", path.display()))
}
