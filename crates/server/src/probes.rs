// SPDX-License-Identifier: Apache-2.0
//! In: an address, and the service. Out: `/healthz` and `/readyz` there, answered by a thread of its own, without TLS,
//! certificates and tokens. Not here: what they answer (`operations`).
//!
//! Whoever keeps a server running asks these, and has neither a certificate nor a token. They tell nothing but yes or no,
//! so the address may be one that other machines reach.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{Method, StatusCode};
use overrule_guard::{ListenerLimits, TrustedProxies};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower::{ServiceExt as _, service_fn};

use crate::run::{ServeError, world};

/// Connections that may probe at once: those who do are few.
const CONNECTIONS: usize = 64;

/// A listener for probes. It ends with this value.
pub struct Probes {
    /// Where it listens.
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Probes {
    /// Starts it.
    pub fn start(address: SocketAddr, router: Router) -> Result<Self, ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| world(format!("cannot start a thread for probes: {e}")))?;
        let bound = runtime.block_on(TcpListener::bind(address));
        let listener =
            bound.map_err(|e| world(format!("cannot listen on {address} for probes: {e}")))?;
        let address = listener.local_addr().map_err(world)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let limits = ListenerLimits {
            connections: CONNECTIONS,
            connections_per_ip: CONNECTIONS,
            ..ListenerLimits::default()
        };
        let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
            let router = router.clone();
            async move { probe(router, request.map(Body::new)).await }
        });
        let named = std::thread::Builder::new().name("probes".to_owned());
        let thread = named.spawn(move || {
            let stopped = async {
                // The other end is gone: that is how it ends.
                let _ = stopped.await;
            };
            let serving = overrule_guard::serve(
                listener,
                None,
                limits,
                TrustedProxies::default(),
                service,
                stopped,
            );
            runtime.block_on(serving);
        });
        let thread = thread.map_err(|e| world(format!("cannot start a thread for probes: {e}")))?;
        tracing::info!(%address, "probes are answered here");
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }
}

async fn probe(router: Router, request: Request) -> Result<Response, std::convert::Infallible> {
    let known = matches!(request.uri().path(), "/healthz" | "/readyz");
    let method = matches!(*request.method(), Method::GET | Method::HEAD);
    if known && method {
        return router.oneshot(request).await;
    }
    let mut response = Response::new(Body::from("only /healthz and /readyz are answered here\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    Ok(response)
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic in it has been logged.
            let _ = thread.join();
        }
    }
}
