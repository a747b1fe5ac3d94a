// SPDX-License-Identifier: Apache-2.0
//! In: a range of a text that holds YAML. Out: its documents, one after the other, built from the parser's events.
//! Not here: any other use of the parser. It is young; nothing outside this file and `explain` knows which one it is.
//!
//! Scalars resolve as Kubernetes resolves them, also under an unknown tag (which go-yaml takes for a string).

use granit_parser::{Event, Parser, ScalarStyle, Span as Range, StructureStyle, Tag};

use crate::builder::{Builder, Refusal, Slot, shorten};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::scalar::{self, Value};
use crate::source_map::to_u32;
use crate::tree::{Node, NodeKind, Tree};

const CORE: &str = "tag:yaml.org,2002:";

/// Reads every document in `text[chunk]`. `emit` takes each tree and the offset at which it ends. After an error
/// nothing more of the chunk is read.
pub(crate) fn parse(
    builder: &mut Builder<'_>,
    chunk: std::ops::Range<usize>,
    mut emit: impl FnMut(Tree, usize, &mut Builder<'_>),
) -> Result<(), Refusal> {
    let base = chunk.start;
    let text = builder.text.get(chunk).unwrap_or("");
    // One level more than ours, so that our own message speaks.
    let nesting = builder.limits.depth + 1;
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_comments: false,
        flow_nesting_limit: nesting,
        block_nesting_limit: nesting,
    };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut reader = Reader { builder, base, last_end: to_u32(base) };
    while let Some(next) = parser.next_event() {
        match next {
            Ok((Event::DocumentEnd, range)) => {
                let end = range.end.byte_offset().map_or(base, |end| base + end);
                reader.last_end = to_u32(end);
                if let Some(tree) = reader.builder.finish() {
                    emit(tree, end, reader.builder);
                }
            }
            Ok((event, range)) => reader.event(event, range)?,
            Err(error) => {
                let last = reader.last_end as usize;
                return Err(crate::explain::explain(&error, reader.builder, base, last));
            }
        }
    }
    Ok(())
}

struct Reader<'b, 't> {
    builder: &'b mut Builder<'t>,
    /// Where the parser's offset 0 is in the source.
    base: usize,
    /// Where the last token ended.
    last_end: u32,
}

