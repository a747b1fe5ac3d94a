// SPDX-License-Identifier: Apache-2.0
//! In: the text of one scalar. Out: what Kubernetes takes it for, and whether YAML 1.2 would take it for something else.
//! Not here: quoting and escapes (the event parser), where the text is kept (`tree`).
//!
//! Kubernetes reads YAML through `sigs.k8s.io/yaml`, that is go-yaml v2, and then as JSON. The rules below are those
//! of go-yaml's `resolve`: booleans of YAML 1.1, whole numbers by Go's `ParseInt` with base 0 after dropping `_`.
//! Timestamps stay text there, and so they do here. A number too large for 64 bits is a float there, and here.

use std::borrow::Cow;

/// What a scalar is, with its text where that differs from what is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A whole number; the decimal text if it is written otherwise.
    Int(Option<String>),
    /// Another number; a text Rust can parse (or `.inf`, `-.inf`, `.nan`) if it is written otherwise.
    Float(Option<String>),
    Text,
}

/// Reads a plain scalar. The flag says that the core schema of YAML 1.2 reads it differently.
pub(crate) fn plain(text: &str) -> (Value, bool) {
    let Some(first) = text.bytes().next() else { return (Value::Null, false) };
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => number(text),
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        _ => (Value::Text, false),
    }
}

fn word(text: &str) -> (Value, bool) {
    match text {
        "true" | "True" | "TRUE" => (Value::Bool(true), false),
        "false" | "False" | "FALSE" => (Value::Bool(false), false),
        "~" | "null" | "Null" | "NULL" => (Value::Null, false),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => (Value::Bool(true), true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => (Value::Bool(false), true),
        _ => (Value::Text, false),
    }
}

fn number(text: &str) -> (Value, bool) {
    match text {
        ".nan" | ".NaN" | ".NAN" => return (Value::Float(Some(".nan".to_owned())), false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return (Value::Float(Some(".inf".to_owned())), false);
        }
        "-.inf" | "-.Inf" | "-.INF" => {
            return (Value::Float(Some("-.inf".to_owned())), false);
        }
        _ => {}
    }
    // Go looks at whole numbers and underscores only where a digit or a sign comes first.
    let dotted = text.starts_with('.');
    let digits: Cow<'_, str> = match !dotted && text.contains('_') {
        true => text.replace('_', "").into(),
        false => text.into(),
    };
    let underscored = matches!(digits, Cow::Owned(_));
    if !dotted && let Some(whole) = go_int(&digits) {
        // 1.2 knows decimal digits with a sign, `0x` and `0o`; `017` is 17 there, `0b1` and `1_000` are text.
        let body = digits.trim_start_matches(['+', '-']);
        let differs = underscored
            || match body.strip_prefix('0') {
                None | Some("") => false,
                Some(rest) if rest.starts_with(['x', 'o']) => body.len() != digits.len(),
                Some(rest) => rest.parse() != Ok(whole.abs()),
            };
        return (Value::Int((!is_decimal(text)).then(|| whole.to_string())), differs);
    }
    if is_float(&digits) && digits.parse().is_ok_and(f64::is_finite) {
        return (Value::Float(underscored.then(|| digits.into_owned())), underscored);
    }
    (Value::Text, false)
}

/// Whether a whole number is written as it is printed.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let one = digits.len() == 1 && digits.len() == text.len();
    (one || !digits.starts_with('0')) && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Go's `ParseInt(text, 0, 64)`, or `ParseUint` where there is no sign.
fn go_int(text: &str) -> Option<i128> {
    let (negative, signed, body) = match text.strip_prefix('-') {
        Some(body) => (true, true, body),
        None => match text.strip_prefix('+') {
            Some(body) => (false, true, body),
            None => (false, false, text),
        },
    };
    let (radix, body) = match body.strip_prefix('0') {
        None | Some("") => (10, body),
        Some(rest) => match rest.chars().next() {
            Some('x' | 'X') => (16, rest.get(1..)?),
            Some('o' | 'O') => (8, rest.get(1..)?),
            Some('b' | 'B') => (2, rest.get(1..)?),
            _ => (8, rest),
        },
    };
    // `from_str_radix` takes a sign; Go does not after the prefix.
    if body.is_empty() || !body.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from(u64::from_str_radix(body, radix).ok()?);
    let value = if negative { -value } else { value };
    let fits = if signed { i64::try_from(value).is_ok() } else { u64::try_from(value).is_ok() };
    fits.then_some(value)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    mantissa_fits
        && exponent.is_none_or(|e| {
            let e = e.strip_prefix(['+', '-']).unwrap_or(e);
            !e.is_empty() && digits(e)
        })
}

/// A number as a mapping key, as `sigs.k8s.io/yaml` writes it: `FormatFloat(value, 'g', -1, 32)`.
pub(crate) fn float_key(text: &str) -> String {
    let Ok(value) = text.parse::<f32>() else { return text.to_owned() };
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    // Rust's shortest digits are Go's; only the choice and the shape of the exponent differ.
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(e) if !(-4..6).contains(&e) => {
            let sign = if e < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", e.unsigned_abs())
        }
        _ => format!("{value}"),
    }
}

/// The text behind `!!binary`: standard base64 with padding, line breaks ignored, as Go decodes it; bytes that are not
/// UTF-8 become U+FFFD on the way through JSON.
pub(crate) fn binary(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count, mut padding) = (0u32, 0u32, 0u32);
    for b in text.bytes() {
        let six = match b {
            b'\n' | b'\r' => continue,
            b'=' => {
                padding += 1;
                continue;
            }
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            // Folding a plain scalar over lines leaves blanks where the line breaks were.
            b' ' => continue,
            _ => return None,
        };
        if padding > 0 {
            return None;
        }
        bits = (bits << 6) | u32::from(six);
        count += 1;
        if count == 4 {
            let [_, a, b, c] = bits.to_be_bytes();
            bytes.extend([a, b, c]);
            (bits, count) = (0, 0);
        }
    }
    match (count, padding) {
        (0, 0) => {}
        (2, 2) => bytes.push((bits << 12).to_be_bytes()[1]),
        (3, 1) => {
            let [_, a, b, _] = (bits << 6).to_be_bytes();
            bytes.extend([a, b]);
        }
        _ => return None,
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
