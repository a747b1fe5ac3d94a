// SPDX-License-Identifier: Apache-2.0
//! In: docs/rules/*.md. Out: a table of them for `overrule rule`. Not here: which codes exist; a test compares.

use std::fmt::Write as _;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[expect(clippy::disallowed_methods, reason = "cargo passes its paths through the environment")]
    let var = |name: &str| std::env::var(name).map(PathBuf::from);
    let pages = var("CARGO_MANIFEST_DIR")?.join("../../docs/rules");
    let mut table = String::from("&[\n");
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(&pages)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    names.sort();
    for path in names {
        let code = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        if code.starts_with("OV") {
            writeln!(table, "    ({code:?}, include_str!({:?})),", path.canonicalize()?)?;
        }
    }
    table.push_str("]\n");
    std::fs::write(var("OUT_DIR")?.join("rules.rs"), table)?;
    println!("cargo:rerun-if-changed={}", pages.display());
    Ok(())
}
