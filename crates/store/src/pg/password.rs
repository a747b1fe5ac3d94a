// SPDX-License-Identifier: Apache-2.0
//! In: settings without a password, the environment, a password file. Out: settings with the password, if there is one.
//! Not here: any message with a password in it.

use std::fs;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::StoreError;

/// Looks for a password where PostgreSQL's own clients look.
pub(super) fn find(config: &mut Config) -> Result<(), StoreError> {
    if config.get_password().is_some() {
        return Ok(());
    }
    if let Some(password) = environment("PGPASSWORD") {
        config.password(password);
        return Ok(());
    }
    if let Some(path) = environment("PGPASSFILE") {
        return from_file(config, Path::new(&path));
    }
    let home = environment("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    match home.filter(|path| path.exists()) {
        Some(path) => from_file(config, &path),
        None => Ok(()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a password must not be on the command line, so it comes from here"
)]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn from_file(config: &mut Config, path: &Path) -> Result<(), StoreError> {
    let unusable = |why: &dyn std::fmt::Display| {
        let path = path.display();
        StoreError::Other(format!("the password file {path} cannot be used: {why}"))
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).map_err(|error| unusable(&error))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(unusable(&"others may read it; set its mode to 0600"));
        }
    }
    let text = fs::read_to_string(path).map_err(|error| unusable(&error))?;
    if let Some(password) = text.lines().find_map(|line| matching(line, config)) {
        config.password(password);
    }
    Ok(())
}

/// The password of a line `host:port:database:user:password` if it is for this connection.
fn matching(line: &str, config: &Config) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let [host, port, database, user, password] = fields(line).try_into().ok()?;
    let hosts: Vec<String> = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => vec![name.clone()],
        #[cfg(unix)]
        Some(Host::Unix(path)) => vec![path.display().to_string(), "localhost".to_owned()],
        None => vec!["localhost".to_owned()],
    };
    let ports = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let wanted_user = config.get_user().unwrap_or_default();
    let wanted_database = config.get_dbname().unwrap_or(wanted_user);
    let fits = |field: &str, wanted: &str| field == "*" || field == wanted;
    let all = hosts.iter().any(|wanted| fits(&host, wanted))
        && fits(&port, &ports)
        && fits(&database, wanted_database)
        && fits(&user, wanted_user);
    all.then_some(password)
}

/// Fields are parted by `:`; a backslash takes the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let taken = match character {
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            '\\' => characters.next().unwrap_or('\\'),
            other => other,
        };
        if let Some(field) = fields.last_mut() {
            field.push(taken);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tokio_postgres::Config;

    use super::{from_file, matching};

    fn config() -> Config {
        "postgres://app@db.example:5433/policies".parse().unwrap()
    }

    #[test]
    fn a_line_counts_if_all_fields_fit() {
        let line = |line| matching(line, &config());
        assert_eq!(line("db.example:5433:policies:app:a\\:b\\\\c:d").unwrap(), "a:b\\c:d");
        assert_eq!(line("*:*:*:app:x").unwrap(), "x");
        assert_eq!(line("other:*:*:app:x"), None);
        assert_eq!(line("*:5432:*:app:x"), None);
        assert_eq!(line("#*:*:*:app:x"), None);
        assert_eq!(line("*:*:app:x"), None);
    }

    #[test]
    fn a_file_that_others_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pass");
        std::fs::write(&path, "*:*:*:*:hunter2\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        let error = from_file(&mut config(), &path).unwrap_err().to_string();
        assert!(error.contains("0600") && !error.contains("hunter2"), "{error}");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let mut config = config();
        from_file(&mut config, &path).unwrap();
        assert_eq!(config.get_password(), Some(b"hunter2".as_slice()));
    }
}
