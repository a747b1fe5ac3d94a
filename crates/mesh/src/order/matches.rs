// SPDX-License-Identifier: Apache-2.0
//! In: matches of routes. Out: the order in which a proxy tries them: the precedence of Gateway API. Not here: the order of
//! policies (`order`), and merging rules, which keeps them as they come.

use std::cmp::Reverse;

use overrule_engine::{Leaf, Traced};
use overrule_source::Documents;

/// How narrow the path of a match is, narrowest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Path {
    /// One path. Its length says nothing: two different ones never meet.
    Exact,
    /// Everything below one; the longer is narrower.
    Prefix(Reverse<usize>),
    /// Whatever an expression says; the longer is taken to be narrower.
    Expression(Reverse<usize>),
    /// Any path.
    Any,
}

/// The place of a match among others: a smaller one is tried first, equals stay in the order they came.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Precedence {
    path: Path,
    any_method: bool,
    headers: Reverse<usize>,
    query: Reverse<usize>,
}

impl Precedence {
    /// The place of a match as it is read.
    pub fn of(documents: &Documents, one: &Traced) -> Self {
        let member = |key: &str| one.get(documents, key).filter(|m| !m.is_null(documents));
        let count = |key: &str| Reverse(member(key).map_or(0, |m| m.items(documents).len()));
        Self {
            path: member("path").map_or(Path::Any, |path| Path::of(documents, &path)),
            any_method: member("method").is_none(),
            headers: count("headers"),
            query: count("queryParams"),
        }
    }
}

impl Path {
    fn of(documents: &Documents, path: &Traced) -> Self {
        let text = |key: &str| {
            path.get(documents, key).map_or_else(String::new, |v| scalar(documents, &v))
        };
        let length = Reverse(text("value").len());
        match text("type").as_str() {
            "Exact" => Self::Exact,
            "PathPrefix" => Self::Prefix(length),
            "RegularExpression" => Self::Expression(length),
            _ => Self::Any,
        }
    }
}

fn scalar(documents: &Documents, value: &Traced) -> String {
    match value.leaf(documents) {
        Leaf::Scalar(view) => view.scalar_text().unwrap_or("").to_owned(),
        Leaf::Map | Leaf::List | Leaf::Implied(_) => String::new(),
    }
}

/// Matches in the order they are tried.
pub fn by_precedence(documents: &Documents, matches: &[Traced]) -> Vec<Traced> {
    let mut sorted = matches.to_vec();
    sorted.sort_by_cached_key(|one| Precedence::of(documents, one));
    sorted
}

#[cfg(test)]
mod tests {
    use overrule_engine::{StepId, Traced};
    use overrule_source::{NodeRef, ReadOptions, read_one};

    use super::by_precedence;

    /// The matches of a list, sorted, each by its name.
    fn sorted(list: &str) -> Vec<String> {
        let documents = read_one("matches.yaml", list, &ReadOptions::default()).documents;
        let doc = documents.ids().next().unwrap();
        let node = |node| Traced::Whole { step: StepId(0), node: NodeRef { doc, node } };
        let matches: Vec<Traced> = documents.root(doc).items().map(|i| node(i.id())).collect();
        let name = |one: &Traced| super::scalar(&documents, &one.get(&documents, "id").unwrap());
        by_precedence(&documents, &matches).iter().map(name).collect()
    }

    #[test]
    fn paths_come_before_methods_before_headers_before_parameters() {
        let two = "[{name: a, value: b}, {name: c, value: d}]";
        let one = "[{name: a, value: b}]";
        let list = format!(
            "
- {{id: nothing}}
- {{id: parameter, queryParams: {one}}}
- {{id: header, headers: {one}}}
- {{id: header and parameters, headers: {one}, queryParams: {two}}}
- {{id: headers, headers: {two}}}
- {{id: method, method: GET}}
- {{id: expression, path: {{type: RegularExpression, value: /a.*}}, method: GET, headers: {two}}}
- {{id: long expression, path: {{type: RegularExpression, value: /a.*b.*}}}}
- {{id: prefix, path: {{type: PathPrefix, value: /a}}, method: GET}}
- {{id: long prefix, path: {{type: PathPrefix, value: /a/b}}}}
- {{id: exact, path: {{type: Exact, value: /aaaaaaa}}}}
- {{id: exact with method, path: {{type: Exact, value: /a}}, method: GET}}
"
        );
        let expected = [
            "exact with method",
            "exact",
            "long prefix",
            "prefix",
            "long expression",
            "expression",
            "method",
            "headers",
            "header and parameters",
            "header",
            "parameter",
            "nothing",
        ];
        assert_eq!(sorted(&list), expected);
    }

    #[test]
    fn equals_stay_as_they_came() {
        let list = "
- {id: b, path: {type: Exact, value: /long/er}, method: null}
- {id: a, path: {type: Exact, value: /s}, headers: []}
- {id: d}
- {id: c, path: {type: Unknown, value: /x}}
";
        assert_eq!(sorted(list), ["b", "a", "d", "c"]);
        assert!(sorted("[]").is_empty());
    }
}
