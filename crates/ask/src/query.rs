// SPDX-License-Identifier: Apache-2.0
//! In: the parameters of a request, as pairs. Out: the shared options and the question in them. Not here: HTTP,
//! percent-encoding.

use std::fmt;

use clap::ArgAction;
use overrule::model::nearest;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::{Asked, Failure, Shared};

/// A parameter of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub help: String,
    /// Whether there is no answer without it.
    pub required: bool,
    /// Whether it may be given more than once.
    pub repeatable: bool,
    /// Whether it is true or false.
    pub flag: bool,
    /// The values there are; none if it takes any text.
    pub values: Vec<String>,
}

/// The parameters of a question, its own first.
pub fn parameters<T: Asked>() -> Vec<Parameter> {
    let own = of::<T>();
    own.into_iter().chain(of::<Shared>()).collect()
}

/// Every flag of a set of arguments is a parameter of the same name; a value without a flag has the name of its field.
fn of<T: clap::Args>() -> Vec<Parameter> {
    let command = T::augment_args(clap::Command::new("parameters"));
    let named = |arg: &clap::Arg| arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned();
    let parameter = |arg: &clap::Arg| Parameter {
        name: named(arg),
        help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        required: arg.is_required_set(),
        repeatable: matches!(arg.get_action(), ArgAction::Append),
        flag: matches!(arg.get_action(), ArgAction::SetTrue),
        values: match arg.get_action() {
            ArgAction::SetTrue => Vec::new(),
            _ => arg.get_possible_values().iter().map(|v| v.get_name().to_owned()).collect(),
        },
    };
    command.get_arguments().map(parameter).collect()
}

/// Reads a question. A parameter that nobody knows, or one given twice that is one, is refused.
pub fn from_query<T: Asked>(
    pairs: impl IntoIterator<Item = (String, String)>,
) -> Result<(Shared, T), Failure> {
    let (own, shared) = (of::<T>(), of::<Shared>());
    let (mut of_own, mut of_shared) = (Map::new(), Map::new());
    for (name, value) in pairs {
        let is_it = |p: &&Parameter| p.name == name;
        let (map, known) = match (own.iter().find(is_it), shared.iter().find(is_it)) {
            (Some(known), _) => (&mut of_own, known),
            (None, Some(known)) => (&mut of_shared, known),
            (None, None) => return Err(unknown(&name, own.iter().chain(&shared))),
        };
        match (map.get_mut(&name), known.repeatable) {
            (None, false) => drop(map.insert(name, Value::String(value))),
            (None, true) => drop(map.insert(name, Value::Array(vec![value.into()]))),
            (Some(Value::Array(list)), true) => list.push(value.into()),
            (Some(_), _) => {
                return Err(Failure::Usage(format!("parameter `{name}` is given twice")));
            }
        }
    }
    if let Some(missing) = own.iter().find(|p| p.required && !of_own.contains_key(&p.name)) {
        return Err(Failure::Usage(format!("parameter `{}` is missing", missing.name)));
    }
    Ok((read(of_shared)?, read(of_own)?))
}

fn read<T: for<'de> Deserialize<'de>>(map: Map<String, Value>) -> Result<T, Failure> {
    T::deserialize(Value::Object(map)).map_err(|e| Failure::Usage(e.to_string()))
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a Parameter>) -> Failure {
    let names: Vec<&str> = known.map(|p| p.name.as_str()).collect();
    let hint = match nearest(name, names.iter().copied(), 2).as_slice() {
        [] => format!("there are: {}", names.join(", ")),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Failure::Usage(format!("unknown parameter `{name}`; {hint}"))
}

/// A flag: true or false, as a value or as text; present without a value is true.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    struct Flag;
    impl Visitor<'_> for Flag {
        type Value = bool;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("true or false")
        }

        fn visit_bool<E>(self, value: bool) -> Result<bool, E> {
            Ok(value)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
            match text {
                "" | "true" => Ok(true),
                "false" => Ok(false),
                other => Err(E::custom(format!("a flag is true or false, not `{other}`"))),
            }
        }
    }
    deserializer.deserialize_any(Flag)
}

/// A list of texts, or one text alone.
pub(crate) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct List;
    impl<'de> Visitor<'de> for List {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text, or a list of texts")
        }

        fn visit_str<E>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<String>, A::Error> {
            let mut found = Vec::new();
            while let Some(item) = items.next_element()? {
                found.push(item);
            }
            Ok(found)
        }
    }
    deserializer.deserialize_any(List)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Check, Effective, Envoy, Explain, FailOn, Form};

    fn pairs(text: &str) -> Vec<(String, String)> {
        let pair = |p: &str| {
            let (k, v) = p.split_once('=').unwrap_or((p, ""));
            (k.to_owned(), v.to_owned())
        };
        text.split('&').filter(|p| !p.is_empty()).map(pair).collect()
    }

    #[test]
    fn a_query_is_what_flags_are() {
        let (shared, asked): (_, Effective) = from_query(pairs(
            "request=GET /&header=a: b&header=c: d&output=json&verbose&namespace=shop",
        ))
        .unwrap();
        assert_eq!(asked.header, ["a: b", "c: d"]);
        assert_eq!(asked.request.as_deref(), Some("GET /"));
        assert_eq!((shared.output, shared.verbose, shared.quiet), (Some(Form::Json), true, false));
        assert_eq!(shared.namespace.as_deref(), Some("shop"));
        let (shared, asked): (_, Check) =
            from_query(pairs("fail-on=warning&short=true&all-namespaces=false")).unwrap();
        assert_eq!(
            (asked.fail_on, asked.short, shared.all_namespaces),
            (FailOn::Warning, true, false)
        );
        let (_, asked): (_, Envoy) = from_query(pairs("target=dp/a/b")).unwrap();
        assert_eq!((asked.form.as_str(), asked.bootstrap), ("tree", false));
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        for (query, said) in [
            ("targt=x", "did you mean target?"),
            ("target=a&target=b", "given twice"),
            ("target=a&verbose=maybe", "true or false"),
            ("target=a&output=pdf", "unknown variant"),
            ("field=a", "`target` is missing"),
        ] {
            let failure = from_query::<Explain>(pairs(query)).unwrap_err();
            assert!(
                matches!(&failure, Failure::Usage(text) if text.contains(said)),
                "{query}: {failure}"
            );
        }
    }

    #[test]
    fn parameters_are_named_as_flags_are() {
        let names: Vec<String> = parameters::<Check>().into_iter().map(|p| p.name).collect();
        let shared =
            ["namespace", "all-namespaces", "selector", "compare", "output", "quiet", "verbose"];
        assert_eq!(names, ["fail-on", "short"].into_iter().chain(shared).collect::<Vec<_>>());
        let explain = parameters::<Explain>();
        assert!(explain.iter().find(|p| p.name == "target").unwrap().required);
        assert!(parameters::<Effective>().iter().find(|p| p.name == "header").unwrap().repeatable);
    }
}
