// SPDX-License-Identifier: Apache-2.0
//! In: a case of Kuma's Inspect API. Out: what a server of ours answers over HTTP, compared. Not here: reading and
//! comparing cases (the `conformance` crate), serving.

use std::net::Ipv4Addr;

use overrule_conformance::kuma::inspect::InspectCase;
use overrule_kuma_api::KumaApi;
use overrule_server::{Config, Extensions, start};
use serde_json::Value;

/// Runs a case: an empty server that behaves as that release, its documents put into it, its request sent.
pub(crate) fn run(files: &[(String, String)]) -> Result<(), String> {
    let of = |end: &str| files.iter().find(|(name, _)| name.ends_with(end)).map(|(_, text)| text);
    let input = of(".input.yaml").ok_or("the case has no input file")?;
    let golden = of(".golden.json").ok_or("the case has no golden file")?;
    let case = InspectCase::read(input, golden)?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    std::fs::write(folder.path().join("case.yaml"), input).map_err(|e| e.to_string())?;
    let config = Config {
        listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
        ephemeral: true,
        extensions: Extensions::new(&[&KumaApi]).with("kuma-compat"),
        ..Config::default()
    };
    let options = overrule::Options {
        profiles: [("kuma".to_owned(), "2.13".to_owned())].into(),
        ..overrule::Options::default()
    };
    let server = start(config, vec![folder.path().to_path_buf()], options);
    let server = server.map_err(|e| e.to_string())?;
    let query = if case.query.is_empty() { String::new() } else { format!("?{}", case.query) };
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let sent = agent.get(format!("http://{}{}{query}", server.address, case.path)).call();
    let mut answer = sent.map_err(|e| e.to_string())?;
    let status = answer.status().as_u16();
    let text = answer.body_mut().read_to_string().map_err(|e| e.to_string())?;
    let body: Value = serde_json::from_str(&text).map_err(|e| format!("no JSON: {e}: {text}"))?;
    case.compare(status, &body)
}

/// Why a case is not run; none if it is.
pub(crate) fn excluded(files: &[(String, String)]) -> Option<&'static str> {
    let of = |end: &str| files.iter().find(|(name, _)| name.ends_with(end)).map(|(_, text)| text);
    let case = InspectCase::read(of(".input.yaml")?, of(".golden.json")?).ok()?;
    case.excluded()
}
