// SPDX-License-Identifier: Apache-2.0
//! In: a connection on which HTTP/2 was agreed. Out: requests with exactly the bytes they are given, and their responses.
//! Not here: TLS, what a request looks like.
//!
//! A client of our own, as for HTTP/1.1: libraries check and tidy up what a hostile client would send as it is. Requests
//! are written without compression, one after another.

use std::io::{self, Read, Write};

use loona_hpack::Decoder;

use crate::http::Response;

/// Sent first by every client.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Longest frame that we take; also what we announce.
const LONGEST: u32 = 16_384;
/// More than all bodies of a connection together.
const WINDOW: u32 = 1 << 30;

mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

mod flag {
    /// Also: of a setting or a ping that it is acknowledged.
    pub const END_STREAM: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 32;
}

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Exchange {
    /// A response.
    Response(Response),
    /// The other side gave the stream up, or the connection, without one.
    Reset,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Http2<S> {
    stream: S,
    decoder: Headers,
    next: u32,
    /// Whether the other side takes no more requests.
    is_over: bool,
}

/// Its tables have no form to show.
struct Headers(Decoder<'static>);

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Headers")
    }
}

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl<S: Read + Write> Http2<S> {
    /// Says hello.
    pub(crate) fn open(mut stream: S) -> io::Result<Self> {
        let mut hello = PREFACE.to_vec();
        // Bodies may come at once, as far as a stream is concerned.
        let setting = |id: u16, value: u32| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
        frame(&mut hello, kind::SETTINGS, 0, 0, &setting(4, WINDOW));
        frame(&mut hello, kind::WINDOW_UPDATE, 0, 0, &WINDOW.to_be_bytes());
        stream.write_all(&hello)?;
        stream.flush()?;
        let mut this = Self { stream, decoder: Headers(Decoder::new()), next: 1, is_over: false };
        // The other side says hello too, but only to those whose certificate it takes.
        let first = this.read()?;
        if first.kind != kind::SETTINGS {
            return Err(io::Error::other("no HTTP/2"));
        }
        this.acknowledge(first)?;
        Ok(this)
    }

    fn acknowledge(&mut self, frame: Frame) -> io::Result<()> {
        let payload = if frame.kind == kind::PING { frame.payload } else { Vec::new() };
        let mut bytes = Vec::new();
        self::frame(&mut bytes, frame.kind, flag::END_STREAM, 0, &payload);
        self.stream.write_all(&bytes)?;
        self.stream.flush()
    }

    /// Whether it takes no more requests.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Sends a request without a body, with these headers as they are, and waits for the end of the response.
    pub(crate) fn exchange(&mut self, headers: &[(&[u8], &[u8])]) -> io::Result<Exchange> {
        let stream = self.next;
        self.next += 2;
        let mut block = Vec::new();
        for (name, value) in headers {
            // Literal, not to be indexed, and neither name nor value compressed.
            block.push(0);
            for text in [name, value] {
                length(&mut block, text.len());
                block.extend_from_slice(text);
            }
        }
        let mut bytes = Vec::new();
        frame(&mut bytes, kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, stream, &block);
        self.stream.write_all(&bytes)?;
        self.stream.flush()?;
        self.response(stream)
    }

    fn response(&mut self, stream: u32) -> io::Result<Exchange> {
        let mut response = Response { status: 0, headers: Vec::new(), body: String::new() };
        loop {
            let frame = match self.read() {
                Ok(frame) => frame,
                // The connection ends where the request was, which is an answer too.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {
                    self.is_over = true;
                    return Ok(Exchange::Reset);
                }
            };
            let mine = frame.stream == stream;
            match frame.kind {
                kind::SETTINGS | kind::PING if frame.flags & flag::END_STREAM == 0 => {
                    self.acknowledge(frame)?;
                }
                // The proxy under test is not drained, so that it says this only of what it cannot read.
                kind::GOAWAY => {
                    self.is_over = true;
                    return Ok(Exchange::Reset);
                }
                kind::RST_STREAM if mine => return Ok(Exchange::Reset),
                kind::HEADERS => {
                    let ends = frame.flags & flag::END_STREAM != 0;
                    let headers = self.headers(frame)?;
                    if mine {
                        add(&mut response, headers);
                    }
                    // What is only informational is not the end.
                    if mine && ends {
                        return Ok(Exchange::Response(response));
                    }
                }
                kind::DATA if mine => {
                    let ends = frame.flags & flag::END_STREAM != 0;
                    let body = unpadded(&frame).unwrap_or_default();
                    response.body.push_str(&String::from_utf8_lossy(body));
                    if ends {
                        return Ok(Exchange::Response(response));
                    }
                }
                _ => {}
            }
        }
    }

    /// The headers of a frame and of those that continue it.
    fn headers(&mut self, first: Frame) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let skip = if first.flags & flag::PRIORITY != 0 { 5 } else { 0 };
        let mut block = unpadded(&first).and_then(|b| b.get(skip..)).unwrap_or_default().to_vec();
        let mut flags = first.flags;
        while flags & flag::END_HEADERS == 0 {
            let more = self.read()?;
            if more.kind != kind::CONTINUATION {
                return Err(io::Error::other("headers that are not continued"));
            }
            flags = more.flags;
            block.extend(more.payload);
        }
        let decoded = self.decoder.0.decode(&block);
        decoded.map_err(|error| io::Error::other(format!("headers: {error:?}")))
    }

    fn read(&mut self) -> io::Result<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [a, b, c, kind, flags, s, t, u, v] = head;
        let length = u32::from_be_bytes([0, a, b, c]);
        if length > LONGEST {
            return Err(io::Error::other("a frame that is too long"));
        }
        let mut payload = vec![0; usize::try_from(length).unwrap_or(0)];
        self.stream.read_exact(&mut payload)?;
        Ok(Frame { kind, flags, stream: u32::from_be_bytes([s & 0x7f, t, u, v]), payload })
    }
}

