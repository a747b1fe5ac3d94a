// SPDX-License-Identifier: Apache-2.0
//! In: what the driver says went wrong, or its silence. Out: our words for it, and what it means for the connection and for a
//! commit. Not here: what is done about it.

use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

use crate::error::StoreError;

/// How a use of a connection failed.
pub(super) enum Failure {
    /// Before anything was done: another connection may do.
    Stale(StoreError),
    /// The work itself refused; the connection is fine.
    Refused(StoreError),
    /// The database refused or broke; the connection is thrown away.
    Broken(StoreError),
}

/// Why there was no answer on a connection.
pub(super) enum LinkError {
    /// The server or the driver said why.
    Said(Error),
    /// Nothing came in time.
    Silent,
}

impl LinkError {
    /// In our words.
    pub(super) fn told(&self) -> StoreError {
        match self {
            Self::Said(error) => translate(error),
            Self::Silent => {
                StoreError::Unavailable("the database did not answer in time".to_owned())
            }
        }
    }

    /// The same of a commit, which may have been made although nobody heard so.
    pub(super) fn of_commit(&self) -> StoreError {
        let Self::Said(error) = self else { return StoreError::Unknown(SILENT.to_owned()) };
        match error.as_db_error() {
            // What is wrong with a statement undoes the transaction. That a whole connection ends can come after a commit.
            Some(said) if said.parsed_severity() == Some(Severity::Error) => {
                if *said.code() == SqlState::DIVISION_BY_ZERO {
                    StoreError::too_late()
                } else {
                    translate(error)
                }
            }
            _ => StoreError::Unknown(translate(error).to_string()),
        }
    }
}

const SILENT: &str = "the database took the change and did not say in time what became of it";

/// A driver's error in our words. Its message names users, hosts and tables, never a password.
pub(super) fn translate(error: &Error) -> StoreError {
    let Some(database) = error.as_db_error() else {
        return StoreError::Unavailable(without_answer(error));
    };
    let code = database.code();
    let text = format!("{} (PostgreSQL {})", database.message(), code.code());
    if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED {
        return StoreError::Damaged(text);
    }
    // Connections, authorization, transactions that lost, resources, operators' commands, the system below.
    let passing = ["08", "28", "40", "53", "57", "58", "25006", "25P03", "55P03", "3D000"];
    if passing.iter().any(|class| code.code().starts_with(class)) {
        return StoreError::Unavailable(text);
    }
    StoreError::Other(text)
}

/// What the driver says when the server said nothing.
fn without_answer(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
