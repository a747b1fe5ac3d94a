// SPDX-License-Identifier: Apache-2.0
//! In: what was given for each parameter, as texts. Out: a typed set of parameters, and back. Not here: HTTP, the
//! command line, who refuses unknown names.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::{AskError, Parameter, Required, Takes};

/// What was given for each parameter, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments(BTreeMap<String, Vec<String>>);

impl Arguments {
    /// One more value of a parameter.
    pub fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.entry(name.into()).or_default().push(value.into());
    }

    /// These values of a parameter, too.
    pub fn add_all<'v>(&mut self, name: &str, values: impl IntoIterator<Item = &'v String>) {
        values.into_iter().for_each(|value| self.add(name, value));
    }

    /// The values of a parameter.
    pub fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Every name with every value.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .flat_map(|(name, all)| all.iter().map(|value| (name.as_str(), value.as_str())))
    }

    /// The value of the next parameter of a table.
    #[doc(hidden)]
    pub fn next<A: Argument>(
        &self,
        table: &mut std::slice::Iter<'_, Parameter>,
    ) -> Result<A, AskError> {
        let Some(parameter) = table.next() else { return A::read(&[]).map_err(AskError::Usage) };
        let name = parameter.name;
        let default = parameter.default.map(str::to_owned);
        let read = match self.all(name) {
            [] if parameter.required == Required::Always => {
                return Err(AskError::Usage(format!("parameter `{name}` is missing")));
            }
            [] => A::read(default.as_slice()),
            [_, _, ..] if parameter.takes != Takes::Texts => {
                return Err(AskError::Usage(format!("parameter `{name}` is given twice")));
            }
            given => A::read(given),
        };
        read.map_err(|why| AskError::Usage(format!("parameter `{name}`: {why}")))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Arguments {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut all = Self::default();
        pairs.into_iter().for_each(|(name, value)| all.add(name, value));
        all
    }
}

/// A type whose fields are parameters; [`parameters!`](crate::parameters!) implements it.
pub trait Parameters: Sized {
    /// A row per field.
    const TABLE: &'static [Parameter];

    /// Reads it. Names of other tables are passed over.
    fn read(arguments: &Arguments) -> Result<Self, AskError>;

    /// The values of each row as texts.
    fn texts(&self) -> Vec<Vec<String>>;

    /// The parameters of another one where this one says nothing.
    fn or(self, other: Self) -> Self;

    /// What a client sends to ask the same.
    fn sent(&self) -> Vec<(String, String)> {
        let rows = Self::TABLE.iter().zip(self.texts()).filter(|(row, _)| row.in_query());
        let pairs = rows.flat_map(|(row, texts)| texts.into_iter().map(|text| (row.name, text)));
        pairs.map(|(name, text)| (name.to_owned(), text)).collect()
    }
}

/// What a parameter can be.
pub trait Argument: Sized {
    /// What is written for it.
    const TAKES: Takes;
    /// Whether it must be.
    const REQUIRED: Required = Required::No;

    /// Reads what was given, or the default.
    fn read(given: &[String]) -> Result<Self, String>;

    /// The same as texts.
    fn texts(&self) -> Vec<String>;

    /// Another value, if this one says nothing.
    fn or(self, _: Self) -> Self {
        self
    }
}

/// The one text that was given.
fn only(given: &[String]) -> Result<&str, String> {
    given.first().map(String::as_str).ok_or_else(|| "is missing".to_owned())
}

impl Argument for bool {
    const TAKES: Takes = Takes::Flag;

    fn read(given: &[String]) -> Result<Self, String> {
        match given.first().map(String::as_str) {
            Some("" | "true") => Ok(true),
            None | Some("false") => Ok(false),
            Some(other) => Err(format!("a flag is true or false, not `{other}`")),
        }
    }

    fn texts(&self) -> Vec<String> {
        if *self { vec!["true".to_owned()] } else { Vec::new() }
    }

    fn or(self, other: Self) -> Self {
        self || other
    }
}

impl<A: Argument> Argument for Option<A> {
    const TAKES: Takes = A::TAKES;

    fn read(given: &[String]) -> Result<Self, String> {
        if given.is_empty() { Ok(None) } else { A::read(given).map(Some) }
    }

    fn texts(&self) -> Vec<String> {
        self.as_ref().map(A::texts).unwrap_or_default()
    }

    fn or(self, other: Self) -> Self {
        Option::or(self, other)
    }
}

impl Argument for Vec<String> {
    const TAKES: Takes = Takes::Texts;

