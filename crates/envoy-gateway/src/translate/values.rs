// SPDX-License-Identifier: Apache-2.0
//! In: durations, quantities and patterns as people write them. Out: their values, as the controller reads them.

use serde_json::Value;

/// The most that fits four bytes.
pub(crate) const MAX_U32: i128 = 4_294_967_295;

/// A duration as Go reads it, in nanoseconds.
pub(crate) fn duration(text: &str) -> Option<i128> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    let mut any = false;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at_checked(letters)?;
        let scale: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        total = total.checked_add(scaled(number, scale)?)?;
        any = true;
        rest = next;
    }
    any.then_some(if negative { -total } else { total })
}

/// A decimal number times a scale, cut.
fn scaled(number: &str, scale: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 24 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(scale)?;
    let mut unit = scale;
    for digit in fraction.chars() {
        unit /= 10;
        total = total.checked_add(i128::from(digit.to_digit(10)?).checked_mul(unit)?)?;
    }
    Some(total)
}

/// What a quantity of Kubernetes is as a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Whole(i128),
    /// It has a fraction, or cannot be read.
    Other,
}

/// The value of a quantity.
pub(crate) fn quantity(value: &Value) -> Quantity {
    let text = shown(value);
    whole_quantity(&text).map_or(Quantity::Other, Quantity::Whole)
}

fn whole_quantity(text: &str) -> Option<i128> {
    let digits =
        text.find(|c: char| !c.is_ascii_digit() && !".+-".contains(c)).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(digits)?;
    let binary = |power: u32| 1024_i128.checked_pow(power);
    let decimal = |power: u32| 10_i128.checked_pow(power);
    let scale = match suffix {
        "" => Some(1),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "n" | "u" | "m" => None,
        exponent => {
            let power = exponent.strip_prefix(['e', 'E'])?;
            decimal(power.parse().ok().filter(|power| *power < 30)?)
        }
    };
    let (negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let value = match scale {
        Some(scale) => {
            // In millionths: a fraction that is left over makes it no whole number.
            let exact = scaled(number, scale.checked_mul(1_000_000)?)?;
            (exact % 1_000_000 == 0).then_some(exact / 1_000_000)?
        }
        None => {
            let parts: i128 = match suffix {
                "m" => 1_000,
                "u" => 1_000_000,
                _ => 1_000_000_000,
            };
            let count = scaled(number, 1)?;
            (count % parts == 0).then_some(count / parts)?
        }
    };
    Some(if negative { -value } else { value })
}

/// A scalar as messages show it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether a number is prime.
pub(crate) fn is_prime(n: i64) -> bool {
    if n < 2 {
        return false;
    }
    let mut divisor = 2;
    while divisor <= n / divisor {
        if n % divisor == 0 {
            return false;
        }
        divisor += 1;
    }
    true
}

/// What is wrong with a pattern of Go's `regexp`, in its words; only mistakes that need no knowledge of classes.
pub(crate) fn pattern_problem(pattern: &str) -> Option<String> {
    let mut open = 0_usize;
    let mut repeats = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                None => return Some("trailing backslash at end of expression: ``".to_owned()),
                Some(_) => repeats = true,
            },
            '[' => {
                let rest = chars.as_str();
                let Some(length) = class_length(rest) else {
                    return Some(format!("missing closing ]: `[{rest}`"));
                };
                chars = rest.get(length..).unwrap_or("").chars();
                repeats = true;
            }
            '(' => {
                open += 1;
                repeats = false;
                if let Some(rest) = chars.as_str().strip_prefix('?') {
                    let end = rest.find([':', '>', ')']).map_or(rest.len(), |end| end + 1);
                    if rest.get(..end).is_some_and(|group| group.ends_with(')')) {
                        open -= 1;
                    }
                    chars = rest.get(end..).unwrap_or("").chars();
                }
            }
            ')' => {
                let Some(left) = open.checked_sub(1) else {
                    return Some(format!("unexpected ): `{pattern}`"));
                };
                (open, repeats) = (left, true);
            }
            '|' => repeats = false,
            '*' | '+' | '?' if !repeats => {
                return Some(format!("missing argument to repetition operator: `{c}`"));
            }
            '*' | '+' | '?' => {}
            _ => repeats = true,
        }
    }
    (open > 0).then(|| format!("missing closing ): `{pattern}`"))
}

/// The length of a character class after its `[`, with its `]`.
fn class_length(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // The first one stands for itself.
            ']' if at > 0 && rest.get(..at) != Some("^") => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_are_read_as_go_does() {
        for (text, milliseconds) in
            [("1s", 1_000), ("1h30m", 5_400_000), ("1.5s", 1_500), ("0", 0), ("100ms", 100)]
        {
            assert_eq!(duration(text), Some(milliseconds * 1_000_000), "{text}");
        }
        for text in ["", "1", "5sec", "6kib", "s", "1s2", "-", "1..2s"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn quantities_are_whole_or_not() {
        for (value, whole) in [
            (json!("100M"), 100_000_000),
            (json!("1Ki"), 1024),
            (json!(512), 512),
            (json!("1.5Ki"), 1536),
            (json!("2e3"), 2000),
            (json!("1000m"), 1),
            (json!("-1"), -1),
        ] {
            assert_eq!(quantity(&value), Quantity::Whole(whole), "{value}");
        }
        for value in [json!("100m"), json!("0.5"), json!("x"), json!("1Kib"), json!("")] {
            assert_eq!(quantity(&value), Quantity::Other, "{value}");
        }
    }

    #[test]
    fn patterns_are_wrong_in_words_of_go() {
        let problem = |pattern| pattern_problem(pattern);
        assert_eq!(
            problem("*.illegal.regex").as_deref(),
            Some("missing argument to repetition operator: `*`")
        );
        assert_eq!(problem("a(b").as_deref(), Some("missing closing ): `a(b`"));
        assert_eq!(problem("a)").as_deref(), Some("unexpected ): `a)`"));
        assert_eq!(problem("x[").as_deref(), Some("missing closing ]: `[`"));
        for good in ["^/a.*$", "(?i)a|b", "[]a]+", "(?:x)*", r"\*", "(?P<n>a)+"] {
            assert_eq!(problem(good), None, "{good}");
        }
    }
}
