// SPDX-License-Identifier: Apache-2.0
//! In: a parsed tree of any depth. Out: whether it is too deep, and its safe end. Not here: what its nodes mean.
//!
//! Nothing here recurses; everything that does comes after.

use cel::IdedExpr;
use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr};

use crate::limits;

/// The children of a node, from left to right.
pub(crate) fn children(expr: &Expr) -> Vec<&IdedExpr> {
    match expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(all) => parts(all).to_vec(),
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&*select.operand],
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Struct(all) => {
            all.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect()
        }
    }
}

fn parts(all: &ComprehensionExpr) -> [&IdedExpr; 5] {
    [&all.iter_range, &all.accu_init, &all.loop_cond, &all.loop_step, &all.result]
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// The first node that is too deep, if there is one: in the tree itself, or in what the interpreter makes of it.
pub(crate) fn too_deep(root: &IdedExpr) -> Option<u64> {
    let mut open = vec![(root, 1, 1)];
    while let Some((node, depth, level)) = open.pop() {
        if depth > limits::DEPTH || level > limits::LEVELS {
            return Some(node.id);
        }
        // A name with its members is one step, however long.
        let named = is_name(node);
        for child in children(&node.expr).into_iter().rev() {
            let more = if named { 0 } else { 1 + usize::from(gets_ordered(node, child)) };
            open.push((child, depth + 1, level + more));
        }
    }
    None
}

/// Whether a node is `a`, `a.b`, or `has()` of such.
fn is_name(node: &IdedExpr) -> bool {
    let mut at = node;
    while let Expr::Select(select) = &at.expr {
        at = &select.operand;
    }
    matches!(at.expr, Expr::Ident(_))
}

/// Whether a child will be wrapped (see `check::prepare`).
fn gets_ordered(node: &IdedExpr, child: &IdedExpr) -> bool {
    matches!(&node.expr, Expr::Comprehension(all) if std::ptr::eq(&all.iter_range, child))
        && !matches!(child.expr, Expr::List(_))
}

/// Whether the variable `self` is left in a tree.
pub(crate) fn mentions_self(root: &IdedExpr) -> bool {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if matches!(&node.expr, Expr::Ident(name) if name == "self") {
            return true;
        }
        open.extend(children(&node.expr));
    }
    false
}

/// Drops a tree of any depth without recursion.
pub(crate) fn dismantle(root: IdedExpr) {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match node.expr {
            Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
            Expr::Call(call) => {
                open.extend(call.target.map(|target| *target));
                open.extend(call.args);
            }
            Expr::Comprehension(all) => {
                let all = *all;
                open.extend([all.iter_range, all.accu_init, all.loop_cond]);
                open.extend([all.loop_step, all.result]);
            }
            Expr::List(list) => open.extend(list.elements),
            Expr::Select(select) => open.push(*select.operand),
            Expr::Map(map) => {
                map.entries.into_iter().for_each(|e| dismantle_entry(e.expr, &mut open))
            }
            Expr::Struct(all) => {
                all.entries.into_iter().for_each(|e| dismantle_entry(e.expr, &mut open));
            }
        }
    }
}

fn dismantle_entry(entry: EntryExpr, open: &mut Vec<IdedExpr>) {
    match entry {
        EntryExpr::StructField(field) => open.push(field.value),
        EntryExpr::MapEntry(entry) => open.extend([entry.key, entry.value]),
    }
}
