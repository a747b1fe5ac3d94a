// SPDX-License-Identifier: Apache-2.0
//! `overrule apply`, `delete` and `watch`: changing what a server has, and following what that changes. Not here: HTTP.

use std::io::BufRead;

use overrule::files;
use overrule_ask::percent::encode;
use overrule_ask::{AskError, AskResult, Exit, Form, Shared, Sink};

use crate::args::{Apply, Delete, Source, Watch};
use crate::output::Out;
use crate::remote::{Remote, path};

fn remote(source: &Source) -> Result<Remote, AskError> {
    Remote::named(source)?.ok_or_else(|| {
        AskError::Usage(
            "name the server: --server http://127.0.0.1:5681, or OVERRULE_SERVER".to_owned(),
        )
    })
}

/// Files as one stream of documents.
#[derive(Default)]
struct Stream {
    text: String,
    /// The line of the stream at which each file begins.
    begins: Vec<(u64, Box<str>)>,
}

impl Stream {
    fn read(source: &Source, out: &mut Out) -> Result<Self, AskError> {
        let found = files::find(&source.files());
        let (inputs, unreadable) = files::read(found.files);
        let mut complete = true;
        for error in found.errors.iter().chain(&unreadable) {
            complete &= !error.fatal;
            out.problem(&error.to_string());
        }
        if !complete {
            // Half of a folder is not what somebody wants applied.
            return Err(AskError::World("nothing was sent".to_owned()));
        }
        let mut stream = Self::default();
        let mut line = 1;
        for input in inputs {
            let content = String::from_utf8(input.bytes)
                .map_err(|e| AskError::World(format!("{}: not UTF-8: {e}", input.name)))?;
            stream.begins.push((line, input.name));
            stream.text.push_str(&content);
            stream.text.push_str("\n---\n");
            line = stream.text.lines().count() as u64 + 1;
        }
        Ok(stream)
    }

    /// A refusal whose places are those of the files that were sent.
    fn in_files(&self, failure: AskError) -> AskError {
        match failure {
            AskError::NotFound(text) => {
                let lines: Vec<String> = text.lines().map(|line| self.in_file(line)).collect();
                AskError::NotFound(lines.join("\n"))
            }
            other => other,
        }
    }

    fn in_file(&self, line: &str) -> String {
        let place = line.strip_prefix("body:").and_then(|rest| rest.split_once(':'));
        let place = place.and_then(|(n, rest)| Some((n.parse::<u64>().ok()?, rest)));
        let found = place.and_then(|(number, rest)| {
            let (begin, name) = self.begins.iter().rev().find(|(begin, _)| *begin <= number)?;
            Some(format!("{name}:{}:{rest}", number - begin + 1))
        });
        found.unwrap_or_else(|| line.to_owned())
    }
}

fn form(shared: &Shared) -> &'static str {
    match shared.form() {
        Some(Form::Json) => "json",
        _ => "table",
    }
}

fn query(shared: &Shared, dry_run: bool) -> Vec<(String, String)> {
    let mut query = vec![("output".to_owned(), form(shared).to_owned())];
    if dry_run {
        query.push(("dry-run".to_owned(), "true".to_owned()));
    }
    query
}

/// Stores what files say.
pub fn apply(source: &Source, shared: &Shared, asked: &Apply, out: &mut Out) -> AskResult {
    let remote = remote(source)?;
    let stream = Stream::read(source, out)?;
    let path = path("/v1/apply", &query(shared, asked.dry_run));
    let said = remote.ask("POST", &path, &stream.text).map_err(|e| stream.in_files(e))?;
    out.result(&said.text)?;
    Ok(said.exit)
}

