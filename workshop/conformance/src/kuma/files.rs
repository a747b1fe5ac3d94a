// SPDX-License-Identifier: Apache-2.0
//! In: a file of Kuma's data. Out: its documents and resources. Not here: what a case is about.
//!
//! Files are split before they are read, each piece on its own and without the white space around it: that is how the data
//! was written down, and it shows in block scalars at the end of a piece.

use overrule_mesh::resource::PlacedResource;
use overrule_source::{Documents, DuplicateKeys, Input, NodeRef, ReadOptions, SingleLetters, read};
use serde_json::Value;

/// Documents of several files, each with the number of the file it is from.
pub(super) struct Files {
    pub(super) documents: Documents,
    roots: Vec<(usize, NodeRef)>,
}

impl Files {
    /// Reads texts; the order of pieces is kept.
    pub(super) fn read(texts: &[&str]) -> Self {
        let mut inputs = Vec::new();
        let mut of_file = Vec::new();
        for (file, text) in texts.iter().enumerate() {
            for piece in pieces(text) {
                inputs.push(Input::new(format!("{:06}.yaml", inputs.len()), piece));
                of_file.push(file);
            }
        }
        let options = ReadOptions {
            duplicate_keys: DuplicateKeys::LastWins,
            single_letters: SingleLetters::Text,
            ..ReadOptions::default()
        };
        let documents = read(inputs, &options).documents;
        let mut roots = Vec::new();
        for doc in documents.ids() {
            let root = documents.root(doc);
            let source = root.span().source;
            let name = documents.sources.get(source).map_or("", |s| s.name());
            let number = name.trim_end_matches(".yaml").parse::<usize>().ok();
            let file = number.and_then(|n| of_file.get(n)).copied().unwrap_or(0);
            roots.push((file, NodeRef { doc, node: root.id() }));
        }
        Self { documents, roots }
    }

    /// The resources of one file, in order.
    pub(super) fn resources(&self, file: usize) -> Vec<PlacedResource> {
        let own = self.roots.iter().filter(|(f, _)| *f == file);
        own.filter_map(|(_, root)| PlacedResource::read(&self.documents, *root)).collect()
    }

    /// The first document of a file as a plain value.
    pub(super) fn value(&self, file: usize) -> Value {
        let own = self.roots.iter().find(|(f, _)| *f == file);
        own.map_or(Value::Null, |(_, root)| self.documents.view(*root).to_json())
    }
}

/// The pieces between lines of three dashes, without those that hold nothing but a comment.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let mut found: Vec<String> = vec![String::new()];
    for line in text.trim().lines() {
        match line.strip_prefix("---") {
            Some(rest) => found.push(rest.trim_start().to_owned() + "\n"),
            None => {
                if let Some(last) = found.last_mut() {
                    last.push_str(line);
                    last.push('\n');
                }
            }
        }
    }
    let trimmed = found.iter().map(|piece| piece.trim().to_owned());
    let is_comment = |piece: &str| piece.starts_with('#') && piece.lines().count() == 1;
    let is_content = |piece: &String| !(piece.is_empty() || is_comment(piece));
    trimmed.filter(is_content).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_scalar_at_the_end_has_no_last_break() {
        let of = |text: &str| {
            let read = Files::read(&[text]);
            read.value(0)["a"].as_str().map(str::to_owned)
        };
        assert_eq!(of("a: |\n  b\n  c: |\n    d\n").as_deref(), Some("b\nc: |\n  d"));
        assert_eq!(of("a: |\n  b\nz: 1\n").as_deref(), Some("b\n"));
        assert_eq!(of("a: b\n").as_deref(), Some("b"));
    }
}
