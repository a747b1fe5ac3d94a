// SPDX-License-Identifier: Apache-2.0
//! In: what the YAML parser could not read, and where. Out: the same in plain words, at the place of the mistake, with
//! a remedy.
//! Not here: problems of well-formed YAML (`builder`).
//!
//! A parser notices a mistake later than it was made: an unclosed bracket at the next colon, a missing space at the
//! line after. Where the text shows the real mistake, the finding points there.

use granit_parser::{ErrorKind, ScanError};

use crate::builder::{Builder, Refusal, shorten};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source_map::to_u32;
use crate::tree::NodeKind;
use crate::yaml::find_indicator;

/// A finding in the making: where, what, and what to do.
struct Finding {
    at: usize,
    message: String,
    help: &'static str,
}

const SPACES: &str = "YAML forbids tabs for indentation; use spaces";
const INDENT: &str =
    "check the indentation: entries of one map or list must start in the same column";
const QUOTE: &str = "put the value in quotes";
const COLON_SPACE: &str = "put a space after the colon: `key: value`";

/// The finding for a parser error. `base` is where the parser's offset 0 is, `last` where the last good token ended.
pub(crate) fn explain(
    error: &ScanError,
    builder: &Builder<'_>,
    base: usize,
    last: usize,
) -> Refusal {
    let text = builder.text;
    let at = error.marker().byte_offset().map_or(last, |offset| base + offset).min(text.len());
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        return builder.too_deep((to_u32(at), to_u32(at)));
    }
    let open = builder.open().filter(|(_, _, flow)| *flow);
    // A single `key: value` in a list is a mapping without braces.
    let bracket = |(_, start, _): &(NodeKind, u32, bool)| {
        text.get(*start as usize..).is_some_and(|rest| rest.starts_with(['[', '{']))
    };
    let finding = find(error.kind(), text, at, last, open.is_some());
    let start = to_u32(finding.at);
    let width = text.get(finding.at..).and_then(|rest| rest.chars().next());
    let end = start + width.filter(|c| !c.is_whitespace()).map_or(0, |c| to_u32(c.len_utf8()));
    let mut diagnostic = Diagnostic::new(&codes::SYNTAX, finding.message)
        .at(builder.span(start, end))
        .help(finding.help);
    if let Some((kind, opened, _)) = open.filter(bracket)
        && opened != start
    {
        let bracket = if kind == NodeKind::Map { "`{`" } else { "`[`" };
        diagnostic = diagnostic
            .see(builder.span(opened, opened + 1), format!("inside the {bracket} opened here"));
    }
    Box::new(diagnostic)
}

