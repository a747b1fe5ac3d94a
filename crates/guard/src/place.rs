// SPDX-License-Identifier: Apache-2.0
//! In: a request that was let in. Out: what it takes while it is worked on: a place, and room for its body. Not here: how
//! much there is of both (the gate).
//!
//! Whoever works on a request keeps its place until the work is done. A client that hangs up ends its request, not the
//! work, so a place that ended with the request would bound nothing.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::CallerId;
use crate::principal::Principal;
use crate::shares::{Full, Share, Shares};

/// What a request takes. In the extensions of every request; the last copy gives it back.
#[derive(Debug, Clone)]
pub struct RequestPlace(Arc<Held>);

#[derive(Debug)]
struct Held {
    _share: Share<CallerId>,
    caller: CallerId,
    alone: bool,
    room: Arc<Shares<CallerId>>,
    bytes: Mutex<Vec<Share<CallerId>>>,
}

/// The bodies that have arrived take all the room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many bytes are being uploaded at once; try again later")
    }
}

impl std::error::Error for NoRoom {}

/// A share of these for somebody.
pub(crate) fn take(
    shares: &Arc<Shares<CallerId>>,
    who: &Principal,
    size: usize,
) -> Result<Share<CallerId>, Full> {
    match who.rival() {
        Some(caller) => shares.take(caller, size),
        None => shares.take_any(who.caller(), size),
    }
}

impl RequestPlace {
    pub(crate) fn new(
        places: &Arc<Shares<CallerId>>,
        room: &Arc<Shares<CallerId>>,
        who: &Principal,
    ) -> Result<Self, Full> {
        let share = take(places, who, 1)?;
        let (caller, alone) = (who.caller(), who.rival().is_none());
        let (room, bytes) = (Arc::clone(room), Mutex::default());
        Ok(Self(Arc::new(Held { _share: share, caller, alone, room, bytes })))
    }

    /// Makes room for more bytes of the body.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), NoRoom> {
        let Held { room, caller, alone, bytes: held, .. } = &*self.0;
        let share = if *alone {
            room.take_any(caller.clone(), bytes)
        } else {
            room.take(caller.clone(), bytes)
        };
        let share = share.ok().ok_or(NoRoom)?;
        held.lock().unwrap_or_else(PoisonError::into_inner).push(share);
        Ok(())
    }
}
