// SPDX-License-Identifier: Apache-2.0
//! In: what was typed. Out: an answer on stdout, everything else on stderr, an exit code. Not here: any rule.

mod args;
mod command;
mod output;
mod rules;
mod select;
mod world;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use output::{Exit, Failure, Out};

fn main() -> ExitCode {
    interrupts();
    let args = Args::parse();
    let mut out = Out::new(&args.shared);
    let result = match &args.command {
        Command::Check(c) => command::check::run(&args.shared, c, &mut out),
        Command::Get(c) => command::get::run(&args.shared, c, &mut out),
        Command::Effective(c) => command::effective::run(&args.shared, c, &mut out),
        Command::Explain(c) => command::explain::run(&args.shared, c, &mut out),
        Command::Reach(c) => command::reach::run(&args.shared, c, &mut out),
        Command::Can(c) => command::can::run(&args.shared, c, &mut out),
        Command::Envoy(c) => command::envoy::run(&args.shared, c, &mut out),
        Command::Graph(c) => command::graph::run(&args.shared, c, &mut out),
        Command::Test(c) => command::test::run(&args.shared, c, &mut out),
        Command::Rule(c) => command::rule::run(c, &mut out),
        Command::Schema => command::docs::schema(&mut out),
        Command::Completions(c) => command::docs::completions(c, &mut out),
        Command::Man(c) => command::docs::man(c, &mut out),
    };
    let result = result.and_then(|exit| out.flush().map(|()| exit));
    match result {
        Ok(exit) => exit.code(),
        // The reader of our output has seen enough (`| head`): that is not an error.
        Err(Failure::Closed) => Exit::Fine.code(),
        Err(failure) => {
            out.problem(&failure.to_string());
            failure.exit().code()
        }
    }
}

/// ^C ends the process at once with the code shells expect. Nothing here writes state that could be half done.
fn interrupts() {
    // A second handler (there is none) would be the only way for this to fail; ^C then keeps its default.
    let _ = ctrlc::set_handler(|| {
        #[expect(
            clippy::exit,
            clippy::disallowed_methods,
            reason = "a signal handler cannot return to main"
        )]
        std::process::exit(i32::from(Exit::INTERRUPTED))
    });
}
