// SPDX-License-Identifier: Apache-2.0
//! In: a policy that selects no proxy. Out: why, and what was probably meant. Not here: finding such policies (`reach`).

use overrule_source::Diagnostic;

use super::Here;
use super::near::{Miss, Why, miss, rarest, words};
use super::proxies::{Proxies, SERVICE, everywhere, without_section};
use crate::codes;
use crate::dataplane::Dataplane;
use crate::kinds;
use crate::policy::Policy;
use crate::resource::Meta;
use crate::targetref::TargetRef;

/// The finding.
pub(super) fn nobody(here: &Here<'_>, proxies: &Proxies<'_>, policy: &Policy) -> Diagnostic {
    let whole = without_section(policy);
    let outside = proxies.first(&everywhere(&whole), 1);
    let why = match outside.first() {
        Some(proxy) => kept_out(here, policy, proxy),
        None => unmatched(here, proxies, policy),
    };
    let message = format!("this policy selects no proxy: {}", why.because);
    let field = match why.member {
        "" => "spec.targetRef".to_owned(),
        member => format!("spec.targetRef.{member}"),
    };
    let help = why.help.unwrap_or_else(|| {
        "correct the reference, or add the Dataplanes it is meant for to the input".to_owned()
    });
    let d = Diagnostic::new(&codes::NO_PROXY, message).field(field).help(help);
    match here.span_of_target(policy, why.member) {
        Some(span) => d.at(span),
        None => d,
    }
}

/// A proxy fits, but the policy does not act where it is.
fn kept_out(here: &Here<'_>, policy: &Policy, proxy: &Dataplane) -> Why {
    let name = proxy.meta.display_name();
    let (own, its) = (policy.meta.namespace(), proxy.meta.namespace());
    let system = &*here.world.resources.settings.system_namespace;
    if own != its && !own.is_empty() && own != system {
        let its = match its {
            "" => "in no namespace".to_owned(),
            its => format!("in namespace `{its}`"),
        };
        return Why::new(
            "",
            format!(
                "`{name}` would match, but is {its}, and a policy in namespace `{own}` applies only to proxies there"
            ),
            Some(format!(
                "move the policy to the namespace of the proxies, or to `{system}` to apply it to the whole zone"
            )),
        );
    }
    Why::new(
        "",
        format!(
            "`{name}` would match, but is in zone `{}`, and a policy of zone `{}` applies only to proxies there",
            proxy.meta.zone(),
            policy.meta.zone()
        ),
        Some("create the policy in that zone, or on the global control plane".to_owned()),
    )
}

/// No proxy fits, wherever the policy acts.
fn unmatched(here: &Here<'_>, proxies: &Proxies<'_>, policy: &Policy) -> Why {
    let target = &policy.target;
    match target.kind.known() {
        Some(&kinds::DATAPLANE) if !target.name().is_empty() || !target.namespace().is_empty() => {
            by_name(here, proxies, policy)
        }
        Some(&kinds::DATAPLANE) => by_labels(here, proxies, target),
        Some(&kinds::SUBSET | &kinds::SERVICE | &kinds::SERVICE_SUBSET) => {
            by_tags(here, proxies, target)
        }
        Some(&kinds::GATEWAY) => by_gateway(here, proxies, target),
        Some(&kinds::HTTP_ROUTE) => Why::new(
            "name",
            format!("the route `{}` it refers to selects none", target.name()),
            None,
        ),
        _ => by_type(target),
    }
}

fn by_type(target: &TargetRef) -> Why {
    match target.proxy_types.as_deref() {
        Some(types) if !types.is_empty() => Why::new(
            "proxyTypes",
            format!("no proxy of type {} has anything to select", types.join(" or ")),
            None,
        ),
        _ => Why::new("", "no proxy has an inbound or a gateway", None),
    }
}

fn by_labels(here: &Here<'_>, proxies: &Proxies<'_>, target: &TargetRef) -> Why {
    let labels = target.label_pairs();
    let miss = miss(labels.clone(), proxies.labels(), &here.world.budget);
    if miss == Miss::Together {
        let has_all = |proxy: &&Dataplane| {
            labels.clone().all(|(k, v)| proxy.meta.labels.get(k).is_some_and(|own| own == v))
        };
        let some = rarest(labels.clone(), proxies.labels()).unwrap_or_default();
        let mut some = some.iter().filter_map(|place| proxies.get(*place));
        if let Some(gateway) = some.find(has_all).filter(|proxy| proxy.is_built_in()) {
            return Why::new(
                "kind",
                format!(
                    "`{}` has these labels, but is a built-in gateway, which a reference to a Dataplane cannot select",
                    gateway.meta.display_name()
                ),
                Some("refer to its MeshGateway".to_owned()),
            );
        }
    }
    let (because, help) = words(&miss, "proxy", "label");
    Why::new("labels", because, help)
}

