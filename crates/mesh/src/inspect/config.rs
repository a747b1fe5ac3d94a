// SPDX-License-Identifier: Apache-2.0
//! In: the query of `_config`. Out: what is wrong with it, and that this is not a control plane. Not here: configuration
//! of Envoy, which only whoever runs the proxies can generate.

use super::answer::{InspectAnswer, bad_request, error};
use super::ask::InspectQuery;

/// Whether the parameters are such as the endpoint takes.
pub(super) fn parameters(query: &InspectQuery<'_>) -> Result<(), InspectAnswer> {
    let refused =
        |name: &str| Err(bad_request(&format!("unsupported value for query parameter '{name}'")));
    if query.get("shadow").is_some_and(|value| !is_bool(value)) {
        return refused("shadow");
    }
    let include = query.get("include").into_iter().flat_map(|list| list.split(','));
    if include.into_iter().any(|what| what != "diff") {
        return refused("include");
    }
    Ok(())
}

/// What Go takes for a boolean.
fn is_bool(text: &str) -> bool {
    let all = ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"];
    all.contains(&text)
}

/// The answer to a good question.
pub(super) fn not_here() -> InspectAnswer {
    let why = "this server says which policies are in force; it does not generate the configuration of proxies";
    error(404, "Could not retrieve configuration", why, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_booleans_and_diff_are_taken() {
        let said = |query: &str| {
            let answer = parameters(&InspectQuery::read(query)).err()?;
            answer.body.value()["detail"].as_str().map(str::to_owned)
        };
        for good in ["", "shadow=", "shadow=true&include=diff", "shadow=0", "include=diff,diff"] {
            assert_eq!(said(good), None, "{good}");
        }
        let shadow = "bad request: unsupported value for query parameter 'shadow'";
        assert_eq!(said("shadow=trrrue&include=x").as_deref(), Some(shadow));
        let include = "bad request: unsupported value for query parameter 'include'";
        assert_eq!(said("shadow=true&include=diff,x").as_deref(), Some(include));
        assert_eq!(not_here().status, 404);
    }
}
