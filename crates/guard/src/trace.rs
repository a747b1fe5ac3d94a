// SPDX-License-Identifier: Apache-2.0
//! In: the head of a request. Out: the trace that it belongs to, as its client named it (W3C Trace Context). Not here: the
//! spans we add to it.

use http::header::HeaderName;
use http::request::Parts;

pub(crate) const TRACE_HEADER: HeaderName = HeaderName::from_static("traceparent");

/// The trace a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent(String);

impl TraceParent {
    /// What a request says, if it says it as the standard has it.
    pub(crate) fn of(parts: &Parts) -> Option<Self> {
        let mut values = parts.headers.get_all(TRACE_HEADER).iter();
        let value = values.next()?.to_str().ok()?;
        // Two of them: nobody can tell which one counts.
        if values.next().is_some() {
            return None;
        }
        Self::parse(value)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('-');
        let mut hex = |length: usize| {
            let field = fields.next()?;
            let lower = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            (field.len() == length && field.bytes().all(lower)).then_some(field)
        };
        let (version, trace, parent) = (hex(2)?, hex(32)?, hex(16)?);
        hex(2)?;
        let zeros = |field: &str| field.bytes().all(|byte| byte == b'0');
        // Later versions may say more after the flags; this one says nothing more.
        let fits = version != "00" || fields.next().is_none();
        let fine = fits && text.len() <= 256 && version != "ff" && !zeros(trace) && !zeros(parent);
        fine.then(|| Self(text.to_owned()))
    }

    /// As it was sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The trace: 32 digits.
    #[must_use]
    pub fn trace(&self) -> &str {
        self.0.split('-').nth(1).unwrap_or_default()
    }

    /// The span of the client: 16 digits.
    #[must_use]
    pub fn span(&self) -> &str {
        self.0.split('-').nth(2).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_standard_allows_is_kept() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let good = format!("00-{trace}-b7ad6b7169203331-01");
        let parsed = TraceParent::parse(&good).unwrap();
        assert_eq!((parsed.trace(), parsed.span()), (trace, "b7ad6b7169203331"));
        assert!(TraceParent::parse(&format!("01-{trace}-b7ad6b7169203331-01-more")).is_some());
        let zeros = "0".repeat(32);
        for bad in [
            format!("00-{trace}-b7ad6b7169203331"),
            format!("00-{trace}-b7ad6b7169203331-01-more"),
            format!("ff-{trace}-b7ad6b7169203331-01"),
            format!("00-{zeros}-b7ad6b7169203331-01"),
            format!("00-{trace}-0000000000000000-01"),
            format!("00-{}-b7ad6b7169203331-01", trace.to_uppercase()),
            format!("01-{trace}-b7ad6b7169203331-01-{}", "x".repeat(300)),
            String::new(),
        ] {
            assert_eq!(TraceParent::parse(&bad), None, "{bad}");
        }
    }
}