fn by_tags(here: &Here<'_>, proxies: &Proxies<'_>, target: &TargetRef) -> Why {
    if target.kind != kinds::SUBSET && !has_service(proxies, target.name()) {
        return no_service(here, proxies, target.name());
    }
    let miss = miss(target.tag_pairs(), proxies.tags(), &here.world.budget);
    let (because, help) = words(&miss, "inbound", "tag");
    if miss == Miss::Together {
        let help = "tags of one inbound do not count for another; correct them, or write one policy for each";
        return Why::new("tags", because, Some(help.to_owned()));
    }
    Why::new("tags", because, help)
}

fn has_service(proxies: &Proxies<'_>, name: &str) -> bool {
    proxies.tags().get(SERVICE).is_some_and(|services| services.contains_key(name))
}

/// Services have long names on Kubernetes, and people write the short ones.
fn no_service(here: &Here<'_>, proxies: &Proxies<'_>, name: &str) -> Why {
    let because = format!("no inbound has the tag `{SERVICE}: {name}`");
    let Some(services) = proxies.tags().get(SERVICE) else {
        let help = format!("no inbound has a tag `{SERVICE}`; refer to a Dataplane by its labels");
        return Why::new("kind", because, Some(help));
    };
    let stem = format!("{name}_");
    let long = services.range(stem.as_str()..).map(|(service, _)| *service).next();
    let near = long
        .filter(|service| service.starts_with(&stem))
        .or_else(|| here.world.budget.nearest(name, services.len(), services.keys().copied()));
    Why::new("name", because, near.map(|near| format!("did you mean `{near}`?")))
}

fn by_gateway(here: &Here<'_>, proxies: &Proxies<'_>, target: &TargetRef) -> Why {
    let names = proxies.gateway_names();
    if !names.contains(target.name()) {
        let near = here.world.budget.nearest(target.name(), names.len(), names.iter().copied());
        let because = format!("MeshGateway `{}` not found in the input", target.name());
        return Why::new("name", because, near.map(|near| format!("did you mean `{near}`?")));
    }
    if target.has_tags() {
        let because = "no proxy of this MeshGateway has a listener with these tags";
        return Why::new("tags", because, None);
    }
    Why::new(
        "name",
        format!("no built-in gateway has tags that MeshGateway `{}` selects", target.name()),
        Some("correct the selectors of the MeshGateway, or the tags of the gateway".to_owned()),
    )
}

/// A name means a proxy of the policy's own zone, and of its namespace unless another is written.
fn by_name(here: &Here<'_>, proxies: &Proxies<'_>, policy: &Policy) -> Why {
    let target = &policy.target;
    let (name, own) = (target.name(), policy.meta.namespace());
    let namespace = if target.namespace().is_empty() { own } else { target.namespace() };
    if name.is_empty() {
        return Why::new("namespace", "a namespace without a name matches no proxy", None);
    }
    let same = proxies.names().get(name).and_then(|places| places.first());
    if let Some(proxy) = same.and_then(|place| proxies.get(*place)) {
        return elsewhere(&policy.meta, namespace, &proxy.meta);
    }
    let names = proxies.names();
    let near = here.world.budget.nearest(name, names.len(), names.keys().copied());
    Why::new(
        "name",
        format!("Dataplane `{name}` not found in the input"),
        near.map(|near| format!("did you mean `{near}`?")),
    )
}

fn elsewhere(policy: &Meta, namespace: &str, proxy: &Meta) -> Why {
    let name = proxy.display_name();
    if proxy.zone() != policy.zone() {
        let own = match policy.zone() {
            "" => "the policy is in none".to_owned(),
            zone => format!("the policy in `{zone}`"),
        };
        return Why::new(
            "name",
            format!(
                "`{name}` is in zone `{}` and {own}, but a name refers to a proxy of the same zone",
                proxy.zone()
            ),
            Some("refer to it by its labels".to_owned()),
        );
    }
    if proxy.namespace() != namespace {
        let its = proxy.namespace();
        return Why::new(
            "name",
            format!("`{name}` is in namespace `{its}`, not in `{namespace}`"),
            Some(format!("write `namespace: {its}`")),
        );
    }
    Why::new("name", format!("`{name}` has nothing to select"), None)
}
