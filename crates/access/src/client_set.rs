// SPDX-License-Identifier: Apache-2.0
//! In: sets of clients, each described by tags. Out: which of them a client is in, and which have nobody in common. Not
//! here: what happens to whom.

use crate::caller::ClientTags;

/// A tag that a client has, or does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagCondition<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its value.
    pub value: &'a str,
    /// Whether the client must not have it.
    pub not: bool,
}

impl TagCondition<'_> {
    /// Whether it holds for a client: one of its values is this one, or none is.
    pub fn holds(&self, client: &ClientTags) -> bool {
        client.get(self.key).is_some_and(|values| values.contains(self.value)) != self.not
    }
}

/// Whether no client with one value for each tag is in both.
pub fn disjoint<'a>(
    a: impl Iterator<Item = TagCondition<'a>> + Clone,
    b: impl Iterator<Item = TagCondition<'a>> + Clone,
) -> bool {
    let apart = |x: TagCondition<'_>, y: TagCondition<'_>| {
        x.key == y.key && !(x.not && y.not) && (x.not != y.not) == (x.value == y.value)
    };
    a.into_iter().any(|x| b.clone().any(|y| apart(x, y)))
}

/// Whether no client at all is in both: one must have what the other must not have.
pub fn contradict<'a>(
    a: impl Iterator<Item = TagCondition<'a>> + Clone,
    b: impl Iterator<Item = TagCondition<'a>> + Clone,
) -> bool {
    let opposite = |x: TagCondition<'_>, y: TagCondition<'_>| {
        x.not != y.not && x.key == y.key && x.value == y.value
    };
    a.into_iter().any(|x| b.clone().any(|y| opposite(x, y)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn has(key: &'static str, value: &'static str) -> TagCondition<'static> {
        TagCondition { key, value, not: false }
    }

    const fn lacks(key: &'static str, value: &'static str) -> TagCondition<'static> {
        TagCondition { key, value, not: true }
    }

    #[test]
    fn a_client_of_two_services_has_both_and_lacks_neither() {
        let both = ["batch", "web"].map(str::to_owned).into();
        let client: ClientTags = [("service".to_owned(), both)].into();
        assert!(has("service", "batch").holds(&client) && has("service", "web").holds(&client));
        assert!(!lacks("service", "web").holds(&client) && lacks("service", "db").holds(&client));
        assert!(lacks("version", "v1").holds(&client) && !has("version", "v1").holds(&client));
    }

    #[test]
    fn sets_without_common_clients() {
        let pair = |a: TagCondition<'static>, b: TagCondition<'static>| {
            let (a, b) = ([a].into_iter(), [b].into_iter());
            (disjoint(a.clone(), b.clone()), contradict(a, b))
        };
        assert_eq!(pair(has("a", "1"), has("a", "2")), (true, false), "one client may have both");
        assert_eq!(pair(has("a", "1"), lacks("a", "1")), (true, true));
        assert_eq!(pair(has("a", "1"), has("a", "1")), (false, false));
        assert_eq!(pair(has("a", "1"), lacks("a", "2")), (false, false));
        assert_eq!(pair(lacks("a", "1"), lacks("a", "2")), (false, false));
        assert_eq!(pair(has("a", "1"), has("b", "2")), (false, false));
    }
}