fn add(response: &mut Response, headers: Vec<(Vec<u8>, Vec<u8>)>) {
    for (name, value) in headers {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match (&*name, text(&value)) {
            (b":status", status) => response.status = status.parse().unwrap_or(0),
            (_, value) => response.headers.push((text(&name), value)),
        }
    }
}

fn unpadded(frame: &Frame) -> Option<&[u8]> {
    if frame.flags & flag::PADDED == 0 {
        return Some(&frame.payload);
    }
    let (padding, rest) = frame.payload.split_first()?;
    rest.get(..rest.len().checked_sub(usize::from(*padding))?)
}

fn frame(into: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    into.extend_from_slice(length.get(1..).unwrap_or_default());
    into.extend([kind, flags]);
    into.extend(stream.to_be_bytes());
    into.extend_from_slice(payload);
}

/// A length in seven bits, and in more bytes if it needs them.
fn length(into: &mut Vec<u8>, length: usize) {
    let Ok(short @ ..127) = u8::try_from(length) else {
        into.push(127);
        let mut rest = length - 127;
        while let more @ 128.. = rest {
            into.push(u8::try_from(more % 128).unwrap_or(0) | 128);
            rest /= 128;
        }
        into.push(u8::try_from(rest).unwrap_or(0));
        return;
    };
    into.push(short);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Peer {
        sends: io::Cursor<Vec<u8>>,
        got: Vec<u8>,
    }

    impl Read for Peer {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.sends.read(into)
        }
    }

    impl Write for Peer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.got.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn peer(frames: &[(u8, u8, u32, &[u8])]) -> Http2<Peer> {
        let mut sends = Vec::new();
        frame(&mut sends, kind::SETTINGS, 0, 0, &[]);
        for (kind, flags, stream, payload) in frames {
            frame(&mut sends, *kind, *flags, *stream, payload);
        }
        Http2::open(Peer { sends: io::Cursor::new(sends), got: Vec::new() }).unwrap()
    }

    #[test]
    fn a_request_goes_out_as_it_is_and_its_response_is_read() {
        let ok = [0x88]; // `:status: 200` in the static table.
        let mut http = peer(&[
            (kind::PING, 0, 0, &[0; 8]),
            (kind::HEADERS, flag::END_HEADERS, 1, &ok),
            (kind::DATA, flag::END_STREAM | flag::PADDED, 1, b"\x02ok\0\0"),
        ]);
        let path = [b"/caf\xc3\xa9?\xff".to_vec(), vec![b'a'; 300]].concat();
        let Exchange::Response(response) = http.exchange(&[(b":path", &path)]).unwrap() else {
            unreachable!("it is answered")
        };
        assert_eq!((response.status, &*response.body), (200, "ok"));
        let got = http.stream.got;
        assert!(got.windows(path.len()).any(|bytes| bytes == path));
        // 308 is 127, and 181 in two bytes.
        assert_eq!(path.len(), 308);
        assert!(got.windows(4).any(|bytes| bytes == [127, 181, 1, b'/']));
    }

    #[test]
    fn a_stream_and_a_connection_can_be_given_up() {
        let mut http = peer(&[(kind::RST_STREAM, 0, 1, &[0, 0, 0, 1])]);
        assert!(matches!(http.exchange(&[]).unwrap(), Exchange::Reset));
        assert!(!http.is_over());
        assert!(matches!(http.exchange(&[]).unwrap(), Exchange::Reset));
        assert!(http.is_over());
    }
}
