// SPDX-License-Identifier: Apache-2.0
//! In: YAML documents. Out: steps, ladders and readable results for the tests of this crate. Not here: any rule.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::BTreeMap;

use overrule_engine::{
    Combine, Effective, Group, LadderId, Ladders, Leaf, MergePlan, Merger, PolicyId, Prefer,
    ReasonInfo, Rung, Step, StepId, Traced,
};
use overrule_source::{Documents, NodeKind, NodeRef, ReadOptions, View, read_one};
use serde_json::{Map, Value};

/// A reason for tests that do not care.
pub static WHY: ReasonInfo = ReasonInfo { id: "test", sentence: "the test says so" };

/// Documents and the ladders over them. Policy `n` is document `n`.
pub struct Lab {
    pub documents: Documents,
    pub ladders: Ladders,
}

/// A step as a test writes it; the value is the member of the document called like the block, or all of it.
#[derive(Clone, Copy)]
pub struct Block {
    pub policy: u32,
    pub block: &'static str,
    pub level: u8,
    pub mode: u16,
    pub extra: u32,
    pub entry: Option<u32>,
}

impl Block {
    pub fn new(policy: u32, block: &'static str, mode: u16) -> Self {
        Self { policy, block, level: 0, mode, extra: 0, entry: None }
    }
}

impl Lab {
    pub fn new(text: &str) -> Self {
        let read = read_one("lab.yaml", text, &ReadOptions::default());
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        Self { documents: read.documents, ladders: Ladders::default() }
    }

    /// The node at a path of keys and indexes of a document.
    pub fn node(&self, doc: u32, path: &[&str]) -> NodeRef {
        let id = self.documents.ids().nth(doc as usize).expect("document");
        let view = path.iter().fold(self.documents.root(id), |view, key| match view.kind() {
            NodeKind::List => view.items().nth(key.parse().expect("index")).expect("element"),
            _ => view.get(key).unwrap_or_else(|| panic!("no `{key}` in document {doc}")),
        });
        NodeRef { doc: id, node: view.id() }
    }

    /// Interns the step of a block.
    pub fn step(&mut self, b: Block) -> StepId {
        let value = match b.block {
            "bare" => self.node(b.policy, &[]),
            block => self.node(b.policy, &block.split('.').collect::<Vec<_>>()),
        };
        self.step_at(b, value)
    }

    /// Interns a step with a value of its own.
    pub fn step_at(&mut self, b: Block, value: NodeRef) -> StepId {
        let Block { policy, block, level, mode, extra, entry } = b;
        self.ladders.step(Step {
            policy: PolicyId(policy),
            entry,
            block,
            level,
            value,
            mode,
            extra,
        })
    }

    /// Interns a group of steps, top first.
    pub fn group(&mut self, spec: u16, blocks: &[Block]) -> LadderId {
        let rungs = blocks.iter().map(|b| Rung::Step(self.step(*b))).collect();
        self.ladders.group(Group { spec, extra: 0, rungs })
    }

    /// Interns a group of groups, top first.
    pub fn groups(&mut self, spec: u16, inner: &[LadderId]) -> LadderId {
        self.ladders.group(Group {
            spec,
            extra: 0,
            rungs: inner.iter().map(|id| Rung::Group(*id)).collect(),
        })
    }

    pub fn whole(&mut self, policy: u32) -> Traced {
        let node = self.node(policy, &[]);
        Traced::Whole { step: self.step(Block::new(policy, "bare", 0)), node }
    }

    pub fn policy(&self, step: StepId) -> u32 {
        self.ladders.get_step(step).expect("step").policy.0
    }

    /// The value as JSON.
    pub fn json(&self, value: &Traced) -> Value {
        match value.leaf(&self.documents) {
            Leaf::Map => {
                let entries = value.entries(&self.documents);
                let pairs =
                    entries.iter().map(|(k, v)| (k.text(&self.documents).to_owned(), self.json(v)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            Leaf::List => value.items(&self.documents).iter().map(|v| self.json(v)).collect(),
            Leaf::Scalar(view) => scalar(view),
            Leaf::Implied(json) => serde_json::from_str(json).expect("implied JSON"),
        }
    }

    /// Pointer of each maximal part and the policy that wrote it.
    pub fn origins(&self, value: &Traced) -> BTreeMap<String, u32> {
        let mut found = BTreeMap::new();
        value.parts(&self.documents, &mut |pointer, step, _| {
            let before = found.insert(pointer.to_owned(), self.policy(step));
            assert_eq!(before, None, "two origins at {pointer}");
        });
        found
    }

    /// Losses as `policy pointer fate by`, in order.
    pub fn losses(&self, effective: &Effective) -> Vec<String> {
        let line = |l: &overrule_engine::Loss| {
            let by: Vec<String> = l.by.iter().map(|s| self.policy(*s).to_string()).collect();
            format!("{} {} {:?} by {}", self.policy(l.step), l.pointer, l.fate, by.join(","))
        };
        effective.losses.iter().map(line).collect()
    }

    /// Merges two whole documents by a plan; gives the result and the losses.
    pub fn merge(&mut self, plan: &MergePlan, prefer: Prefer) -> (Option<Traced>, Vec<String>) {
        let (held, incoming) = (self.whole(0), self.whole(1));
        let mut losses = Vec::new();
        let mut merger =
            Merger::new(&self.documents, plan, &NoCombinators, prefer, &WHY, &mut losses);
        let value = merger.merge(MergePlan::ROOT, held, incoming);
        let mut effective = Effective::default();
        effective.losses.extend(losses);
        (value, self.losses(&effective))
    }
}

fn scalar(view: View<'_>) -> Value {
    match view.kind() {
        NodeKind::Null => Value::Null,
        NodeKind::Bool => view.as_bool().into(),
        NodeKind::Int => view.as_i64().map_or_else(|| view.as_u64().into(), Value::from),
        NodeKind::Float => view.as_f64().into(),
        _ => view.as_str().into(),
    }
}

/// For plans without combinators.
pub struct NoCombinators;

impl Combine for NoCombinators {
    fn combine(&self, number: u16, _: &mut Merger<'_>, _: Traced, _: Traced) -> Option<Traced> {
        panic!("combinator {number} is not part of this test")
    }
}

/// `{"/a": 0}` in one line.
pub fn at<const N: usize>(pairs: [(&str, u32); N]) -> BTreeMap<String, u32> {
    pairs.into_iter().map(|(pointer, policy)| (pointer.to_owned(), policy)).collect()
}
