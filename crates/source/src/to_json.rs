// SPDX-License-Identifier: Apache-2.0
//! In: a node of a document. Out: its value as JSON, as Kubernetes sends it on. Not here: reading JSON (`json.rs`), values
//! merged from several documents (`overrule_engine::Traced`).

use serde_json::{Number, Value};

use crate::{NodeKind, View};

impl View<'_> {
    /// Its value as JSON. A number that JSON does not have (`.inf`, `.nan`) becomes its text.
    pub fn to_json(self) -> Value {
        let text = || Value::from(self.scalar_text().unwrap_or_default());
        match self.kind() {
            NodeKind::Null => Value::Null,
            NodeKind::Bool => Value::from(self.as_bool()),
            NodeKind::Int | NodeKind::Float => self.to_number().map_or_else(text, Value::Number),
            NodeKind::String => text(),
            NodeKind::List => self.items().map(View::to_json).collect(),
            NodeKind::Map => {
                self.entries().map(|(key, value)| (key.key_text(), value.to_json())).collect()
            }
        }
    }

    /// Its value as a number of JSON: whole if it is whole and has at most 64 bits, or else the nearest double. None if it
    /// is not a number, or one that JSON does not have.
    pub fn to_number(self) -> Option<Number> {
        let whole = self.as_i64().map(Number::from).or_else(|| self.as_u64().map(Number::from));
        whole.or_else(|| Number::from_f64(self.as_f64()?))
    }
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read_one};

    fn json(text: &str) -> String {
        let read = read_one("a.yaml", text, &ReadOptions::default());
        let doc = read.documents.ids().next().unwrap();
        read.documents.root(doc).to_json().to_string()
    }

    #[test]
    fn numbers_keep_their_value() {
        for (written, expected) in [
            ("18446744073709551615", "18446744073709551615"),
            ("9223372036854775808", "9223372036854775808"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9007199254740993", "9007199254740993"),
            // More than 64 bits is a double to Kubernetes too.
            ("18446744073709551616", "1.8446744073709552e+19"),
            ("-9223372036854775809", "-9.223372036854776e+18"),
            ("80.0", "80"),
            ("1e3", "1000"),
            ("0.1", "0.1"),
            ("-2.50", "-2.5"),
            ("1e300", "1e+300"),
            ("1e-300", "1e-300"),
            ("0x1F", "31"),
            (".inf", "\".inf\""),
            (".nan", "\".nan\""),
        ] {
            assert_eq!(json(&format!("a: {written}")), format!("{{\"a\":{expected}}}"));
        }
    }

    #[test]
    fn everything_else_is_what_it_is() {
        let text = "a: {b: [null, yes, 'no', \"1\", {}], 1: x}";
        assert_eq!(json(text), r#"{"a":{"1":"x","b":[null,true,"no","1",{}]}}"#);
    }
}
