// SPDX-License-Identifier: Apache-2.0
//! Which characters are percent-encoded in what the server and its clients send. Not here: how (`percent_encoding`).

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode,
};

/// In a part of a URL; slashes stay.
const PART: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// In a header.
const HEADER: &AsciiSet = &CONTROLS.add(b'%');

/// Percent-encodes a part of a URL; slashes stay.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, PART).to_string()
}

/// Percent-encodes what a header cannot carry.
pub fn encode_header(text: &str) -> String {
    utf8_percent_encode(text, HEADER).to_string()
}

/// Undoes it; what cannot be undone stays as it is. In a query, a plus is a space.
pub fn decode(text: &str, plus: bool) -> String {
    let spaced = if plus { text.replace('+', " ") } else { text.to_owned() };
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
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
