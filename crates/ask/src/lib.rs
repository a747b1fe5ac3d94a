// SPDX-License-Identifier: Apache-2.0
//! In: a question, and what is known. Out: the answer, in the form asked for. Not here: files, streams, HTTP.
//!
//! ```text
//!  flags ────► Shared, Effective, Explain, ... ◄──── parameters of a request        asked
//!                        │
//!  Known (an Analysis, who asks) ──► answer ──► Sink      the terminal, or a buffer   one module per command
//! ```
//!
//! The command line and the server answer with this code, so that both say the same.

mod arguments;
mod asked;
mod beside;
mod callers;
mod can;
mod check;
#[doc(hidden)]
pub mod declare;
mod effective;
mod envoy;
mod explain;
mod filter;
mod get;
mod graph;
mod known;
mod outcome;
mod output;
mod parameter;
pub mod percent;
mod reach;
mod request;
pub mod sees;
mod select;
mod sink;

pub use arguments::{Argument, Arguments, Parameters};
pub use asked::{
    Can, Check, Effective, Envoy, Explain, FailOn, Form, Get, Graph, Layout, NamedText, Reach,
    Shared,
};
pub use known::{Compare, Known, Needs, counted};
pub use outcome::{AskError, AskResult, Exit};
pub use output::Output;
pub use parameter::{Parameter, Required, TakenBy, Takes};
pub use sees::{Everything, Sees};
pub use sink::{RenderedAnswer, Sink};

use output::{form, form_or_names, table_styles};
use overrule::view;
use serde::Serialize;

/// A question: what was typed after the name of a command.
pub trait Asked: Parameters + Send + Sync + 'static {
    /// Name of the command, and of its endpoint.
    const NAME: &'static str;

    /// What has to be analysed to answer it.
    fn needs(&self) -> Needs<'_>;

    /// Refuses what makes no sense, before anything is read. [`Asked::answer`] asks it too.
    fn validate(&self, _shared: &Shared) -> Result<(), AskError> {
        Ok(())
    }

    /// Answers it.
    fn answer(&self, known: &Known<'_>, shared: &Shared, sink: &mut dyn Sink) -> AskResult;
}

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident: $asked:ident, $needs:expr, $validate:expr;)*) => {$(
        impl Asked for $asked {
            const NAME: &'static str = stringify!($name);

            fn needs(&self) -> Needs<'_> {
                let needs: fn(&$asked) -> Needs<'_> = $needs;
                needs(self)
            }

            fn validate(&self, shared: &Shared) -> Result<(), AskError> {
                let validate: fn(&Shared, &$asked) -> Result<(), AskError> = $validate;
                validate(shared, self)
            }

            fn answer(&self, known: &Known<'_>, shared: &Shared, sink: &mut dyn Sink) -> AskResult {
                self.validate(shared)?;
                output::answered(shared, sink, |sink| $name::run(known, shared, self, sink))
            }
        }

        $(#[$doc])*
        pub fn $name(
            known: &Known<'_>,
            shared: &Shared,
            asked: &$asked,
            sink: &mut dyn Sink,
        ) -> AskResult {
            asked.answer(known, shared, sink)
        }
    )*};
}

commands! {
    /// Every finding, with its place, code and remedy.
    check: Check, |_| Needs::default(), |_, _| Ok(());
    /// Resources, and policies with their outcome.
    get: Get, get::needs, get::validate;
    /// Effective policies, each value with its origin.
    effective: Effective, effective::needs, effective::validate;
    /// The ladder, every decision, winners and losers.
    explain: Explain, explain::needs, |_, _| Ok(());
    /// Where a policy acts, and who shadows it.
    reach: Reach, |_| Needs::default(), |_, _| Ok(());
    /// Whether a client may call a service, and who says so.
    can: Can, |_| Needs { compare: Compare::Always, ..Needs::default() }, can::validate;
    /// Envoy configuration for an inbound.
    envoy: Envoy, |_| Needs::default(), envoy::validate;
    /// Topology with policies.
    graph: Graph, graph::needs, graph::validate;
}

/// What has to be analysed to answer a question.
pub fn needs<T: Asked>(asked: &T) -> Needs<'_> {
    asked.needs()
}

/// Writes a value of the versioned model as JSON or YAML.
fn write_value(sink: &mut dyn Sink, form: Form, value: &impl Serialize) -> Result<(), AskError> {
    match form {
        Form::Yaml => sink.result(&view::yaml(value)),
        _ => sink.line(&view::json(value)),
    }
}

/// Text from a renderer; writing to memory cannot fail.
fn text(render: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut text = String::new();
    let _ = render(&mut text);
    text
}
