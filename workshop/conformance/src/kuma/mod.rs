// SPDX-License-Identifier: Apache-2.0
//! In: a case of Kuma's data: area, name, files. Out: what differs from the answer of the mesh family. Not here: reading
//! files, choosing cases (`xtask conformance`).

mod files;
mod golden;
pub mod inspect;
pub mod random;
mod restated;
mod shapes;
mod variants;

use serde_json::Value;

use files::Files;
use golden::Named;

use overrule_cases::value::{same, short};

/// Runs a case: nothing, or what differs in words. `files` are names and texts, as the manifest lists them.
pub fn run(area: &str, case: &str, files: &[(String, String)]) -> Result<(), String> {
    let named = Named { files: files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect() };
    if area.starts_with("inspect/") {
        let input = named.text("input").ok_or("the case has no input file")?;
        let golden = files.iter().find(|(name, _)| name.ends_with(".golden.json"));
        let (_, golden) = golden.ok_or("the case has no golden file")?;
        return inspect::run(input, golden);
    }
    if let Some(answer) = answer(area, case, &named) {
        let golden = named.text("golden").ok_or("the case has no golden file")?;
        let expected = Files::read(&[golden]).value(0);
        return compare(&expected, &answer?);
    }
    let text = files.first().map_or("", |(_, text)| text.as_str());
    let all = Files::read(&[text]).value(0);
    let cases = all.get("cases").and_then(Value::as_array).cloned().unwrap_or_default();
    let found = cases.iter().find(|c| c.get("id").and_then(Value::as_str) == Some(case));
    let found = found.ok_or_else(|| format!("the file has no case `{case}`"))?;
    restated::run(area, found)
        .unwrap_or_else(|| Err(format!("area `{area}` is not supported by this version")))
}

/// What a case with a golden file answers; none if the area has none.
fn answer(area: &str, case: &str, named: &Named<'_>) -> Option<Result<Value, String>> {
    if area == "mtp/apply" {
        let input = named.text("input").ok_or("the case has no input file");
        return Some(
            input
                .map_err(str::to_owned)
                .and_then(|text| restated::applied(&Files::read(&[text]).value(0))),
        );
    }
    golden::answer(area, case, named)
}

/// Where two values differ first.
fn compare(expected: &Value, actual: &Value) -> Result<(), String> {
    if same(expected, actual) {
        return Ok(());
    }
    let (at, expected, actual) = first_difference(String::new(), expected, actual);
    let show = |v: Option<&Value>| v.map_or_else(|| "absent".to_owned(), short);
    let at = if at.is_empty() { String::new() } else { format!("at {at}: ") };
    Err(format!("{at}expected {}, but it is {}", show(expected), show(actual)))
}

fn first_difference<'v>(
    at: String,
    expected: &'v Value,
    actual: &'v Value,
) -> (String, Option<&'v Value>, Option<&'v Value>) {
    let below = |key: &str| format!("{at}/{key}");
    match (expected, actual) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys()) {
                match (a.get(key), b.get(key)) {
                    (Some(x), Some(y)) if same(x, y) => {}
                    (Some(x), Some(y)) => return first_difference(below(key), x, y),
                    (x, y) => return (below(key), x, y),
                }
            }
            (at, Some(expected), Some(actual))
        }
        (Value::Array(a), Value::Array(b)) => {
            for i in 0..a.len().max(b.len()) {
                match (a.get(i), b.get(i)) {
                    (Some(x), Some(y)) if same(x, y) => {}
                    (Some(x), Some(y)) => return first_difference(below(&i.to_string()), x, y),
                    (x, y) => return (below(&i.to_string()), x, y),
                }
            }
            (at, Some(expected), Some(actual))
        }
        _ => (at, Some(expected), Some(actual)),
    }
}
