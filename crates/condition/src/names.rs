// SPDX-License-Identifier: Apache-2.0
//! The names a condition may use, and the nearest of them to a wrong one. Not here: checking (`check`).

/// The variables. `self` is the whole policy; the others are its members.
pub(crate) const VARIABLES: [&str; 4] = ["self", "kind", "metadata", "spec"];

/// The members of `self`.
pub(crate) const MEMBERS: [&str; 3] = ["kind", "metadata", "spec"];

/// The names of types, for comparing with `type(x)`.
pub(crate) const TYPES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// The variable the macros keep their result in. It cannot be written.
pub(crate) const RESULT: &str = "@result";

/// The function that gives the keys of a map in order. It cannot be written.
pub(crate) const IN_ORDER: &str = "@in_order";

/// How a function may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    /// `x.name(...)` instead of `name(...)`.
    pub(crate) on_value: bool,
    pub(crate) arguments: usize,
    /// How to write it.
    pub(crate) usage: &'static str,
}

const fn form(name: &'static str, on_value: bool, arguments: usize, usage: &'static str) -> Form {
    Form { name, on_value, arguments, usage }
}

/// Every function. None makes a value much larger than its arguments or looks at them more than once. There is no
/// `matches`: the interpreter compiles the pattern at every call.
pub(crate) const FUNCTIONS: [Form; 12] = [
    form("size", false, 1, "size(x)"),
    form("size", true, 0, "x.size()"),
    form("startsWith", true, 1, "text.startsWith(prefix)"),
    form("endsWith", true, 1, "text.endsWith(suffix)"),
    form("contains", true, 1, "text.contains(part)"),
    form("int", false, 1, "int(x)"),
    form("uint", false, 1, "uint(x)"),
    form("double", false, 1, "double(x)"),
    form("string", false, 1, "string(x)"),
    form("bool", false, 1, "bool(x)"),
    form("type", false, 1, "type(x)"),
    form("dyn", false, 1, "dyn(x)"),
];

/// The macros. The parser has replaced every call that is written right, so what is left of them is written wrong.
pub(crate) const MACROS: [Form; 6] = [
    form("has", false, 1, "has(x.member)"),
    form("exists", true, 2, "list.exists(item, condition)"),
    form("all", true, 2, "list.all(item, condition)"),
    form("exists_one", true, 2, "list.exists_one(item, condition)"),
    form("map", true, 2, "list.map(item, value)"),
    form("filter", true, 2, "list.filter(item, condition)"),
];

/// The names of all functions and macros, for help.
pub(crate) fn available() -> String {
    let mut names: Vec<&str> = MACROS.iter().chain(&FUNCTIONS).map(|form| form.name).collect();
    names.dedup();
    names.join(", ")
}

/// The candidate a wrong name was most likely meant to be: at most a third of its letters differ, or only their case.
pub(crate) fn nearest<'a>(
    wrong: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = wrong.chars().count() / 3;
    candidates
        .map(|name| (strsim::osa_distance(&wrong.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(far, _)| *far <= allowed)
        .min()
        .map(|(_, name)| name)
}
