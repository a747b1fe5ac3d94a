// SPDX-License-Identifier: Apache-2.0
//! In: a value, and schemas of which it must fit some, one, all or none. Out: whether it does. Not here: the schema that
//! says what the value is; these say only some things about it, and have no findings of their own.

use overrule_source::View;
use serde_json::Value;

use crate::format;
use crate::table::{NodeIx, SchemaNode, SchemaTable};

/// A value that is written, or the default of one that is not.
#[derive(Clone, Copy)]
enum Given<'a> {
    Written(View<'a>),
    Default(&'a Value),
}

impl<'a> Given<'a> {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::Written(view) => equals(view, value),
            Self::Default(default) => default == value,
        }
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::Written(view) => view.as_str(),
            Self::Default(default) => default.as_str(),
        }
    }
}

/// Whether a scalar is this value.
pub(crate) fn equals(view: View<'_>, value: &Value) -> bool {
    match value {
        Value::String(text) => view.as_str() == Some(text),
        Value::Number(number) => view.as_i64().is_some_and(|n| number.as_i64() == Some(n)),
        Value::Bool(value) => view.as_bool() == Some(*value),
        _ => false,
    }
}

/// Whether a value fits what the node says about it beside its own structure.
pub(crate) fn fits(table: &SchemaTable, view: View<'_>, node: &SchemaNode) -> bool {
    Choices { table, whole: node }.combined(Given::Written(view), node)
}

/// The member that has none of the formats it may have, where choices are about that; and the formats, for people.
pub(crate) fn unformatted<'a>(
    table: &'a SchemaTable,
    view: View<'a>,
    node: &SchemaNode,
) -> Option<(&'a str, View<'a>, String)> {
    let parts = node.one_of.iter().chain(&node.any_of).filter_map(|ix| table.node(*ix));
    parts.flat_map(|part| &part.fields).find_map(|(name, child)| {
        let member = view.get(name)?;
        let text = member.as_str()?;
        let formats =
            table.node(*child)?.any_of.iter().map(|ix| table.node(*ix)?.format.as_deref());
        let flaws: Option<Vec<&str>> = formats.map(|name| format::flaw(name?, text)).collect();
        let flaws = flaws.filter(|flaws| !flaws.is_empty())?;
        Some((&**name, member, flaws.join(" or ")))
    })
}

struct Choices<'t> {
    table: &'t SchemaTable,
    /// The schema that has the defaults.
    whole: &'t SchemaNode,
}

impl<'t> Choices<'t> {
    fn combined(&self, given: Given<'_>, node: &SchemaNode) -> bool {
        let part = |ix: &NodeIx| self.part(given, *ix);
        (node.any_of.is_empty() || node.any_of.iter().any(part))
            && node.all_of.iter().all(part)
            && (node.one_of.is_empty() || node.one_of.iter().filter(|ix| part(ix)).count() == 1)
            && !node.not.iter().any(part)
    }

    fn part(&self, given: Given<'_>, ix: NodeIx) -> bool {
        let Some(node) = self.table.node(ix) else { return true };
        (node.allowed.is_empty() || node.allowed.iter().any(|value| given.is(value)))
            && self.text_fits(given, node)
            && node.fields.iter().all(|(name, child)| {
                self.member(given, name).is_none_or(|member| self.part(member, *child))
            })
            && node.required.iter().all(|name| self.member(given, name).is_some())
            && self.combined(given, node)
    }

    fn member<'a>(&self, given: Given<'a>, name: &str) -> Option<Given<'a>>
    where
        't: 'a,
    {
        let Given::Written(view) = given else { return None };
        let written = view.get(name).filter(|member| !member.is_null()).map(Given::Written);
        let default = || {
            let whole = self.table.node(self.whole.named(name)?)?;
            whole.default.as_ref().map(Given::Default)
        };
        written.or_else(default)
    }

    fn text_fits(&self, given: Given<'_>, node: &SchemaNode) -> bool {
        let Some(text) = given.text() else { return true };
        let pattern = node.pattern.and_then(|pattern| self.table.pattern(pattern));
        pattern.is_none_or(|pattern| pattern.matches(text))
            && node.format.as_deref().is_none_or(|name| format::flaw(name, text).is_none())
    }
}
