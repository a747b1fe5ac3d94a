// SPDX-License-Identifier: Apache-2.0
//! In: identities that all stand for what is looked up, such as a service, a port of it, a route to it. Out: the order in
//! which they are tried, and what is found. Not here: what
//! is found there.

use crate::kinds::{self, KindName};
use crate::kri::Kri;

/// Identities in the order they are tried: the one added last first, the Mesh after all.
pub fn chain(mesh: &str, added: &[Kri]) -> Vec<Kri> {
    let mesh = Kri { kind: KindName::Known(&kinds::MESH), name: mesh.to_owned(), ..Kri::default() };
    added.iter().rev().cloned().chain([mesh]).collect()
}

/// What the first identity that has something has; it counts whole.
pub fn first_hit<T>(chain: &[Kri], of: impl Fn(&Kri) -> Option<T>) -> Option<T> {
    chain.iter().find_map(of)
}

/// The identities under which a destination is looked up, the first hit counts whole: itself, without its section, its
/// Mesh.
pub fn lookup(kri: &Kri) -> Vec<Kri> {
    let kind = kri.kind.known();
    if !kind.is_some_and(|k| *k == kinds::HTTP_ROUTE || k.is_destination) {
        return vec![kri.clone()];
    }
    let mut added = vec![kri.without_section(), kri.clone()];
    added.dedup();
    chain(&kri.mesh, &added)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_last_added_is_tried_first_and_the_mesh_last() {
        let kri = |text: &str| Kri::parse(text).unwrap();
        let (service, route) = (kri("kri_msvc_m___a_"), kri("kri_mhttpr_m___r_"));
        let chain = chain("m", &[service.clone(), route.clone()]);
        let mut rules = BTreeMap::new();
        assert_eq!(first_hit(&chain, |kri| rules.get(kri)), None);
        for (kri, conf) in [(kri("kri_m____m_"), 1), (service, 2), (route, 3)] {
            rules.insert(kri, conf);
            assert_eq!(first_hit(&chain, |kri| rules.get(kri)), Some(&conf));
        }
        rules.insert(kri("kri_m____other_"), 4);
        assert_eq!(first_hit(&chain, |kri| rules.get(kri)), Some(&3));
    }
}
