// SPDX-License-Identifier: Apache-2.0
//! Where secrets may come from, and that they do not show.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use overrule_guard::{SecretError, SecretSource, read_secret};

fn write(path: &Path, text: &str, mode: u32) -> SecretSource {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    format!("file:{}", path.display()).parse().unwrap()
}

#[test]
fn files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let good = read_secret(&write(&path, "hush\r\n", 0o640)).unwrap();
    assert_eq!(good.expose(), "hush");
    assert!(!format!("{good:?}").contains("hush"));
    let exposed = read_secret(&write(&path, "hush", 0o644)).unwrap_err();
    assert!(matches!(exposed, SecretError::Exposed(_)));
    assert!(exposed.to_string().contains("chmod") && !exposed.to_string().contains("hush"));
    assert!(matches!(read_secret(&write(&path, "hush", 0o602)), Err(SecretError::Exposed(_))));
    assert!(matches!(read_secret(&write(&path, "\n", 0o600)), Err(SecretError::Empty(_))));
    let long = "x".repeat(70_000);
    assert!(matches!(read_secret(&write(&path, &long, 0o600)), Err(SecretError::TooLong(_))));
    let folder = SecretSource::File(folder.path().to_owned());
    assert!(matches!(read_secret(&folder), Err(SecretError::NotAFile(_))));
    let missing = SecretSource::File("/nowhere/at/all".into());
    assert!(matches!(read_secret(&missing), Err(SecretError::Unreadable(..))));
}

#[test]
fn variables() {
    // Set by cargo for every test.
    let set: SecretSource = "env:CARGO_PKG_NAME".parse().unwrap();
    assert_eq!(read_secret(&set).unwrap().expose(), "overrule-guard");
    let unset = SecretSource::Env("OVERRULE_NOT_SET".to_owned());
    assert!(matches!(read_secret(&unset), Err(SecretError::Unset(_))));
}

#[test]
fn a_secret_given_in_place_of_a_source_is_not_repeated() {
    let error = "ovr_0123_secret".parse::<SecretSource>().unwrap_err();
    assert!(!error.to_string().contains("secret_") && !error.to_string().contains("0123"));
    assert!("env:".parse::<SecretSource>().is_err());
}
