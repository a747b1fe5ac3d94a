// SPDX-License-Identifier: Apache-2.0
//! In: a text block that begins with `|`, `|-` or `|+`. Out: its node.
//! Not here: folded blocks, blocks with an indentation digit, blocks whose indentation is not plain to see.

use super::{Reader, Sure, Unsure};
use crate::source_map::to_u32;

impl Reader<'_, '_> {
    /// Reads a text block; `at` is behind its last line afterwards.
    pub(super) fn literal(&mut self) -> Sure<()> {
        let start = self.at;
        let parent = self.open.last().map(|block| block.indent).ok_or(Unsure)?;
        self.at += 1;
        let chomp = self.peek().filter(|b| matches!(b, b'-' | b'+'));
        self.at += usize::from(chomp.is_some());
        self.end_of_line()?;
        let mut text = String::new();
        let mut indent = None;
        // Line breaks seen since the last line with text.
        let mut breaks = 0;
        let mut end = start + 1;
        loop {
            let line = self.bytes.get(self.at..).unwrap_or_default();
            let Some(length) = line.iter().position(|b| *b == b'\n') else {
                // The last line without a break has rules of its own.
                if line.is_empty() {
                    break;
                }
                return Err(Unsure);
            };
            let blanks = line.iter().take_while(|b| **b == b' ').count();
            if blanks == length {
                // Blanks beyond the indentation would be text.
                if indent.is_none_or(|indent| blanks > indent) && blanks > 0 {
                    return Err(Unsure);
                }
                breaks += 1;
                self.at += length + 1;
                continue;
            }
            let indent = *indent.get_or_insert(blanks);
            if blanks < indent || indent <= parent {
                if blanks > parent {
                    return Err(Unsure);
                }
                break;
            }
            text.extend(std::iter::repeat_n('\n', breaks));
            breaks = 1;
            let from = self.at + indent;
            let written = self.text.get(from..self.at + length).ok_or(Unsure)?;
            text.push_str(written);
            end = from + written.trim_end().len();
            self.at += length + 1;
        }
        // Without any text the rules are not those below.
        if text.is_empty() {
            return Err(Unsure);
        }
        match chomp {
            Some(b'-') => {}
            Some(_) => text.extend(std::iter::repeat_n('\n', breaks)),
            None => text.push('\n'),
        }
        self.last_end = self.last_end.max(end);
        let at = (to_u32(start), to_u32(end));
        let node = self.builder.text_node(&text, at).or(Err(Unsure))?;
        self.builder.scalar(node, 0).or(Err(Unsure))
    }
}
