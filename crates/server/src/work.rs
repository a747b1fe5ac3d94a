// SPDX-License-Identifier: Apache-2.0
//! In: work that somebody asks for. Out: it done, of each class a bounded amount at a time, and fair to everybody who
//! asks. Not here: the work.
//!
//! What bounds work is a [`WorkTurn`], and the work itself holds it: a client that hangs up ends its request, not the work. Of
//! those who wait, the next turn goes to whoever has the fewest, and nobody may have all of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overrule_guard::{CallerId, Principal, fair_part};
use tokio::sync::oneshot;

use crate::problem::Problem;

/// Bytes of bodies that may be held as trees at a time.
const PARSED: usize = 48 << 20;

/// Kinds of work that are bounded apart, so that one cannot hold up another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkClass {
    /// Reading a body.
    Parse,
    /// Holding what was read of a body, in bytes of the body.
    Parsed,
    /// Resolving a state of the past.
    Past,
    /// Holding a state of the past.
    PastState,
    /// Resolving what a dry run would lead to.
    DryRun,
    /// Resolving a state again, for a question that needs more than is kept ready.
    Closer,
    /// Holding the result.
    CloserState,
    /// Preparing what an extension needs of a state.
    Derive,
    /// Finding and writing an answer.
    Question,
    /// Finding and writing what watchers are told.
    Tell,
    /// Reading the history and other small things from the store.
    Store,
    /// Copying everything.
    Backup,
}

impl WorkClass {
    /// All classes.
    pub const ALL: [Self; 12] = [
        Self::Parse,
        Self::Parsed,
        Self::Past,
        Self::PastState,
        Self::DryRun,
        Self::Closer,
        Self::CloserState,
        Self::Derive,
        Self::Question,
        Self::Tell,
        Self::Store,
        Self::Backup,
    ];

    /// The word for metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Parsed => "parsed-bytes",
            Self::Past => "past",
            Self::PastState => "past-states",
            Self::DryRun => "dry-run",
            Self::Closer => "closer",
            Self::CloserState => "closer-states",
            Self::Derive => "derive",
            Self::Question => "question",
            Self::Tell => "tell",
            Self::Store => "store",
            Self::Backup => "backup",
        }
    }

    /// How much of it there may be at a time. Never one: then a single caller could have all of it.
    fn most(self, processors: usize) -> usize {
        match self {
            Self::Parsed => PARSED,
            // Each of these takes as much memory as the newest state.
            Self::Past | Self::DryRun | Self::Closer | Self::Derive | Self::Backup => 2,
            // Two of them are kept for whoever asks next, and two more past ones for what watchers are told.
            Self::CloserState => 4,
            Self::PastState => 6,
            Self::Parse | Self::Tell => processors.max(2),
            Self::Question => processors.max(2) * 4,
            Self::Store => 16,
        }
    }
}

/// The turns of all classes.
#[derive(Debug)]
pub struct WorkTurns(BTreeMap<WorkClass, Arc<Line>>);

/// The right to do some work, or to hold its result, until it is dropped.
#[derive(Debug)]
pub struct WorkTurn {
    line: Arc<Line>,
    caller: CallerId,
    size: usize,
}

#[derive(Debug)]
struct Line {
    most: usize,
    state: Mutex<LineState>,
}

#[derive(Debug, Default)]
struct LineState {
    taken: usize,
    callers: BTreeMap<CallerId, Held>,
    /// Those of whom somebody waits, whoever had a turn last at the end.
    waiting: VecDeque<CallerId>,
}

#[derive(Debug, Default)]
struct Held {
    taken: usize,
    most: usize,
    queue: VecDeque<(usize, oneshot::Sender<WorkTurn>)>,
}

impl WorkTurns {
    /// As many turns as are good for so many processors.
    pub fn new(processors: usize) -> Self {
        let line =
            |class: WorkClass| Line { most: class.most(processors), state: Mutex::default() };
        Self(WorkClass::ALL.into_iter().map(|class| (class, Arc::new(line(class)))).collect())
    }

