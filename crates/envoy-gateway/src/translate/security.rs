// SPDX-License-Identifier: Apache-2.0
//! In: the spec of a SecurityPolicy. Out: what cannot be translated, and what the controller refuses before it
//! translates. Not here: what a listener must have for locations of clients (`plan`).

use serde_json::Value;

use super::Translator;
use super::extension::passed_on;
use super::traffic::{backend_settings, is_cidr};
use super::values::pattern_problem;

fn text<'v>(of: &'v Value, key: &str) -> Option<&'v str> {
    of.get(key).and_then(Value::as_str)
}

fn list<'v>(of: Option<&'v Value>, key: &str) -> &'v [Value] {
    of.and_then(|of| of.get(key)).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn there<'v>(spec: &'v Value, key: &str) -> Option<&'v Value> {
    spec.get(key).filter(|value| !value.is_null())
}

impl Translator<'_, '_> {
    pub(super) fn security(&mut self) {
        let spec = self.spec;
        if let Some(basic) = there(spec, "basicAuth") {
            let users = basic.get("users").unwrap_or(&Value::Null);
            let owner = self.owner(&["basicAuth"]);
            let result = self.fabric.object_ref(owner, users, "Secret", true);
            self.check("basicAuth", "BasicAuth", result);
        }
        if let Some(keys) = there(spec, "apiKeyAuth") {
            let owner = self.owner(&["apiKeyAuth", "credentialRefs"]);
            let mut refs = list(Some(keys), "credentialRefs").iter();
            let result = refs.try_for_each(|r| self.fabric.object_ref(owner, r, "Secret", true));
            self.check("apiKeyAuth", "APIKeyAuth", result);
        }
        if let Some(authorization) = there(spec, "authorization") {
            self.check("authorization", "Authorization", rules(authorization));
        }
        if let Some(external) = there(spec, "extAuth") {
            let result = self.external(external);
            self.check("extAuth", "ExtAuth", result);
            if external.get("failOpen").and_then(Value::as_bool) == Some(true)
                && let Some(field) = self.info.field("extAuth")
            {
                self.out.opens.add(field);
            }
        }
        if let Some(oidc) = there(spec, "oidc") {
            let result = self.oidc(oidc);
            self.check("oidc", "OIDC", result);
        }
        if let Some(jwt) = there(spec, "jwt") {
            let result = self.jwt(jwt);
            self.check("jwt", "JWT", result);
        }
    }

    fn external(&self, external: &Value) -> Result<(), String> {
        let (http, grpc) = (there(external, "http"), there(external, "grpc"));
        let (service, side) = match (http, grpc) {
            (None, None) => return Err("one of grpc or http must be specified".to_owned()),
            (Some(_), Some(_)) => {
                return Err("only one of grpc or http can be specified".to_owned());
            }
            (Some(http), None) => (http, "http"),
            (None, Some(grpc)) => (grpc, "grpc"),
        };
        let named = |key| self.owner(&["extAuth", side, key]);
        match (list(Some(service), "backendRefs"), there(service, "backendRef")) {
            ([_, ..], _) => {
                let refs = service.get("backendRefs").unwrap_or(&Value::Null);
                self.fabric.backend_refs(named("backendRefs"), refs)?;
            }
            (_, Some(one)) => self.fabric.backend_ref(named("backendRef"), one)?,
            _ => return Err(format!("{side} backend refs must be specified")),
        }
        if let Some(settings) = there(service, "backendSettings") {
            backend_settings(settings)?;
        }
        self.context_extensions(external)
    }

    fn context_extensions(&self, external: &Value) -> Result<(), String> {
        for extension in list(Some(external), "contextExtensions") {
            if text(extension, "type") != Some("ValueRef") {
                continue;
            }
            let Some(value) = extension.get("valueRef") else {
                return Err("unexpected nil reference".to_owned());
            };
            // Extensions are merged by name: each is its writer's.
            let namespace = self.owner(&["extAuth", "contextExtensions"]).namespace;
            let (kind, name) =
                (text(value, "kind").unwrap_or(""), text(value, "name").unwrap_or(""));
            let word = match kind {
                "ConfigMap" => "configmap",
                "Secret" => "secret",
                other => return Err(format!("unexpected reference to kind \"{other}\"")),
            };
            if !self.fabric.is_there(kind, namespace, name) {
                return Err(format!(
                    "can't find the referenced {word} \"{name}\" in namespace \"{namespace}\""
                ));
            }
        }
        Ok(())
    }

