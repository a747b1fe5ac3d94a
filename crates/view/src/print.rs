// SPDX-License-Identifier: Apache-2.0
//! In: any type of the model. Out: JSON and YAML text that is safe on a terminal too. Not here: streaming; a list is
//! written by printing its items one by one.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::{escape, v1};

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrintFormat {
    /// For people.
    #[default]
    Table,
    /// For people with room.
    Wide,
    /// The model as YAML.
    Yaml,
    /// The model as JSON.
    Json,
}

/// A value of the model as indented JSON, without a line end.
pub fn json<T: Serialize>(value: &T) -> String {
    write(value, PrettyFormatter::new())
}

/// A value of the model as JSON on one line, without a line end.
pub fn json_line<T: Serialize>(value: &T) -> String {
    write(value, CompactFormatter)
}

/// A value of the model as one YAML document, with a line end.
pub fn yaml<T: Serialize>(value: &T) -> String {
    // Through text, because a `serde_json::Value` would lose the order of fields.
    let value = serde_json::from_str::<v1::Value>(&json_line(value)).unwrap_or(v1::Value::Null);
    crate::yaml::document(&value)
}

fn write<T: Serialize>(value: &T, formatter: impl Formatter) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Safe(formatter));
    // Writing to memory cannot fail, and every key of the model is a string.
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(bytes).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

/// Escapes what JSON would let through: DEL, C1 controls, direction marks.
struct Safe<F>(F);

impl<F: Formatter> Formatter for Safe<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        if escape::is_safe(text) {
            return self.0.write_string_fragment(out, text);
        }
        let mut units = [0; 2];
        for c in text.chars() {
            if escape::needs_escape(c) {
                for unit in c.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}")?;
                }
            } else {
                write!(out, "{c}")?;
            }
        }
        Ok(())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}
