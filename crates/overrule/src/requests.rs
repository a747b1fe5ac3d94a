// SPDX-License-Identifier: Apache-2.0
//! In: a request and a path below a delegation. Out: whether requests like it come that way. Not here: which listener and
//! which rule at the top of the chain take it (`gateway::topology::route_request`).

use overrule_engine::PathId;
use overrule_gateway::topology::{Request, Weight, http_weight};
use overrule_source::{Input, ReadOptions, read};

use crate::Answered;

/// How a request meets a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The path is not below a delegation: the rule at its end matches as it is written.
    AsWritten,
    /// It is, and the request does not come this way.
    No,
    /// It is, and the request does; greater is more specific.
    Yes(Weight),
}

impl Answered {
    /// How a request meets a path of this answer.
    pub fn fit(&self, path: PathId, request: &Request) -> Fit {
        let Some(matches) = self.matches.get(&path) else { return Fit::AsWritten };
        // Matches of a chain are computed, so they are written down to be read like any other.
        let text: Vec<String> = matches.iter().map(|m| m.to_json().to_string()).collect();
        let inputs = vec![Input::new("matches.json", format!("[{}]", text.join(",")))];
        let documents = read(inputs, &ReadOptions::default()).documents;
        let roots = documents.ids().map(|id| documents.root(id));
        let items = roots.flat_map(|root| root.items());
        items.filter_map(|m| http_weight(m, request)).max().map_or(Fit::No, Fit::Yes)
    }
}
