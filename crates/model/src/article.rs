// SPDX-License-Identifier: Apache-2.0
//! In: the name of a kind. Out: the same with its article. Not here: any other grammar.

/// `an AuthPolicy`, `a DNSPolicy`: by the first letter, which is right for the names kinds have.
pub fn with_article(kind: &str) -> String {
    let vowel = kind.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::with_article;

    #[test]
    fn kinds_have_articles() {
        assert_eq!(with_article("AuthPolicy"), "an AuthPolicy");
        assert_eq!(with_article("OIDCPolicy"), "an OIDCPolicy");
        assert_eq!(with_article("RateLimitPolicy"), "a RateLimitPolicy");
    }
}
