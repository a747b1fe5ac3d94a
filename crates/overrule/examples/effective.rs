// SPDX-License-Identifier: Apache-2.0
//! Which timeout does the checkout have, and who set it?
#![allow(clippy::print_stdout, reason = "an example shows its answer")]

use std::error::Error;

use overrule::Manifests;

/// Asks and prints who set what.
pub fn main() -> Result<(), Box<dyn Error>> {
    let manifests = Manifests::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shop"))?;
    for finding in manifests.check().items {
        println!("{}: {}", finding.code, finding.message);
    }
    for policy in manifests.effective("httproute/shop/cart#checkout")? {
        for (pointer, origins) in &policy.origins {
            let by: Vec<&str> = origins.iter().map(|origin| origin.policy.as_str()).collect();
            println!("{} {pointer} by {}", policy.policy_kind, by.join(", "));
        }
    }
    Ok(())
}