    /// Waits for a turn. Who stops waiting loses nothing but the place in the line.
    pub async fn turn(&self, class: WorkClass, who: &Principal) -> Result<WorkTurn, Problem> {
        self.turn_of(class, who, 1).await
    }

    /// Waits for a turn that counts for more than one.
    pub async fn turn_of(
        &self,
        class: WorkClass,
        who: &Principal,
        size: usize,
    ) -> Result<WorkTurn, Problem> {
        let gone = || Problem::unavailable("the server is about to end");
        let line = self.0.get(&class).ok_or_else(gone)?;
        line.join(who, size).await.ok().ok_or_else(gone)
    }

    /// How much of a class is taken, and how many wait for it.
    pub fn load(&self, class: WorkClass) -> (usize, usize) {
        self.0.get(&class).map_or((0, 0), |line| {
            let state = line.state();
            (state.taken, state.callers.values().map(|held| held.queue.len()).sum())
        })
    }
}

impl Line {
    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(self: &Arc<Self>, who: &Principal, size: usize) -> oneshot::Receiver<WorkTurn> {
        let (sender, receiver) = oneshot::channel();
        let caller = who.caller();
        // More than there is of it is all of it.
        let size = size.min(self.most);
        let most = if who.rival().is_some() { fair_part(self.most) } else { self.most };
        let mut state = self.state();
        let held = state.callers.entry(caller.clone()).or_default();
        held.most = most;
        held.queue.push_back((size, sender));
        if !state.waiting.contains(&caller) {
            state.waiting.push_back(caller);
        }
        drop(state);
        self.hand_out();
        receiver
    }

    /// Gives turns to those who wait, as long as there are any.
    fn hand_out(self: &Arc<Self>) {
        while let Some((turn, sender)) = self.next() {
            // Nobody there any more: dropping the turn gives it back, and it goes to the next.
            drop(sender.send(turn));
        }
    }

    fn next(self: &Arc<Self>) -> Option<(WorkTurn, oneshot::Sender<WorkTurn>)> {
        let mut state = self.state();
        let LineState { taken, callers, waiting } = &mut *state;
        if *taken >= self.most {
            return None;
        }
        for held in callers.values_mut() {
            held.queue.retain(|(_, sender)| !sender.is_closed());
        }
        waiting.retain(|caller| callers.get(caller).is_some_and(|held| !held.queue.is_empty()));
        callers.retain(|_, held| held.taken > 0 || !held.queue.is_empty());
        let free = self.most.saturating_sub(*taken);
        let fewest = waiting
            .iter()
            .enumerate()
            .filter_map(|(at, caller)| {
                let held = callers.get(caller)?;
                let size = held.queue.front()?.0;
                // Whoever has none may have one of any size.
                let may = held.taken == 0 || held.taken.saturating_add(size) <= held.most;
                may.then_some((held.taken, at, size))
            })
            .min()?;
        // The one whose turn it is waits for room; others do not slip past it for ever.
        let (_, at, size) = fewest;
        if size > free {
            return None;
        }
        let caller = waiting.remove(at)?;
        let held = callers.get_mut(&caller)?;
        let (_, sender) = held.queue.pop_front()?;
        held.taken += size;
        *taken += size;
        if !held.queue.is_empty() {
            waiting.push_back(caller.clone());
        }
        Some((WorkTurn { line: Arc::clone(self), caller, size }, sender))
    }
}

