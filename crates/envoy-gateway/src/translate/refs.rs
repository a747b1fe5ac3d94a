// SPDX-License-Identifier: Apache-2.0
//! In: references inside policies. Out: what is wrong with them, in the controller's words. Not here: which fields hold
//! references.
//!
//! A reference is read in the namespace of the policy that wrote it, and that policy needs the permission.

use overrule_gateway::topology::grants::{Referent, Referrer};
use overrule_model::Sym;
use serde_json::Value;

use crate::fabric::Fabric;
use crate::kinds::GROUP;

/// Group of imported services.
pub(crate) const MULTI_CLUSTER: &str = "multicluster.x-k8s.io";

/// Who refers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'a> {
    /// Kind of the policy.
    pub(crate) kind: &'a str,
    /// Its namespace.
    pub(crate) namespace: &'a str,
}

fn text<'v>(of: &'v Value, key: &str) -> Option<&'v str> {
    of.get(key).and_then(Value::as_str)
}

impl Fabric<'_> {
    fn is_granted(&self, owner: Owner<'_>, to: (&str, &str, &str, &str)) -> bool {
        let (group, kind, namespace, name) = to;
        let names = self.world.snapshot.names();
        if owner.namespace == namespace {
            return true;
        }
        let sym = |text: &str| names.lookup(text);
        let referrer = || {
            let (group, kind, namespace) = (sym(GROUP)?, sym(owner.kind)?, sym(owner.namespace)?);
            Some(Referrer { group, kind, namespace })
        };
        let referent = || {
            let (group, kind, namespace) = (sym(group)?, sym(kind)?, sym(namespace)?);
            let name = sym(name).unwrap_or(Sym::EMPTY);
            Some(Referent { group, kind, namespace, name })
        };
        let pair = referrer().zip(referent());
        pair.is_some_and(|(from, to)| self.world.topology.grants.allows(from, to))
    }

    /// A Secret or ConfigMap in any namespace that permits it.
    pub(crate) fn object_ref(
        &self,
        owner: Owner<'_>,
        reference: &Value,
        kind: &str,
        crosses: bool,
    ) -> Result<(), String> {
        let name = text(reference, "name").unwrap_or("");
        let namespace = text(reference, "namespace").unwrap_or(owner.namespace);
        if namespace != owner.namespace && !crosses {
            return Err(format!(
                "{} ref namespace must be unspecified/empty or {}",
                lower_words(kind),
                owner.namespace
            ));
        }
        if !self.is_granted(owner, ("", kind, namespace, name)) {
            return Err(format!(
                "ref to {kind} {namespace}/{name} not permitted by any ReferenceGrant"
            ));
        }
        if self.find("", kind, namespace, name).is_none()
            && !self.may_be_missing(kind, namespace, name)
        {
            return Err(format!("{} {namespace}/{name} does not exist", lower_words(kind)));
        }
        Ok(())
    }

    /// Whether an object of the core group is there, or may be.
    pub(crate) fn is_there(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.find("", kind, namespace, name).is_some() || self.may_be_missing(kind, namespace, name)
    }

    /// Backends of an external service.
    pub(crate) fn backend_refs(&self, owner: Owner<'_>, list: &Value) -> Result<(), String> {
        let list = list.as_array().map_or(&[][..], Vec::as_slice);
        if list.is_empty() {
            return Err("no backendRefs found for external service".to_owned());
        }
        list.iter().try_for_each(|reference| self.backend_ref(owner, reference))
    }

    /// One backend of an external service.
    pub(crate) fn backend_ref(&self, owner: Owner<'_>, reference: &Value) -> Result<(), String> {
        let group = text(reference, "group").unwrap_or("");
        let kind = text(reference, "kind").unwrap_or("Service");
        let name = text(reference, "name").unwrap_or("");
        let namespace = text(reference, "namespace").unwrap_or(owner.namespace);
        if !["", MULTI_CLUSTER, GROUP].contains(&group) {
            return Err("group is invalid, only the core API group (specified by omitting the group field or \
                        setting it to an empty string), multicluster.x-k8s.io and gateway.envoyproxy.io are supported"
                .to_owned());
        }
        match kind {
            "Service" => self.service_ref(reference, namespace, name)?,
            "ServiceImport" => self.import_ref(reference, namespace, name)?,
            "Backend" => {
                let found = self.find(GROUP, "Backend", namespace, name).is_some();
                if !found && !self.may_be_missing("Backend", namespace, name) {
                    return Err(format!("backend {namespace}/{name} not found"));
                }
            }
            _ => {
                return Err("kind is invalid, only Service (specified by omitting the kind field or setting it to \
                            'Service'), ServiceImport, and Backend are supported"
                    .to_owned());
            }
        }
        if !self.is_granted(owner, (group, kind, namespace, name)) {
            return Err(format!(
                "backend ref to {kind} {namespace}/{name} not permitted by any ReferenceGrant"
            ));
        }
        if kind == "Backend" && !self.world.ground.backends {
            return Err(format!(
                "resource {name} of type Backend cannot be used since Backend is disabled in Envoy Gateway configuration"
            ));
        }
        Ok(())
    }

    fn service_ref(&self, reference: &Value, namespace: &str, name: &str) -> Result<(), String> {
        let Some(port) = reference.get("port").and_then(Value::as_i64) else {
            return Err(
                "a valid port number corresponding to a port on the Service must be specified"
                    .to_owned(),
            );
        };
        let Some(service) = self.find("", "Service", namespace, name) else {
            return match self.may_be_missing("Service", namespace, name) {
                true => Ok(()),
                false => Err(format!("service {namespace}/{name} not found")),
            };
        };
        let spec = self.world.documents.view(service.root).get("spec");
        let external = spec.and_then(|s| s.get("type")).and_then(|t| t.as_str());
        if external == Some("ExternalName") {
            return Err(format!(
                "Service {namespace}/{name} is of type ExternalName, which is not supported as a backend; use an Envoy Gateway Backend resource with an FQDN endpoint instead"
            ));
        }
        let ports = spec.and_then(|s| s.get("ports")).into_iter().flat_map(|p| p.items());
        let mut fits = ports.filter(|p| {
            p.get("protocol").and_then(|t| t.as_str()).is_none_or(|protocol| protocol == "TCP")
        });
        if !fits.any(|p| p.get("port").and_then(|n| n.as_i64()) == Some(port)) {
            return Err(format!("TCP Port {port} not found on service {namespace}/{name}"));
        }
        Ok(())
    }

    fn import_ref(&self, reference: &Value, namespace: &str, name: &str) -> Result<(), String> {
        let Some(port) = reference.get("port").and_then(Value::as_i64) else {
            return Err("a valid port number corresponding to a port on the ServiceImport must be specified".to_owned());
        };
        let Some(import) = self.find(MULTI_CLUSTER, "ServiceImport", namespace, name) else {
            return match self.may_be_missing("ServiceImport", namespace, name) {
                true => Ok(()),
                false => Err(format!("service import {namespace}/{name} not found")),
            };
        };
        let spec = self.world.documents.view(import.root).get("spec");
        let mut ports = spec.and_then(|s| s.get("ports")).into_iter().flat_map(|p| p.items());
        if !ports.any(|p| p.get("port").and_then(|n| n.as_i64()) == Some(port)) {
            return Err(format!("TCP Port {port} not found on service import {namespace}/{name}"));
        }
        Ok(())
    }
}

fn lower_words(kind: &str) -> &'static str {
    if kind == "Secret" { "secret" } else { "configmap" }
}
