// SPDX-License-Identifier: Apache-2.0
//! In: a piece of text. Out: whether it is a Helm template, whether it looks like JSON, whether it mentions a kind.
//! Not here: parsing. These are looks at the surface, for texts that may not parse at all.

/// Offset of the first template action (`{{`) of a text that did not parse, outside of quotes, comments and text blocks.
pub(crate) fn template_action(text: &str) -> Option<usize> {
    let mut block: Option<usize> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end();
        let content = body.trim_start();
        let indent = body.len() - content.len();
        if let Some(parent) = block
            && !content.is_empty()
            && indent <= parent
        {
            block = None;
        }
        if block.is_none() && !content.is_empty() {
            let (code, action) = scan_line(content);
            if let Some(offset) = action {
                return Some(start + indent + offset);
            }
            if is_block_header(code) {
                block = Some(indent);
            }
        }
        start += line.len();
    }
    None
}

/// The line without its comment, and the first `{{` in it outside of quotes.
fn scan_line(line: &str) -> (&str, Option<usize>) {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open && before != '\\' => quote = None,
            Some(_) => {}
            // A quote inside a word is an apostrophe.
            None if matches!(c, '"' | '\'') && !before.is_alphanumeric() => quote = Some(c),
            None if c == '#' && before.is_whitespace() => {
                return (line.get(..at).unwrap_or("").trim_end(), None);
            }
            None if c == '{' && line.get(at + 1..).is_some_and(|rest| rest.starts_with('{')) => {
                return (line, Some(at));
            }
            None => {}
        }
        before = if before == '\\' && c == '\\' { ' ' } else { c };
    }
    (line, None)
}

/// Whether a line ends with `|`, `>` and their modifiers.
fn is_block_header(line: &str) -> bool {
    let head = line.trim_end_matches(|c: char| matches!(c, '-' | '+') || c.is_ascii_digit());
    let Some(before) = head.strip_suffix(['|', '>']) else { return false };
    before.is_empty() || before.ends_with([' ', '\t'])
}

/// Offset of a Helm action in a plain scalar. Other tools use `{{` too (Prometheus, Argo), so that it must look like Helm.
pub(crate) fn helm_action(text: &str) -> Option<usize> {
    const WORDS: [&str; 16] = [
        "if", "else", "end", "range", "with", "include", "template", "define", "block", "tpl",
        "toYaml", "toJson", "default", "required", "lookup", "printf",
    ];
    const OBJECTS: [&str; 7] =
        [".Values", ".Release", ".Chart", ".Capabilities", ".Files", ".Template", ".Subcharts"];
    let last = text.rfind("}}")?;
    text.match_indices("{{").map(|(at, _)| at).take_while(|&at| at < last).find(|&at| {
        let action = text.get(at + 2..).unwrap_or("");
        let action = action.strip_prefix('-').unwrap_or(action).trim_start();
        let action = action.strip_prefix('$').unwrap_or(action);
        let word = action.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        WORDS.contains(&word) || OBJECTS.iter().any(|object| action.starts_with(object))
    })
}

/// Where the JSON of a chunk begins: behind a document marker, comments and blank lines, if `{` or `[` is next.
pub(crate) fn json_start(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let content = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        at += rest.len() - content.len();
        if content.starts_with("{{") {
            return None;
        }
        if content.starts_with(['{', '[']) {
            return Some(at);
        }
        if content.starts_with("--- ")
            || content.starts_with("---\n")
            || content.starts_with("---\r")
        {
            at += 3;
        } else if content.starts_with('#') {
            at += content.find(['\n', '\r'])?;
        } else {
            return None;
        }
    }
}

/// Whether what begins with `{` or `[` goes on as JSON does rather than as YAML in flow style.
pub(crate) fn is_json(text: &str) -> bool {
    let next = text.get(1..).unwrap_or("").trim_start().chars().next();
    match text.chars().next() {
        Some('{') => matches!(next, Some('"' | '}')),
        _ => matches!(next, Some('"' | '{' | '[' | ']')),
    }
}

/// Whether a text has a `kind` of this name or of a list of it, however it is quoted, also where it cannot be parsed.
pub(crate) fn mentions_kind(text: &str, kind: &str) -> bool {
    // However long a tag or a gap may be, each mention costs no more than this.
    const WINDOW: usize = 1024;
    text.match_indices("kind").any(|(at, word)| {
        let rest = text.get(at + word.len()..).unwrap_or("");
        let rest = rest.get(..rest.floor_char_boundary(WINDOW)).unwrap_or("");
        let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest).trim_start();
        let Some(mut value) = rest.strip_prefix(':').map(str::trim_start) else { return false };
        // A tag, an anchor, a block indicator.
        while value.starts_with(['!', '&', '|', '>']) {
            value =
                value.find(char::is_whitespace).map_or("", |end| value.get(end..).unwrap_or(""));
            value = value.trim_start();
        }
        let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
        let Some(after) = value.strip_prefix(kind) else { return false };
        let after = after.strip_prefix("List").unwrap_or(after);
        !after.starts_with(|c: char| c.is_alphanumeric())
    })
}
