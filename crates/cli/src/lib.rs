// SPDX-License-Identifier: Apache-2.0
//! In: what was typed. Out: an answer on stdout, everything else on stderr, an exit code. Not here: any rule.
//!
//! The command is a library so that a program can have families of its own in it: it calls `overrule::register`, and then
//! [`main`].

mod args;
mod cache;
mod command;
mod output;
mod remote;
mod rules;
mod settings;
mod typed;
mod world;

use std::process::ExitCode;

use args::{Args, Command};
use output::{INTERRUPTED, Out, code};
use overrule_ask::Sink;

/// Answers the arguments of the process.
pub fn main() -> ExitCode {
    let args = Args::typed();
    // A server has something to finish; everything else ends at once.
    if !matches!(args.command, Command::Serve(_)) {
        interrupts();
    }
    let (source, shared) = (&args.source, &args.shared);
    let mut out = Out::new(source, shared);
    let result = match &args.command {
        Command::Check(c) => command::answer(&args, &c.asked, &mut out),
        Command::Get(c) => command::answer(&args, c, &mut out),
        Command::Effective(c) => command::answer(&args, c, &mut out),
        Command::Explain(c) => command::answer(&args, c, &mut out),
        Command::Reach(c) => command::answer(&args, c, &mut out),
        Command::Can(c) => command::can(&args, c, &mut out),
        Command::Envoy(c) => command::answer(&args, c, &mut out),
        Command::Graph(c) => command::answer(&args, c, &mut out),
        Command::Diff(c) => command::diff::run(&args, c, &mut out),
        Command::Test(c) => command::test::run(source, shared, c, &mut out),
        Command::Serve(c) => command::serve::run(source, c),
        Command::Apply(c) => command::client::apply(source, shared, c, &mut out),
        Command::Delete(c) => command::client::delete(source, shared, c, &mut out),
        Command::Watch(c) => command::client::watch(source, shared, c, &mut out),
        Command::Rule(c) => command::rule::run(c, &mut out),
        Command::Schema => command::docs::schema(&mut out),
        Command::Completions(c) => command::docs::completions(c, &mut out),
        Command::Man(c) => command::docs::man(c, &mut out),
    };
    let result = result.and_then(|exit| out.flush().map(|()| exit));
    match result {
        Ok(exit) => code(exit),
        Err(failure) => {
            out.problem(&failure.to_string());
            code(failure.exit())
        }
    }
}

/// ^C ends the process at once with the code shells expect. The only thing that could be half done is an entry of the
/// cache, which has another name until it is whole.
fn interrupts() {
    // A second handler (there is none) would be the only way for this to fail; ^C then keeps its default.
    let _ = ctrlc::set_handler(|| {
        #[expect(
            clippy::exit,
            clippy::disallowed_methods,
            reason = "a signal handler cannot return to main"
        )]
        std::process::exit(i32::from(INTERRUPTED))
    });
}
