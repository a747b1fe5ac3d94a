// SPDX-License-Identifier: Apache-2.0
//! A policy changes, and the answers follow without resolving everything again.
#![allow(clippy::print_stdout, reason = "an example shows its answer")]

use std::error::Error;

use overrule::live::{Edit, KeyedText, Workspace};
use overrule::source::Input;
use overrule::{Manifests, Options};

const CART: &str = "httproute/shop/cart";

/// Changes the policy and asks again.
pub fn main() -> Result<(), Box<dyn Error>> {
    let text = |key: &str, content: &str| {
        let input = Input::new(format!("{key}.yaml"), content);
        KeyedText { key: key.into(), input, created: None }
    };
    let (rest, policy) = overrule::doc_example().rsplit_once("---\n").ok_or("no policy")?;
    let texts = vec![text("rest", rest), text("policy", policy)];
    let mut workspace = Workspace::new(texts, Options::default());

    let slower = text("policy", &policy.replace("5s", "30s"));
    let now = workspace.change(vec![Edit::Put(slower)]);
    for policy in Manifests::of(now, Options::default()).effective(CART)? {
        let timeout = policy.at(["timeouts", "request"]).and_then(|value| value.as_str());
        println!("{}: {}", policy.policy_kind, timeout.unwrap_or("none"));
    }
    Ok(())
}
