// SPDX-License-Identifier: Apache-2.0
//! May the backend call the ledger, and who says so?
#![allow(clippy::print_stdout, reason = "an example shows its answer")]

use std::error::Error;

use overrule::{Manifests, MeshCall};

/// Asks and prints the decisions.
pub fn main() -> Result<(), Box<dyn Error>> {
    let manifests =
        Manifests::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/access/mesh"))?;
    let call = MeshCall {
        from: "dataplane/default/backend-1",
        to: "dataplane/default/ledger-1",
        ..MeshCall::default()
    };
    for decision in manifests.can(call)? {
        println!("{}", overrule::view::json_line(&decision));
    }
    Ok(())
}
