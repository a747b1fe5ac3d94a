// SPDX-License-Identifier: Apache-2.0
//! In: families of policies, each a crate of its own. Out: the list of them. Not here: any rule. This is the one place
//! that names them.

use std::sync::{Mutex, OnceLock};

use overrule_family::{AnyFamily, OwnKind};

/// Those that come with this version. `gateway` is first: its answer stands where nobody has a better one.
static BUILT_IN: [&dyn AnyFamily; 5] = [
    &overrule_gateway::Gep713,
    &overrule_kuadrant::Kuadrant,
    &overrule_kgateway::Kgateway,
    &overrule_mesh::Kuma,
    &overrule_envoy_gateway::EnvoyGateway,
];

/// Those that a program added.
static ADDED: Mutex<Vec<&dyn AnyFamily>> = Mutex::new(Vec::new());

static ALL: OnceLock<Vec<&dyn AnyFamily>> = OnceLock::new();

/// Every family, `gateway` first.
pub fn families() -> &'static [&'static dyn AnyFamily] {
    ALL.get_or_init(|| {
        let added = ADDED.lock().map(|added| added.clone()).unwrap_or_default();
        BUILT_IN.into_iter().chain(added).collect()
    })
}

/// The policy kinds of all families.
pub(crate) fn own_kinds() -> &'static [OwnKind] {
    static KINDS: OnceLock<Vec<OwnKind>> = OnceLock::new();
    KINDS.get_or_init(|| families().iter().flat_map(|family| family.kinds()).collect())
}

/// The family of a name.
pub fn family(name: &str) -> Option<&'static dyn AnyFamily> {
    families().iter().copied().find(|family| family.name() == name)
}

/// Names of the settings of a family.
pub fn setting_keys(family: &dyn AnyFamily) -> Vec<&'static str> {
    family.settings().iter().flat_map(|setting| setting.keys).copied().collect()
}

/// Adds a family of a program's own. It must come before everything else: false if families were asked for already, or if
/// there is one of that name.
pub fn register(family: &'static dyn AnyFamily) -> bool {
    let Ok(mut added) = ADDED.lock() else { return false };
    let known = BUILT_IN.iter().chain(added.iter()).any(|known| known.name() == family.name());
    if known || ALL.get().is_some() {
        return false;
    }
    added.push(family);
    true
}
