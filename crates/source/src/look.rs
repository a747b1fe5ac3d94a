// SPDX-License-Identifier: Apache-2.0
//! In: the text of one document, unparsed. Out: whether it may concern the reader, and how much of it must be parsed.
//! Not here: parsing. A look costs a small part of that, and a repository is full of texts that are somebody else's.
//!
//! A look never misses a document that concerns the reader: where its first words are not plain to see, it is parsed.

use memchr::memmem;

use crate::concern::{ConcernedKinds, group_of};

/// What a look shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// It concerns the reader.
    Ours,
    /// It may; its tree will tell.
    Maybe,
    /// A resource of somebody else: who it is, is all that counts.
    Stranger {
        /// Whether it defines a kind, so that it counts what it says about that.
        defines: bool,
    },
    /// No resource.
    Other,
    /// There is nothing in it.
    Nothing,
}

/// Keys of kustomizations, which need not say what they are.
const KUSTOMIZATION: [&str; 6] =
    ["resources", "patches", "bases", "components", "patchesStrategicMerge", "patchesJson6902"];

/// Looks at a document.
pub(crate) fn look(text: &str, kinds: &ConcernedKinds) -> Look {
    let Some(body) = content(text) else { return Look::Nothing };
    let first = body.bytes().next().unwrap_or(b' ');
    if !(first.is_ascii_alphanumeric() || matches!(first, b'"' | b'\'' | b'_')) {
        return at_any_depth(body, kinds);
    }
    let mut head = Head::default();
    let mut at = 0;
    loop {
        let line = body.get(at..).unwrap_or("");
        if head.line(line).is_none() {
            return at_any_depth(body, kinds);
        }
        if head.is_whole() {
            break;
        }
        // The next line that is no part of the value above it.
        let mut ends = memchr::memchr_iter(b'\n', line.as_bytes());
        let begins = |end: &usize| {
            !matches!(line.as_bytes().get(end + 1), Some(b' ' | b'\n' | b'#' | b'\r') | None)
        };
        let Some(end) = ends.find(begins) else { break };
        at += end + 1;
    }
    head.look(body, kinds)
}

/// Where the content of a document begins: behind directives, comments, blank lines and its marker.
fn content(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = rest.strip_prefix('\u{feff}').unwrap_or(rest);
        let line = rest.split('\n').next().unwrap_or("");
        let inner = line.trim_start_matches([' ', '\t', '\r']);
        if !(inner.is_empty() || inner.starts_with('#') || line.starts_with('%')) {
            let marker = line.strip_prefix("---").map(str::trim_start);
            match marker {
                Some(behind) if behind.is_empty() || behind.starts_with('#') => {}
                // Content on the line of the marker.
                Some(_) => return rest.get(3..),
                None => return Some(rest),
            }
        }
        rest = rest.get(line.len() + 1..)?;
    }
}

/// The words at the top of a document in block style.
#[derive(Default)]
struct Head<'t> {
    api_version: Option<&'t str>,
    kind: Option<&'t str>,
    kind_of_type: Option<&'t str>,
    name: bool,
    items: bool,
    kustomization: bool,
}

impl<'t> Head<'t> {
    /// Takes in what a line at the left edge says. None if that is not certain.
    fn line(&mut self, line: &'t str) -> Option<()> {
        let bytes = line.as_bytes();
        match bytes.first()? {
            b'-' | b'.' => return Some(()),
            b'"' | b'\'' => {
                let quote = char::from(*bytes.first()?);
                let key = line.get(1..)?.split(quote).next()?;
                if key.contains(['\\', '\n']) {
                    return None;
                }
                return self.entry(key, line.get(key.len() + 2..)?);
            }
            b'?' | b'!' | b'&' | b'*' | b'<' | b'{' | b'[' | b'|' | b'>' => return None,
            // Whatever else begins with these letters.
            b'a' | b'k' | b't' | b'n' | b'i' | b'r' | b'p' | b'b' | b'c' => {}
            _ => return Some(()),
        }
        let key = line.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
        self.entry(key, line.get(key.len()..)?)
    }

    fn entry(&mut self, key: &str, rest: &'t str) -> Option<()> {
        let place = match key {
            "apiVersion" => &mut self.api_version,
            "kind" => &mut self.kind,
            "type" => &mut self.kind_of_type,
            "name" | "items" => {
                *(if key == "name" { &mut self.name } else { &mut self.items }) = true;
                return Some(());
            }
            key if KUSTOMIZATION.contains(&key) => {
                self.kustomization = true;
                return Some(());
            }
            _ => return Some(()),
        };
        let Some(value) = rest.trim_start_matches(' ').strip_prefix(':') else { return Some(()) };
        *place = Some(word(value)?);
        Some(())
    }

    fn is_whole(&self) -> bool {
        self.api_version.is_some() && self.kind.is_some()
    }

