// SPDX-License-Identifier: Apache-2.0
//! In: names and bytes. Out: files that nobody else can read or put there. Not here: what is in them.
//!
//! Everything is done relative to the open folder that was checked, so that a folder which is swapped later changes
//! nothing, and no link is ever followed inside it.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

/// The folder inside the user's folder for such things.
const NAME: &str = "overrule";

/// How the name of an entry ends, and of one that is being written.
const ENTRY: &str = ".answer";
const UNFINISHED: &str = ".tmp";

/// Seconds after which nobody is still writing an unfinished file.
const ABANDONED: i64 = 3600;

/// What the folder may hold.
#[derive(Debug, Clone, Copy)]
pub struct CacheLimits {
    /// Bytes of one entry.
    pub entry: u64,
    /// Bytes of all.
    pub total: u64,
    /// Entries.
    pub entries: usize,
}

/// A folder that is the user's alone.
#[derive(Debug)]
pub struct Folder {
    dir: OwnedFd,
    limits: CacheLimits,
}

impl Folder {
    /// Opens the folder below `base`, and makes it if it is not there. The error says what is wrong with it.
    pub fn open(base: &Path, limits: CacheLimits) -> Result<Self, String> {
        let at = |path: &Path, why: &str| format!("{}: {why}", path.display());
        let failed = |e: io::Error| at(base, &e.to_string());
        DirBuilder::new().recursive(true).mode(0o700).create(base).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let outer = rustix::fs::openat(CWD, base, flags, Mode::empty());
        let outer = File::from(outer.map_err(|e| failed(e.into()))?);
        if !is_own(&outer).map_err(failed)? {
            return Err(at(base, "it belongs to somebody else"));
        }
        let path = base.join(NAME);
        let failed = |e: rustix::io::Errno| at(&path, &io::Error::from(e).to_string());
        match rustix::fs::mkdirat(&outer, NAME, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        let dir = rustix::fs::openat(&outer, NAME, flags | OFlags::NOFOLLOW, Mode::empty());
        let dir = File::from(dir.map_err(failed)?);
        let failed = |e: io::Error| at(&path, &e.to_string());
        if !is_own(&dir).map_err(failed)? {
            return Err(at(&path, "it belongs to somebody else"));
        }
        if !is_private(&dir).map_err(failed)? {
            return Err(at(&path, "others may read or write it; `chmod 700` makes it private"));
        }
        Ok(Self { dir: dir.into(), limits })
    }

    /// The bytes of an entry, if there is one that only the user could have written.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        // Without NONBLOCK a pipe of that name would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, entry(name), flags, Mode::empty()).ok()?;
        let file = File::from(file);
        let about = file.metadata().ok()?;
        let fits = about.is_file() && about.len() <= self.limits.entry;
        if !fits || !is_own(&file).ok()? || !is_private(&file).ok()? {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).ok()?);
        // It may grow while it is read.
        file.take(self.limits.entry).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Notes that an entry was used.
    pub fn touch(&self, name: &str) {
        let now = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        };
        // An entry that looks older than it is goes earlier, no more.
        let _ = rustix::fs::utimensat(&self.dir, entry(name), &now, AtFlags::SYMLINK_NOFOLLOW);
    }

    /// Writes an entry at once: whoever reads sees the old one, the new one, or none. Then makes room.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > self.limits.entry {
            return Ok(());
        }
        let unfinished = format!("{name}.{}{UNFINISHED}", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, &unfinished, flags, Mode::RUSR | Mode::WUSR)?;
        let written = File::from(file).write_all(bytes).and_then(|()| {
            Ok(rustix::fs::renameat(&self.dir, &unfinished, &self.dir, entry(name))?)
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.dir, &unfinished, AtFlags::empty());
        }
        written?;
        self.make_room(name)
    }

    /// Removes what was not used for longest, until the rest is within the limits, and what was never finished.
    fn make_room(&self, newest: &str) -> io::Result<()> {
        let mut entries = Vec::new();
        let mut unfinished = Vec::new();
        for found in Dir::read_from(self.dir.as_fd())? {
            let Ok(name) = found?.file_name().to_str().map(str::to_owned) else { continue };
            if is_key(name.strip_suffix(ENTRY)) {
                entries.extend(self.file(name));
            } else if is_key(name.strip_suffix(UNFINISHED).and_then(|n| n.split('.').next())) {
                unfinished.extend(self.file(name));
            }
        }
        // The one just written counts as used last, whatever the clock of the disk is.
        entries
            .sort_by(|a, b| (b.is(newest), b.used, &b.name).cmp(&(a.is(newest), a.used, &a.name)));
        let now = entries.first().map_or(0, |e| e.used.0);
        let mut total = 0;
        for (place, entry) in entries.iter().enumerate() {
            total += entry.bytes;
            if place >= self.limits.entries || total > self.limits.total {
                self.remove(&entry.name);
            }
        }
        for file in unfinished.iter().filter(|f| now - f.used.0 > ABANDONED) {
            self.remove(&file.name);
        }
        Ok(())
    }

    fn file(&self, name: String) -> Option<Kept> {
        let about = rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let bytes = u64::try_from(about.st_size).ok()?;
        Some(Kept { name, bytes, used: (about.st_mtime, i128::from(about.st_mtime_nsec)) })
    }

    fn remove(&self, name: &str) {
        // Somebody else who makes room may have been faster.
        let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
    }
}

