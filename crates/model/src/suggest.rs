// SPDX-License-Identifier: Apache-2.0
//! In: a word and the words there are. Out: the nearest ones, for "did you mean".
//! Not here: what the words stand for.

/// The at most `most` nearest candidates, nearest first, ties in text order. Far-off words are not offered.
pub fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let lower = word.to_lowercase();
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|c| {
            // Words of very different length are far apart whatever their letters; most are, so look at that first.
            if c.len().abs_diff(lower.len()) * 3 > lower.len().max(c.len()).max(3) {
                return None;
            }
            let distance = distance(&lower, &c.to_lowercase());
            let length = lower.chars().count().max(c.chars().count());
            // A third of the letters may differ; beyond that a suggestion is noise.
            (distance * 3 <= length.max(3)).then_some((distance, c))
        })
        .collect();
    scored.sort_unstable();
    scored.dedup();
    scored.into_iter().take(most).map(|(_, c)| c).collect()
}

/// Longer words are cut before they are compared: this serves people.
const COMPARED: usize = 128;

/// Edit distance in which swapping two neighbours counts as one.
fn distance(a: &str, b: &str) -> usize {
    let cut = |word: &str| word.chars().take(COMPARED).collect::<String>();
    strsim::osa_distance(&cut(a), &cut(b))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn offers_the_nearest_and_nothing_far() {
        let words = ["cart", "card", "checkout", "basket"];
        assert_eq!(nearest("crat", words, 2), ["cart"]);
        assert_eq!(nearest("checkuot", words, 2), ["checkout"]);
        assert!(nearest("zzz", words, 3).is_empty());
    }
}