    fn look(&self, body: &str, kinds: &ConcernedKinds) -> Look {
        match (self.api_version, self.kind) {
            (Some(api), Some(kind)) => stranger(group_of(api), kind, body, kinds),
            (Some(api), None) if kinds.groups.contains(group_of(api)) => Look::Ours,
            (None, Some(kind)) if kinds.types.contains(kind) => Look::Ours,
            _ if self.name && self.kind_of_type.is_some_and(|name| kinds.types.contains(name)) => {
                Look::Ours
            }
            _ if self.items => at_any_depth(body, kinds),
            // Some kustomizations say nothing but what they list.
            (None, None) if self.kustomization => Look::Maybe,
            _ => Look::Other,
        }
    }
}

fn stranger(group: &str, kind: &str, body: &str, kinds: &ConcernedKinds) -> Look {
    if kinds.has(group, kind) || group == "kustomize.config.k8s.io" {
        return Look::Ours;
    }
    if kind.ends_with("List") {
        return match at_any_depth(body, kinds) {
            Look::Other => Look::Stranger { defines: false },
            look => look,
        };
    }
    // Kubernetes' own kinds attach to nothing.
    let own = !group.contains('.') || group.ends_with(".k8s.io");
    let has = |mark: &&str| memmem::find(body.as_bytes(), mark.as_bytes()).is_some();
    match own {
        true => Look::Stranger { defines: kind == "CustomResourceDefinition" },
        // It looks like a policy.
        false if kinds.marks.iter().any(has) => Look::Ours,
        false if kinds.custom => Look::Maybe,
        false => Look::Stranger { defines: false },
    }
}

/// A plain or quoted word up to the end of its line. None if it is anything else.
fn word(value: &str) -> Option<&str> {
    let line = value.split('\n').next()?.trim_matches([' ', '\t', '\r']);
    let quoted = |quote: char| line.strip_prefix(quote).and_then(|rest| rest.split(quote).next());
    let word = match line.bytes().next()? {
        b'"' => quoted('"')?,
        b'\'' => quoted('\'')?,
        b'!' | b'&' | b'*' | b'|' | b'>' => return None,
        _ => line.split(" #").next()?.trim_end(),
    };
    (!word.contains('\\')).then_some(word)
}

/// Whether a text says anywhere what a document that concerns the reader would say, however it is written.
pub(crate) fn at_any_depth(text: &str, kinds: &ConcernedKinds) -> Look {
    let bytes = text.as_bytes();
    let all = |key: &'static str| {
        memmem::find_iter(bytes, key).filter_map(move |at| value(text.get(at + key.len()..)?))
    };
    // A letter that is written by its number may be any.
    let escaped = || {
        const NUMBER: &str = "\\u00";
        let letter = |at| matches!(bytes.get(at + NUMBER.len()), Some(b'4'..=b'7'));
        memmem::find_iter(bytes, NUMBER).any(letter) || memmem::find(bytes, b"\\x").is_some()
    };
    if mentions(text, kinds) || escaped() {
        return Look::Maybe;
    }
    match all("apiVersion").next().is_some() && all("kind").next().is_some() {
        true if kinds.custom => Look::Maybe,
        true => Look::Stranger { defines: memmem::find(bytes, b"CustomResource").is_some() },
        false => Look::Other,
    }
}

/// The word behind a key, if what came before was one.
fn value(behind: &str) -> Option<&str> {
    // However long a tag or a gap may be, each mention costs no more than this.
    const WINDOW: usize = 256;
    let behind = behind.get(..behind.floor_char_boundary(WINDOW))?;
    let behind = behind.strip_prefix(['"', '\'']).unwrap_or(behind).trim_start();
    let mut value = behind.strip_prefix(':')?.trim_start();
    while value.starts_with(['!', '&', '|', '>']) {
        value = value.get(value.find(char::is_whitespace)?..)?.trim_start();
    }
    let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
    let end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-'));
    let word = value.split(end).next()?;
    (!word.is_empty()).then_some(word)
}

/// Whether a text says anywhere what a resource would say that takes part in an answer.
pub(crate) fn mentions(text: &str, kinds: &ConcernedKinds) -> bool {
    let all = |key: &'static str| {
        memmem::find_iter(text.as_bytes(), key)
            .filter_map(move |at| value(text.get(at + key.len()..)?))
    };
    let is_core = |kind: &str| {
        let one = kind.strip_suffix("List").unwrap_or(kind);
        kinds.kinds.iter().any(|(_, known)| *known == one)
    };
    let mut any = false;
    let mut api = all("apiVersion").inspect(|_| any = true);
    let group = api.any(|api| kinds.groups.contains(group_of(api)));
    let bytes = text.as_bytes();
    let marked = || kinds.marks.iter().any(|mark| memmem::find(bytes, mark.as_bytes()).is_some());
    group
        || (any && (all("kind").any(is_core) || marked()))
        || all("type").any(|name| kinds.types.contains(name))
}