    fn oidc(&self, oidc: &Value) -> Result<(), String> {
        let provider = there(oidc, "provider");
        if !list(provider, "backendRefs").is_empty() {
            let owner = self.owner(&["oidc", "provider", "backendRefs"]);
            let refs = provider.and_then(|p| p.get("backendRefs")).unwrap_or(&Value::Null);
            self.fabric.backend_refs(owner, refs)?;
        }
        if let Some(settings) = provider.and_then(|p| there(p, "backendSettings")) {
            backend_settings(settings)?;
        }
        if there(oidc, "clientID").is_none()
            && let Some(reference) = there(oidc, "clientIDRef")
        {
            let owner = self.owner(&["oidc", "clientIDRef"]);
            self.fabric.object_ref(owner, reference, "Secret", true)?;
        }
        let owner = self.owner(&["oidc", "clientSecret"]);
        let secret = oidc.get("clientSecret").unwrap_or(&Value::Null);
        self.fabric.object_ref(owner, secret, "Secret", true)?;
        if let Some(url) = text(oidc, "redirectURL") {
            redirect_path(url)?;
        }
        Ok(())
    }

    fn jwt(&self, jwt: &Value) -> Result<(), String> {
        let providers = list(Some(jwt), "providers");
        let owner = self.owner(&["jwt", "providers"]);
        for provider in providers {
            if let Some(remote) = there(provider, "remoteJWKS") {
                if !list(Some(remote), "backendRefs").is_empty() {
                    let refs = remote.get("backendRefs").unwrap_or(&Value::Null);
                    self.fabric.backend_refs(owner, refs)?;
                }
                if let Some(settings) = there(remote, "backendSettings") {
                    backend_settings(settings)?;
                }
                for key in ["cacheDuration", "failedRefetchDuration"] {
                    text(remote, key).map_or(Ok(()), passed_on)?;
                }
            } else if let Some(local) = there(provider, "localJWKS")
                && text(local, "type") == Some("ValueRef")
            {
                let name = local.get("valueRef").and_then(|r| text(r, "name")).unwrap_or("");
                let namespace = owner.namespace;
                if !self.fabric.is_there("ConfigMap", namespace, name) {
                    return Err(format!("local JWKS ConfigMap {namespace}/{name} not found"));
                }
            }
        }
        Ok(())
    }
}

fn redirect_path(url: &str) -> Result<(), String> {
    let invalid = || Err(format!("invalid redirect URL {url}"));
    let Some((scheme, rest)) = url.split_once("://") else { return invalid() };
    if !["http", "https", "%REQ(x-forwarded-proto)%"].contains(&scheme) {
        return invalid();
    }
    match rest.split_once('/') {
        Some((host, path)) if !host.is_empty() && !path.is_empty() => Ok(()),
        _ => invalid(),
    }
}

/// The rules of an authorization.
fn rules(authorization: &Value) -> Result<(), String> {
    for rule in list(Some(authorization), "rules") {
        for cidr in list(rule.get("principal"), "clientCIDRs").iter().filter_map(Value::as_str) {
            if !is_cidr(cidr) {
                return Err(format!(
                    "unable to translate authorization rule: invalid CIDR address: {cidr}"
                ));
            }
        }
        let path = rule.get("operation").and_then(|o| o.get("path"));
        if let Some(path) = path
            && text(path, "type") == Some("RegularExpression")
            && let Some(problem) = pattern_problem(text(path, "value").unwrap_or(""))
        {
            let value = text(path, "value").unwrap_or("");
            return Err(format!(
                "unable to translate authorization rule: regex \"{value}\" is invalid: error parsing regexp: {problem}"
            ));
        }
    }
    Ok(())
}

/// What the controller refuses on a route before it translates anything.
pub(crate) fn refused(spec: &Value, tcp: bool) -> Option<String> {
    if tcp { refused_for_tcp(spec) } else { refused_for_http(spec) }
}

fn refused_for_http(spec: &Value) -> Option<String> {
    for source in list(spec.get("apiKeyAuth"), "extractFrom") {
        let given = ["headers", "params", "cookies"];
        let given = given.iter().filter(|key| !list(Some(source), key).is_empty());
        if given.count() > 1 {
            return Some("only one of headers, params or cookies must be specified".to_owned());
        }
    }
    let oidc = there(spec, "oidc")?;
    if oidc.get("passThroughAuthHeader").and_then(Value::as_bool) != Some(true) {
        return None;
    }
    let Some(jwt) = there(spec, "jwt") else {
        return Some(
            "the OIDC.PassThroughAuthHeader setting must be used in conjunction with JWT settings"
                .to_owned(),
        );
    };
    let reads_header = |provider: &Value| {
        let from = there(provider, "extractFrom");
        from.is_none() || !list(from, "headers").is_empty()
    };
    if list(Some(jwt), "providers").iter().any(reads_header) {
        return None;
    }
    Some(
        "the OIDC.PassThroughAuthHeader setting must be used in conjunction with a JWT provider that is configured \
         to read from a header"
            .to_owned(),
    )
}

