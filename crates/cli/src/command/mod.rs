// SPDX-License-Identifier: Apache-2.0
//! In: what was typed. Out: the world it is about, and the answer to it. Not here: answering (`overrule-ask`).

pub mod client;
pub mod diff;
pub mod docs;
pub mod rule;
pub mod serve;
pub mod test;

use std::path::Path;

use overrule_ask::{
    AskError, AskResult, Asked, Everything, Exit, Known, NamedText, Parameters, Shared,
};

use crate::args::{Args, CanOrMany, Source};
use crate::cache::Cache;
use crate::output::Out;
use crate::remote::Remote;
use crate::typed::Typed;
use crate::world::{self, Read};

/// Reads what the options name and answers a question about it.
pub fn answer<T: Asked>(args: &Args, asked: &Typed<T>, out: &mut Out) -> AskResult {
    let outcome = answer_with(args, &asked.0, None, out);
    outcome.map_err(|failure| or_a_file(&asked.0, failure))
}

/// Says how files are named, if one was named where a target or a kind belongs.
fn or_a_file<T: Parameters>(asked: &T, failure: AskError) -> AskError {
    let rows = T::TABLE.iter().zip(asked.texts()).filter(|(row, _)| row.positional);
    let mut file = rows.flat_map(|(_, texts)| texts).filter(|text| Path::new(text).exists());
    match (file.next(), failure) {
        (Some(file), AskError::Usage(why)) => {
            AskError::Usage(format!("{why}\n`{file}` is a file or folder; to read it: -f {file}"))
        }
        (Some(file), AskError::NotFound(why)) => AskError::NotFound(format!(
            "{why}\n`{file}` is a file or folder; to read it: -f {file}"
        )),
        (_, failure) => failure,
    }
}

/// The same for `can`, whose questions may stand in a file.
pub fn can(args: &Args, asked: &CanOrMany, out: &mut Out) -> AskResult {
    let mut one = asked.one.0.clone();
    if let Some(file) = &asked.matrix {
        let name = file.display().to_string();
        let text =
            std::fs::read_to_string(file).map_err(|e| AskError::World(format!("{name}: {e}")))?;
        if let Some(remote) = Remote::named(&args.source)? {
            return remote.question(&args.shared, &one, Some(&text), out);
        }
        one.matrix = Some(NamedText { name, text });
    }
    answer_with(args, &one, one.matrix.as_ref(), out)
}

/// An answer that was given before is given again, if it was about the same.
fn answer_with<T: Asked>(
    args: &Args,
    asked: &T,
    matrix: Option<&NamedText>,
    out: &mut Out,
) -> AskResult {
    let (source, shared) = (&args.source, &args.shared);
    asked.validate(shared)?;
    if let Some(remote) = Remote::named(source)? {
        return remote.question(shared, asked, None, out);
    }
    let read = world::read(source, out)?;
    // Half of a folder is answered, but nobody should be told the half again once the rest can be read.
    let whole = read.exit == Exit::Fine;
    let Some(cache) = whole.then(|| Cache::of(args, matrix, &read.inputs, out)).flatten() else {
        return fresh(source, shared, asked, read, out);
    };
    if let Some(outcome) = cache.repeat(out) {
        return outcome;
    }
    out.remember();
    let outcome = fresh(source, shared, asked, read, out);
    let said = out.remembered();
    // Whoever waits for the answer has it before it is kept.
    if let (Some(said), Ok(())) = (said, out.flush()) {
        cache.keep(said, &outcome);
    }
    outcome
}

fn fresh<T: Asked>(
    source: &Source,
    shared: &Shared,
    asked: &T,
    read: Read,
    out: &mut Out,
) -> AskResult {
    let exit = read.exit;
    let analysis = world::analyse(source, shared, read, out, &asked.needs());
    let place: String = source.files.iter().map(|p| format!(" -f {}", p.display())).collect();
    let place = if place == " -f ." { String::new() } else { place };
    let known =
        Known { analysis: &analysis, sees: &Everything, source: &format!("overrule check{place}") };
    Ok(exit.worst(asked.answer(&known, shared, out)?))
}