fn find(kind: &ErrorKind, text: &str, at: usize, last: usize, in_flow: bool) -> Finding {
    use ErrorKind as E;
    let new = |at: usize, message: &str, help| Finding { at, message: message.to_owned(), help };
    match kind {
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabInIndentation
        | E::TabInPlainScalar
        | E::TabAtBlockScalarStart
        | E::InvalidBlockEntryWhitespace
        | E::InvalidMappingValueWhitespace => {
            new(tab_near(text, at), "a tab is used for indentation", SPACES)
        }
        E::MappingValueNotAllowed | E::InvalidColonPlacement | E::SimpleKeyExpected if !in_flow => {
            colon(kind, text, at)
        }
        E::InvalidColonPlacement
        | E::ExpectedFlowMappingSeparator
        | E::ExpectedFlowSequenceSeparator
        | E::UnexpectedEofFlowSequence
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping
        | E::MappingValueNotAllowed
        | E::SimpleKeyExpected
        | E::BlockEntryInFlowCollection
        | E::InvalidFlowScalarIndent => new(
            at,
            "this does not fit the bracketed list or mapping around it",
            "close the bracket before it, or separate the entries with `,`",
        ),
        E::UnclosedFlowCollection { open } => Finding {
            at,
            message: format!("the bracket `{open}` is never closed"),
            help: "add the closing bracket",
        },
        E::MisplacedFlowCollectionEnd => new(
            at,
            "this closing bracket has no opening bracket",
            "remove it, or add the opening bracket before it",
        ),
        E::MismatchedFlowCollectionEnd { open, close } => Finding {
            at,
            message: format!("`{open}` is closed with `{close}`"),
            help: "close `[` with `]` and `{` with `}`",
        },
        E::UnclosedQuotedScalar
        | E::InvalidQuotedScalarIndent
        | E::DocumentIndicatorInQuotedScalar => new(
            opening_quote(text, last, at),
            "this quote is not closed on the same line",
            "close the quote; a value over several lines must be indented deeper than its key",
        ),
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => new(
            at,
            "there is text after the closing quote",
            "quote the whole value; inside single quotes double each quote, inside double quotes write `\\\"`",
        ),
        E::UnknownQuotedScalarEscape
        | E::InvalidQuotedScalarHexEscape
        | E::InvalidUnicodeEscape => new(
            at,
            "invalid escape in this double-quoted text",
            "write `\\\\` for a backslash, or use single quotes",
        ),
        E::InvalidLowSurrogateHexEscape
        | E::InvalidLowSurrogate
        | E::MissingLowSurrogate
        | E::UnpairedLowSurrogate => new(
            at,
            "a `\\u` escape in this text is half of a surrogate pair",
            "write both halves, or the character itself",
        ),
        E::UnexpectedCharacter { character } => character_help(at, *character),
        E::MissingAnchorOrAliasName => {
            let character = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('*');
            character_help(at, character)
        }
        E::ExpectedBlockMappingKey => {
            new(line_content(text, at), "expected a key of the mapping above", INDENT)
        }
        E::ExpectedBlockSequenceEntry => {
            new(line_content(text, at), "expected a `- ` entry of the list above", INDENT)
        }
        E::BlockSequenceEntryNotAllowed => new(
            at,
            "a list cannot start here",
            "put each `- ` entry on its own line below the key; quote the value if it is text",
        ),
        E::InvalidIndentation | E::MappingKeyNotAllowed => {
            new(line_content(text, at), "this line has the wrong indentation", INDENT)
        }
        E::InvalidBlockScalarIndent => new(
            line_content(text, at),
            "a line of the text block is indented less than its first line",
            "indent all lines of the block equally, or set the indentation with a digit, as in `|2`",
        ),
        E::ZeroBlockScalarIndent | E::InvalidBlockScalarHeader => new(
            at,
            "unexpected text on the line that starts a text block",
            "write only `|` or `>`, with `-` or `+`, after the colon; the text starts on the next line",
        ),
        E::ExpectedDocumentStart | E::InvalidDocumentEnd => new(
            at,
            "there is text after the end of the document",
            "separate documents with a line `---`, or remove the text",
        ),
        E::CommentInterceptedScalar | E::CommentNotSeparated => new(
            at,
            "a comment interrupts a value",
            "put a space before `#`, and no comments inside a value of several lines",
        ),
        E::BomInsideDocument => new(
            at,
            "there is a byte order mark in the middle of the text",
            "remove it; it is often left over from joining files",
        ),
        E::UndeclaredTagHandle => new(
            at,
            "a tag uses a prefix that no `%TAG` line declares",
            "quote the value if the `!` is meant as text, otherwise remove the tag",
        ),
        E::UnexpectedEofBlockSequence
        | E::UnexpectedEofBlockMapping
        | E::UnexpectedEof
        | E::UnexpectedEndOfPlainScalar => {
            new(at, "the text ends in the middle of a value", "complete the last value")
        }
        E::PlainScalarStartsWithDashFlowIndicator => {
            new(at, "a value cannot start with `-` and a bracket or comma", QUOTE)
        }
        E::ExpectedNodeContent => new(
            at,
            "expected a value here",
            "write the value, or quote it if it starts with a special character",
        ),
        other => Finding {
            at,
            message: plain_words(&other.to_string()),
            help: "see the YAML 1.2 specification; quoting the value often helps",
        },
    }
}

