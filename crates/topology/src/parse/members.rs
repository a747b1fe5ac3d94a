// SPDX-License-Identifier: Apache-2.0
//! In: mappings. Out: their members by position, each mapping walked once; typed values, or a finding.
//! Not here: which members there are (`fields`).

use overrule_model::{At, GroupKind, Sym};
use overrule_source::{NodeKind, View};

use super::Reader;
use super::fields::Known;

/// A member that may be there; null counts as absent.
pub(super) type Member<'a> = Option<View<'a>>;

impl<'a> Reader<'a> {
    /// The members of a mapping, in the order of `known`. Others are findings; so is anything but a mapping.
    pub(super) fn members<const N: usize>(
        &mut self,
        of: View<'a>,
        at: &At<'_>,
        known: Known,
    ) -> Option<[Member<'a>; N]> {
        if of.kind() != NodeKind::Map {
            self.fields.wrong_type(at, of, "a mapping");
            return None;
        }
        let mut members = [None; N];
        let mut strange = false;
        for (key, value) in of.entries() {
            let name = key.key_text();
            match known.iter().position(|k| *k == name) {
                Some(place) => {
                    if let Some(slot) = members.get_mut(place)
                        && slot.is_none()
                        && !value.is_null()
                    {
                        *slot = Some(value);
                    }
                }
                None => strange = true,
            }
        }
        if strange {
            self.fields.only(of, at, known);
        }
        Some(members)
    }

    /// A string.
    pub(super) fn text(&mut self, member: Member<'a>, at: &At<'_>, key: &str) -> Option<&'a str> {
        let view = member?;
        let text = view.as_str();
        if text.is_none() {
            self.fields.wrong_type(&at.key(key), view, "a string");
        }
        text
    }

    /// A string that must be there.
    pub(super) fn needed(
        &mut self,
        member: Member<'a>,
        of: View<'a>,
        at: &At<'_>,
        key: &str,
    ) -> Option<(&'a str, View<'a>)> {
        let Some(view) = member else {
            self.fields.missing(&at.key(key), of);
            return None;
        };
        self.text(member, at, key).map(|text| (text, view))
    }

    /// A string as symbol; empty if it is not there.
    pub(super) fn symbol(&mut self, member: Member<'a>, at: &At<'_>, key: &str) -> Sym {
        match self.text(member, at, key) {
            Some(text) => self.intern(text),
            None => Sym::EMPTY,
        }
    }

    /// A list; anything else there is a finding.
    pub(super) fn list(&mut self, member: Member<'a>, at: &At<'_>, key: &str) -> Member<'a> {
        let view = member?;
        if view.kind() == NodeKind::List {
            return Some(view);
        }
        self.fields.wrong_type(&at.key(key), view, "a list");
        None
    }

    /// `group` and `kind` of a reference, each with its default. An empty group is the core group.
    pub(super) fn group_kind(
        &mut self,
        (group, kind): (Member<'a>, Member<'a>),
        at: &At<'_>,
        default: GroupKind,
    ) -> GroupKind {
        let group = match self.text(group, at, "group") {
            Some(text) => self.intern(text),
            None => default.group,
        };
        let kind = match self.symbol(kind, at, "kind") {
            Sym::EMPTY => default.kind,
            kind => kind,
        };
        GroupKind { group, kind }
    }

    /// An optional namespace with its default.
    pub(super) fn namespace_or(&mut self, member: Member<'a>, at: &At<'_>, default: Sym) -> Sym {
        match self.symbol(member, at, "namespace") {
            Sym::EMPTY => default,
            namespace => namespace,
        }
    }

    /// A whole number within bounds.
    pub(super) fn number(
        &mut self,
        member: Member<'a>,
        of: View<'a>,
        at: &At<'_>,
        key: &str,
        (min, max): (i64, i64),
    ) -> Option<i64> {
        match member?.as_i64() {
            Some(n) if (min..=max).contains(&n) => Some(n),
            // Says what is wrong.
            _ => self.fields.integer(of, at, key, min, max),
        }
    }

    /// A port number; 0 if it is not there or wrong.
    pub(super) fn port(&mut self, member: Member<'a>, of: View<'a>, at: &At<'_>) -> u16 {
        let port = self.number(member, of, at, "port", (1, 65535));
        port.and_then(|n| u16::try_from(n).ok()).unwrap_or(0)
    }
}

/// Whether a member is there but no string: it must not be taken for absent where absent means "any".
pub(super) fn is_unreadable(member: Member<'_>) -> bool {
    member.is_some_and(|view| view.as_str().is_none())
}
