// SPDX-License-Identifier: Apache-2.0
//! In: the port of a server. Out: an address that leads there over a line that can hang, lag, or be cut. Not here: when.
//!
//! What a hanging line was given it keeps, and delivers in order when it heals, the end of a connection last: the server may
//! hear of a commit long after its client has gone.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, sleep};
use std::time::Duration;

/// A line to a server. It ends with this value.
pub struct FaultyLine {
    port: u16,
    line: Arc<Line>,
}

/// Which way something goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// What clients say.
    ToServer,
    /// What the server says.
    ToClient,
}

#[derive(Default)]
struct Line {
    to_server: Course,
    to_client: Course,
    closed: AtomicBool,
    connections: Mutex<Vec<(Arc<AtomicBool>, TcpStream, TcpStream)>>,
}

/// One way of the line.
#[derive(Default)]
struct Course(Mutex<Condition>);

#[derive(Debug, Clone, Copy, Default)]
struct Condition {
    hangs: bool,
    /// Pieces that still pass until it hangs.
    pieces: Option<u32>,
    lag: Duration,
}

impl FaultyLine {
    /// A line that is fine.
    pub fn new(server: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let line = Arc::new(Line::default());
        let proxy = Self { port, line: Arc::clone(&line) };
        thread::spawn(move || {
            for client in listener.incoming() {
                if line.closed.load(Ordering::Relaxed) {
                    return;
                }
                // A connection that cannot be made is cut.
                let _ = client.and_then(|client| connect(&line, client, server));
            }
        });
        Ok(proxy)
    }

    /// Where clients connect.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Delivers nothing any more, and keeps everything.
    pub fn hang(&self, way: Way) {
        self.line.course(way).condition().hangs = true;
    }

    /// The same after some more pieces have passed.
    pub fn hang_after(&self, way: Way, pieces: u32) {
        self.line.course(way).condition().pieces = Some(pieces);
    }

    /// Delivers every piece late.
    pub fn lag(&self, way: Way, by: Duration) {
        self.line.course(way).condition().lag = by;
    }

    /// Delivers what was kept, and everything else as it comes.
    pub fn heal(&self) {
        for way in [Way::ToServer, Way::ToClient] {
            *self.line.course(way).condition() = Condition::default();
        }
    }

    /// Ends all connections at once. What was kept is lost.
    pub fn cut(&self) {
        let mut connections = self.line.connections.lock().unwrap_or_else(PoisonError::into_inner);
        for (cut, client, server) in connections.drain(..) {
            cut.store(true, Ordering::SeqCst);
            for end in [client, server] {
                // It may have ended by itself.
                let _ = end.shutdown(Shutdown::Both);
            }
        }
    }
}

impl Drop for FaultyLine {
    fn drop(&mut self) {
        self.line.closed.store(true, Ordering::Relaxed);
        self.cut();
        // Wakes the thread that listens.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Line {
    fn course(&self, way: Way) -> &Course {
        match way {
            Way::ToServer => &self.to_server,
            Way::ToClient => &self.to_client,
        }
    }
}

impl Course {
    fn condition(&self) -> MutexGuard<'_, Condition> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a piece may pass; false if the connection was cut meanwhile.
    fn pass(&self, cut: &AtomicBool) -> bool {
        let lag = self.condition().lag;
        sleep(lag);
        {
            let mut now = self.condition();
            now.hangs |= now.pieces == Some(0);
            now.pieces = now.pieces.map(|left| left.saturating_sub(1));
        }
        while self.condition().hangs && !cut.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(1));
        }
        !cut.load(Ordering::SeqCst)
    }
}

fn connect(line: &Arc<Line>, client: TcpStream, server: u16) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let cut = Arc::new(AtomicBool::new(false));
    let ends = (Arc::clone(&cut), client.try_clone()?, server.try_clone()?);
    line.connections.lock().unwrap_or_else(PoisonError::into_inner).push(ends);
    let there = (client.try_clone()?, server.try_clone()?);
    pump(Arc::clone(line), Way::ToServer, there, Arc::clone(&cut));
    pump(Arc::clone(line), Way::ToClient, (server, client), cut);
    Ok(())
}

fn pump(
    line: Arc<Line>,
    way: Way,
    (mut from, mut to): (TcpStream, TcpStream),
    cut: Arc<AtomicBool>,
) {
    thread::spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut piece).unwrap_or(0);
            if !line.course(way).pass(&cut) {
                return;
            }
            let told = piece.get(..read).filter(|told| !told.is_empty());
            match told.map(|told| to.write_all(told)) {
                Some(Ok(())) => {}
                // The end of one way is passed on like everything else.
                None => return drop(to.shutdown(Shutdown::Write)),
                Some(Err(_)) => return drop(from.shutdown(Shutdown::Both)),
            }
        }
    });
}
