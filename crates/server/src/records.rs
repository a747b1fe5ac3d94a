// SPDX-License-Identifier: Apache-2.0
//! In: records as they come. Out: all of them by key, where a copy shares everything that stays: every version of the
//! store keeps its records, and a change is about a few of a hundred thousand. Not here: what is in a record.

use std::sync::Arc;

use overrule::source::SortedChunks;
use overrule_store::{Record, ResourceKey};

/// Resources by identity, sorted by key. Cheap to copy.
pub type Records = SortedChunks<ResourceKey, Arc<Record>>;

/// These records by key; of several with one key, the last counts.
pub fn records(all: impl IntoIterator<Item = Record>) -> Records {
    SortedChunks::new(|record| &record.key, all.into_iter().map(Arc::new))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use overrule_store::{Record, ResourceKey, ResourceScope, TextFormat};
    use proptest::prelude::*;

    use super::{Records, records};

    fn record(name: u16, version: u64) -> Record {
        let key = ResourceKey {
            group: String::new(),
            kind: "K".to_owned(),
            place: ResourceScope::Cluster,
            name: format!("{name:05}"),
        };
        let now = jiff::Timestamp::UNIX_EPOCH;
        let text = String::new();
        Record { key, text, form: TextFormat::Yaml, version, created: now, modified: now }
    }

    fn told<'a>(records: impl Iterator<Item = &'a Arc<Record>>) -> Vec<(ResourceKey, u64)> {
        records.map(|r| (r.key.clone(), r.version)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn they_are_a_sorted_map(
            start in prop::collection::vec(0..3000u16, 0..1500),
            edits in prop::collection::vec((0..3000u16, any::<bool>()), 0..1500),
        ) {
            let mut records: Records = records(start.iter().map(|name| record(*name, 0)));
            let all = start.iter().map(|name| record(*name, 0));
            let mut map: BTreeMap<ResourceKey, Arc<Record>> = all.map(|r| (r.key.clone(), Arc::new(r))).collect();
            let before = (records.clone(), told(map.values()));
            for (version, (name, put)) in (1..).zip(edits) {
                let record = Arc::new(record(name, version));
                prop_assert_eq!(records.contains_key(&record.key), map.contains_key(&record.key));
                if put {
                    records.insert(Arc::clone(&record));
                    map.insert(record.key.clone(), record);
                } else {
                    records.remove(&record.key);
                    map.remove(&record.key);
                }
            }
            prop_assert_eq!(told(records.values()), told(map.values()));
            prop_assert_eq!(told(before.0.values()), before.1, "a copy keeps what it was");
            for key in map.keys() {
                prop_assert_eq!(records.get(key).map(|r| r.version), map.get(key).map(|r| r.version));
            }
        }
    }
}
