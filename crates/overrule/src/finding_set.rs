// SPDX-License-Identifier: Apache-2.0
//! In: findings of all stages. Out: them by place, none twice, where a change costs as much as the findings that change.
//! Not here: finding anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overrule_source::{Code, Diagnostic, Label, Severity, SortedChunks, SourceId, Span};
use overrule_view::PlacedFindings;

/// Where a finding points: a text and the offset in it, or nowhere. Texts are numbered in the order of their names.
type Place = Option<(SourceId, u32)>;

/// Findings by place, none twice. A copy shares all of them.
#[derive(Debug, Clone)]
pub struct FindingSet {
    places: SortedChunks<Place, Pointing>,
    /// Which places have a finding that also points into a text, as something related.
    mentions: SortedChunks<SourceId, Mentioned>,
    /// Which places have findings of a code.
    codes: SortedChunks<(&'static str, Place), OfCode>,
    /// How many there are of each severity.
    severities: BTreeMap<Severity, usize>,
}

/// How many findings of a code point to a place.
#[derive(Debug, Clone)]
struct OfCode {
    key: (&'static str, Place),
    count: usize,
}

/// The findings that point to one place, in order.
#[derive(Debug, Clone)]
struct Pointing {
    place: Place,
    findings: Arc<[Arc<Diagnostic>]>,
}

#[derive(Debug, Clone)]
struct Mentioned {
    source: SourceId,
    at: Arc<[Place]>,
}

impl Default for FindingSet {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl From<Vec<Diagnostic>> for FindingSet {
    fn from(findings: Vec<Diagnostic>) -> Self {
        let mut all: Vec<_> = findings.into_iter().map(|d| (place(&d), d)).collect();
        all.sort();
        all.dedup();
        let (mut places, mut mentions): (Vec<Pointing>, Vec<(SourceId, Place)>) =
            Default::default();
        let mut here: Vec<Arc<Diagnostic>> = Vec::new();
        let mut all = all.into_iter().peekable();
        while let Some((place, finding)) = all.next() {
            mentions.extend(elsewhere(&finding).map(|source| (source, place)));
            here.push(Arc::new(finding));
            if all.peek().is_none_or(|(next, _)| *next != place) {
                let findings = here.drain(..).collect();
                places.push(Pointing { place, findings });
            }
        }
        mentions.sort_unstable();
        mentions.dedup();
        let mentions = mentions.chunk_by(|a, b| a.0 == b.0).filter_map(|of_source| {
            let (source, _) = of_source.first()?;
            let at = of_source.iter().map(|(_, place)| *place).collect();
            Some(Mentioned { source: *source, at })
        });
        let mut severities = BTreeMap::new();
        let mut codes: BTreeMap<(&str, Place), usize> = BTreeMap::new();
        for (at, finding) in places.iter().flat_map(|p| p.findings.iter().map(|d| (p.place, d))) {
            *severities.entry(finding.severity()).or_default() += 1;
            *codes.entry((finding.code.id, at)).or_default() += 1;
        }
        let codes = codes.into_iter().map(|(key, count)| OfCode { key, count });
        Self {
            places: SortedChunks::new(|p| &p.place, places),
            mentions: SortedChunks::new(|m| &m.source, mentions),
            codes: SortedChunks::new(|c| &c.key, codes),
            severities,
        }
    }
}

impl FindingSet {
    /// Every finding, by place.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.places.values().flat_map(|p| p.findings.iter().map(|d| &**d))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.severities.values().sum()
    }

    /// How many there are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.severities.get(&severity).copied().unwrap_or(0)
    }

    /// Those that point into a text first, by place.
    pub fn of_source(&self, source: SourceId) -> impl Iterator<Item = &Diagnostic> {
        let here = self.places.range(Some((source, 0))..=Some((source, u32::MAX)));
        here.flat_map(|p| p.findings.iter().map(|d| &**d))
    }

    /// Those of a code, by place.
    pub fn of_code(&self, code: Code) -> impl Iterator<Item = &Diagnostic> {
        let last = (SourceId(u32::MAX), u32::MAX);
        let all = self.codes.range((code.id, None)..=(code.id, Some(last)));
        let here = all.filter_map(|c| self.places.get(&c.key.1));
        let here = here.flat_map(|p| p.findings.iter().map(|d| &**d));
        here.filter(move |d| d.code.id == code.id)
    }

