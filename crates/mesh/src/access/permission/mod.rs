// SPDX-License-Identifier: Apache-2.0
//! In: MeshTrafficPermissions. Out: their matches as access rules, each with the place it is written at, and what is
//! wrong with them. Not here: which of them select an inbound, deciding.
//!
//! Nothing here ever widens a permission: what cannot be read refuses its policy.

mod read;
mod violations;

use overrule_access::AccessRule;
pub use overrule_access::spiffe;
use overrule_source::{Documents, NodeRef};

use crate::policy::Policy;
use crate::profile::Profile;

pub use read::{INPUTS, problems};
pub use violations::violations;

/// The lists of a rule: denies, then allows in the order a proxy looks at them.
pub const LISTS: [&str; 3] = ["deny", "allow", "allowWithShadowDeny"];

/// Where a match is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchLocation {
    /// The policy, by place.
    pub policy: u32,
    /// The element of its `rules`.
    pub entry: u32,
    /// The list.
    pub list: &'static str,
    /// The place in the list.
    pub index: u32,
    /// The match.
    pub node: NodeRef,
}

/// The permissions of one inbound.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    /// Rules, entry by entry: denies, allows, allows with a shadow deny.
    pub rules: Vec<AccessRule>,
    /// Where each is written, by [`Source`](overrule_access::Source).
    pub written: Vec<MatchLocation>,
    /// Policies by the number that rules name them by.
    pub policies: Vec<u32>,
}

/// The permissions that policies give, in the order their rules are looked at. Policies with problems must not be among
/// them. The release drops the server name of a match: what is left may be nothing, which fits everybody.
pub fn permissions<'p>(
    documents: &Documents,
    profile: &Profile,
    entries: impl IntoIterator<Item = (&'p Policy, u32, NodeRef)>,
) -> Permissions {
    let mut found = Permissions::default();
    for (policy, entry, node) in entries {
        let number = u32::try_from(found.policies.len()).unwrap_or(u32::MAX);
        found.policies.push(policy.place);
        for (list, index, mut matches, at) in read::matches(documents, node) {
            if *profile == Profile::Release {
                matches.sni = None;
            }
            let source =
                overrule_access::RuleSource(u32::try_from(found.written.len()).unwrap_or(u32::MAX));
            found.written.push(MatchLocation {
                policy: policy.place,
                entry,
                list,
                index,
                node: at,
            });
            let effect = match list {
                "deny" => overrule_access::Effect::Deny,
                "allow" => overrule_access::Effect::Allow,
                _ => overrule_access::Effect::AllowWithShadowDeny,
            };
            found.rules.push(AccessRule { effect, matches, source, policy: number });
        }
    }
    found
}
