// SPDX-License-Identifier: Apache-2.0
//! In: policy tests, that is manifests and what must be in force with them. Out: passed, or what differs and where.
//! Not here: resolving (the families do), the command line.
//!
//! ```text
//!  read     document -> Case, every expectation with its line      read/
//!  family   Case + profile -> Answer; one implementation each      family/
//!  run      Case x Answer -> CaseResult                            run/
//!  report   CaseResult -> text, JUnit XML                          report.rs, junit.rs
//!  load     paths -> cases (the only part that opens files)        load.rs
//!  init     manifests + target -> the text of a test               init.rs
//! ```
//!
//! A test in ten lines:
//!
//! ```
//! use overrule_cases::{junit, load, plain, run, summary};
//! use overrule_view::Styles;
//!
//! # let folder = std::path::PathBuf::from("tests/cases");
//! let loaded = load(&[folder]);
//! let mut results = loaded.broken;
//! results.extend(loaded.cases.iter().flat_map(|case| run(case, None)));
//! let text: String = results.iter().map(|result| plain(result, false, &Styles::plain())).collect();
//! assert_eq!(text, "", "nothing failed");
//! assert!(summary(&results).ends_with(" passed, 0 failed\n"));
//! assert!(junit(&results).starts_with("<?xml"));
//! ```

pub mod case;
pub mod codes;
mod difference;
pub mod family;
mod field;
mod init;
mod junit;
mod load;
mod read;
mod report;
mod result;
mod run;
pub mod value;

pub use case::Case;
pub use difference::{DifferenceSide, DifferingLine};
pub use field::Field;
pub use init::{InitError, TestRequest, init};
pub use junit::junit;
pub use load::{Loaded, load, read_file};
pub use read::{Load, is_case, read};
pub use report::{plain, summary};
pub use result::{CaseResult, DifferenceKind, Mismatch, TestVerdict};
pub use run::run;
