// SPDX-License-Identifier: Apache-2.0
//! In: one entry of `expect` and what is in force. Out: mismatches of values, origins and the rest of the entry.
//! Not here: what lost (`lost.rs`).

use std::collections::BTreeSet;

use overrule_source::Position;
use serde_json::Value;

use super::{Run, or_nothing};
use crate::case::{Expectation, ExpectedContent, ExpectedSource};
use crate::difference::difference;
use crate::family::ActualPolicy;
use crate::field::{Field, children, pointer};
use crate::result::{DifferenceKind, Mismatch};
use crate::value::{includes, same, short};

impl Run<'_> {
    /// Compares one entry.
    pub(super) fn entry(&mut self, expect: &Expectation, effective: &ActualPolicy) {
        let nothing = Value::Object(serde_json::Map::new());
        let spec = effective.spec.as_ref().filter(|v| !v.is_null()).unwrap_or(&nothing);
        match &expect.content {
            None => {}
            Some(ExpectedContent::Fields(fields)) => {
                self.fields(expect, spec, fields, effective, &expect.at)
            }
            Some(ExpectedContent::Spec(Value::Object(members), at)) => {
                let fields: Vec<(Field, Value)> = members
                    .iter()
                    .map(|(key, value)| {
                        let text = pointer(std::slice::from_ref(key));
                        (Field { text, at: at.clone() }, value.clone())
                    })
                    .collect();
                self.fields(expect, spec, &fields, effective, at);
            }
            // A spec that is not a mapping is never in force, except that null means nothing.
            Some(ExpectedContent::Spec(value, _)) if value.is_null() && spec == &nothing => {}
            Some(ExpectedContent::Spec(value, at)) => {
                let message = "the effective policy has another value";
                let mismatch = differs(DifferenceKind::Value, at, expect, message);
                self.add(mismatch.expected_is(short(value)).actual_is(short(spec)));
            }
        }
        for source in expect.sources.iter().flatten() {
            self.source(expect, source, spec, effective);
        }
        self.lost(expect, effective);
        self.extras(expect, effective);
    }

    fn fields(
        &mut self,
        expect: &Expectation,
        spec: &Value,
        fields: &[(Field, Value)],
        effective: &ActualPolicy,
        at: &Position,
    ) {
        let mut covered: BTreeSet<Vec<String>> = BTreeSet::new();
        for (field, wanted) in fields {
            let Some((segments, actual)) = field.find(spec) else {
                let message = format!("`{}` is not in force", field.text);
                let mismatch = differs(DifferenceKind::Missing, &field.at, expect, message);
                self.add(mismatch.expected_is(short(wanted)).actual_is("absent"));
                continue;
            };
            let (normal, found) = (self.answer.normal(wanted), self.answer.normal(actual));
            // Members of a spec are what it is about; a field that is named is meant as a whole.
            let is_spec = matches!(expect.content, Some(ExpectedContent::Spec(..)));
            let holds = match expect.partial && is_spec {
                true => includes(&found, &normal),
                false => same(&found, &normal),
            };
            if !holds {
                let message =
                    format!("`{}` has another value{}", field.text, from(effective, &segments));
                let mismatch = differs(DifferenceKind::Value, &field.at, expect, message);
                let mut mismatch = mismatch.expected_is(short(wanted)).actual_is(short(actual));
                mismatch.difference = difference(&normal, &found);
                self.add(mismatch);
            }
            covered.insert(segments);
        }
        if expect.features.is_some() {
            return;
        }
        let uncovered = if expect.partial { Vec::new() } else { uncovered(spec, &covered) };
        for (segments, value) in uncovered {
            let name = pointer(&segments);
            let message = format!(
                "`{name}` is in force, but the entry does not list it{}",
                from(effective, &segments)
            );
            let mismatch = differs(DifferenceKind::Unexpected, at, expect, message);
            self.add(mismatch.expected_is("absent").actual_is(short(value)));
        }
    }

    fn source(
        &mut self,
        expect: &Expectation,
        source: &ExpectedSource,
        spec: &Value,
        effective: &ActualPolicy,
    ) {
        let field = &source.field;
        let Some((segments, _)) = field.find(spec) else {
            let message = format!("`{}` is not in force, so it comes from no policy", field.text);
            let mismatch = differs(DifferenceKind::Source, &field.at, expect, message);
            self.add(mismatch.expected_is(source.policies.join(", ")).actual_is("absent"));
            return;
        };
        let actual = writers(effective, &segments);
        let wanted: BTreeSet<&str> = source.policies.iter().map(String::as_str).collect();
        if wanted != actual {
            let message = format!("`{}` comes from elsewhere", field.text);
            let mismatch = differs(DifferenceKind::Source, &field.at, expect, message);
            self.add(mismatch.expected_is(list(&wanted)).actual_is(list(&actual)));
        }
    }

    fn extras(&mut self, expect: &Expectation, effective: &ActualPolicy) {
        if let Some((wanted, at)) = &expect.error
            && *wanted != effective.error
        {
            let say = |error| if error { "it fails closed" } else { "it does not fail" };
            let mismatch = differs(
                DifferenceKind::Error,
                at,
                expect,
                "whether the target fails closed differs",
            );
            self.add(mismatch.expected_is(say(*wanted)).actual_is(say(effective.error)));
        }
        if let Some(given) = &expect.accumulated {
            match &effective.accumulated {
                None => self.cannot("accumulated", &given.at, expect),
                Some(actual) => {
                    let same = actual.len() == given.items.len()
                        && actual.iter().zip(&given.items).all(|(a, b)| same(a, b));
                    if !same {
                        let mismatch = differs(
                            DifferenceKind::Accumulated,
                            &given.at,
                            expect,
                            "`accumulated` differs",
                        );
                        let (wanted, actual) =
                            (Value::Array(given.items.clone()), Value::Array(actual.clone()));
                        let mut mismatch =
                            mismatch.expected_is(short(&wanted)).actual_is(short(&actual));
                        mismatch.difference = difference(&wanted, &actual);
                        self.add(mismatch);
                    }
                }
            }
        }
        if let Some(given) = &expect.hostnames {
            match &effective.hostnames {
                None => self.cannot("hostnames", &given.at, expect),
                Some(actual) => {
                    let wanted: BTreeSet<&str> = given.items.iter().map(String::as_str).collect();
                    let actual: BTreeSet<&str> = actual.iter().map(String::as_str).collect();
                    if wanted != actual {
                        let mismatch = differs(
                            DifferenceKind::Hostnames,
                            &given.at,
                            expect,
                            "the path has other hostnames",
                        );
                        self.add(mismatch.expected_is(list(&wanted)).actual_is(list(&actual)));
                    }
                }
            }
        }
        if let Some((wanted, at)) = &expect.matching {
            match &effective.matches {
                None => self.cannot("match", at, expect),
                Some(matches) => {
                    if !matches.iter().any(|m| includes(m, wanted)) {
                        let mismatch = differs(
                            DifferenceKind::Match,
                            at,
                            expect,
                            "no match of the rule contains this",
                        );
                        let actual = Value::Array(matches.clone());
                        self.add(mismatch.expected_is(short(wanted)).actual_is(short(&actual)));
                    }
                }
            }
        }
    }

    fn cannot(&mut self, key: &str, at: &Position, expect: &Expectation) {
        let message = format!("`{key}` is not supported by this version for this path and kind");
        self.add(differs(DifferenceKind::Unsupported, at, expect, message));
    }
}

