// SPDX-License-Identifier: Apache-2.0
//! In: the text of a duration. Out: the same duration as Go prints it (`101s` is `1m41s`). Not here: which fields are durations.

const SECOND: u128 = 1_000_000_000;

/// Units with their nanoseconds. The micro sign and the Greek letter both count.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];

/// The canonical text; none if Go would refuse the text.
pub fn canonical(text: &str) -> Option<String> {
    parse(text).map(print)
}

/// Nanoseconds of a text such as `-1h2.5m3s`. The only number that may stand without a unit is 0.
pub fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    loop {
        let (part, after) = quantity(rest)?;
        total += i128::try_from(part).ok()?;
        // One more than the largest positive number is legal below zero.
        if total > i128::from(i64::MAX) + 1 {
            return None;
        }
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// The first number with its unit, in nanoseconds, and what follows.
fn quantity(text: &str) -> Option<(u128, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(end)?;
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    Some((u128::from(whole) * unit + fraction_of(fraction, *unit), rest))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// A decimal fraction of a unit, cut off below a nanosecond. Digits that can no longer matter are not read.
fn fraction_of(digits: &str, unit: u128) -> u128 {
    let (value, scale) = digits.bytes().take(18).fold((0, 1), |(value, scale), digit| {
        (value * 10 + u128::from(digit.saturating_sub(b'0')), scale * 10)
    });
    value * unit / scale
}

/// The text of a number of nanoseconds: hours, minutes and seconds without leading zero units, or one small unit.
pub fn print(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let amount = u128::from(nanoseconds.unsigned_abs());
    if amount == 0 {
        return "0s".to_owned();
    }
    if amount < SECOND {
        let (unit, name) = match amount {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "\u{b5}s"),
            _ => (1_000_000, "ms"),
        };
        return format!("{sign}{}{name}", decimal(amount, unit));
    }
    let (hours, minutes) = (amount / (3_600 * SECOND), amount / (60 * SECOND) % 60);
    let seconds = decimal(amount % (60 * SECOND), SECOND);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

/// `amount / unit` without zeros at the end; the unit is a power of ten.
fn decimal(amount: u128, unit: u128) -> String {
    let (whole, fraction) = (amount / unit, amount % unit);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = unit.to_string().len() - 1;
    let digits = format!("{fraction:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn every_form_is_printed_as_go_prints_it() {
        let table = [
            ("0", "0s"),
            ("0s", "0s"),
            ("-0h", "0s"),
            ("1ns", "1ns"),
            ("999ns", "999ns"),
            ("1000ns", "1\u{b5}s"),
            ("1us", "1\u{b5}s"),
            ("1\u{b5}s", "1\u{b5}s"),
            ("1\u{3bc}s", "1\u{b5}s"),
            ("1500ns", "1.5\u{b5}s"),
            ("1100us", "1.1ms"),
            ("250ms", "250ms"),
            ("1000ms", "1s"),
            ("1001ms", "1.001s"),
            ("1.50s", "1.5s"),
            (".5s", "500ms"),
            ("5.s", "5s"),
            ("11s", "11s"),
            ("59s", "59s"),
            ("60s", "1m0s"),
            ("101s", "1m41s"),
            ("20m", "20m0s"),
            ("1.5m", "1m30s"),
            ("1h", "1h0m0s"),
            ("1h5s", "1h0m5s"),
            ("5s1h", "1h0m5s"),
            ("1s1s", "2s"),
            ("24h", "24h0m0s"),
            ("0.1h", "6m0s"),
            ("1h0.000000001s", "1h0m0.000000001s"),
            ("0.9999999999ns", "0s"),
            ("-90s", "-1m30s"),
            ("+1s", "1s"),
            ("9223372036854775807ns", "2562047h47m16.854775807s"),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
            ("0.1000000000000000000000000001s", "100ms"),
        ];
        for (text, expected) in table {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_has_no_text() {
        let texts = [
            "",
            "-",
            "+",
            "1",
            "00",
            "s",
            ".s",
            "1.",
            "1x",
            "1 s",
            " 1s",
            "1d",
            "1S",
            "--1s",
            "1s-",
            "1e3s",
            "9223372036854775808ns",
            "-9223372036854775809ns",
            "99999999999999999999h",
            "3000000h",
            "1.2.3s",
        ];
        for text in texts {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    #[test]
    fn printing_and_parsing_are_inverse() {
        let mut n: i64 = 1;
        for i in 0..2_000 {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let amount = n >> (i % 63);
            assert_eq!(super::parse(&super::print(amount)), Some(amount), "{amount}");
        }
    }
}