/// A colon, or the lack of one, in block style.
fn colon(kind: &ErrorKind, text: &str, at: usize) -> Finding {
    let line = line_start(text, at);
    let before = text.get(line..at).unwrap_or("");
    let rest = text.get(line..).unwrap_or("").lines().next().unwrap_or("");
    // `key: value: more` has a colon that ends a key before the one that is too many.
    if before.trim_start().contains(": ") {
        return Finding {
            at,
            message: "a second `: ` on the line would make the value a mapping".to_owned(),
            help: "put the value in quotes, or start the inner mapping on a new line",
        };
    }
    if matches!(kind, ErrorKind::SimpleKeyExpected) {
        let message = format!("`{}` is not a `key: value` entry", shorten(rest.trim()));
        let at = line_content(text, at);
        return match tight_colon(rest) {
            Some(offset) => Finding { at: line + offset, message, help: COLON_SPACE },
            None => Finding { at, message, help: "add the missing colon and a space after it" },
        };
    }
    // The line above was taken for text that goes on here: its colon has no space, or this line is too deep.
    if let Some((start, above)) = line_above(text, line)
        && let Some(offset) = tight_colon(above)
    {
        return Finding {
            at: start + offset,
            message: format!("the colon in `{}` has no space after it", shorten(above.trim())),
            help: COLON_SPACE,
        };
    }
    Finding {
        at: line_content(text, at),
        message: "this key is not aligned with the entries above it".to_owned(),
        help: INDENT,
    }
}

/// Offset of the colon in a line like `key:value`.
fn tight_colon(line: &str) -> Option<usize> {
    let colon = line.find(':')?;
    let key = line.get(..colon)?.trim_start().trim_start_matches("- ");
    let word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let next = line.get(colon + 1..)?.chars().next()?;
    let tight = !key.is_empty() && key.chars().all(word) && !next.is_whitespace() && next != '/';
    tight.then_some(colon)
}

fn character_help(at: usize, character: char) -> Finding {
    if character.is_control() {
        return Finding {
            at,
            message: format!("the control character U+{:04X} is not allowed", u32::from(character)),
            help: "remove it, or write it as an escape in double quotes",
        };
    }
    let help = match character {
        '*' => "put the value in quotes; an unquoted `*` refers to an anchor",
        '&' => "put the value in quotes; an unquoted `&` defines an anchor",
        _ => QUOTE,
    };
    Finding { at, message: format!("a plain value cannot start with `{character}`"), help }
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or("");
    before.rfind(['\n', '\r']).map_or(0, |end| end + 1)
}

/// The first character of the line that is not white space.
fn line_content(text: &str, at: usize) -> usize {
    let start = line_start(text, at);
    let line = text.get(start..at).unwrap_or("");
    start + (line.len() - line.trim_start().len())
}

/// Start and text of the nearest line above that is neither blank nor a comment.
fn line_above(text: &str, line: usize) -> Option<(usize, &str)> {
    let mut end = line;
    while end > 0 {
        let start = line_start(text, end - 1);
        let above = text.get(start..end).unwrap_or("").trim_end();
        if !above.trim_start().is_empty() && !above.trim_start().starts_with('#') {
            return Some((start, above));
        }
        end = start;
    }
    None
}

/// The first tab in the indentation of the line or of one that follows, or where the parser stopped.
fn tab_near(text: &str, at: usize) -> usize {
    // The parser may say so at the start of the value that the tab interrupts.
    const LINES: usize = 100;
    let mut start = line_start(text, at);
    for line in text.get(start..).unwrap_or("").split_inclusive('\n').take(LINES) {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(offset) = line.get(..indent).unwrap_or("").find('\t') {
            return start + offset;
        }
        start += line.len();
    }
    at
}

/// The quote that opens the text the parser was in.
fn opening_quote(text: &str, last: usize, at: usize) -> usize {
    let quote = |b| b == b'"' || b == b'\'';
    find_indicator(text, last, at.max(last) + 1, quote).map_or(at, |offset| offset as usize)
}

/// The parser's own words for the rare rest, without its manner of speaking.
fn plain_words(message: &str) -> String {
    let message = message.replace("did not find expected", "there is no").replace('\'', "`");
    let message = message.trim_end_matches('.');
    let mut chars = message.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => "invalid YAML".to_owned(),
    }
}
