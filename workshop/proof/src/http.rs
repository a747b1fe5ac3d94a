// SPDX-License-Identifier: Apache-2.0
//! In: bytes of HTTP/1.1. Out: responses. Not here: connections, TLS, HTTP/2.
//!
//! A client of our own, because requests must go out exactly as written: libraries tidy up paths.

use std::io::{self, BufRead, Read as _};

/// Longest line and body that a proxy under test may answer.
const LIMIT: u64 = 64 << 20;

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: String,
}

impl Response {
    /// The first header of a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Whether the connection ends with it.
    pub fn closes(&self) -> bool {
        self.header("connection").is_some_and(|v| v.eq_ignore_ascii_case("close"))
    }
}

/// A request without a body, as it goes out over HTTP/1.1.
pub fn request(method: &str, path: &[u8], host: &str) -> Vec<u8> {
    let more = match method {
        "POST" | "PUT" | "PATCH" => "content-length: 0\r\n",
        // The proxy wants to know what the query is.
        "QUERY" => "content-length: 0\r\ncontent-type: text/plain\r\n",
        _ => "",
    };
    let rest = format!(" HTTP/1.1\r\nhost: {host}\r\n{more}\r\n");
    [method.as_bytes(), b" ", path, rest.as_bytes()].concat()
}

/// The headers of a request without a body, as they go out over HTTP/2.
pub fn request2<'a>(
    method: &'a [u8],
    path: &'a [u8],
    host: &'a str,
    grpc: bool,
) -> Vec<(&'a [u8], &'a [u8])> {
    let mut headers: Vec<(&[u8], &[u8])> = vec![(b":method", method)];
    // As the standard has it, CONNECT has neither scheme nor path.
    if method != b"CONNECT" {
        headers.extend([(&b":scheme"[..], &b"https"[..]), (b":path", path)]);
    }
    headers.push((b":authority", host.as_bytes()));
    if method == b"QUERY" && !grpc {
        headers.push((b"content-type", b"text/plain"));
    }
    if grpc {
        headers.extend([(&b"content-type"[..], &b"application/grpc"[..]), (b"te", b"trailers")]);
    }
    headers
}

/// Reads one response to a request of this method.
///
/// # Errors
/// The connection ends or breaks, or it is not HTTP. `UnexpectedEof` with nothing read is a connection that ended.
pub fn read(from: &mut impl BufRead, method: &str) -> io::Result<Response> {
    let status = line(from)?
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| bad("no status line"))?;
    let mut headers = Vec::new();
    loop {
        let text = line(from)?;
        if text.is_empty() {
            break;
        }
        let (name, value) = text.split_once(':').ok_or_else(|| bad("no header"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut response = Response { status, headers, body: String::new() };
    if method != "HEAD" && !matches!(status, 100..=199 | 204 | 304) {
        response.body = String::from_utf8_lossy(&body(from, &response)?).into_owned();
    }
    Ok(response)
}

fn body(from: &mut impl BufRead, head: &Response) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    if head.header("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
        loop {
            let size = u64::from_str_radix(&line(from)?, 16).map_err(io::Error::other)?;
            exactly(from, size, &mut all)?;
            line(from)?;
            if size == 0 {
                return Ok(all);
            }
        }
    }
    match head.header("content-length") {
        Some(size) => exactly(from, size.parse().map_err(io::Error::other)?, &mut all)?,
        None => {
            from.take(LIMIT).read_to_end(&mut all)?;
        }
    }
    Ok(all)
}

fn exactly(from: &mut impl BufRead, size: u64, into: &mut Vec<u8>) -> io::Result<()> {
    let before = into.len();
    from.take(size.min(LIMIT)).read_to_end(into)?;
    if u64::try_from(into.len() - before) == Ok(size) { Ok(()) } else { Err(ended()) }
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(LIMIT).read_until(b'\n', &mut bytes)?;
    if bytes.pop() != Some(b'\n') {
        return Err(ended());
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn ended() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

fn bad(what: &str) -> io::Error {
    io::Error::other(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> io::Result<Response> {
        read(&mut text.as_bytes(), "GET")
    }

    #[test]
    fn bodies_come_by_length_in_chunks_or_until_the_end() {
        assert_eq!(parse("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd").unwrap().body, "abc");
        let chunked =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        assert_eq!(parse(chunked).unwrap().body, "abc");
        assert_eq!(parse("HTTP/1.1 400 Bad\r\nconnection: close\r\n\r\nabc").unwrap().body, "abc");
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        assert!(parse("").is_err());
        assert!(parse("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab").is_err());
        assert!(parse("hello\r\n\r\n").is_err());
    }
}
