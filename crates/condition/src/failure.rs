// SPDX-License-Identifier: Apache-2.0
//! In: an error of the interpreter. Out: why a condition has no answer, in plain words. Not here: errors of the text.

use cel::{ExecutionError, OverloadError, Value};

use crate::limits::FAILURE_BYTES;
use crate::names::VARIABLES;

pub(crate) fn text(error: &ExecutionError) -> String {
    let mut text = words(error);
    if text.len() > FAILURE_BYTES {
        let mut end = FAILURE_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}

pub(crate) fn not_a_bool(type_name: &str) -> String {
    format!("it evaluates to {type_name}, not to bool")
}

fn words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) if VARIABLES.contains(&name.as_str()) => {
            format!("the policy has no {name}")
        }
        ExecutionError::UndeclaredReference(name) => format!("no such name: {name}"),
        ExecutionError::NoSuchOverload(overload) => no_overload(overload),
        ExecutionError::ValuesNotComparable(left, right)
        | ExecutionError::UnsupportedBinaryOperator("compare", left, right) => {
            format!("{} and {} cannot be compared", kind(left), kind(right))
        }
        ExecutionError::UnsupportedBinaryOperator(name, left, right) => {
            format!("`{}` does not apply to {} and {}", symbol(name), kind(left), kind(right))
        }
        ExecutionError::UnexpectedType { got, want } => format!("{want} expected, found {got}"),
        ExecutionError::UnsupportedKeyType(key) => {
            format!("{} cannot be the key of a map", kind(key))
        }
        ExecutionError::UnsupportedIndex(index, of) => {
            format!("{} cannot be an index of {}", short(index), kind(of))
        }
        ExecutionError::IndexOutOfBounds(index) => format!("index out of bounds: {}", short(index)),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "remainder of a division by zero".to_owned(),
        ExecutionError::Overflow(name, ..) => {
            format!("the result of `{}` does not fit 64 bits", symbol(name))
        }
        ExecutionError::DuplicateKey(key) => format!("a map has the key {} twice", short(key)),
        ExecutionError::FunctionError { function, message } => format!("{function}(): {message}"),
        other => other.to_string(),
    }
}

fn no_overload(error: &OverloadError) -> String {
    let types = error.argument_types();
    match (error.function(), types) {
        ("_._" | "_[_]", [of, _]) => format!("{of} has no members"),
        (name, [one]) => format!("`{}` does not apply to {one}", symbol(name)),
        (name, types) => format!("`{}` does not apply to {}", symbol(name), types.join(" and ")),
    }
}

/// How an operator is written.
fn symbol(name: &str) -> &str {
    match name {
        "add" => "+",
        "sub" => "-",
        "mul" => "*",
        "div" => "/",
        "rem" => "%",
        "negate" => "-",
        "@in" => "in",
        "@in_order" => "map",
        "_[_]" => "[]",
        "_?_:_" => "?",
        _ => name.trim_matches('_'),
    }
}

fn short(value: &Value) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::String(value) => format!("{value:?}"),
        other => kind(other),
    }
}

/// The type of a value as CEL calls it.
fn kind(value: &Value) -> String {
    match value {
        Value::Float(_) => "double".to_owned(),
        Value::Null => "null_type".to_owned(),
        other => other.type_of().to_string(),
    }
}
