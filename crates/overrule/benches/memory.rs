// SPDX-License-Identifier: Apache-2.0
//! In: a generated fleet. Out: the most memory alive at once from text to resolution, against the size of the text.
//! Not here: times. A counting allocator slows what allocates most, so it has a process of its own.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::process::ExitCode;

use overrule::source::Input;
use overrule::{Analysis, Options};
use overrule_testkit::fleet::{FleetSpec, Format, manifests};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const BAR: f64 = 8.0;

fn main() -> ExitCode {
    let quick = std::env::args().any(|a| a == "--quick");
    let spec = if quick { FleetSpec::bar1().divided_by(20) } else { FleetSpec::bar1() };
    let before = HEAP.current_usage();
    let inputs: Vec<Input> = manifests(&spec, Format::Yaml)
        .map(|(name, mut text)| {
            text.shrink_to_fit();
            Input::new(name, text)
        })
        .collect();
    let text: usize = inputs.iter().map(|i| i.bytes.len()).sum();
    HEAP.reset_peak_usage();
    let analysis = Analysis::new(inputs, &Options::default());
    let (peak, kept) = (HEAP.peak_usage() - before, HEAP.current_usage() - before);
    let times = |bytes: usize| bytes as f64 / text as f64;
    println!("memory, {} routes: {:.0} MB of text", spec.routes, text as f64 / 1e6);
    println!("  peak {:.0} MB, kept {:.0} MB", peak as f64 / 1e6, kept as f64 / 1e6);
    println!("  trees {:.2} times the text", times(analysis.documents.memory()));
    let mark = if times(peak) <= BAR { "ok  " } else { "MISS" };
    println!(
        "  {mark} {:>8.2}  at most {BAR:>5.1}  peak memory / text ({:.2} kept)",
        times(peak),
        times(kept)
    );
    if times(peak) <= BAR || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