/// Deletes targets, or what files name.
pub fn delete(source: &Source, shared: &Shared, asked: &Delete, out: &mut Out) -> AskResult {
    let remote = remote(source)?;
    let query = query(shared, asked.dry_run);
    if asked.targets.is_empty() {
        if source.files.is_empty() {
            let detail = "name what to delete: targets, or files with -f";
            return Err(AskError::Usage(detail.to_owned()));
        }
        let stream = Stream::read(source, out)?;
        let path = path("/v1/delete", &query);
        let said = remote.ask("POST", &path, &stream.text).map_err(|e| stream.in_files(e))?;
        out.result(&said.text)?;
        return Ok(said.exit);
    }
    for target in targets(shared, &asked.targets) {
        let resource = format!("/v1/resources/{}", encode(&target));
        let said = remote.ask("DELETE", &path(&resource, &query), "")?;
        out.result(&said.text)?;
    }
    Ok(Exit::Fine)
}

/// Targets in full. Two words without a slash are the kind and the name of one, as kubectl has it.
fn targets(shared: &Shared, typed: &[String]) -> Vec<String> {
    let namespace = shared.namespace.as_deref().filter(|_| !shared.all_namespaces);
    let full = |target: String| match (target.split_once('/'), namespace) {
        (Some((kind, name)), Some(namespace)) if !name.contains('/') => {
            format!("{kind}/{namespace}/{name}")
        }
        _ => target,
    };
    match typed {
        [kind, name] if !kind.contains('/') && !name.contains('/') => {
            vec![full(format!("{kind}/{name}"))]
        }
        typed => typed.iter().cloned().map(full).collect(),
    }
}

/// Tells what changes, until it is interrupted.
pub fn watch(source: &Source, shared: &Shared, asked: &Watch, out: &mut Out) -> AskResult {
    let remote = remote(source)?;
    let mut query = vec![("output".to_owned(), form(shared).to_owned())];
    let words: Vec<String> = asked.target.iter().chain(&asked.name).cloned().collect();
    let target = targets(shared, &words).into_iter().next();
    let given = [("kind", &asked.kind), ("target", &target), ("since", &asked.since)];
    for (name, value) in given {
        query.extend(value.iter().map(|v| (name.to_owned(), v.clone())));
    }
    let mut lines = remote.stream(&path("/v1/watch", &query))?;
    let mut line = String::new();
    let mut event = String::new();
    loop {
        line.clear();
        let read = lines.read_line(&mut line);
        match read.map_err(|e| AskError::World(format!("the server went away: {e}")))? {
            0 => return Err(AskError::World("the server closed the connection".to_owned())),
            _ => {
                let line = line.trim_end_matches(['\r', '\n']);
                if let Some(name) = line.strip_prefix("event: ") {
                    name.clone_into(&mut event);
                } else if let Some(data) = line.strip_prefix("data: ") {
                    match event.as_str() {
                        "change" => out.line(data)?,
                        "version" => out.remark(&format!("watching from version {}", digits(data))),
                        _ => {}
                    }
                    out.flush()?;
                    if out.is_closed() {
                        return Ok(Exit::Fine);
                    }
                } else if line == "data:" && event == "change" {
                    out.line("")?;
                }
            }
        }
    }
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_written_as_kubectl_does_too() {
        let shared = |namespace: Option<&str>| Shared {
            namespace: namespace.map(str::to_owned),
            ..Shared::default()
        };
        let full = |namespace, typed: &[&str]| {
            let typed: Vec<String> = typed.iter().map(|t| (*t).to_owned()).collect();
            targets(&shared(namespace), &typed)
        };
        assert_eq!(full(Some("shop"), &["httproute", "cart"]), ["httproute/shop/cart"]);
        assert_eq!(
            full(Some("shop"), &["httproute/cart", "gateway/infra/edge"]),
            ["httproute/shop/cart", "gateway/infra/edge"]
        );
        assert_eq!(full(None, &["gatewayclass", "edge"]), ["gatewayclass/edge"]);
        assert_eq!(
            full(None, &["gatewayclass/edge", "gateway/a/b"]),
            ["gatewayclass/edge", "gateway/a/b"]
        );
    }
}