/// A file of the folder.
struct Kept {
    name: String,
    bytes: u64,
    /// When it was used last: seconds, nanoseconds.
    used: (i64, i128),
}

impl Kept {
    fn is(&self, key: &str) -> bool {
        self.name.strip_suffix(ENTRY) == Some(key)
    }
}

fn entry(name: &str) -> String {
    format!("{name}{ENTRY}")
}

/// Whether a name is one of ours: what else lies in the folder is not ours to remove.
fn is_key(name: Option<&str>) -> bool {
    name.is_some_and(|n| n.len() == 64 && n.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn is_own(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.uid() == rustix::process::geteuid().as_raw())
}

fn is_private(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.mode() & 0o077 == 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use super::*;

    const LIMITS: CacheLimits = CacheLimits { entry: 100, total: 1000, entries: 3 };

    fn open(base: &Path) -> Folder {
        Folder::open(base, LIMITS).unwrap()
    }

    fn name(n: u8) -> String {
        format!("{n:064x}")
    }

    fn names(base: &Path) -> Vec<String> {
        let found = std::fs::read_dir(base.join(NAME)).unwrap();
        let mut names: Vec<String> =
            found.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn at(base: &Path, name: &str) -> PathBuf {
        base.join(NAME).join(name)
    }

    fn age(path: &Path, seconds: u64) {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000 - seconds);
        File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }

    fn allow(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_written_is_read_and_private() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().join("not/yet/there");
        let folder = open(&base);
        assert_eq!(folder.read(&name(1)), None);
        folder.write(&name(1), b"one").unwrap();
        folder.write(&name(1), b"two").unwrap();
        assert_eq!(folder.read(&name(1)).as_deref(), Some(&b"two"[..]));
        assert_eq!(names(&base), [entry(&name(1))]);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&base), 0o700);
        assert_eq!(mode(&base.join(NAME)), 0o700);
        assert_eq!(mode(&at(&base, &entry(&name(1)))), 0o600);
    }

    #[test]
    fn a_folder_others_can_reach_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        drop(open(temp.path()));
        for mode in [0o750, 0o720, 0o701, 0o777] {
            allow(&temp.path().join(NAME), mode);
            let why = Folder::open(temp.path(), LIMITS).unwrap_err();
            assert!(why.contains("chmod 700"), "{why}");
        }
        allow(&temp.path().join(NAME), 0o700);
        drop(open(temp.path()));
    }

    #[test]
    fn a_link_or_a_file_in_its_place_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        allow(elsewhere.path(), 0o700);
        symlink(elsewhere.path(), temp.path().join(NAME)).unwrap();
        assert!(Folder::open(temp.path(), LIMITS).is_err());
        std::fs::remove_file(temp.path().join(NAME)).unwrap();
        std::fs::write(temp.path().join(NAME), "").unwrap();
        assert!(Folder::open(temp.path(), LIMITS).is_err());
    }

    /// Only root can give a folder away, so only root can see it refused.
    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        drop(open(temp.path()));
        let give = |path: &Path| std::os::unix::fs::chown(path, Some(12345), None);
        if !rustix::process::geteuid().is_root() {
            assert!(give(&temp.path().join(NAME)).is_err(), "this user is as good as root");
            return;
        }
        give(&temp.path().join(NAME)).unwrap();
        let why = Folder::open(temp.path(), LIMITS).unwrap_err();
        assert!(why.contains("somebody else"), "{why}");
        let temp = tempfile::tempdir().unwrap();
        give(temp.path()).unwrap();
        let why = Folder::open(temp.path(), LIMITS).unwrap_err();
        assert!(why.contains("somebody else"), "{why}");
        assert!(!temp.path().join(NAME).exists(), "nothing is made where somebody else rules");
    }

    #[test]
    fn only_a_private_file_of_fitting_size_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let folder = open(temp.path());
        let path = at(temp.path(), &entry(&name(1)));
        folder.write(&name(1), b"one").unwrap();
        allow(&path, 0o640);
        assert_eq!(folder.read(&name(1)), None);
        allow(&path, 0o600);
        assert!(folder.read(&name(1)).is_some());
        std::fs::write(&path, [b'x'; 101]).unwrap();
        assert_eq!(folder.read(&name(1)), None);
        folder.write(&name(2), &[b'x'; 101]).unwrap();
        assert_eq!(names(temp.path()), [entry(&name(1))], "what is too large is not written");
    }

    #[test]
    fn links_and_pipes_are_not_read_and_make_way() {
        let temp = tempfile::tempdir().unwrap();
        let folder = open(temp.path());
        let path = at(temp.path(), &entry(&name(1)));
        let secret = temp.path().join("secret");
        std::fs::write(&secret, "mine").unwrap();
        allow(&secret, 0o600);
        symlink(&secret, &path).unwrap();
        assert_eq!(folder.read(&name(1)), None);
        folder.write(&name(1), b"one").unwrap();
        assert_eq!(std::fs::read(&secret).unwrap(), b"mine");
        assert_eq!(folder.read(&name(1)).as_deref(), Some(&b"one"[..]));
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(folder.read(&name(1)), None, "and this does not wait for a writer");
        folder.write(&name(1), b"two").unwrap();
        assert_eq!(folder.read(&name(1)).as_deref(), Some(&b"two"[..]));
    }

    /// An unfinished file in the way, as a link to something dear: neither followed nor overwritten.
    #[test]
    fn an_unfinished_file_is_never_written_through() {
        let temp = tempfile::tempdir().unwrap();
        let folder = open(temp.path());
        let dear = temp.path().join("dear");
        std::fs::write(&dear, "mine").unwrap();
        let unfinished = format!("{}.{}{UNFINISHED}", name(1), std::process::id());
        symlink(&dear, at(temp.path(), &unfinished)).unwrap();
        assert!(folder.write(&name(1), b"one").is_err());
        assert_eq!(std::fs::read(&dear).unwrap(), b"mine");
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let temp = tempfile::tempdir().unwrap();
        let folder = open(temp.path());
        for n in 1..=3 {
            folder.write(&name(n), b"x").unwrap();
            age(&at(temp.path(), &entry(&name(n))), 100 - u64::from(n));
        }
        std::fs::write(at(temp.path(), "notes.txt"), "not ours").unwrap();
        age(&at(temp.path(), &entry(&name(1))), 0);
        folder.write(&name(4), b"x").unwrap();
        let left = [entry(&name(1)), entry(&name(3)), entry(&name(4)), "notes.txt".to_owned()];
        assert_eq!(names(temp.path()), left);
    }

    #[test]
    fn a_use_is_noted() {
        let temp = tempfile::tempdir().unwrap();
        let folder = open(temp.path());
        folder.write(&name(1), b"x").unwrap();
        let path = at(temp.path(), &entry(&name(1)));
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        folder.touch(&name(1));
        assert!(std::fs::metadata(&path).unwrap().modified().unwrap() > long_ago);
        folder.touch(&name(2));
        assert_eq!(names(temp.path()), [entry(&name(1))]);
    }

    #[test]
    fn all_of_them_stay_within_their_size() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::open(temp.path(), CacheLimits { entries: 100, ..LIMITS }).unwrap();
        for n in 1..=50 {
            folder.write(&name(n), &[b'x'; 90]).unwrap();
            assert!(folder.read(&name(n)).is_some(), "the newest is always there");
        }
        assert_eq!(names(temp.path()).len(), 11, "990 of 1000 bytes");
    }

    #[test]
    fn what_nobody_finishes_is_removed() {
        let temp = tempfile::tempdir().unwrap();
        let folder = open(temp.path());
        let old = format!("{}.1{UNFINISHED}", name(7));
        let young = format!("{}.2{UNFINISHED}", name(7));
        let foreign = format!("paper{UNFINISHED}");
        for file in [&old, &young, &foreign] {
            std::fs::write(at(temp.path(), file), "half").unwrap();
        }
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        for file in [&old, &foreign] {
            let file = File::options().write(true).open(at(temp.path(), file)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        folder.write(&name(1), b"x").unwrap();
        assert_eq!(names(temp.path()), [entry(&name(1)), young, foreign]);
    }
}
