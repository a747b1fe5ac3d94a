// SPDX-License-Identifier: Apache-2.0
//! In: a state and a way to compute something from it. Out: that value, computed once for each state, when it is first
//! asked for. Not here: what extensions compute.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::call::Call;
use crate::live::State;
use crate::problem::Problem;
use crate::work::WorkClass;

/// What was computed from a state so far: one value of each type.
#[derive(Default)]
pub struct Derived(Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Derived {
    /// Where the value of a type is, or will be.
    fn slot<T: Send + Sync + 'static>(&self) -> Arc<OnceLock<Arc<T>>> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(TypeId::of::<T>());
        let slot = slot.or_insert_with(|| Arc::new(OnceLock::<Arc<T>>::new()));
        // A slot is found by its type, so it always has that type.
        Arc::clone(slot).downcast().unwrap_or_default()
    }
}

impl State {
    /// What an extension needs beyond the analysis. Computing it may take its time, so it happens on another thread;
    /// whoever asks meanwhile waits for the same value.
    pub async fn derived<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        call: &Call,
        make: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<Arc<T>, Problem> {
        let slot = self.derived.slot::<T>();
        if let Some(ready) = slot.get() {
            return Ok(Arc::clone(ready));
        }
        let state = Arc::clone(self);
        let work = move || Arc::clone(slot.get_or_init(|| Arc::new(make(&state))));
        call.work(WorkClass::Derive, work).await
    }
}
