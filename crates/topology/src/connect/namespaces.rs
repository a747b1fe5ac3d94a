// SPDX-License-Identifier: Apache-2.0
//! In: `from` and selectors. Out: whether a namespace may attach. Not here: kinds of routes.

use hashbrown::HashMap;
use overrule_model::{Labels, Sym};

use super::super::resources::{GatewayResources, NamespacesFrom};

/// Answers questions about namespaces; each selector meets each namespace once.
pub(super) struct Namespaces<'a> {
    specs: &'a GatewayResources,
    known: HashMap<(u32, Sym), bool>,
}

impl<'a> Namespaces<'a> {
    pub(super) fn new(specs: &'a GatewayResources) -> Self {
        Self { specs, known: HashMap::new() }
    }

    /// Whether objects of `guest` may attach to an object of `host`.
    pub(super) fn allows(&mut self, from: NamespacesFrom, host: Sym, guest: Sym) -> bool {
        match from {
            NamespacesFrom::Same => host == guest,
            NamespacesFrom::All => true,
            NamespacesFrom::None => false,
            NamespacesFrom::Selector(index) => {
                let specs = self.specs;
                *self.known.entry((index, guest)).or_insert_with(|| selects(specs, index, guest))
            }
        }
    }
}

/// A namespace without an object in the input has the one label every namespace has.
fn selects(specs: &GatewayResources, index: u32, namespace: Sym) -> bool {
    let Some(selector) = specs.selectors.get(index as usize) else { return false };
    match specs.namespaces.get(&namespace) {
        Some(labels) => selector.matches(labels),
        None => selector.matches(&Labels::new([(specs.words.namespace_label, namespace)])),
    }
}
