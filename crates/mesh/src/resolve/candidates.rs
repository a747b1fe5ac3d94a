// SPDX-License-Identifier: Apache-2.0
//! In: policies of one kind. Out: the few of them that may select a proxy. Not here: selecting.

use hashbrown::HashMap;

use crate::dataplane::Dataplane;
use crate::kinds;
use crate::policy::Policy;

/// Policies by what a proxy must have for them; in a fleet most ask for a label that few proxies have.
pub(super) struct Candidates<'a> {
    list: &'a [&'a Policy],
    /// Places of those that may select any proxy.
    any: Vec<usize>,
    /// Places of those that ask for a label, by one of the labels.
    by_label: HashMap<(&'a str, &'a str), Vec<usize>>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(list: &'a [&'a Policy]) -> Self {
        let mut found = Self { list, any: Vec::new(), by_label: HashMap::new() };
        for (place, policy) in list.iter().enumerate() {
            match label(policy) {
                Some(label) => found.by_label.entry(label).or_default().push(place),
                None => found.any.push(place),
            }
        }
        found
    }

    /// Those that may select a proxy, in the order of the list.
    pub(super) fn of(&self, proxy: &'a Dataplane) -> Vec<&'a Policy> {
        let mut places = self.any.clone();
        for (key, value) in &proxy.meta.labels {
            let with = self.by_label.get(&(key.as_str(), value.as_str()));
            places.extend(with.into_iter().flatten().copied());
        }
        places.sort_unstable();
        places.into_iter().filter_map(|place| self.list.get(place).copied()).collect()
    }
}

/// A label that a policy asks proxies for. An empty value is met by proxies without the label too, so it is none.
fn label(policy: &Policy) -> Option<(&str, &str)> {
    let target = &policy.target;
    let named = !target.name().is_empty() || !target.namespace().is_empty();
    let mut labels = target.label_pairs().filter(|(_, value)| !value.is_empty());
    labels.next().filter(|_| target.kind == kinds::DATAPLANE && !named)
}
