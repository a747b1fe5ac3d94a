// SPDX-License-Identifier: Apache-2.0
//! In: the path of a file. Out: how fast it is read and what its trees weigh.
//! Not here: a benchmark; it measures one run after a first one, on all threads and on one.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "an example that measures time and prints"
)]

use overrule_source::{Input, ReadOptions, read};
use std::time::Instant;

fn main() {
    let path = std::env::args().nth(1).unwrap_or_else(|| "/dev/stdin".to_owned());
    let bytes = std::fs::read(&path).unwrap();
    let size = bytes.len() as f64;
    for threads in [1, 0] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            for round in 0..3 {
                let inputs = vec![Input::new(path.as_str(), bytes.clone())];
                let start = Instant::now();
                let result = read(inputs, &ReadOptions::default());
                let seconds = start.elapsed().as_secs_f64();
                let memory = result.documents.memory() as f64;
                println!(
                    "threads {}, round {round}: {:.1} MB/s, {} documents, {} findings, {:.2} tree bytes per input byte",
                    rayon::current_num_threads(),
                    size / 1e6 / seconds,
                    result.documents.len(),
                    result.diagnostics.len(),
                    memory / size,
                );
                for diagnostic in result.diagnostics.iter().take(3) {
                    println!("  {} {}", diagnostic.code.id, diagnostic.message);
                }
            }
        });
    }
}
