// SPDX-License-Identifier: Apache-2.0
//! In: a seed and a size. Out: a folder of manifests. Not here: how a fleet is made (`testkit`).

use std::path::PathBuf;

use overrule_testkit::fleet::{FleetSpec, write};

/// Which fleet: a preset, with these numbers instead of its own.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Equal seeds give equal fleets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// small, medium, bar1, bar2 or million
    #[arg(long, default_value = "small")]
    preset: String,
    /// Gateways
    #[arg(long)]
    gateways: Option<u32>,
    /// Listeners of each gateway
    #[arg(long)]
    listeners: Option<u32>,
    /// Routes
    #[arg(long)]
    routes: Option<u32>,
    /// Rules of each route
    #[arg(long)]
    rules: Option<u32>,
    /// Namespaces of routes
    #[arg(long)]
    namespaces: Option<u32>,
    /// Policies on gateways
    #[arg(long)]
    gateway_policies: Option<u32>,
    /// Policies on listeners
    #[arg(long)]
    listener_policies: Option<u32>,
    /// Policies on routes
    #[arg(long)]
    route_policies: Option<u32>,
    /// Policies on rules
    #[arg(long)]
    rule_policies: Option<u32>,
    /// Folder to write to; it must not hold anything yet
    #[arg(long)]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let spec = spec(arguments)?;
    let shown = arguments.out.display();
    if std::fs::read_dir(&arguments.out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!(
            "{shown}: the folder is not empty; a fleet beside other files is another fleet"
        ));
    }
    let stats = write(&spec, &arguments.out).map_err(|e| format!("{shown}: {e}"))?;
    println!(
        "{} resources in {} files, {} bytes, in {shown}",
        stats.resources, stats.files, stats.bytes
    );
    Ok(())
}

fn spec(arguments: &Arguments) -> Result<FleetSpec, String> {
    let preset = FleetSpec::preset(&arguments.preset);
    let mut spec = preset.ok_or_else(|| format!("there is no preset `{}`", arguments.preset))?;
    spec.seed = arguments.seed;
    let numbers = [
        (&mut spec.gateways, arguments.gateways),
        (&mut spec.listeners, arguments.listeners),
        (&mut spec.routes, arguments.routes),
        (&mut spec.rules, arguments.rules),
        (&mut spec.namespaces, arguments.namespaces),
        (&mut spec.policies.gateway, arguments.gateway_policies),
        (&mut spec.policies.listener, arguments.listener_policies),
        (&mut spec.policies.route, arguments.route_policies),
        (&mut spec.policies.rule, arguments.rule_policies),
    ];
    for (number, wanted) in numbers {
        *number = wanted.unwrap_or(*number);
    }
    Ok(spec)
}
