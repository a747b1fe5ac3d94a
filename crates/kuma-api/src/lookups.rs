// SPDX-License-Identifier: Apache-2.0
//! In: an analysis. Out: what the Inspect API answers from, beside it. Not here: the answers (`overrule_mesh`).

use std::sync::Arc;

use overrule::Analysis;
use overrule_mesh::inspect::{
    Flavour, InspectAnswer, InspectCall, InspectInput, InspectQuestion, Inspector,
};
use overrule_mesh::resolve::ProxyRules;
use overrule_mesh::{FAMILY, Profile};

/// Lookups over the meshes of one state.
pub(crate) struct Lookups {
    inspector: Inspector,
    profile: Profile,
}

impl Lookups {
    /// Prepares lookups.
    pub(crate) fn new(analysis: &Analysis, flavour: Flavour) -> Self {
        let shown = analysis.shown().find(|a| a.family.name() == FAMILY);
        let name = shown.map_or("", |a| a.profile);
        let profile = Profile::from_name(name, &analysis.meshes().resources.settings);
        let inspector = Inspector::new(live(analysis, &profile), flavour);
        Self { inspector, profile }
    }

    /// Answers. The analysis must be the one it was made of.
    pub(crate) fn answer(
        &self,
        analysis: &Analysis,
        call: InspectCall<'_>,
        ask: &InspectQuestion<'_>,
    ) -> InspectAnswer {
        self.inspector.answer(live(analysis, &self.profile), call, ask)
    }
}

fn live<'a>(analysis: &'a Analysis, profile: &'a Profile) -> InspectInput<'a> {
    let shown = analysis.shown().find(|a| a.family.name() == FAMILY);
    let proxies: &'a [Vec<Arc<ProxyRules>>] = shown.map_or(&[], |a| a.proxies());
    InspectInput {
        documents: &analysis.documents,
        resources: &analysis.meshes().resources,
        profile,
        proxies,
    }
}
