// SPDX-License-Identifier: Apache-2.0
//! In: `from` and selectors. Out: whether a namespace may attach. Not here: kinds of routes.

use hashbrown::HashMap;
use overrule_model::{Labels, Selector, SelectorClause, Sym};

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
    if specs.open_namespaces.contains(&namespace) {
        return may_select(specs, selector, namespace);
    }
    match specs.namespaces.get(&namespace) {
        Some(labels) => selector.matches(labels),
        None => selector.matches(&Labels::new([(specs.words.namespace_label, namespace)])),
    }
}

/// Whether labels that nobody knows can be those of a namespace. Its name is known.
fn may_select(specs: &GatewayResources, selector: &Selector, namespace: Sym) -> bool {
    let known = Labels::new([(specs.words.namespace_label, namespace)]);
    let about_name = |clause: &&SelectorClause| clause.key() == specs.words.namespace_label;
    selector.requirements.iter().filter(about_name).all(|clause| clause.matches(&known))
}
