// SPDX-License-Identifier: Apache-2.0
//! Fresh stores of every kind, and short words for keys and changes. Not here: any test.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use overrule_store::{
    Author, Change, PgTls, Precondition, ResourceKey, ResourceScope, Store, TextFormat,
    open_folder, open_memory, open_postgres,
};
use tempfile::TempDir;

use crate::testing::PgLab;

/// A server that the tests running at the same time share; it ends with the last of them.
pub fn lab() -> Arc<PgLab> {
    static SHARED: Mutex<Weak<PgLab>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(|poison| poison.into_inner());
    if let Some(lab) = shared.upgrade() {
        return lab;
    }
    let lab = Arc::new(PgLab::new().unwrap());
    *shared = Arc::downgrade(&lab);
    lab
}

/// An address of a schema that no other test uses.
pub fn fresh_url(lab: &PgLab) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}?schema=test_{}", lab.url(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A fresh store and what must live as long.
pub struct Bench {
    pub store: Box<dyn Store>,
    pub kind: &'static str,
    _keep: (Option<TempDir>, Option<Arc<PgLab>>),
}

pub fn memory() -> Bench {
    Bench { store: open_memory().unwrap(), kind: "memory", _keep: (None, None) }
}

pub fn folder() -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let store = open_folder(dir.path()).unwrap();
    Bench { store, kind: "folder", _keep: (Some(dir), None) }
}

pub fn postgres() -> Bench {
    let lab = lab();
    let store = open_postgres(&fresh_url(&lab), PgTls::Disabled).unwrap();
    Bench { store, kind: "postgres", _keep: (None, Some(lab)) }
}

/// Runs a test on a fresh store of every kind.
pub fn each(test: impl Fn(&dyn Store)) {
    for make in [memory, folder, postgres] {
        let bench = make();
        println!("on {}", bench.kind);
        test(&*bench.store);
    }
}

pub fn author() -> Author {
    named("ann")
}

pub fn named(name: &str) -> Author {
    Author { name: name.to_owned(), token: Some("t1".to_owned()), request: Some("r1".to_owned()) }
}

pub fn key(name: &str) -> ResourceKey {
    ResourceKey {
        group: "gateway.networking.k8s.io".to_owned(),
        kind: "HTTPRoute".to_owned(),
        place: ResourceScope::Namespace("shop".to_owned()),
        name: name.to_owned(),
    }
}

pub fn put(name: &str, text: &str) -> Change {
    put_if(name, text, Precondition::Any)
}

pub fn put_if(name: &str, text: &str, expect: Precondition) -> Change {
    Change::Put { key: key(name), text: text.to_owned(), form: TextFormat::Yaml, expect }
}

pub fn delete(name: &str) -> Change {
    Change::Delete { key: key(name), expect: Precondition::Any }
}
