// SPDX-License-Identifier: Apache-2.0
//! In: bodies. Out: bodies that hold what has to be held until they end: a place in flight, a piece the peer has to take,
//! whether all of an upload came. Not here: what is in them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use http_body_util::Limited;
use hyper::body::{Body, Frame, SizeHint};

use crate::place::RequestPlace;
use crate::principal::CallerId;
use crate::pulse::Beat;
use crate::shares::Share;

/// What errors of bodies become.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The largest piece handed out at once. What a peer has not taken is kept per request, so pieces are small; and a peer is
/// judged by how long it takes for one, so they are not of any size.
const PIECE: usize = 16 << 10;

/// An answer on its way out, in pieces.
#[derive(Debug)]
pub(crate) struct Outgoing<B> {
    inner: B,
    rest: Bytes,
    beat: Beat,
}

impl<B: Body> Outgoing<B> {
    pub(crate) fn new(inner: B, mut beat: Beat, head_only: bool) -> Self {
        if head_only || inner.is_end_stream() {
            beat.finish();
        } else {
            // The head counts as a piece: HTTP/2 asks for no byte of the body before the peer has room for one.
            beat.handed_out();
        }
        Self { inner, rest: Bytes::new(), beat }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Outgoing<B> {
    fn hand_out(&mut self, mut data: Bytes) -> Frame<Bytes> {
        if data.len() > PIECE {
            let piece = data.split_to(PIECE);
            self.rest = data;
            data = piece;
        }
        if self.is_end_stream() {
            self.beat.finish();
        }
        self.beat.handed_out();
        Frame::data(data)
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Outgoing<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.beat.taken();
        if self.rest.has_remaining() {
            let rest = std::mem::take(&mut self.rest);
            return Poll::Ready(Some(Ok(self.hand_out(rest))));
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(match frame.into_data() {
                Ok(data) => self.hand_out(data),
                Err(trailers) => trailers,
            }))),
            Poll::Ready(None) => {
                self.beat.finish();
                Poll::Ready(None)
            }
            other => other,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.inner.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}

/// An answer that keeps its place until it is sent or given up.
#[derive(Debug)]
pub struct Held<B> {
    inner: B,
    _kept: Option<Kept>,
}

/// What an answer keeps.
#[derive(Debug)]
pub(crate) enum Kept {
    /// The place of its request.
    Place(#[expect(dead_code, reason = "kept until it is dropped")] RequestPlace),
    /// A place among endless answers.
    Stream(#[expect(dead_code, reason = "kept until it is dropped")] Share<CallerId>),
}

impl<B> Held<B> {
    pub(crate) fn new(inner: B, kept: Option<Kept>) -> Self {
        Self { inner, _kept: kept }
    }
}

impl<B: Body + Unpin> Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of a request, no longer than allowed. Beyond that it fails with [`http_body_util::LengthLimitError`]; with
/// [`NoRoom`](crate::NoRoom) where there is no room for it now.
#[derive(Debug)]
pub struct Upload<B> {
    inner: Limited<B>,
    place: RequestPlace,
    complete: Arc<AtomicBool>,
}

impl<B: Body> Upload<B> {
    pub(crate) fn new(inner: B, most: usize, place: RequestPlace) -> Self {
        let complete = Arc::new(AtomicBool::new(inner.is_end_stream()));
        Self { inner: Limited::new(inner, most), place, complete }
    }

    /// Becomes true when all of it was read.
    pub(crate) fn complete(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.complete)
    }
}

impl<B> Body for Upload<B>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.complete.store(true, Ordering::Relaxed);
        }
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
            && let Err(full) = self.place.grow(data.remaining())
        {
            return Poll::Ready(Some(Err(full.into())));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
