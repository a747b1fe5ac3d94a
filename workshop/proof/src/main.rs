// SPDX-License-Identifier: Apache-2.0
//! In: arguments. Out: the proof on a real Envoy, and a line that sums it up. Not here: the proof itself.

use std::io::{self, Write as _};
use std::process::ExitCode;

use overrule_proof::fuzz::{self, Size};
use overrule_proof::{
    HarnessFailure, Lab, ProofTally, cost, emitted, foretell, install, random, run, stories,
};

const HELP: &str = "\
usage: overrule-proof [--long] [--seed N] [--install | --cost]
  --long      100,000 requests by each version of HTTP and 5,000 connections instead of some hundred
  --seed N    other policies and requests
  --install   only find or install Envoy, and print where it is
  --cost      Envoy's processor time per request for 10 to 10,000 rules, both forms";

#[derive(Default)]
struct Arguments {
    long: bool,
    install: bool,
    cost: bool,
    seed: Option<u64>,
}

fn main() -> ExitCode {
    let result = arguments().and_then(|arguments| prove(&arguments));
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            // Nobody may be listening any more.
            let _ = writeln!(io::stderr(), "NOT PROVED: {failure}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Arguments, HarnessFailure> {
    let mut found = Arguments::default();
    let mut all = std::env::args().skip(1);
    while let Some(argument) = all.next() {
        match argument.as_str() {
            "--long" => found.long = true,
            "--install" => found.install = true,
            "--cost" => found.cost = true,
            "--seed" => {
                let seed = all.next().and_then(|seed| seed.parse().ok());
                found.seed = Some(seed.ok_or_else(|| HarnessFailure::new(HELP))?);
            }
            _ => return Err(HarnessFailure::new(HELP)),
        }
    }
    Ok(found)
}

/// Whether nothing differs.
fn prove(arguments: &Arguments) -> Result<bool, HarnessFailure> {
    let envoy = install()?;
    if arguments.install {
        say(&envoy.binary().display().to_string())?;
        return Ok(true);
    }
    if arguments.cost {
        for line in cost::table(envoy)? {
            say(&line)?;
        }
        return Ok(true);
    }
    let size = if arguments.long { Size::LONG } else { Size::SMALL };
    let seed = arguments.seed.unwrap_or(1);
    let mut all = ProofTally::default();
    let mut lab = Lab::new(envoy.clone(), stories::holders())?;
    all.add(part("stories", run(&mut lab, stories::cases(), emitted, foretell)?)?);
    let mut lab = Lab::new(envoy, random::holders())?;
    all.add(part("paths", run(&mut lab, fuzz::paths(seed, size), emitted, foretell)?)?);
    let edges = fuzz::edges(lab.holders());
    all.add(part("edges", run(&mut lab, edges, emitted, foretell)?)?);
    let cases = fuzz::cases(seed, size, lab.holders());
    all.add(part("random", run(&mut lab, cases, emitted, foretell)?)?);
    for words in &all.words {
        say(words)?;
    }
    say(&format!("{all}"))?;
    Ok(all.mismatches == 0)
}

fn part(name: &str, tally: ProofTally) -> Result<ProofTally, HarnessFailure> {
    say(&format!("{name}: {tally}"))?;
    Ok(tally)
}

fn say(line: &str) -> Result<(), HarnessFailure> {
    writeln!(io::stdout(), "{line}").map_err(HarnessFailure::of("cannot write"))
}
