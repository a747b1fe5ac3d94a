// SPDX-License-Identifier: Apache-2.0
//! In: restated cases about order: of kinds, references, policies, entries, matches. Out: what differs.

use std::cmp::Ordering;

use overrule_engine::Traced;
use overrule_mesh::Profile;
use overrule_mesh::kinds::KindName;
use overrule_mesh::order::{self, Ranked};
use overrule_mesh::order_matches::by_precedence;
use overrule_mesh::resource::Meta;
use overrule_mesh::targetref::TargetRef;
use serde_json::Value;

use super::read::{Document, Outcome, list, need, pairs, target, text, texts, verify};

/// Runs a case; none if the area is not one of these.
pub(super) fn run(area: &str, case: &Value) -> Option<Outcome> {
    Some(match area {
        "ordering/kinds" => kinds(case),
        "ordering/dataplane_refs" => dataplane_refs(case),
        "ordering/policies" => policies(case),
        "ordering/to_entries" => to_entries(case),
        "ordering/http_matches" => http_matches(case),
        _ => return None,
    })
}

/// Only the sign of what is expected counts.
fn is(case: &Value, order: Ordering) -> Outcome {
    let expected = need(case, "expected")?.as_i64().ok_or("`expected` is no number")?;
    match expected.cmp(&0) == order {
        true => Ok(()),
        false => Err(format!("expected {expected}, but it is {order:?}")),
    }
}

fn kinds(case: &Value) -> Outcome {
    if case.get("lowestToHighest").is_some() {
        let kinds = texts(case, "lowestToHighest")?;
        let ranks: Vec<u8> =
            kinds.into_iter().map(|kind| order::kind_rank(&KindName::of_reference(kind))).collect();
        return match ranks.is_sorted() {
            true => Ok(()),
            false => Err(format!("the ranks are {ranks:?}")),
        };
    }
    let rank = |key| -> Result<u8, String> {
        need(case, key)?;
        Ok(order::kind_rank(&KindName::of_reference(text(case, key)?)))
    };
    is(case, rank("a")?.cmp(&rank("b")?))
}

fn dataplane_refs(case: &Value) -> Outcome {
    is(case, order::dataplane_refs(&target(case, "a")?, &target(case, "b")?).0)
}

/// A policy of a case: who it is, what it targets, what its entries target.
struct Listed {
    meta: Meta,
    target: TargetRef,
    to: Vec<TargetRef>,
}

impl Listed {
    fn read(value: &Value) -> Result<Self, String> {
        let name = text(value, "name")?.to_owned();
        let meta = Meta { name, labels: pairs(value, "labels")?, ..Meta::default() };
        let to = match value.get("to") {
            None => &[],
            Some(_) => list(value, "to")?,
        };
        let read = |t: &Value| TargetRef::read(t).map_err(|e| e.to_string());
        let to: Result<Vec<TargetRef>, String> = to.iter().map(read).collect();
        Ok(Self { meta, target: target(value, "targetRef")?, to: to? })
    }

    fn ranked(&self) -> Ranked<'_> {
        Ranked { meta: &self.meta, target: &self.target }
    }
}

/// The policies of a case as they are written.
fn listed(case: &Value) -> Result<Vec<Listed>, String> {
    list(case, "policies")?.iter().map(Listed::read).collect()
}

fn in_order(all: &[Listed]) -> Vec<&Listed> {
    let all: Vec<&Listed> = all.iter().collect();
    order::sort(
        &all,
        |p| &p.target,
        |a, b| order::policies(&Profile::Release, a.ranked(), b.ranked()).0,
    )
}

fn policies(case: &Value) -> Outcome {
    let all = listed(case)?;
    let names = in_order(&all).into_iter().map(|p| Value::from(p.meta.name.as_str()));
    verify(case, "expected", &names.collect())
}

fn to_entries(case: &Value) -> Outcome {
    let all = listed(case)?;
    let entries: Vec<(&Listed, usize, &TargetRef)> = in_order(&all)
        .into_iter()
        .flat_map(|p| p.to.iter().enumerate().map(move |(i, t)| (p, i, t)))
        .collect();
    let sorted = order::sort(
        &entries,
        |e| &e.0.target,
        |a, b| order::to_entries(&Profile::Release, (a.0.ranked(), a.2), (b.0.ranked(), b.2)).0,
    );
    let names = sorted.iter().map(|(p, i, _)| Value::from(format!("{}[{i}]", p.meta.name)));
    verify(case, "expected", &names.collect())
}

fn http_matches(case: &Value) -> Outcome {
    list(case, "matches")?;
    let document = Document::of(case)?;
    let documents = &document.documents;
    let matches: Vec<Traced> = document.items("matches").into_iter().map(|(_, m)| m).collect();
    let sorted = by_precedence(documents, &matches);
    verify(case, "expected", &sorted.iter().map(|m| m.to_json(documents)).collect())
}