impl Reader<'_, '_> {
    fn event(&mut self, event: Event<'_>, range: Range) -> Result<(), Refusal> {
        let (start, end) = self.place(&range);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(&text, style, anchor, tag.as_deref(), &range)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.check_collection_tag(tag.as_deref(), "seq", &range);
                let start = match (style, self.builder.slot()) {
                    // A list at the indentation of its key has no start of its own in the events.
                    (StructureStyle::Block, Slot::Value | Slot::Merge) => {
                        self.indicator(start, |b| b == b'-').unwrap_or(start)
                    }
                    _ => start,
                };
                self.last_end = self.last_end.max(start + 1);
                self.builder.begin(NodeKind::List, start, anchor, style == StructureStyle::Flow)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.check_collection_tag(tag.as_deref(), "map", &range);
                self.last_end = self.last_end.max(end);
                self.builder.begin(NodeKind::Map, start, anchor, style == StructureStyle::Flow)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                // The end of a block is where the next token is; what a person sees ends with its last token.
                if self.builder.open().is_some_and(|(_, _, flow)| flow) {
                    self.last_end = self.last_end.max(end);
                }
                self.builder.end(self.last_end)
            }
            Event::Alias(anchor) => {
                self.last_end = end;
                self.builder.alias(anchor, (start, end))
            }
            Event::UnresolvedAlias(_) => Err(self.builder.unknown_alias((start, end))),
            Event::DocumentStart(explicit, _) => {
                self.builder.abandon();
                if explicit {
                    self.last_end = end;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn place(&self, range: &Range) -> (u32, u32) {
        let at = |offset: Option<usize>| to_u32(self.base + offset.unwrap_or(0));
        let start = at(range.start.byte_offset());
        (start, at(range.end.byte_offset()).max(start))
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        range: &Range,
    ) -> Result<(), Refusal> {
        let (mut start, mut end) = self.place(range);
        let mut text = text;
        match style {
            ScalarStyle::Plain if start == end => {
                // Nothing is written: the parser says `~` somewhere near.
                text = "";
                start = self.place_of_nothing(start);
                end = start;
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                start = self.indicator(start, |b| b == b'|' || b == b'>').unwrap_or(start);
                let written = self.slice(start, end).trim_end();
                end = start + to_u32(written.len());
                // A text that ends without a line break has none to give to the block, as go-yaml reads it too.
                if end as usize == self.builder.text.len() {
                    text = text.strip_suffix('\n').unwrap_or(text);
                }
            }
            _ => {}
        }
        self.last_end = self.last_end.max(end);
        let at = (start, end);
        self.builder.check_length(text.len(), at)?;
        let plain = style == ScalarStyle::Plain;
        if let Some(tag) = tag {
            let node = self.tagged(text, plain, tag, range, at)?;
            return match node {
                Some(node) => self.builder.scalar(node, anchor),
                None => self.builder.merge_key(start, end),
            };
        }
        if !plain {
            let node = self.builder.text_node(text, at)?;
            return self.builder.scalar(node, anchor);
        }
        self.builder.plain(text, at, anchor)
    }

    /// A scalar with a tag; none if it is a merge key.
    fn tagged(
        &mut self,
        text: &str,
        plain: bool,
        tag: &Tag,
        range: &Range,
        at: (u32, u32),
    ) -> Result<Option<Node>, Refusal> {
        let name = tag.suffix_in_namespace(CORE);
        let fits = match name.as_deref() {
            Some("str" | "timestamp") => Some(Value::Text),
            Some("binary") => {
                return match scalar::binary(text) {
                    Some(text) => Ok(Some(self.builder.text_node(&text, at)?)),
                    None => Err(self.mismatch(tag, at, "base64 text")),
                };
            }
            Some("merge") if text == "<<" && self.builder.slot() == Slot::Key => return Ok(None),
            Some(name @ ("int" | "float" | "bool" | "null")) => {
                let (value, _) = scalar::plain(text);
                match (name, value) {
                    ("float", Value::Int(text)) => Some(Value::Float(text)),
                    ("int", value @ Value::Int(_))
                    | ("float", value @ Value::Float(_))
                    | ("bool", value @ Value::Bool(_))
                    | ("null", value @ Value::Null) => Some(value),
                    _ => None,
                }
            }
            Some("seq" | "map") => None,
            _ => {
                // `!` alone asks for a string; anything else unknown ends as one too.
                if !(tag.handle().is_empty() && tag.suffix() == "!") {
                    let what = if plain { "read as a string" } else { "ignored" };
                    self.warn_tag(tag, range, what);
                }
                Some(Value::Text)
            }
        };
        match fits {
            Some(value) => Ok(Some(self.builder.value_node(text, value, at)?)),
            None => {
                let wanted = match name.as_deref() {
                    Some("int") => "a whole number",
                    Some("float") => "a number",
                    Some("bool") => "`true` or `false`",
                    Some("null") => "`null`",
                    Some("seq") => "a list",
                    _ => "a mapping",
                };
                Err(self.mismatch(tag, at, wanted))
            }
        }
    }

    fn mismatch(&self, tag: &Tag, at: (u32, u32), wanted: &str) -> Refusal {
        let tag = shorten(&tag.original());
        let message = format!("the tag `{tag}` needs {wanted}, and this value is not one");
        let diagnostic = Diagnostic::new(&codes::TAG_MISMATCH, message)
            .at(self.builder.span(at.0, at.1))
            .field(self.builder.path())
            .help("remove the tag, or write a value that fits it");
        Box::new(diagnostic)
    }

    /// go-yaml ignores tags on maps and lists; so do we, and say so unless the tag is the default one.
    fn check_collection_tag(&mut self, tag: Option<&Tag>, default: &str, range: &Range) {
        let Some(tag) = tag else { return };
        let name = tag.suffix_in_namespace(CORE);
        if name.as_deref() != Some(default) && !(tag.handle().is_empty() && tag.suffix() == "!") {
            self.warn_tag(tag, range, "ignored");
        }
    }

    fn warn_tag(&mut self, tag: &Tag, range: &Range, what: &str) {
        let (start, end) = match range.tag_span() {
            Some(range) => self.place(&range),
            None => self.place(range),
        };
        let at = self.builder.span(start, end);
        let tag = shorten(&tag.original());
        self.builder.findings.add(&codes::UNKNOWN_TAG, at, || {
            let message = match what {
                "ignored" => format!("the tag `{tag}` has no effect here and is ignored"),
                _ => format!("unknown tag `{tag}`; the value is read as a string"),
            };
            Diagnostic::new(&codes::UNKNOWN_TAG, message)
                .at(at)
                .help("remove the tag; Kubernetes does not support it")
        });
    }

    fn slice(&self, start: u32, end: u32) -> &str {
        self.builder.text.get(start as usize..end as usize).unwrap_or("")
    }

    /// Where a value would be that is not written: behind its colon or dash.
    fn place_of_nothing(&self, at: u32) -> u32 {
        match self.builder.slot() {
            Slot::Value | Slot::Merge => {
                let rest = self.builder.text.as_bytes().get(at as usize..).unwrap_or_default();
                let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
                match rest.get(blanks) {
                    Some(b':') => at + to_u32(blanks) + 1,
                    _ => at,
                }
            }
            Slot::Item if self.builder.open().is_some_and(|(_, _, flow)| !flow) => {
                // The first dash of a list is the token before; any other one comes after it.
                let last = self.last_end as usize;
                let dash = find_indicator(self.builder.text, last, at as usize, |b| b == b'-');
                dash.map_or(self.last_end, |dash| dash + 1)
            }
            _ => at,
        }
    }

    /// Where the token that introduces a node is: the first byte that fits between the last token and `limit`, behind
    /// colons, anchors, tags and comments.
    fn indicator(&self, limit: u32, fits: impl Fn(u8) -> bool) -> Option<u32> {
        find_indicator(self.builder.text, self.last_end as usize, limit as usize + 1, fits)
    }
}

/// The first byte that fits from `from` on, skipping white space, `:`, `?`, `-`, anchors, tags and comments.
pub(crate) fn find_indicator(
    text: &str,
    from: usize,
    limit: usize,
    fits: impl Fn(u8) -> bool,
) -> Option<u32> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < limit {
        let byte = *bytes.get(at)?;
        if fits(byte) {
            return Some(to_u32(at));
        }
        let rest = bytes.get(at..limit.min(bytes.len())).unwrap_or_default();
        at += match byte {
            b'#' => rest.iter().position(|b| matches!(b, b'\n' | b'\r'))?,
            b'&' | b'!' => rest.iter().position(u8::is_ascii_whitespace)?,
            b':' | b'-' | b'?' | b',' | b'[' | b'{' => 1,
            // A byte order mark may begin a document.
            0xEF | 0xBB | 0xBF => 1,
            _ if byte.is_ascii_whitespace() => 1,
            _ => return None,
        };
    }
    None
}