    fn read(given: &[String]) -> Result<Self, String> {
        Ok(given.to_vec())
    }

    fn texts(&self) -> Vec<String> {
        self.clone()
    }

    fn or(self, other: Self) -> Self {
        if self.is_empty() { other } else { self }
    }
}

impl Argument for PathBuf {
    const TAKES: Takes = Takes::Path;
    const REQUIRED: Required = Required::Always;

    fn read(given: &[String]) -> Result<Self, String> {
        only(given).map(Self::from)
    }

    fn texts(&self) -> Vec<String> {
        vec![self.display().to_string()]
    }
}

/// Types that their text says all about.
macro_rules! parsed {
    ($($type:ty: $takes:expr;)*) => {$(
        impl Argument for $type {
            const TAKES: Takes = $takes;
            const REQUIRED: Required = Required::Always;

            fn read(given: &[String]) -> Result<Self, String> {
                Self::from_str(only(given)?).map_err(|e| e.to_string())
            }

            fn texts(&self) -> Vec<String> {
                vec![self.to_string()]
            }
        }
    )*};
}

parsed! {
    String: Takes::Text;
    u64: Takes::Number(u64::MAX);
    usize: Takes::Number(u64::MAX);
    SocketAddr: Takes::Address;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Check, Effective, Envoy, Explain, FailOn, Form, Shared};

    fn given(text: &str) -> Arguments {
        text.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect()
    }

    #[test]
    fn a_query_is_what_flags_are() {
        let query =
            given("request=GET /&header=a: b&header=c: d&output=json&verbose&namespace=shop");
        let (shared, asked) = (Shared::read(&query).unwrap(), Effective::read(&query).unwrap());
        assert_eq!(asked.header, ["a: b", "c: d"]);
        assert_eq!(asked.request.as_deref(), Some("GET /"));
        assert_eq!((shared.form(), shared.verbose, shared.quiet), (Some(Form::Json), true, false));
        assert_eq!(shared.namespace.as_deref(), Some("shop"));
        let query = given("fail-on=warning&short=true&all-namespaces=false");
        let (shared, asked) = (Shared::read(&query).unwrap(), Check::read(&query).unwrap());
        assert_eq!(
            (asked.fail_on, asked.short, shared.all_namespaces),
            (FailOn::Warning, true, false)
        );
        let asked = Envoy::read(&given("target=dp/a/b")).unwrap();
        assert_eq!((asked.form.as_str(), asked.bootstrap), ("tree", false));
        assert_eq!(asked.certs, PathBuf::from("certs"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        fn refused<T: Parameters + std::fmt::Debug>(query: &str, said: &str) {
            let failure = T::read(&given(query)).unwrap_err();
            assert!(
                matches!(&failure, AskError::Usage(text) if text.contains(said)),
                "{query}: {failure}"
            );
        }
        refused::<Explain>("target=a&target=b", "`target` is given twice");
        refused::<Shared>("target=a&verbose=maybe", "true or false");
        refused::<Shared>("target=a&output=pdf", "unknown variant");
        refused::<Explain>("field=a", "`target` is missing");
    }

    #[test]
    fn what_is_sent_is_read_again() {
        let query = given("request=GET /&header=a: b&header=c: d&kind=x");
        let asked = Effective::read(&query).unwrap();
        assert_eq!(asked.sent().into_iter().collect::<Arguments>(), query);
        let sent = Check::read(&Arguments::default()).unwrap().sent();
        assert_eq!(sent, [("fail-on".to_owned(), "error".to_owned())]);
        let shared = Shared::read(&given("quiet&all-namespaces&compare&output=wide")).unwrap();
        let sent: Arguments = shared.sent().into_iter().collect();
        assert_eq!(sent, given("compare=true&output=wide"));
    }

    #[test]
    fn parameters_are_named_as_fields_are() {
        let names: Vec<&str> = Check::TABLE.iter().map(|p| p.name).collect();
        assert_eq!(names, ["fail-on", "short"]);
        let required = |p: &Parameter| (p.name, p.required == Required::Always);
        let envoy: Vec<_> = Envoy::TABLE.iter().map(required).collect();
        assert_eq!(envoy.first(), Some(&("target", true)));
        assert!(envoy.iter().skip(1).all(|(_, required)| !required));
        let help = Explain::TABLE.iter().find(|p| p.name == "kind").map(|p| p.help);
        assert_eq!(help, Some("Only this policy kind"));
    }
}