impl Drop for WorkTurn {
    fn drop(&mut self) {
        let mut state = self.line.state();
        state.taken = state.taken.saturating_sub(self.size);
        if let Some(held) = state.callers.get_mut(&self.caller) {
            held.taken = held.taken.saturating_sub(self.size);
        }
        drop(state);
        self.line.hand_out();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use overrule_guard::{How, Principal};
    use tokio::sync::oneshot::{Receiver, error::TryRecvError};

    use super::{WorkClass, WorkTurn, WorkTurns};

    fn who(id: &str) -> Principal {
        Principal { token: Some(id.to_owned()), how: How::Token, ..Principal::nobody() }
    }

    fn ask(
        turns: &WorkTurns,
        class: WorkClass,
        who: &Principal,
        size: usize,
    ) -> Receiver<WorkTurn> {
        turns.0.get(&class).unwrap().join(who, size)
    }

    #[test]
    fn one_caller_cannot_have_every_turn() {
        let turns = WorkTurns::new(2);
        for class in WorkClass::ALL {
            let (a, b) = (who("a"), who("b"));
            let size = if class == WorkClass::Parsed { super::PARSED / 4 } else { 1 };
            let mut of_a: Vec<_> = (0..100).map(|_| ask(&turns, class, &a, size)).collect();
            let had: Vec<WorkTurn> =
                of_a.iter_mut().filter_map(|one| one.try_recv().ok()).collect();
            assert!(!had.is_empty(), "{class:?}");
            let mut of_b = ask(&turns, class, &b, size);
            let turn = of_b.try_recv().unwrap();
            drop((had, turn));
            let all = of_a.iter_mut().filter_map(|one| one.try_recv().ok());
            assert!(all.count() > 0, "{class:?}: those who wait come next");
        }
    }

    #[test]
    fn who_has_fewest_comes_next() {
        let turns = WorkTurns::new(1);
        let (a, b) = (who("a"), who("b"));
        let class = WorkClass::Past;
        let first = ask(&turns, class, &a, 1).try_recv().unwrap();
        let mut second = ask(&turns, class, &a, 1);
        let _b = ask(&turns, class, &b, 1).try_recv().unwrap();
        let mut next_b = ask(&turns, class, &b, 1);
        assert_eq!(second.try_recv().unwrap_err(), TryRecvError::Empty);
        drop(first);
        assert!(second.try_recv().is_ok());
        assert_eq!(next_b.try_recv().unwrap_err(), TryRecvError::Empty, "it has one already");
    }

    #[test]
    fn who_is_gone_gets_no_turn_and_keeps_none() {
        let turns = WorkTurns::new(1);
        let a = who("a");
        let first = ask(&turns, WorkClass::Past, &a, 1).try_recv().unwrap();
        drop((0..10).map(|_| ask(&turns, WorkClass::Past, &a, 1)).collect::<Vec<_>>());
        let mut last = ask(&turns, WorkClass::Past, &a, 1);
        drop(first);
        let turn = last.try_recv().unwrap();
        assert_eq!(turns.load(WorkClass::Past), (1, 0));
        drop(turn);
        assert_eq!(turns.load(WorkClass::Past), (0, 0));
        let line = turns.0.get(&WorkClass::Past).unwrap();
        line.hand_out();
        assert!(line.state().callers.is_empty(), "nobody is remembered who is gone");
    }

    #[test]
    fn where_everybody_is_let_in_nothing_is_kept_for_others() {
        let turns = WorkTurns::new(1);
        let all = Principal::open();
        let mut two: Vec<_> = (0..2).map(|_| ask(&turns, WorkClass::Past, &all, 1)).collect();
        let had: Vec<WorkTurn> = two.iter_mut().filter_map(|one| one.try_recv().ok()).collect();
        assert_eq!(had.len(), 2);
    }

    #[test]
    fn what_is_larger_than_all_waits_for_all() {
        let turns = WorkTurns::new(1);
        let (a, b) = (who("a"), who("b"));
        let small = ask(&turns, WorkClass::Parsed, &b, 1).try_recv().unwrap();
        let mut large = ask(&turns, WorkClass::Parsed, &a, usize::MAX);
        assert_eq!(large.try_recv().unwrap_err(), TryRecvError::Empty);
        drop(small);
        assert!(large.try_recv().is_ok());
    }
}
