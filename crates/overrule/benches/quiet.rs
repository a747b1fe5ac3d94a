// SPDX-License-Identifier: Apache-2.0
//! In: a repository of 11,000 files, 40 resources of which matter. Out: how much longer their analysis takes than to read
//! the bytes and to find where documents begin, and whether the bar holds. Not here: what is found (`cli/tests`).
//!
//! `cargo bench -p overrule --bench quiet`; `-- --quick`: 1,100 files. Both sides run on one thread in one process.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a bench measures time, prints, and stops at the first surprise"
)]

mod report;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use overrule::{Analysis, Options, files};
use report::{Report, best};

/// How much longer an analysis may take.
const BAR: f64 = 1.3;

fn main() -> ExitCode {
    if let Some(ended) = report::in_warm_process() {
        return ended;
    }
    let quick = std::env::args().any(|a| a == "--quick");
    let (count, runs) = if quick { (1_100, 1) } else { (11_000, 5) };
    let folder = tempfile::tempdir().expect("there is room for the repository");
    let bytes = write(folder.path(), count);
    let paths = [folder.path().to_path_buf()];
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    let mut report = Report::default();
    one.install(|| {
        let (base, documents) = best(runs, || found(&paths));
        let (whole, analysis) = best(runs, || {
            let inputs = files::read(files::find(&paths).files).0;
            Analysis::new(inputs, &Options::default())
        });
        let ours = analysis.snapshot.of_kind("", "Service").len();
        assert_eq!((ours, analysis.diagnostics.len()), (OURS, 0), "the repository is read right");
        report.row(&format!("{count} files read, {documents} documents found"), base, Some(bytes));
        report.row("their analysis, with that", whole, Some(bytes));
        let ratio = whole.as_secs_f64() / base.as_secs_f64();
        report.at_most("analysis of a repository, against reading its bytes", ratio, BAR);
    });
    println!("{report}");
    if report.holds() || quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What has to be done whatever is in the files: read them, see that they are text, find where documents begin.
fn found(paths: &[PathBuf]) -> usize {
    let inputs = files::read(files::find(paths).files).0;
    let documents = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).expect("all of them are text").as_bytes();
        let begins = |end: usize| text.get(end + 1..).is_some_and(|rest| rest.starts_with(b"---"));
        1 + memchr::memchr_iter(b'\n', text).filter(|end| begins(*end)).count()
    };
    inputs.iter().map(|input| documents(&input.bytes)).sum()
}

/// Resources that matter.
const OURS: usize = 40;

/// Writes the repository. Gives its bytes.
fn write(root: &Path, count: usize) -> usize {
    let mut bytes = 0;
    for n in 0..count {
        let folder = root.join(format!("d{}", n % 200));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let (ending, text) = match n {
            n if n % (count / OURS) == 0 && n / (count / OURS) < OURS => ("yaml", ours(n)),
            n if n % 11 == 0 => ("json", json(n)),
            n if n % 7 == 0 => ("yaml", values(n)),
            n if n % 50 == 1 => ("yaml", definition(n)),
            n => ("yaml", deployment(n)),
        };
        bytes += text.len();
        std::fs::write(folder.join(format!("f{n}.{ending}")), text).expect("a file can be written");
    }
    bytes
}

fn ours(n: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: s{n}\n  namespace: shop\nspec:\n  ports:\n  - port: 80\n"
    )
}

fn deployment(n: usize) -> String {
    let mut text = String::new();
    for (part, kind) in
        [("apps/v1", "Deployment"), ("v1", "ConfigMap"), ("rbac.authorization.k8s.io/v1", "Role")]
    {
        let _ = write!(
            text,
            "---\napiVersion: {part}\nkind: {kind}\nmetadata:\n  name: x{n}\n  labels:\n    app: x{n}\nspec:\n"
        );
        for line in 0..40 {
            let _ = writeln!(
                text,
                "  key{line}:\n  - name: value-{line}\n    image: registry.example.com/app:{n}"
            );
        }
    }
    text
}

fn values(n: usize) -> String {
    (0..120).fold(format!("# {n}\n"), |text, line| {
        text + &format!("key{line}:\n  deeper: [1, 2, {line}]\n")
    })
}

fn definition(n: usize) -> String {
    let head = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: k{n}.example.com\nspec:\n  group: example.com\n  names: {{kind: K{n}, plural: k{n}}}\n  scope: Namespaced\n  versions:\n"
    );
    (0..1500).fold(head, |text, line| {
        text + &format!("      description: line {line} of a long schema\n")
    })
}

fn json(n: usize) -> String {
    let rows: Vec<String> = (0..100)
        .map(|row| format!("{{\"name\": \"r{row}\", \"type\": \"string\", \"value\": {n}}}"))
        .collect();
    format!("{{\"name\": \"x{n}\", \"rows\": [\n{}\n]}}\n", rows.join(",\n"))
}