fn refused_for_tcp(spec: &Value) -> Option<String> {
    let http = ["cors", "jwt", "oidc", "apiKeyAuth", "basicAuth", "extAuth"];
    if http.iter().any(|key| there(spec, key).is_some()) {
        return Some("only authorization is supported for TCP (routes/listeners)".to_owned());
    }
    for (n, rule) in list(spec.get("authorization"), "rules").iter().enumerate() {
        if there(rule, "cel").is_some() {
            return Some(format!("rule {n}: CEL not supported for TCP"));
        }
        let Some(principal) = there(rule, "principal") else { continue };
        let problem = if there(principal, "jwt").is_some() {
            "JWT not supported for TCP".to_owned()
        } else if !list(Some(principal), "headers").is_empty() {
            "headers not supported for TCP".to_owned()
        } else if !list(Some(principal), "clientIPGeoLocations").is_empty() {
            "clientIPGeoLocations not supported for TCP".to_owned()
        } else {
            let cidrs = list(Some(principal), "clientCIDRs").iter().filter_map(Value::as_str);
            match cidrs.into_iter().find(|cidr| !is_cidr(cidr)) {
                Some(cidr) => {
                    format!("invalid ClientCIDR \"{cidr}\": invalid CIDR address: {cidr}")
                }
                None => continue,
            }
        };
        return Some(format!("rule {n}: {problem}"));
    }
    None
}

/// What the controller says if a SecurityPolicy asks where clients are and a listener or the proxy cannot tell.
pub(crate) fn location_problem(
    spec: &Value,
    detection: Option<&Value>,
    proxy: Option<&Value>,
) -> Option<String> {
    let needs = location_needs(spec);
    if needs.is_empty() {
        return None;
    }
    let what = "authorization clientIPGeoLocations";
    let Some(detection) = detection else {
        return Some(format!(
            "{what} requires ClientTrafficPolicy.spec.clientIPDetection to be configured"
        ));
    };
    let modes = ["xForwardedFor", "customHeader", "directSourceIP"];
    if modes.iter().filter(|mode| there(detection, mode).is_some()).count() != 1 {
        return Some(format!(
            "{what} requires exactly one of ClientTrafficPolicy.spec.clientIPDetection.{{xForwardedFor,customHeader,directSourceIP}}"
        ));
    }
    if !list(detection.get("xForwardedFor"), "trustedCIDRs").is_empty() {
        return Some(format!(
            "{what} does not support ClientIPDetection.XForwardedFor.TrustedCIDRs"
        ));
    }
    let provider = proxy.and_then(|p| p.get("geoIP")).and_then(|g| g.get("provider"));
    let Some(maxmind) = provider.and_then(|p| there(p, "maxMind")) else {
        return Some(format!("{what} requires EnvoyProxy.spec.geoIP.provider to be configured"));
    };
    let has = |key: &str| there(maxmind, key).is_some();
    let prefix = "EnvoyProxy.spec.geoIP.provider.maxMind";
    let missing = needs.into_iter().find_map(|need| {
        let (sources, fits): (&str, bool) = match need {
            "country" => {
                ("countryDbSource or cityDbSource", has("countryDbSource") || has("cityDbSource"))
            }
            "region" | "city" => ("cityDbSource", has("cityDbSource")),
            "asn" => ("asnDbSource", has("asnDbSource")),
            "isp" => ("ispDbSource", has("ispDbSource")),
            _ => ("anonymousIpDbSource", has("anonymousIpDbSource")),
        };
        (!fits).then_some((need, sources))
    });
    missing.map(|(need, sources)| format!("{what}.{need} requires {prefix}.{sources}"))
}

/// What an authorization asks about the places of clients, in the order in which the controller looks.
fn location_needs(spec: &Value) -> Vec<&'static str> {
    let rules = list(spec.get("authorization"), "rules").iter();
    let places: Vec<&Value> =
        rules.flat_map(|rule| list(rule.get("principal"), "clientIPGeoLocations")).collect();
    if places.is_empty() {
        return Vec::new();
    }
    let asked = ["country", "region", "city", "asn", "isp", "anonymous"];
    let mut needs: Vec<&'static str> =
        asked.into_iter().filter(|key| places.iter().any(|p| there(p, key).is_some())).collect();
    if needs.is_empty() {
        // It asks for a place without saying which: the conditions of the listener hold all the same.
        needs.push("country");
    }
    needs
}
