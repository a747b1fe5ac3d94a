// SPDX-License-Identifier: Apache-2.0
//! In: signals, and a word of whoever started the server. Out: the moment to stop. Not here: stopping.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Ends when the server is to stop: by whoever started it, or by a signal if those count.
pub(crate) async fn told_to_stop(stopped: oneshot::Receiver<()>, signals: bool) {
    if !signals {
        let _ = stopped.await;
        return;
    }
    // Without signals nothing but a kill ends the process, which the store survives.
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = stopped => return,
    }
    tracing::info!("stopping; a second signal ends at once");
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        #[expect(clippy::exit, clippy::disallowed_methods, reason = "asked for twice")]
        std::process::exit(130);
    });
}
