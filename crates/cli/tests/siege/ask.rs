// SPDX-License-Identifier: Apache-2.0
//! In: a request. Out: the whole answer, or that there was none. Not here: what it should be.
//!
//! A client of our own, because a lost connection must never be retried behind our back, and because a test says things
//! that well-behaved clients cannot be made to say.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longest time for one answer: far beyond what any answer may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A request.
#[derive(Debug, Clone)]
pub struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, without any framing.
    pub body: String,
    /// How long it took.
    pub took: Duration,
}

impl Answer {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The version it was answered from, or made.
    pub fn version(&self) -> u64 {
        let text = self.header("overrule-version");
        text.and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("no version: {self:?}"))
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("not JSON: {e}: {self:?}"))
    }

    /// Fails unless it has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

impl Ask {
    /// A request without a body.
    pub fn new(method: &str, path: &str) -> Self {
        let (method, path) = (method.to_owned(), path.to_owned());
        Self { method, path, headers: Vec::new(), body: String::new() }
    }

    /// The same with a body.
    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    /// The same with a header; it replaces what would be sent otherwise.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Reading what this is about.
    pub fn as_get(&self) -> Self {
        Self::new("GET", &self.path)
    }

    /// The same with a token.
    pub fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    fn head(&self, to: SocketAddr) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let usual = [
            ("host", to.to_string()),
            ("connection", "close".to_owned()),
            ("accept", "*/*".to_owned()),
        ];
        for (name, value) in usual {
            if !self.headers.iter().any(|(n, _)| n == name) {
                let _ = write!(head, "{name}: {value}\r\n");
            }
        }
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if !self.body.is_empty() || self.method != "GET" {
            let _ = write!(head, "content-length: {}\r\n", self.body.len());
        }
        if !self.body.is_empty() && !self.headers.iter().any(|(n, _)| n == "content-type") {
            head.push_str("content-type: application/yaml\r\n");
        }
        head + "\r\n"
    }

    /// Sends it; the answer's head is read, its body is not.
    pub fn open(&self, to: SocketAddr, patience: Duration) -> std::io::Result<Stream> {
        let since = Instant::now();
        let mut socket = TcpStream::connect_timeout(&to, patience)?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(patience))?;
        socket.set_nodelay(true)?;
        let mut bytes = self.head(to).into_bytes();
        bytes.extend_from_slice(self.body.as_bytes());
        socket.write_all(&bytes)?;
        let mut lines = BufReader::new(socket);
        let mut line = String::new();
        let ended = || std::io::Error::from(ErrorKind::UnexpectedEof);
        lines.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(ended)?;
        let mut headers = Vec::new();
        loop {
            line.clear();
            if lines.read_line(&mut line)? == 0 {
                return Err(ended());
            }
            match line.trim_end().split_once(':') {
                None => break,
                Some((name, value)) => {
                    headers.push((name.to_lowercase(), value.trim().to_owned()));
                }
            }
        }
        Ok(Stream { status, headers, lines, since })
    }

    /// Sends it and reads the whole answer. An answer that is cut off is none.
    pub fn send(&self, to: SocketAddr) -> std::io::Result<Answer> {
        self.send_within(to, PATIENCE)
    }

    /// The same with less patience.
    pub fn send_within(&self, to: SocketAddr, patience: Duration) -> std::io::Result<Answer> {
        self.open(to, patience)?.finish()
    }
}

/// An answer whose body is still to come.
pub struct Stream {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
    lines: BufReader<TcpStream>,
    since: Instant,
}

impl Stream {
    fn is(&self, name: &str, value: &str) -> bool {
        self.headers.iter().any(|(n, v)| n == name && v.eq_ignore_ascii_case(value))
    }

    /// The next piece of a body that is sent in pieces; none if that was all.
    pub fn piece(&mut self) -> std::io::Result<Option<String>> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        let Ok(size) = usize::from_str_radix(line.trim(), 16) else {
            return Err(ErrorKind::UnexpectedEof.into());
        };
        let mut piece = vec![0; size + 2];
        self.lines.read_exact(&mut piece)?;
        piece.truncate(piece.len() - 2);
        let text = String::from_utf8_lossy(&piece).into_owned();
        Ok((size > 0).then_some(text))
    }

    fn finish(mut self) -> std::io::Result<Answer> {
        let length = self.headers.iter().find(|(n, _)| n == "content-length");
        let length: Option<usize> = length.and_then(|(_, v)| v.parse().ok());
        let mut body = String::new();
        if self.is("transfer-encoding", "chunked") {
            while let Some(piece) = self.piece()? {
                body.push_str(&piece);
            }
        } else if let Some(length) = length {
            let mut bytes = vec![0; length];
            self.lines.read_exact(&mut bytes)?;
            body = String::from_utf8_lossy(&bytes).into_owned();
        } else if self.status != 204 {
            return Err(ErrorKind::InvalidData.into());
        }
        let took = self.since.elapsed();
        Ok(Answer { status: self.status, headers: self.headers, body, took })
    }
}
