// SPDX-License-Identifier: Apache-2.0
//! In: what was typed. Out: the world it is about, and the answer to it. Not here: answering (`overrule-ask`).

pub mod client;
pub mod docs;
pub mod rule;
pub mod serve;
pub mod test;

use overrule_ask::{Asked, Everything, Failure, Known, Outcome, Shared, Text};

use crate::args::{CanOrMany, Source};
use crate::output::Out;
use crate::remote::Remote;
use crate::world;

/// Reads what the options name and answers a question about it.
pub fn answer<T: Asked>(source: &Source, shared: &Shared, asked: &T, out: &mut Out) -> Outcome {
    asked.validate(shared)?;
    if let Some(remote) = Remote::named(source)? {
        return remote.question(shared, asked, None, out);
    }
    let world = world::load(source, shared, out, &asked.needs())?;
    let place: String = source.files.iter().map(|p| format!(" -f {}", p.display())).collect();
    let place = if place == " -f ." { String::new() } else { place };
    let known = Known {
        analysis: &world.analysis,
        sees: &Everything,
        source: &format!("overrule check{place}"),
    };
    Ok(world.exit.worst(asked.answer(&known, shared, out)?))
}

/// The same for `can`, whose questions may stand in a file.
pub fn can(source: &Source, shared: &Shared, asked: &CanOrMany, out: &mut Out) -> Outcome {
    let mut one = asked.one.clone();
    if let Some(file) = &asked.matrix {
        let name = file.display().to_string();
        let text =
            std::fs::read_to_string(file).map_err(|e| Failure::World(format!("{name}: {e}")))?;
        if let Some(remote) = Remote::named(source)? {
            return remote.question(shared, &one, Some(&text), out);
        }
        one.matrix = Some(Text { name, text });
    }
    answer(source, shared, &one, out)
}
