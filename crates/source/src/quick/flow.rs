// SPDX-License-Identifier: Apache-2.0
//! In: a list or mapping in brackets that ends on its line. Out: its nodes.
//! Not here: brackets over several lines, single pairs in lists, keys without values: all left to the full parser.

use super::{Reader, Sure, Unsure};
use crate::source_map::to_u32;
use crate::tree::NodeKind;

impl Reader<'_, '_> {
    /// Reads from an opening bracket to its closing one.
    pub(super) fn flow(&mut self) -> Sure<()> {
        let mut open: Vec<NodeKind> = Vec::new();
        loop {
            // A value is due: a bracket or a scalar.
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    let kind = if bracket == b'{' { NodeKind::Map } else { NodeKind::List };
                    self.builder.begin(kind, to_u32(self.at), 0, true).or(Err(Unsure))?;
                    open.push(kind);
                    self.at += 1;
                    self.skip_blanks();
                    if self.closes(kind) {
                        self.close_bracket(&mut open)?;
                    } else {
                        self.flow_key(kind)?;
                        continue;
                    }
                }
                _ => self.flow_scalar(true)?,
            }
            loop {
                let Some(&kind) = open.last() else { return Ok(()) };
                self.skip_blanks();
                if self.closes(kind) {
                    self.close_bracket(&mut open)?;
                } else if self.peek() == Some(b',') {
                    self.at += 1;
                    self.skip_blanks();
                    self.flow_key(kind)?;
                    break;
                } else {
                    return Err(Unsure);
                }
            }
        }
    }

    fn closes(&self, kind: NodeKind) -> bool {
        self.peek() == Some(if kind == NodeKind::Map { b'}' } else { b']' })
    }

    fn close_bracket(&mut self, open: &mut Vec<NodeKind>) -> Sure<()> {
        self.at += 1;
        self.last_end = self.at;
        open.pop();
        self.builder.end(to_u32(self.at)).or(Err(Unsure))
    }

    /// The key, colon and blank before a value in a mapping; nothing in a list.
    fn flow_key(&mut self, kind: NodeKind) -> Sure<()> {
        if kind == NodeKind::List {
            return Ok(());
        }
        self.flow_scalar(false)?;
        if self.peek() != Some(b':') || self.bytes.get(self.at + 1) != Some(&b' ') {
            return Err(Unsure);
        }
        self.at += 1;
        self.skip_blanks();
        Ok(())
    }

    fn flow_scalar(&mut self, is_value: bool) -> Sure<()> {
        let token = match self.peek() {
            Some(b'"') => self.double_quoted()?,
            Some(b'\'') => self.single_quoted()?,
            _ => self.plain(true)?,
        };
        self.at = token.end;
        self.skip_blanks();
        if is_value == (self.peek() == Some(b':')) {
            return Err(Unsure);
        }
        self.scalar(token)
    }
}
