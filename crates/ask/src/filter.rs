// SPDX-License-Identifier: Apache-2.0
//! In: the namespace and labels asked for. Out: which objects and paths are left. Not here: who may read them.

use overrule::Analysis;
use overrule::engine::PathId;
use overrule::model::{Names, Object, Scope, Selector, SelectorClause, Snapshot, Sym};
use overrule::view::{Scene, ScenePart};

use crate::{AskError, Shared};

/// Which objects and paths the shared options leave.
pub(crate) struct Filter {
    namespace: Option<(String, Sym)>,
    selector: Option<Selector>,
    /// The namespace or a label asked for is in no manifest: nothing is left.
    nothing: bool,
}

impl Filter {
    pub(crate) fn new(analysis: &Analysis, shared: &Shared) -> Result<Self, AskError> {
        let known = analysis.snapshot.names();
        let wanted = shared.namespace.as_ref().filter(|_| !shared.all_namespaces);
        let namespace = wanted.map(|n| Some((n.clone(), known.lookup(n)?)));
        let selector = shared.selector.as_deref().map(|text| selector(known, text)).transpose()?;
        let nothing = matches!(namespace, Some(None)) || matches!(selector, Some(None));
        Ok(Self { namespace: namespace.flatten(), selector: selector.flatten(), nothing })
    }

    pub(crate) fn object(&self, snapshot: &Snapshot, object: &Object) -> bool {
        let here = self.namespace.as_ref().is_none_or(|(text, n)| match object.scope {
            Scope::Namespace(namespace) => namespace == *n,
            // Objects of a mesh have their namespace, if any, at the end of their name.
            Scope::Mesh(mesh) => {
                let name = snapshot.text(object.name);
                mesh == *n || name.strip_suffix(&**text).is_some_and(|stem| stem.ends_with('.'))
            }
            Scope::Cluster => false,
        });
        !self.nothing && here && self.selector.as_ref().is_none_or(|s| s.matches(&object.labels))
    }

    /// A path is of the namespace and labels of the last object on it.
    pub(crate) fn path(
        &self,
        scene: &Scene<'_>,
        part: &ScenePart<'_>,
        path: PathId,
        sees: &dyn Fn(&Object) -> bool,
    ) -> bool {
        if self.namespace.is_none() && self.selector.is_none() && !self.nothing {
            return true;
        }
        let nodes = match part.words.path_owners() {
            [] => part.resolution.paths.node(path).into_iter().collect(),
            _ => part.resolution.paths.nodes(path),
        };
        let objects = nodes.into_iter().filter_map(|n| part.topology.get(n)?.object);
        let mut objects = objects.filter_map(|o| scene.snapshot.get(o)).filter(|o| sees(o));
        objects.any(|o| self.object(scene.snapshot, o))
    }
}

/// The selector in the names of a snapshot, which stays as it is: a clause about a label that nobody has is left out if
/// all objects meet it, and leaves nothing (none) if no object can.
fn selector(known: &Names, text: &str) -> Result<Option<Selector>, AskError> {
    let mut names = Names::default();
    let parsed = Selector::parse(text, &mut names).map_err(|e| AskError::Usage(e.to_string()))?;
    let same = |sym: &Sym| known.lookup(names.text(*sym));
    let mut kept = Selector::default();
    for requirement in &parsed.requirements {
        // None: every object meets it.
        let clause = match requirement {
            SelectorClause::Equals(k, v) => match (same(k), same(v)) {
                (Some(k), Some(v)) => Some(SelectorClause::Equals(k, v)),
                _ => return Ok(None),
            },
            SelectorClause::In(k, values) => match same(k) {
                Some(k) => Some(SelectorClause::In(k, values.iter().filter_map(same).collect())),
                None => return Ok(None),
            },
            SelectorClause::Exists(k) => match same(k) {
                Some(k) => Some(SelectorClause::Exists(k)),
                None => return Ok(None),
            },
            SelectorClause::NotEquals(k, v) => {
                same(k).zip(same(v)).map(|(k, v)| SelectorClause::NotEquals(k, v))
            }
            SelectorClause::NotIn(k, values) => {
                same(k).map(|k| SelectorClause::NotIn(k, values.iter().filter_map(same).collect()))
            }
            SelectorClause::Absent(k) => same(k).map(SelectorClause::Absent),
        };
        kept.requirements.extend(clause);
    }
    Ok(Some(kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use overrule::model::Labels;

    #[test]
    fn selectors_need_no_new_names() {
        let mut names = Names::default();
        let labels = [("app", "cart"), ("tier", "web")];
        let labels = Labels::new(labels.map(|(k, v)| (names.intern(k), names.intern(v))));
        for (text, expected) in [
            ("app=cart", true),
            ("app=shop", false),
            ("team=a", false),
            ("app!=shop", true),
            ("team!=a", true),
            ("app!=cart", false),
            ("app in (shop,cart)", true),
            ("app in (shop)", false),
            ("team in (a)", false),
            ("app notin (shop)", true),
            ("app notin (shop,cart)", false),
            ("team notin (a)", true),
            ("team", false),
            ("!team", true),
            ("!app", false),
            ("app=cart,team!=a", true),
            ("app=cart,team=a", false),
        ] {
            let found = selector(&names, text).unwrap();
            assert_eq!(found.is_some_and(|s| s.matches(&labels)), expected, "{text}");
        }
        assert!(selector(&names, "a b").is_err());
    }
}
