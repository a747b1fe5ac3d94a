// SPDX-License-Identifier: Apache-2.0
//! In: the store. Out: lines in the log when the clock or the schema needs a look. Not here: what is done about it; changes are
//! dated as well as can be (`overrule_store`), and nothing is written.

use std::sync::Arc;
use std::time::Duration;

use overrule_store::Store;

/// How often they are looked at. Neither asks the database.
const LOOKING: Duration = Duration::from_secs(1);

/// Says when somebody should look at the clock or the schema, and when that is over.
pub async fn tell(store: Arc<dyn Store>) {
    let (mut clock, mut schema) = (None, None);
    loop {
        let (found, other) = (store.clock_trouble(), store.other_schema());
        // How far the clock is off changes all the time, and is not worth a line in the log.
        let kind = found.as_ref().map(std::mem::discriminant);
        if kind != clock {
            match found {
                Some(trouble) => tracing::error!(%trouble, "the clock cannot be trusted"),
                None => tracing::info!("the clock can be trusted again"),
            }
            clock = kind;
        }
        if other != schema {
            match &other {
                Some(trouble) => tracing::error!(%trouble, "nothing is written any more"),
                None => tracing::info!("the schema is that of this release again"),
            }
            schema = other;
        }
        tokio::time::sleep(LOOKING).await;
    }
}
