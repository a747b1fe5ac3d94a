// SPDX-License-Identifier: Apache-2.0
//! In: names of policies and listeners. Out: names that counters can carry. Not here: which counters there are.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::proto::TypedExtensionConfig;
use crate::proto::matcher::{ActionConfig, OnMatch};
use crate::proto::rbac::RbacAction;

/// The name of the answer when nothing matched.
pub const DEFAULT: &str = "default";

/// The name of the answer to certificates with several URI SANs.
pub const GUARD: &str = "multi-san";

/// The name of the answer to paths that rules cannot be asked about.
pub const PATH_GUARD: &str = "unsafe-path";

/// The name of an action for a policy with this KRI.
///
/// Envoy makes counters of it, and a dot would split the name of a counter in two. Letters, digits, `_` and `-` stay;
/// every other byte becomes `~` with two hexadecimal digits, so that different names stay different and
/// [`policy_name`] finds the way back. A name that we use ourselves has its first byte written so, and the empty name,
/// which Envoy refuses, is `~`.
pub fn action_name(kri: &str) -> Cow<'_, str> {
    if kri.is_empty() {
        return Cow::Borrowed("~");
    }
    let reserved = [DEFAULT, GUARD, PATH_GUARD].contains(&kri);
    if !reserved && kri.bytes().all(is_plain) {
        return Cow::Borrowed(kri);
    }
    let mut name = String::with_capacity(kri.len() + 8);
    for (at, byte) in kri.bytes().enumerate() {
        if is_plain(byte) && !(reserved && at == 0) {
            name.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(name, "~{byte:02x}");
        }
    }
    Cow::Owned(name)
}

/// The KRI that [`action_name`] made this name of; none if it did not.
pub fn policy_name(action: &str) -> Option<String> {
    if action == "~" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(action.len());
    let mut rest = action.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'~' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            other => other,
        });
    }
    let kri = String::from_utf8(bytes).ok()?;
    (action_name(&kri) == action).then_some(kri)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// What goes before the counters of a network filter: the listener's name with every other character as `_`, and a
/// dot, which keeps it apart from what follows.
pub fn stat_prefix(listener: &str) -> String {
    format!("{}.", stat_name(listener))
}

/// The listener's name with every character that counters do not like as `_`.
pub(crate) fn stat_name(listener: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    listener.chars().map(plain).collect()
}

/// Names of actions by policy.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    of: Vec<Cow<'a, str>>,
}

impl<'a> Names<'a> {
    /// Made safe for counters.
    pub(crate) fn safe(kris: &'a [String]) -> Self {
        Self { of: kris.iter().map(|kri| action_name(kri)).collect() }
    }

    /// As they are.
    pub(crate) fn verbatim(kris: &'a [String]) -> Self {
        Self { of: kris.iter().map(|kri| Cow::Borrowed(kri.as_str())).collect() }
    }

    /// All, in order.
    pub(crate) fn into_all(self) -> Vec<Cow<'a, str>> {
        self.of
    }

    /// The answer in the name of a policy.
    pub(crate) fn answer(&self, action: RbacAction, policy: u32) -> OnMatch<'a> {
        let name = usize::try_from(policy).ok().and_then(|at| self.of.get(at)).cloned();
        answer(action, name.unwrap_or_else(|| Cow::Owned(format!("policy-{policy}"))))
    }
}

/// The answer in this name.
pub(crate) fn answer<'a>(action: RbacAction, name: impl Into<Cow<'a, str>>) -> OnMatch<'a> {
    OnMatch::Action(TypedExtensionConfig {
        name: "envoy.filters.rbac.action",
        typed_config: ActionConfig::Rbac { action, name: name.into() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_kri_is_its_own_name() {
        let kri = "kri_mtp_default_zone-1_ns-1_mtp-1_";
        assert!(matches!(action_name(kri), Cow::Borrowed(name) if name == kri));
    }

    #[test]
    fn what_counters_cannot_carry_is_escaped() {
        assert_eq!(action_name("kri_mtp_m___a.b_"), "kri_mtp_m___a~2eb_");
        assert_eq!(action_name("a~b c"), "a~7eb~20c");
        assert_eq!(action_name(DEFAULT), "~64efault");
        assert_eq!(action_name(GUARD), "~6dulti-san");
        assert_eq!(action_name(""), "~");
    }

    #[test]
    fn what_we_did_not_write_has_no_kri() {
        for name in [DEFAULT, GUARD, PATH_GUARD, "~2", "~zz", "a.b", "~61b", "~ff"] {
            assert_eq!(policy_name(name), None, "{name}");
        }
    }

    #[test]
    fn the_prefix_of_counters_has_no_dots_inside() {
        assert_eq!(stat_prefix("inbound:10.0.0.1:80"), "inbound_10_0_0_1_80.");
    }

    proptest::proptest! {
        #[test]
        fn every_name_has_a_way_back(kri in ".*") {
            let name = action_name(&kri);
            proptest::prop_assert!(!name.is_empty() && !name.contains('.'));
            proptest::prop_assert!(![DEFAULT, GUARD, PATH_GUARD].contains(&&*name));
            let back = policy_name(&name);
            proptest::prop_assert_eq!(back.as_deref(), Some(kri.as_str()));
        }
    }
}
