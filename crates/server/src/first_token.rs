// SPDX-License-Identifier: Apache-2.0
//! In: a store that has never had a token. Out: the first one, shown once and kept hashed. Not here: later tokens
//! (`v1::tokens`).

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use overrule_guard::{Grants, SecretSource, Token, read_secret};
use overrule_store::{Store, TokenRow};

use crate::clock;
use crate::config::Config;
use crate::run::{ServeError, default_data, usage, world};
use crate::v1::tokens::mint;

/// Shows the first admin token once: in the file that was named, on a terminal, else in the data folder. Never in a log.
/// It is shown before it is stored: a token that nobody has seen would lock everybody out.
pub fn show(store: &dyn Store, config: &Config) -> Result<(), ServeError> {
    let terminal = std::io::stderr().is_terminal();
    let embedded = !config.ephemeral && config.postgres.is_none() && config.postgres_file.is_none();
    let file = config.admin_token_file.clone().or_else(|| {
        let data = config.data.clone().unwrap_or_else(default_data);
        (embedded && !terminal).then(|| data.join("admin-token"))
    });
    let known = store.tokens()?;
    if !known.is_empty() {
        file.iter().for_each(|file| finish(file, &known));
        return Ok(());
    }
    let (row, token) = mint_admin()?;
    match &file {
        Some(file) => write_token(&token, &aside(file, &row.id))?,
        None if terminal => {
            let _ = writeln!(std::io::stderr(), "admin token, shown this once: {token}");
        }
        None => {
            return Err(usage(
                "the first admin token has nowhere to go: name a file with --admin-token-file, or start on a terminal",
            ));
        }
    }
    match (store.first_token(&row)?, file) {
        (true, Some(file)) => finish(&file, std::slice::from_ref(&row)),
        (true, None) => {}
        // Another server was faster; its own file is none of ours.
        (false, Some(file)) => drop(std::fs::remove_file(aside(&file, &row.id))),
        (false, None) => {
            tracing::warn!("another server made the admin token; the one shown here is void")
        }
    }
    Ok(())
}

/// Takes the first admin token from a file, if there has never been one.
pub fn take(store: &dyn Store, file: &Path) -> Result<(), ServeError> {
    let source = SecretSource::File(file.to_owned());
    let secret = read_secret(&source).map_err(|e| usage(format!("--admin-token-from: {e}")))?;
    let token = Token::parse(secret.expose().trim()).map_err(|_why| {
        let file = file.display();
        usage(format!(
            "--admin-token-from: {file} does not hold a token: `ovr_`, 16 lower-case hexadecimal digits, `_` and 64 more"
        ))
    })?;
    let known = store.tokens()?;
    if known.is_empty() {
        let grants = serde_json::to_string(&Grants::admin()).unwrap_or_default();
        let row = TokenRow {
            id: token.id().to_owned(),
            name: "admin".to_owned(),
            hash: token.hash().to_string().into_bytes(),
            grants,
            created: clock::now(),
            expires: None,
            revoked: None,
        };
        if store.first_token(&row)? {
            return Ok(());
        }
    }
    if !store.tokens()?.iter().any(|row| row.id == token.id() && row.revoked.is_none()) {
        let file = file.display();
        tracing::warn!(%file, "this store has had other tokens; the one in the file does not count");
    }
    Ok(())
}

/// Moves the token that counts to its place, and removes those that do not: a start may have been killed in between. Only
/// once a token counts: before that, what another server has put aside may be the one.
fn finish(file: &Path, known: &[TokenRow]) {
    let Some((folder, name)) = file.parent().zip(file.file_name().and_then(|n| n.to_str())) else {
        return;
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let id = found.to_str().and_then(|f| f.strip_prefix(name)?.strip_prefix('.'));
        let Some(id) = id else { continue };
        let done = match known.iter().any(|row| row.id == id) {
            true => {
                let file = file.display();
                tracing::info!(%file, "the admin token is in this file; move it to a safe place");
                std::fs::rename(entry.path(), folder.join(name))
            }
            false if id.len() == 16 => std::fs::remove_file(entry.path()),
            false => Ok(()),
        };
        if let Err(error) = done {
            tracing::error!(%error, file = %entry.path().display(), "cannot move the admin token");
        }
    }
}

/// Where a token waits until it is known to count.
fn aside(file: &Path, id: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{id}"));
    PathBuf::from(name)
}

fn write_token(token: &str, file: &Path) -> Result<(), ServeError> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(file);
    let written = opened.and_then(|mut f| {
        writeln!(f, "{token}")?;
        f.sync_all()
    });
    written.map_err(|e| world(format!("cannot write the admin token to {}: {e}", file.display())))
}

/// A token that may do everything.
pub fn mint_admin() -> Result<(TokenRow, String), ServeError> {
    mint("admin".to_owned(), &Grants::admin(), None)
        .map_err(|problem| ServeError::World(problem.detail))
}