/// A mismatch about an entry.
pub(super) fn differs(
    what: DifferenceKind,
    at: &Position,
    expect: &Expectation,
    message: impl Into<String>,
) -> Mismatch {
    Mismatch::new(what, at, message).about(&expect.path, &expect.kind.text)
}

/// Names in one line.
pub(super) fn list(names: &BTreeSet<&str>) -> String {
    let names: Vec<&str> = names.iter().copied().collect();
    or_nothing(&names.join(", ")).to_owned()
}

/// The policies that wrote a part: those of parts above, at and below it.
pub(super) fn writers<'e>(effective: &'e ActualPolicy, segments: &[String]) -> BTreeSet<&'e str> {
    let touches = |origin: &[String]| origin.starts_with(segments) || segments.starts_with(origin);
    let origins = effective.sources.iter().filter(|(at, _)| touches(at));
    origins.flat_map(|(_, policies)| policies).map(String::as_str).collect()
}

fn from(effective: &ActualPolicy, segments: &[String]) -> String {
    let writers = writers(effective, segments);
    if writers.is_empty() { String::new() } else { format!(" (from {})", list(&writers)) }
}

/// The parts that no field covers, as large as possible: a part of which something is covered is opened.
fn uncovered<'v>(
    spec: &'v Value,
    covered: &BTreeSet<Vec<String>>,
) -> Vec<(Vec<String>, &'v Value)> {
    let mut open = vec![(Vec::new(), spec)];
    let mut found = Vec::new();
    while let Some((segments, value)) = open.pop() {
        // In order, whatever lies below a part follows it directly.
        match covered.range(segments.clone()..).next() {
            Some(at) if *at == segments => {}
            Some(at) if at.starts_with(&segments) => {
                open.extend(reversed(children(&segments, value)))
            }
            // Fields are members: a mapping without any is nothing to cover.
            _ if segments.is_empty() && value.is_object() => {
                open.extend(reversed(children(&segments, value)))
            }
            _ => found.push((segments, value)),
        }
    }
    found
}

fn reversed<T>(list: Vec<T>) -> impl Iterator<Item = T> {
    list.into_iter().rev()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::segments;
    use serde_json::json;

    #[test]
    fn what_is_not_covered_is_named_as_large_as_possible() {
        let spec = json!({"a": {"b": 1, "c": {"d": 2, "e": 3}}, "f": [1, 2]});
        let names = |covered: &[&str]| -> Vec<String> {
            let covered: BTreeSet<Vec<String>> = covered.iter().map(|p| segments(p)).collect();
            uncovered(&spec, &covered).iter().map(|(s, _)| pointer(s)).collect()
        };
        assert_eq!(names(&[]), ["/a", "/f"]);
        assert_eq!(names(&["/a/c/d", "/f"]), ["/a/b", "/a/c/e"]);
        assert_eq!(names(&["/a", "/f/0"]), ["/f/1"]);
        assert!(names(&[""]).is_empty());
    }
}
