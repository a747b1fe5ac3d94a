// SPDX-License-Identifier: Apache-2.0
//! `overrule diff`: what changes in force between two states, for whom and why. Not here: comparing (`overrule-diff`), where
//! the states come from (`state.rs`).

mod state;

use overrule::source::Read as ReadTexts;
use overrule::{Analysis, Options, files, view};
use overrule_ask::{AskError, AskResult, Exit, Form, Shared, Sink};
use overrule_diff::{
    CodeOwners, MergeGate, MergeGates, NamedState, compare, kinds_in_force, read_both,
};

use crate::args::{Args, Diff, Source};
use crate::output::Out;
use crate::world;
use state::{Loaded, States};

/// Compares two states.
pub fn run(args: &Args, asked: &Diff, out: &mut Out) -> AskResult {
    let (source, shared) = (&args.source, &args.shared);
    let gates = gates(asked)?;
    let form = form(shared)?;
    let States { before, after } = States::named(asked, source)?;
    let mut kinds = Kinds::read(source, out);
    let before = before.load(out)?;
    let after = after.load(out)?;
    let exit = before.exit.worst(after.exit).worst(kinds.exit);
    let options = Options { compare: true, ..world::options(source)? };
    let options = Options { kind_sources: std::mem::take(&mut kinds.names), ..options };
    let owners = after.owners();
    let (before, after) = (kinds.beside(before), kinds.beside(after));
    let bytes = |loaded: &Loaded| loaded.texts.inputs.iter().map(|i| i.bytes.len()).sum::<usize>();
    world::share_out(bytes(&before) + bytes(&after));
    let names = (before.texts.name.clone(), after.texts.name.clone());
    let (old, new) = read_both(before.texts, after.texts, &options);
    let (old, new) = resolve(old, new, options);
    let old = NamedState { name: &names.0, analysis: &old };
    let new = NamedState { name: &names.1, analysis: &new };
    let mut changes = compare(old, new, &owners);
    let closed = gates.close(&mut changes);
    match form {
        Form::Json => out.line(&view::json(&changes))?,
        Form::Yaml => out.result(&view::yaml(&changes))?,
        Form::Markdown => out.result(&overrule_diff::markdown(&changes))?,
        _ => {
            let (mut text, styles) = (String::new(), out.styles());
            // Writing to memory does not fail.
            let _ = overrule_diff::report_text(&changes, shared.verbose, &styles, &mut text);
            out.result(&text)?;
        }
    }
    Ok(exit.worst(Exit::findings(closed)))
}

/// Resolves both states, the kinds of the earlier one in the later one too, so that a kind whose last policy is gone is
/// missed where it was in force.
fn resolve(old: ReadTexts, new: ReadTexts, options: Options) -> (Analysis, Analysis) {
    let old = Analysis::of(old, &options);
    let options = Options { include_kinds: kinds_in_force(&old), ..options };
    let new = Analysis::of(new, &options);
    (old, new)
}

fn gates(asked: &Diff) -> Result<MergeGates, AskError> {
    let gate = |word: &String| {
        let known = MergeGate::ALL.iter().find(|gate| gate.name() == word);
        known.copied().ok_or_else(|| {
            let all: Vec<&str> = MergeGate::ALL.iter().map(|gate| gate.name()).collect();
            let all = all.join(", ");
            AskError::Usage(format!("--fail-on takes {all}; `{word}` is none of them"))
        })
    };
    let fail_on: Result<Vec<MergeGate>, AskError> = asked.fail_on.iter().map(gate).collect();
    Ok(MergeGates { fail_on: fail_on?, max_routes: asked.max_routes })
}

fn form(shared: &Shared) -> Result<Form, AskError> {
    match shared.form().unwrap_or(Form::Table) {
        form @ (Form::Table | Form::Wide | Form::Json | Form::Yaml | Form::Markdown) => Ok(form),
        _ => Err(AskError::Usage(
            "`overrule diff` writes table, wide, json, yaml or markdown".to_owned(),
        )),
    }
}

/// Descriptors of policy kinds, which both states have.
struct Kinds {
    inputs: Vec<overrule::source::Input>,
    names: Vec<String>,
    exit: Exit,
}

impl Kinds {
    fn read(source: &Source, out: &mut Out) -> Self {
        let found = files::find(&source.kinds);
        let names = found.files.iter().map(|file| file.name.clone()).collect();
        let (inputs, unreadable) = files::read(found.files);
        let exit = state::tell(found.errors.iter().chain(&unreadable), out);
        Self { inputs, names, exit }
    }

    fn beside(&self, mut loaded: Loaded) -> Loaded {
        let known = |name: &str| loaded.texts.inputs.iter().any(|input| *input.name == *name);
        let more: Vec<_> = self.inputs.iter().filter(|i| !known(&i.name)).cloned().collect();
        loaded.texts.inputs.extend(more);
        loaded
    }
}

/// Who owns what, if the repository says so.
fn code_owners(here: &str, read: impl Fn(&str) -> Option<Vec<u8>>) -> CodeOwners {
    let text = CodeOwners::PLACES.iter().find_map(|place| read(place));
    text.map_or_else(CodeOwners::default, |text| {
        CodeOwners::parse(&String::from_utf8_lossy(&text)).in_folder(here)
    })
}
