// SPDX-License-Identifier: Apache-2.0
//! In: a case, its family and a profile. Out: how its manifests are analysed. Not here: what settings mean; each family
//! reads its own.

use overrule::family_kit::AnyFamily;
use overrule::{Assume, Options, SettingValues};
use overrule_model::Created;
use overrule_source::SingleLetters;
use serde_json::Value;

use crate::case::Case;

/// The setting that says what an absent creation time means: `file-order`, or a time.
const ASSUME_CREATED: &str = "assumeCreated";

/// Whether a setting is one that a family has, and has a value it can read; if not, what there is.
pub(crate) fn setting(family: &dyn AnyFamily, key: &str, value: &Value) -> Result<(), String> {
    let own = overrule::setting_keys(family);
    if own.contains(&key) {
        return family.check(key, value);
    }
    if key == ASSUME_CREATED && value.as_str().and_then(assumption).is_some() {
        return Ok(());
    }
    let mut known = format!("{ASSUME_CREATED}: file-order, or a time like 2026-01-31T09:00:00Z");
    if !own.is_empty() {
        known = format!("{known}; {}", own.join(", "));
    }
    Err(known)
}

/// How to analyse the manifests of a case under a profile of a family.
pub(super) fn options(case: &Case, family: &dyn AnyFamily, profile: &str) -> Options {
    let mut settings = SettingValues::default();
    for (key, value) in family.dialect().settings {
        settings.set(family.name(), key, Value::Bool(*value));
    }
    let own = overrule::setting_keys(family);
    for setting in case.settings.iter().filter(|s| own.contains(&s.key.as_str())) {
        settings.set(family.name(), &setting.key, setting.value.clone());
    }
    let named = case
        .expect
        .iter()
        .flat_map(|g| &g.items)
        .map(|e| &e.kind)
        .chain(case.none.iter().map(|n| &n.kind));
    let named = named.map(|word| word.text.split('.').next().unwrap_or("").to_lowercase());
    let own = family.kinds().into_iter().filter(|_| family.dialect().has_all_kinds);
    Options {
        assume_created: assume(case),
        include_kinds: named.chain(own.map(|k| k.kind.to_lowercase())).collect(),
        kind_sources: case.kind_sources.clone(),
        single_letters: SingleLetters::Text,
        profiles: [(family.name().to_owned(), profile.to_owned())].into(),
        settings,
        ..Options::default()
    }
}

fn assume(case: &Case) -> Assume {
    let setting = case.settings.iter().find(|s| s.key == ASSUME_CREATED);
    setting.and_then(|s| s.value.as_str()).and_then(assumption).unwrap_or_default()
}

fn assumption(text: &str) -> Option<Assume> {
    match text.eq_ignore_ascii_case("file-order") {
        true => Some(Assume::FileOrder),
        false => Created::parse(text).map(Assume::Time),
    }
}
