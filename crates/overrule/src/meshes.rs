// SPDX-License-Identifier: Apache-2.0
//! In: an analysis. Out: its meshes, for questions that only meshes answer: who may call whom, and Kuma's own API.
//! Not here: the answers.

use std::sync::{Arc, LazyLock};

use overrule_mesh::resolve::ProxyRules;
use overrule_mesh::{Kuma, Meshes};

use crate::{Answered, Base};

impl Base {
    /// Everything that was read of meshes.
    pub fn meshes(&self) -> &Meshes {
        static NONE: LazyLock<Meshes> = LazyLock::new(Meshes::default);
        self.ground::<Kuma>().unwrap_or(&NONE)
    }
}

impl Answered {
    /// What proxies get, by mesh and place; none if this is not about meshes.
    pub fn proxies(&self) -> &[Vec<Arc<ProxyRules>>] {
        self.extra::<Kuma>().map_or(&[], |proxies| &proxies.rules)
    }
}