    /// Counts a finding that comes or goes.
    fn tally(&mut self, finding: &Diagnostic, comes: bool) {
        let step = |count: usize| if comes { count + 1 } else { count.saturating_sub(1) };
        let all = self.severities.entry(finding.severity()).or_default();
        *all = step(*all);
        self.severities.retain(|_, count| *count > 0);
        let key = (finding.code.id, place(finding));
        let count = step(self.codes.get(&key).map_or(0, |c| c.count));
        if count == 0 {
            self.codes.remove(&key);
        } else {
            self.codes.insert(OfCode { key, count });
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.values().next().is_none()
    }

    /// Those that point nowhere.
    pub(crate) fn nowhere(&self) -> impl Iterator<Item = &Diagnostic> {
        self.places.get(&None).into_iter().flat_map(|p| p.findings.iter().map(|d| &**d))
    }

    /// Those that point into one of these texts, as the first place or as something related.
    pub(crate) fn concerning(&self, texts: &BTreeSet<SourceId>) -> BTreeSet<Arc<Diagnostic>> {
        let mut found = BTreeSet::new();
        for text in texts {
            let (first, last) = (Some((*text, 0)), Some((*text, u32::MAX)));
            let own = self.places.range(first..=last);
            found.extend(own.flat_map(|p| p.findings.iter()).cloned());
            let mentions = self.mentions.get(text).into_iter().flat_map(|m| m.at.iter());
            let all = mentions.filter_map(|place| self.places.get(place));
            let all = all.flat_map(|p| p.findings.iter());
            found.extend(all.filter(|d| elsewhere(d).any(|source| source == *text)).cloned());
        }
        found
    }

    /// Takes a finding out.
    pub(crate) fn remove(&mut self, finding: &Diagnostic) {
        let place = place(finding);
        let Some(here) = self.places.get(&place) else { return };
        let rest: Arc<[_]> = here.findings.iter().filter(|d| ***d != *finding).cloned().collect();
        if rest.len() == here.findings.len() {
            return;
        }
        let still: BTreeSet<SourceId> = rest.iter().flat_map(|d| elsewhere(d)).collect();
        if rest.is_empty() {
            self.places.remove(&place);
        } else {
            self.places.insert(Pointing { place, findings: rest });
        }
        self.tally(finding, false);
        for source in elsewhere(finding).filter(|source| !still.contains(source)) {
            let Some(known) = self.mentions.get(&source) else { continue };
            let at: Arc<[_]> = known.at.iter().filter(|at| **at != place).copied().collect();
            if at.is_empty() {
                self.mentions.remove(&source);
            } else {
                self.mentions.insert(Mentioned { source, at });
            }
        }
    }

    /// Puts a finding in, if it is not there yet.
    pub(crate) fn insert(&mut self, finding: Diagnostic) {
        let place = place(&finding);
        for source in elsewhere(&finding) {
            let known = self.mentions.get(&source).map_or(&[][..], |m| &m.at);
            if let Err(to) = known.binary_search(&place) {
                let (before, behind) = known.split_at(to);
                let at = before.iter().chain([&place]).chain(behind).copied().collect();
                self.mentions.insert(Mentioned { source, at });
            }
        }
        let known = self.places.get(&place).map_or(&[][..], |p| &p.findings);
        if let Err(to) = known.binary_search_by(|d| (**d).cmp(&finding)) {
            let (before, behind) = known.split_at(to);
            let told = Arc::new(finding);
            let findings = before.iter().chain([&told]).chain(behind).cloned().collect();
            self.places.insert(Pointing { place, findings });
            self.tally(&told, true);
        }
    }
}

impl PlacedFindings for FindingSet {
    fn within(&self, span: Span) -> Vec<&Diagnostic> {
        let Some(last) = span.end.checked_sub(1).filter(|last| *last >= span.start) else {
            return Vec::new();
        };
        let here = self.places.range(Some((span.source, span.start))..=Some((span.source, last)));
        let mut found: Vec<&Diagnostic> =
            here.flat_map(|p| p.findings.iter().map(|d| &**d)).collect();
        let order = |d: &Diagnostic| (d.primary.as_ref().map(|label| label.span), d.code.id);
        found.sort_by_key(|d| order(d));
        found
    }
}

fn place(finding: &Diagnostic) -> Place {
    finding.primary.as_ref().map(|label| (label.span.source, label.span.start))
}

/// The other texts that a finding points into.
fn elsewhere(finding: &Diagnostic) -> impl Iterator<Item = SourceId> {
    let own = finding.primary.as_ref().map(|label| label.span.source);
    let source = |label: &Label| label.span.source;
    finding.related.iter().map(source).filter(move |source| Some(*source) != own)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use overrule_source::{SourceId, Span, codes};
    use proptest::prelude::*;

    use super::*;

    fn finding((source, start, related, text): (Option<u32>, u32, u32, u8)) -> Diagnostic {
        let span = |source, start| Span { source: SourceId(source), start, end: start + 1 };
        let found = Diagnostic::new(&codes::SYNTAX, format!("text {text}"));
        let found = match source {
            Some(source) => found.at(span(source, start)),
            None => found,
        };
        if related < 4 { found.see(span(related, 0), "other") } else { found }
    }

    fn findings() -> impl Strategy<Value = Vec<Diagnostic>> {
        let one = (prop::option::of(0..4u32), 0..6u32, 0..8u32, 0..3u8).prop_map(finding);
        prop::collection::vec(one, 0..60)
    }

    proptest! {
        #[test]
        fn changing_some_is_making_it_anew(start in findings(), out in findings(), into in findings()) {
            let before = FindingSet::from(start.clone());
            let mut set = before.clone();
            out.iter().for_each(|d| set.remove(d));
            into.iter().cloned().for_each(|d| set.insert(d));
            let mut all: Vec<Diagnostic> = start.iter().filter(|d| !out.contains(d)).cloned().collect();
            all.extend(into);
            let anew = FindingSet::from(all.clone());
            prop_assert_eq!(format!("{set:?}"), format!("{anew:?}"));
            prop_assert_eq!(format!("{before:?}"), format!("{:?}", FindingSet::from(start)));
            for text in (0..4).map(SourceId) {
                let points = |d: &&Diagnostic| d.primary.iter().chain(&d.related).any(|l| l.span.source == text);
                let expected: BTreeSet<_> = all.iter().filter(points).cloned().map(Arc::new).collect();
                prop_assert_eq!(set.concerning(&BTreeSet::from([text])), expected);
            }
            prop_assert_eq!(set.len(), set.iter().count());
            let syntax: Vec<_> = set.of_code(&codes::SYNTAX).collect();
            prop_assert_eq!(syntax, set.iter().collect::<Vec<_>>());
            prop_assert_eq!(set.count(codes::SYNTAX.severity), set.len());
            let sorted = overrule_view::Findings::new(set.iter());
            for (source, start, end) in (0..4).flat_map(|s| (0..6).map(move |e| (s, e / 2, e))) {
                let span = Span { source: SourceId(source), start, end };
                prop_assert_eq!(set.within(span), sorted.within(span));
            }
        }
    }
}
