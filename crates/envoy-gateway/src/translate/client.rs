// SPDX-License-Identifier: Apache-2.0
//! In: the spec of a ClientTrafficPolicy. Out: what cannot be translated. Not here: listeners that share a port (`plan`).

use serde_json::Value;

use super::Translator;
use super::traffic::{buffer_limit, http2, tcp_keepalive};
use super::values::{Quantity, duration, quantity, shown};

/// The bounds of a request's headers.
const HEADERS: (i128, i128) = (1024, 8192 * 1024);

fn text<'v>(of: &'v Value, key: &str) -> Option<&'v str> {
    of.get(key).and_then(Value::as_str)
}

impl Translator<'_, '_> {
    pub(super) fn client(&mut self) {
        let spec = self.spec;
        let at = |key: &str| spec.get(key).filter(|value| !value.is_null());
        if let Some(keepalive) = at("tcpKeepalive") {
            self.check("tcpKeepalive", "TCP KeepAlive", tcp_keepalive(keepalive));
        }
        if let Some(connection) = at("connection") {
            self.check("connection", "Connection", connection_problem(connection));
        }
        if let Some(timeout) = at("timeout") {
            self.check("timeout", "Timeout", timeout_problem(timeout));
        }
        if let Some(headers) = at("headers") {
            self.check("headers", "Headers", header_problem(headers));
        }
        for text in at("http2").map(http2).unwrap_or_default() {
            self.fail("http2", "HTTP2", &text);
        }
        if let Some(tls) = at("tls") {
            let result = self.tls(tls);
            self.check("tls", "TLS", result);
        }
        if at("proxyProtocol").is_some()
            || at("enableProxyProtocol").and_then(Value::as_bool) != Some(true)
        {
            self.ignore("enableProxyProtocol");
        }
    }

    fn tls(&self, tls: &Value) -> Result<(), String> {
        let Some(validation) = tls.get("clientValidation").filter(|v| !v.is_null()) else {
            return Ok(());
        };
        let owner = self.owner(&["tls"]);
        let lists = ["caCertificateRefs"];
        let refs = lists.iter().filter_map(|key| validation.get(key)?.as_array()).flatten();
        for reference in refs {
            match text(reference, "kind").unwrap_or("Secret") {
                kind @ ("Secret" | "ConfigMap") => {
                    self.fabric.object_ref(owner, reference, kind, true)?;
                }
                "ClusterTrustBundle" => {}
                other => return Err(format!("unsupported caCertificateRef kind:{other}")),
            }
        }
        Ok(())
    }
}

fn connection_problem(connection: &Value) -> Result<(), String> {
    if let Some(limit) = connection.get("connectionLimit") {
        let durations = [
            ("closeDelay", "CloseDelay"),
            ("maxConnectionDuration", "MaxConnectionDuration"),
            ("maxStreamDuration", "MaxStreamDuration"),
        ];
        for (key, name) in durations {
            if let Some(value) = text(limit, key)
                && duration(value).is_none()
            {
                return Err(format!("invalid {name} value {value}"));
            }
        }
    }
    buffer_limit(connection, ", must be between 0 and 4294967295")
}

fn timeout_problem(timeout: &Value) -> Result<(), String> {
    let fields = [
        ("tcp", "idleTimeout", "TCP IdleTimeout"),
        ("http", "requestReceivedTimeout", "HTTP RequestReceivedTimeout"),
        ("http", "idleTimeout", "HTTP IdleTimeout"),
        ("http", "streamIdleTimeout", "HTTP StreamIdleTimeout"),
    ];
    for (side, key, name) in fields {
        let value = timeout.get(side).and_then(|s| text(s, key));
        if let Some(value) = value.filter(|value| duration(value).is_none()) {
            return Err(format!("invalid {name} value {value}"));
        }
    }
    Ok(())
}

fn header_problem(headers: &Value) -> Result<(), String> {
    let Some(limit) = headers.get("maxRequestHeaderLimit").filter(|l| !l.is_null()) else {
        return Ok(());
    };
    match quantity(limit) {
        Quantity::Whole(bytes) if bytes < HEADERS.0 => {
            Err(format!("MaxRequestHeaderLimit value {} must be at least 1Ki", shown(limit)))
        }
        Quantity::Whole(bytes) if bytes > HEADERS.1 => {
            Err(format!("MaxRequestHeaderLimit value {} must be at most 8192Ki", shown(limit)))
        }
        Quantity::Whole(_) => Ok(()),
        Quantity::Other => Err(format!("invalid MaxRequestHeaderLimit value {}", shown(limit))),
    }
}
