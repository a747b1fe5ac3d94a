// SPDX-License-Identifier: Apache-2.0
//! In: conditions. Out: the paths they read, with a `?` for those they test for. Not here: values (`semantics.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly, in its helpers too"
)]

use overrule_condition::CelCondition;

const CASES: &[(&str, &str)] = &[
    ("true", ""),
    ("kind == 'x'", "kind"),
    ("spec.limits.a.rates[0].limit > 5", "spec.limits.a.rates"),
    ("self.spec.limits.a.rates == spec.limits['a'].rates", "spec.limits.a.rates"),
    ("spec.limits.exists(l, spec.limits[l].x == 1)", "spec.limits"),
    ("spec.a.exists(x, x.b == spec.c)", "spec.a spec.c"),
    ("size(self) == 1", "self"),
    ("self == self.spec", "self spec"),
    ("has(self.spec)", "spec?"),
    ("'a' in spec.limits", "spec.limits"),
    // Tested.
    ("has(spec.limits.a)", "spec.limits.a?"),
    (
        "!has(spec.limits.a) || spec.limits.a.rates[0].limit > 5",
        "spec.limits.a? spec.limits.a.rates?",
    ),
    ("spec.limits.a > 5", "spec.limits.a"),
    ("has(spec.limits.a) && spec.limits.a > 5", "spec.limits.a?"),
    ("spec.limits.a > 5 && has(spec.limits.a)", "spec.limits.a?"),
    ("has(spec.limits.a) || spec.limits.a > 5", "spec.limits.a"),
    ("has(spec.limits.a) ? spec.limits.a > 5 : true", "spec.limits.a?"),
    ("has(spec.limits.a) ? true : spec.limits.a > 5", "spec.limits.a"),
    ("!has(spec.a) ? true : spec.a > 5", "spec.a?"),
    ("'a' in spec.limits && spec.limits.a > 5", "spec.limits spec.limits.a?"),
    ("has(spec.a) && has(spec.b) && spec.a == spec.b && spec.c", "spec.a? spec.b? spec.c"),
    ("!(has(spec.a) && has(spec.b)) || spec.a == spec.b", "spec.a? spec.b?"),
    ("(has(spec.a) || has(spec.b)) && spec.a == 1", "spec.a spec.b?"),
    ("(has(spec.a) && kind == 'x' || has(spec.a)) && spec.a == 1", "spec.a? kind"),
    ("has(spec.a.b) && spec.a.size() > 1", "spec.a.b? spec.a?"),
    // One name too few to be an entry.
    ("has(spec.a) && spec.a.b > 1", "spec.a? spec.a.b"),
    ("spec.a == 1 || has(spec.a) && spec.a == 2", "spec.a"),
    ("has(spec.a) && [1].exists(x, x == spec.a)", "spec.a?"),
    ("metadata.labels['a.b/c'] == ''", "metadata.labels.a.b/c"),
];

#[test]
fn paths() {
    let mut wrong = Vec::new();
    for (text, expected) in CASES {
        let condition = CelCondition::parse(text).unwrap_or_else(|r| panic!("{text}: {r}"));
        let shown: Vec<String> = condition
            .reads()
            .iter()
            .map(|read| {
                let path =
                    if read.path.is_empty() { "self".to_owned() } else { read.path.join(".") };
                format!("{path}{}", if read.guarded { "?" } else { "" })
            })
            .collect();
        if shown.join(" ") != *expected {
            wrong.push(format!("{text}\n  {expected}\n  {}", shown.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
