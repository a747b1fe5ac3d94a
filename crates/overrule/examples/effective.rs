// SPDX-License-Identifier: Apache-2.0
//! Which timeout does the checkout have, and who set it? README.md shows these lines. Run it from the repository's root.
#![allow(clippy::print_stdout, reason = "an example shows its answer")]

use std::error::Error;

use overrule::Manifests;

/// Prints the findings, and who set each field.
pub fn main() -> Result<(), Box<dyn Error>> {
    let manifests = Manifests::open("examples/shop")?;
    for finding in manifests.check().items {
        println!("{}: {}", finding.code, finding.message);
    }
    for policy in manifests.effective("httproute/shop/cart#checkout")? {
        for (field, origins) in &policy.origins {
            let set_by: Vec<&str> = origins.iter().map(|origin| origin.policy.as_str()).collect();
            println!("{} {field} is set by {}", policy.policy_kind, set_by.join(", "));
        }
    }
    Ok(())
}
