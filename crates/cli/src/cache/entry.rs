// SPDX-License-Identifier: Apache-2.0
//! In: an answer, or the bytes of a file that should hold one. Out: the other of the two. Not here: files.
//!
//! ```text
//!  MAGIC (16)   key (32)   parts: tag (1), length (8), text   ...   last part: how it ended   checksum (32)
//! ```
//!
//! The checksum is over everything before it. Only exactly what [`encode`] writes counts as an answer.

use overrule_ask::{AskError, AskResult, Exit};

use super::key::CacheKey;
use crate::output::Said;

/// What every entry begins with; the number is the version of this format.
const MAGIC: &[u8; 16] = b"overrule answer1";

/// Bytes of a key and of a checksum.
const HASH: usize = 32;

/// An answer as it was given: what was said, in order, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedAnswer {
    pub said: Vec<Said>,
    pub outcome: AskResult,
}

/// The bytes of an entry; none if this answer is not one to keep: the world may do better next time.
pub fn encode(key: &CacheKey, answer: &CachedAnswer) -> Option<Vec<u8>> {
    let (tag, text) = match &answer.outcome {
        Ok(Exit::Fine) => (b'0', ""),
        Ok(Exit::Findings) => (b'1', ""),
        Err(AskError::NotFound(text)) => (b'n', text.as_str()),
        Err(AskError::Usage(text)) => (b'u', text.as_str()),
        Ok(Exit::Usage | Exit::World) | Err(AskError::World(_) | AskError::Closed) => return None,
    };
    let mut bytes = Vec::new();
    bytes.extend(MAGIC);
    bytes.extend(key.bytes());
    for said in &answer.said {
        match said {
            Said::Result(text) => part(&mut bytes, b'r', text),
            Said::Remark(text) => part(&mut bytes, b'm', text),
            Said::Problem(text) => part(&mut bytes, b'p', text),
        }
    }
    part(&mut bytes, tag, text);
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    Some(bytes)
}

fn part(bytes: &mut Vec<u8>, tag: u8, text: &str) {
    bytes.push(tag);
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// The answer of an entry; none if it is damaged, of another version, or of another key.
pub fn decode(key: &CacheKey, bytes: &[u8]) -> Option<CachedAnswer> {
    let (content, checksum) = bytes.split_last_chunk::<HASH>()?;
    let mut rest = content.strip_prefix(MAGIC)?.strip_prefix(key.bytes())?;
    if blake3::hash(content) != blake3::Hash::from_bytes(*checksum) {
        return None;
    }
    let mut said = Vec::new();
    loop {
        let (tag, text, more) = next(rest)?;
        rest = more;
        let outcome = match tag {
            b'r' => {
                said.push(Said::Result(text));
                continue;
            }
            b'm' => {
                said.push(Said::Remark(text));
                continue;
            }
            b'p' => {
                said.push(Said::Problem(text));
                continue;
            }
            b'0' => Ok(Exit::Fine),
            b'1' => Ok(Exit::Findings),
            b'n' => Err(AskError::NotFound(text)),
            b'u' => Err(AskError::Usage(text)),
            _ => return None,
        };
        return rest.is_empty().then_some(CachedAnswer { said, outcome });
    }
}

/// The first part, and what is behind it.
fn next(bytes: &[u8]) -> Option<(u8, String, &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    Some((*tag, std::str::from_utf8(text).ok()?.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> CacheKey {
        CacheKey::for_tests(n)
    }

    fn answer(outcome: AskResult) -> CachedAnswer {
        let said = vec![
            Said::Result("KIND  NAME\nà\0\u{1b}[1m\n".to_owned()),
            Said::Remark("note: one\ntwo".to_owned()),
            Said::Problem(String::new()),
            Said::Result("more\n".to_owned()),
        ];
        CachedAnswer { said, outcome }
    }

    /// Bytes with a checksum that fits them.
    fn sealed(content: &[u8]) -> Vec<u8> {
        [content, blake3::hash(content).as_bytes()].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        let outcomes = [
            Ok(Exit::Fine),
            Ok(Exit::Findings),
            Err(AskError::NotFound("no such route".to_owned())),
            Err(AskError::Usage("name one".to_owned())),
        ];
        for outcome in outcomes {
            let answer = answer(outcome);
            let bytes = encode(&key(1), &answer).unwrap();
            assert_eq!(decode(&key(1), &bytes), Some(answer));
        }
        let silent = CachedAnswer { said: Vec::new(), outcome: Ok(Exit::Fine) };
        assert_eq!(decode(&key(1), &encode(&key(1), &silent).unwrap()), Some(silent));
    }

    #[test]
    fn what_the_world_refused_is_not_kept() {
        let outcomes = [
            Ok(Exit::World),
            Ok(Exit::Usage),
            Err(AskError::World("disk".to_owned())),
            Err(AskError::Closed),
        ];
        for outcome in outcomes {
            assert_eq!(encode(&key(1), &answer(outcome)), None);
        }
    }

    #[test]
    fn an_entry_of_another_key_is_no_answer() {
        let bytes = encode(&key(1), &answer(Ok(Exit::Fine))).unwrap();
        assert_eq!(decode(&key(2), &bytes), None);
    }

    #[test]
    fn no_shortened_or_lengthened_entry_is_an_answer() {
        let bytes = encode(&key(1), &answer(Ok(Exit::Findings))).unwrap();
        for length in 0..bytes.len() {
            assert_eq!(decode(&key(1), &bytes[..length]), None, "of length {length}");
        }
        for byte in 0..=255 {
            let longer = [&bytes[..], &[byte]].concat();
            assert_eq!(decode(&key(1), &longer), None);
        }
    }

    #[test]
    fn no_entry_with_a_flipped_bit_is_an_answer() {
        let bytes = encode(&key(1), &answer(Ok(Exit::Findings))).unwrap();
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                assert_eq!(decode(&key(1), &damaged), None, "bit {bit} of byte {place}");
            }
        }
    }

    /// A checksum that fits does not make sense of nonsense: nothing is trusted, so nothing can panic.
    #[test]
    fn sealed_nonsense_is_no_answer() {
        let good = encode(&key(1), &answer(Ok(Exit::Fine))).unwrap();
        let content = &good[..good.len() - HASH];
        assert!(decode(&key(1), &sealed(content)).is_some(), "this test seals as encode does");
        for length in 0..content.len() {
            assert_eq!(decode(&key(1), &sealed(&content[..length])), None, "of length {length}");
        }
        let head = &content[..MAGIC.len() + HASH];
        let unknown: &[u8] = b"z\0\0\0\0\0\0\0\0";
        let endless: &[u8] = b"r\xff\xff\xff\xff\xff\xff\xff\xff";
        let no_text: &[u8] = b"r\x01\0\0\0\0\0\0\0\xff0\0\0\0\0\0\0\0\0";
        let behind: &[u8] = b"0\x00\x00\x00\x00\x00\x00\x00\x000\x00\x00\x00\x00\x00\x00\x00\x00";
        for tail in [unknown, endless, no_text, behind] {
            assert_eq!(decode(&key(1), &sealed(&[head, tail].concat())), None, "{tail:?}");
        }
    }
}
