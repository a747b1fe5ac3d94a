// SPDX-License-Identifier: Apache-2.0
//! In: a family, a preset and numbers. Out: a folder of manifests. Not here: how a fleet is made (`testkit`).

use std::path::PathBuf;

use overrule_testkit::fleet::{FleetSpec, ManifestFormat, MeshSpec, Spec, write};
use overrule_testkit::{kgateway, kuadrant, kuma};

/// Whose fleet.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Family {
    /// Gateways and routes, with policies of example kinds and the descriptors of those kinds
    Gateway(Gateway),
    /// The same gateways and routes, with Kuadrant's policies
    Kuadrant(Kuadrant),
    /// The same gateways and routes, with kgateway's policies and routes that delegate
    Kgateway(Kgateway),
    /// A mesh: dataplanes, services, and Kuma's policies
    Mesh(Mesh),
}

/// Where to, and as what.
#[derive(Debug, clap::Args)]
struct Output {
    /// Folder to write to; it must not hold anything yet
    #[arg(long)]
    out: PathBuf,
    /// Write lists in JSON instead of YAML documents
    #[arg(long)]
    json: bool,
    /// Equal seeds give equal fleets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Documents in a file
    #[arg(long)]
    per_file: Option<u32>,
}

/// Numbers of a fleet of gateways; what is not given is the preset's.
#[derive(Debug, clap::Args)]
struct Numbers {
    #[command(flatten)]
    output: Output,
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
    /// Policy kinds: the first so many of the family
    #[arg(long)]
    kinds: Option<u32>,
    /// Percent of policies that have the target of the one before
    #[arg(long, value_parser = percent())]
    conflicts: Option<u8>,
    /// Percent of policies with a creation time
    #[arg(long, value_parser = percent())]
    created: Option<u8>,
    /// With the Services that routes send to
    #[arg(long)]
    services: Option<bool>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Gateway {
    /// small, medium, bar1, bar2, bar8, bar8-one-gateway or million
    #[arg(long, default_value = "small")]
    preset: String,
    #[command(flatten)]
    numbers: Numbers,
    /// Percent of route policies that target by label
    #[arg(long, value_parser = percent())]
    selectors: Option<u8>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Kuadrant {
    /// One of the presets of `gateway`, or grid: one gateway, every route on all listeners, policies on all of them
    #[arg(long, default_value = "small")]
    preset: String,
    #[command(flatten)]
    numbers: Numbers,
    /// Percent of overrides with a condition; any but 0 is all of them in a grid
    #[arg(long, value_parser = percent())]
    conditions: Option<u8>,
    /// Percent of policies of routes and rules that remove a rule of the policies above
    #[arg(long, value_parser = percent())]
    removals: Option<u8>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Kgateway {
    /// One of the presets of `gateway`, or trees: one gateway, delegation by name, then by label, a policy on everything
    #[arg(long, default_value = "small")]
    preset: String,
    #[command(flatten)]
    numbers: Numbers,
    /// Percent of route policies that target by label
    #[arg(long, value_parser = percent())]
    selectors: Option<u8>,
    /// How many routes stand between a gateway and a route with backends
    #[arg(long, default_value_t = 2)]
    delegation: u32,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Mesh {
    /// small, medium, bar8, million, or replicas: plain names, and as many dataplanes of each shape
    #[arg(long, default_value = "small")]
    preset: String,
    #[command(flatten)]
    output: Output,
    /// Zones
    #[arg(long)]
    zones: Option<u32>,
    /// Namespaces of teams
    #[arg(long)]
    namespaces: Option<u32>,
    /// Dataplanes
    #[arg(long)]
    dataplanes: Option<u32>,
    /// How many of them differ in more than name and address
    #[arg(long)]
    shapes: Option<u32>,
    /// MeshServices
    #[arg(long)]
    services: Option<u32>,
    /// MeshTimeouts
    #[arg(long)]
    timeouts: Option<u32>,
    /// MeshRetries
    #[arg(long)]
    retries: Option<u32>,
    /// MeshCircuitBreakers
    #[arg(long)]
    circuit_breakers: Option<u32>,
    /// MeshTrafficPermissions
    #[arg(long)]
    permissions: Option<u32>,
    /// MeshTraces
    #[arg(long)]
    traces: Option<u32>,
    /// MeshMetrics
    #[arg(long)]
    metrics: Option<u32>,
    /// Access rules of each MeshTrafficPermission
    #[arg(long)]
    access_rules: Option<u32>,
}

fn percent() -> clap::builder::RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(0..=100)
}

pub(crate) fn run(family: &Family) -> Result<(), String> {
    match family {
        Family::Gateway(wanted) => {
            let mut spec = preset(FleetSpec::preset(&wanted.preset), &wanted.preset)?;
            set(&mut spec.selectors, wanted.selectors);
            put(&with(spec, &wanted.numbers), &wanted.numbers.output)
        }
        Family::Kuadrant(wanted) if wanted.preset == "grid" => grid(wanted),
        Family::Kuadrant(wanted) => {
            let mut spec = preset(FleetSpec::preset(&wanted.preset), &wanted.preset)?.kuadrant();
            set(&mut spec.conditions, wanted.conditions);
            set(&mut spec.removals, wanted.removals);
            put(&with(spec, &wanted.numbers), &wanted.numbers.output)
        }
        Family::Kgateway(wanted) if wanted.preset == "trees" => trees(wanted),
        Family::Kgateway(wanted) => {
            let spec = preset(FleetSpec::preset(&wanted.preset), &wanted.preset)?;
            let mut spec = spec.kgateway(wanted.delegation);
            set(&mut spec.selectors, wanted.selectors);
            put(&with(spec, &wanted.numbers), &wanted.numbers.output)
        }
        Family::Mesh(wanted) if wanted.preset == "replicas" => replicas(wanted),
        Family::Mesh(wanted) => {
            let spec = preset(MeshSpec::preset(&wanted.preset), &wanted.preset)?;
            put(&mesh(spec, wanted), &wanted.output)
        }
    }
}

fn preset<S>(found: Option<S>, name: &str) -> Result<S, String> {
    found.ok_or_else(|| format!("there is no preset `{name}`"))
}

fn set<N>(number: &mut N, wanted: Option<N>) {
    if let Some(wanted) = wanted {
        *number = wanted;
    }
}

fn with(mut spec: FleetSpec, numbers: &Numbers) -> FleetSpec {
    spec.seed = numbers.output.seed;
    set(&mut spec.per_file, numbers.output.per_file);
    set(&mut spec.gateways, numbers.gateways);
    set(&mut spec.listeners, numbers.listeners);
    set(&mut spec.routes, numbers.routes);
    set(&mut spec.rules, numbers.rules);
    set(&mut spec.namespaces, numbers.namespaces);
    set(&mut spec.policies.gateway, numbers.gateway_policies);
    set(&mut spec.policies.listener, numbers.listener_policies);
    set(&mut spec.policies.route, numbers.route_policies);
    set(&mut spec.policies.rule, numbers.rule_policies);
    set(&mut spec.conflicts, numbers.conflicts);
    set(&mut spec.created, numbers.created);
    set(&mut spec.services, numbers.services);
    if let Some(kinds) = numbers.kinds {
        spec.kinds = kinds.clamp(1, spec.family.kinds());
    }
    spec
}

fn mesh(mut spec: MeshSpec, wanted: &Mesh) -> MeshSpec {
    spec.seed = wanted.output.seed;
    set(&mut spec.per_file, wanted.output.per_file);
    set(&mut spec.zones, wanted.zones);
    set(&mut spec.namespaces, wanted.namespaces);
    set(&mut spec.dataplanes, wanted.dataplanes);
    set(&mut spec.shapes, wanted.shapes);
    set(&mut spec.services, wanted.services);
    set(&mut spec.policies.timeouts, wanted.timeouts);
    set(&mut spec.policies.retries, wanted.retries);
    set(&mut spec.policies.circuit_breakers, wanted.circuit_breakers);
    set(&mut spec.policies.permissions, wanted.permissions);
    set(&mut spec.policies.traces, wanted.traces);
    set(&mut spec.policies.metrics, wanted.metrics);
    set(&mut spec.access_rules, wanted.access_rules);
    spec
}

fn put<S: Spec>(spec: &S, output: &Output) -> Result<(), String> {
    let shown = empty(output)?;
    let format = if output.json { ManifestFormat::Json } else { ManifestFormat::Yaml };
    let stats = write(spec, format, &output.out).map_err(|e| format!("{shown}: {e}"))?;
    println!(
        "{} resources in {} files, {} bytes, in {shown}",
        stats.resources, stats.files, stats.bytes
    );
    Ok(())
}

/// How the folder is called, if there is nothing in it.
fn empty(output: &Output) -> Result<String, String> {
    let shown = output.out.display().to_string();
    if std::fs::read_dir(&output.out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!(
            "{shown}: the folder is not empty; a fleet beside other files is another fleet"
        ));
    }
    Ok(shown)
}

/// The fleets of the benchmarks of a family are one text without chance: a seed would change nothing.
fn one_file(text: &str, output: &Output) -> Result<(), String> {
    let shown = empty(output)?;
    if output.json || output.seed != 1 || output.per_file.is_some() {
        return Err("this preset is one YAML file and has no seed".to_owned());
    }
    std::fs::create_dir_all(&output.out)
        .and_then(|()| std::fs::write(output.out.join("fleet.yaml"), text))
        .map_err(|e| format!("{shown}: {e}"))?;
    let resources = text.split("\n---\n").count();
    println!("{resources} resources in 1 file, {} bytes, in {shown}", text.len());
    Ok(())
}

fn grid(wanted: &Kuadrant) -> Result<(), String> {
    let Numbers { output, listeners, routes, .. } = &wanted.numbers;
    let conditions = wanted.conditions.is_some_and(|share| share > 0);
    let with = kuadrant::With { listener_policies: true, route_policies: true, conditions };
    let text =
        kuadrant::fleet(listeners.unwrap_or(63) as usize, routes.unwrap_or(63) as usize, with);
    one_file(&text, output)
}

fn trees(wanted: &Kgateway) -> Result<(), String> {
    let Numbers { output, namespaces, routes, .. } = &wanted.numbers;
    let teams = namespaces.unwrap_or(10);
    let leaves = routes.unwrap_or(1_000).div_ceil(teams.max(1));
    one_file(&kgateway::fleet(teams as usize, leaves as usize), output)
}

fn replicas(wanted: &Mesh) -> Result<(), String> {
    let number = |wanted: Option<u32>, otherwise: u32| wanted.unwrap_or(otherwise) as usize;
    let size = kuma::Fleet {
        proxies: number(wanted.dataplanes, 10_000),
        shapes: number(wanted.shapes, 50),
        services: number(wanted.services, 1_000),
        policies: number(wanted.timeouts, 500),
    };
    one_file(&kuma::fleet(size), &wanted.output)
}
