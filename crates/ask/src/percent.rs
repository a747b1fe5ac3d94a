// SPDX-License-Identifier: Apache-2.0
//! In: texts. Out: the same as parts of a URL or of a header, and back. Not here: URLs.

/// Percent-encodes a part of a URL; slashes stay.
pub fn encode(text: &str) -> String {
    encode_but(text, |b| b.is_ascii_alphanumeric() || b"-_.~/".contains(&b))
}

/// Percent-encodes what a header cannot carry.
pub fn encode_header(text: &str) -> String {
    encode_but(text, |b| matches!(b, 0x20..=0x7e) && b != b'%')
}

fn encode_but(text: &str, stays: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match stays(byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Undoes it; what cannot be undone stays as it is. In a query, a plus is a space.
pub fn decode(text: &str, plus: bool) -> String {
    let hex = |byte: Option<&u8>| byte.and_then(|b| char::from(*b).to_digit(16));
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let pair = (*byte == b'%').then(|| (hex(bytes.get(at + 1)), hex(bytes.get(at + 2))));
        match pair {
            Some((Some(high), Some(low))) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                at += 3;
            }
            _ => {
                out.push(if plus && *byte == b'+' { b' ' } else { *byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_comes_back() {
        for text in ["", "a b", "100 %", "grün", "a+b&c=d#e", "\n\0"] {
            assert_eq!(decode(&encode(text), true), text);
            assert_eq!(decode(&encode_header(text), false), text);
            assert!(encode_header(text).bytes().all(|b| matches!(b, 0x20..=0x7e)));
        }
        assert_eq!(encode("httproute/shop/a b#c"), "httproute/shop/a%20b%23c");
        assert_eq!(decode("%zz%4", false), "%zz%4");
        assert_eq!(decode("a+b", true), "a b");
    }
}
