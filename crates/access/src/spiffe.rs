// SPDX-License-Identifier: Apache-2.0
//! In: a text. Out: what keeps it from being a SPIFFE ID. Not here: whether anybody has it.

/// Why a text is no SPIFFE ID; none if it is one.
pub fn flaw(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("cannot be empty");
    }
    let Some(rest) = text.strip_prefix("spiffe://") else {
        return Some("scheme is missing or invalid");
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (domain, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if domain.is_empty() {
        return Some("trust domain is missing");
    }
    let in_domain =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'_');
    if !domain.bytes().all(in_domain) {
        return Some(
            "trust domain characters are limited to lowercase letters, numbers, dots, dashes, and underscores",
        );
    }
    path_flaw(path)
}

fn path_flaw(path: &str) -> Option<&'static str> {
    let segments = path.strip_prefix('/')?;
    let in_path = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let mut left = segments.split('/').peekable();
    while let Some(segment) = left.next() {
        if segment.is_empty() {
            return Some(match left.peek() {
                None => "path cannot have a trailing slash",
                Some(_) => "path cannot contain empty segments",
            });
        }
        if segment == "." || segment == ".." {
            return Some("path cannot contain dot segments");
        }
        if !segment.bytes().all(in_path) {
            return Some(
                "path segment characters are limited to letters, numbers, dots, dashes, and underscores",
            );
        }
    }
    None
}

/// Why a text is not the beginning of a SPIFFE ID. A slash may stand at the end, which is how a beginning says where it
/// ends.
pub fn prefix_flaw(text: &str) -> Option<&'static str> {
    let trimmed = text.strip_suffix('/').unwrap_or(text);
    if trimmed.strip_suffix("spiffe:/").is_some() {
        Some("trust domain is missing")
    } else {
        flaw(trimmed)
    }
}

/// Whether a beginning ends where a part of an ID does, so that nobody with a longer name is meant too.
pub fn ends_at_a_boundary(prefix: &str) -> bool {
    prefix.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::{flaw, prefix_flaw};

    #[test]
    fn flaws() {
        for good in ["spiffe://td", "spiffe://td/ns/a/sa/B_c", "spiffe://a.b-c_1/x"] {
            assert_eq!(flaw(good), None, "{good}");
        }
        let cases = [
            ("", "cannot be empty"),
            ("http://td/a", "scheme is missing or invalid"),
            ("spiffe:///a", "trust domain is missing"),
            ("spiffe://TD/a", "trust domain characters"),
            ("spiffe://td/", "path cannot have a trailing slash"),
            ("spiffe://td/a/", "path cannot have a trailing slash"),
            ("spiffe://td//a", "path cannot contain empty segments"),
            ("spiffe://td/../a", "path cannot contain dot segments"),
            ("spiffe://td/a b", "path segment characters"),
        ];
        for (text, want) in cases {
            assert!(flaw(text).is_some_and(|f| f.starts_with(want)), "{text}: {:?}", flaw(text));
        }
        assert_eq!(prefix_flaw("spiffe://td/"), None);
        assert_eq!(prefix_flaw("spiffe://td/ns/"), None);
        assert!(prefix_flaw("spiffe://td//").is_some());
        assert!(prefix_flaw("spiffe://").is_some());
    }
}
