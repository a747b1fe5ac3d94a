// SPDX-License-Identifier: Apache-2.0
//! In: connections. Out: what they send, sent back, and how many there were. Not here: the proxy before it.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::failure::HarnessFailure;
use crate::proxy::ANSWER;

/// A server that echoes, on a free port of this machine: the service behind a TCP inbound.
#[derive(Debug)]
pub struct Echo {
    address: SocketAddr,
    count: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Echo {
    /// Starts it.
    ///
    /// # Errors
    /// No port can be had.
    pub fn start() -> Result<Self, HarnessFailure> {
        let listener =
            TcpListener::bind("127.0.0.1:0").map_err(HarnessFailure::of("no port for echo"))?;
        let address = listener.local_addr().map_err(HarnessFailure::of("no port for echo"))?;
        let echo = Self { address, count: Arc::default(), ended: Arc::default() };
        let (count, ended) = (Arc::clone(&echo.count), Arc::clone(&echo.ended));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                count.fetch_add(1, Ordering::Relaxed);
                // A connection that breaks is its client's matter.
                thread::spawn(move || drop(answer(stream)));
            }
        });
        Ok(echo)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections reached it.
    pub fn connections(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // The thread waits for a connection: here is its last. If it cannot be made, the thread ends with the process.
        let _ = TcpStream::connect(self.address);
    }
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    let mut buffer = [0; 512];
    loop {
        let size = stream.read(&mut buffer)?;
        match buffer.get(..size) {
            Some(bytes) if size > 0 => stream.write_all(bytes)?,
            _ => return Ok(()),
        }
    }
}
