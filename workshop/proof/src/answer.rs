// SPDX-License-Identifier: Apache-2.0
//! In: what a client got and what the proxy tells through the windows of `observe`. Out: answers. Not here: which
//! answer is right.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::client::{Connected, ProxyReply};
use crate::failure::HarnessFailure;
use crate::http::Response;
use crate::observe;

/// How Envoy names the policy when there was none; it has no counter of its own.
const NOBODY: &str = "none";

/// What the proxy does with a request or a connection, and who says so. Policies are names of actions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProxyAnswer {
    /// It passes.
    Allowed {
        /// The policy that admits it.
        policy: String,
        /// The policy whose shadow would refuse it.
        shadow: Option<String>,
    },
    /// It is refused.
    Denied {
        /// The policy that refuses it; the one for no match included.
        policy: String,
    },
    /// Nobody judges it: as a request it is not acceptable.
    Rejected {
        /// What it is answered with; 0 if the proxy gives up the stream or the connection of HTTP/2 instead.
        status: u16,
    },
    /// Nobody judges it: the handshake fails.
    Refused,
}

/// An answer as seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenAnswer {
    /// The answer.
    pub answer: ProxyAnswer,
    /// The path that was judged, query included.
    pub path: Option<String>,
}

/// An answer as foretold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The answer.
    pub answer: ProxyAnswer,
    /// The policy whose shadow counts it. A request that is denied counts as well.
    pub counted: Option<String>,
    /// The path that is judged, without query. Without one it is not compared.
    pub path: Option<String>,
}

impl Expected {
    /// Whether this is what is seen.
    pub fn is(&self, seen: &SeenAnswer) -> bool {
        let path = seen.path.as_deref().map(|p| p.split('?').next().unwrap_or(p));
        let same_path = path.is_none() || self.path.is_none() || path == self.path.as_deref();
        self.answer == seen.answer && same_path
    }
}

/// How often something was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Requests or connections that passed.
    pub allowed: u64,
    /// Those that were refused.
    pub denied: u64,
    /// Those that a shadow would refuse.
    pub shadow: u64,
}

impl Count {
    fn add(&mut self, kind: &str, by: u64) {
        match kind {
            "allowed" => self.allowed += by,
            "denied" => self.denied += by,
            "shadow_denied" => self.shadow += by,
            _ => {}
        }
    }
}

/// The counters of the filters that decide.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// All policies together.
    pub all: Count,
    /// By policy, where the filter counts so (HTTP). Policies that counted nothing are not in it.
    pub policies: BTreeMap<String, Count>,
}

impl Counters {
    /// Out of all counters of a proxy.
    pub fn of(stats: &BTreeMap<String, u64>) -> Self {
        let mut counters = Self::default();
        for (name, &value) in stats {
            let Some((scope, rest)) = name.split_once("rbac.") else { continue };
            if scope.starts_with(observe::OWN_STATS) || value == 0 {
                continue;
            }
            let (prefix, kind) = rest.rsplit_once('.').unwrap_or(("", rest));
            if !matches!(kind, "allowed" | "denied" | "shadow_denied") {
                continue;
            }
            match format!(".{prefix}").split_once(".policy.") {
                Some((_, policy)) => {
                    counters.policies.entry(policy.to_owned()).or_default().add(kind, value);
                }
                None => counters.all.add(kind, value),
            }
        }
        counters
    }

    /// What they should be after these answers. A shadow that would let pass is not counted here.
    pub fn foretold<'a>(expected: impl IntoIterator<Item = &'a Expected>) -> Self {
        let mut counters = Self::default();
        let mut add = |policy: &str, kind: &str| {
            counters.all.add(kind, 1);
            if policy != NOBODY {
                counters.policies.entry(policy.to_owned()).or_default().add(kind, 1);
            }
        };
        for one in expected {
            match &one.answer {
                ProxyAnswer::Allowed { policy, .. } => add(policy, "allowed"),
                ProxyAnswer::Denied { policy } => add(policy, "denied"),
                ProxyAnswer::Rejected { .. } | ProxyAnswer::Refused => continue,
            }
            if let Some(policy) = &one.counted {
                add(policy, "shadow_denied");
            }
        }
        counters
    }
}

/// The answer in an HTTP reply.
///
/// # Errors
/// The reply does not tell who decided, or, if there `has_path` to be one, on which path.
pub(crate) fn of_reply(reply: &ProxyReply, has_path: bool) -> Result<SeenAnswer, HarnessFailure> {
    let response = match reply {
        ProxyReply::Response(response) => response,
        ProxyReply::Reset => {
            return Ok(SeenAnswer { answer: ProxyAnswer::Rejected { status: 0 }, path: None });
        }
        ProxyReply::Refused(_) => {
            return Ok(SeenAnswer { answer: ProxyAnswer::Refused, path: None });
        }
    };
    // The reason tells a denial by a rule from other refusals. A call of gRPC is answered with 200 whatever happens.
    if let Some(policy) = response.header(observe::REASON).and_then(denier) {
        let answer = ProxyAnswer::Denied { policy };
        let path = has_path.then(|| judged(response)).transpose()?;
        return Ok(SeenAnswer { answer, path });
    }
    match (response.status, response.header(observe::REASON)) {
        (200, None | Some("direct_response")) => of_allowed(response, has_path),
        // The filter let it pass, and there is no route for a CONNECT.
        (404, Some("route_not_found")) if !has_path => of_allowed(response, false),
        (200, Some(_)) => {
            Ok(SeenAnswer { answer: ProxyAnswer::Rejected { status: 200 }, path: None })
        }
        (status, _) => Ok(SeenAnswer { answer: ProxyAnswer::Rejected { status }, path: None }),
    }
}

fn of_allowed(response: &Response, has_path: bool) -> Result<SeenAnswer, HarnessFailure> {
    let policy = response.header(observe::POLICY).and_then(given);
    let policy = policy.ok_or_else(|| {
        HarnessFailure::new(format!("a pass that does not say why: {response:?}"))
    })?;
    let shadow = response
        .header(observe::SHADOW)
        .and_then(|text| text.split_once(' '))
        .and_then(|(result, policy)| (result == "denied").then(|| policy.to_owned()));
    let path = has_path.then(|| judged(response)).transpose()?;
    Ok(SeenAnswer { answer: ProxyAnswer::Allowed { policy, shadow }, path })
}

/// The path that was judged. Without it nothing could be compared, and nobody would notice.
fn judged(response: &Response) -> Result<String, HarnessFailure> {
    let path = response.header(observe::PATH).map(str::to_owned);
    path.ok_or_else(|| {
        HarnessFailure::new(format!("an answer without the judged path: {response:?}"))
    })
}

/// The answer to a connection: what its client saw, and its line in the log.
///
/// # Errors
/// The two contradict each other.
pub(crate) fn of_connection(seen: &Connected, line: &Value) -> Result<SeenAnswer, HarnessFailure> {
    let text = |key: &str| line.get(key).and_then(Value::as_str).and_then(given);
    let denied = text("reason").and_then(|reason| denier(&reason));
    let unclear =
        || HarnessFailure::new(format!("echoed: {}, but the log says {line}", seen.echoed));
    let answer = match (seen.echoed, denied) {
        (true, None) if text("result").as_deref() == Some("allowed") => ProxyAnswer::Allowed {
            policy: text("policy").ok_or_else(unclear)?,
            shadow: text("shadow").filter(|_| text("shadowResult").as_deref() == Some("denied")),
        },
        (false, Some(policy)) if text("result").as_deref() == Some("denied") => {
            ProxyAnswer::Denied { policy }
        }
        (false, None) if text("result").is_none() => ProxyAnswer::Refused,
        _ => return Err(unclear()),
    };
    Ok(SeenAnswer { answer, path: None })
}

/// The policy in the reason for a denial.
fn denier(reason: &str) -> Option<String> {
    let policy = reason.strip_prefix("rbac_access_denied_matched_policy[")?.strip_suffix(']')?;
    Some(policy.to_owned())
}

/// What is not known is written as a dash.
fn given(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text != "-").then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_filter_and_by_policy() {
        let stats = [
            ("http.in.rbac.mtp.allowed", 3),
            ("http.in.rbac.denied", 2),
            ("in.rbac.shadow_denied", 1),
            ("http.in.rbac.policy.kri_a_.denied", 2),
            ("http.in.rbac.mtp.policy.kri_b_.shadow_denied", 4),
            ("proof-copy.rbac.shadow_denied", 9),
            ("http.in.downstream_rq_total", 7),
            ("http.in.rbac.policy.default.shadow_allowed", 5),
        ];
        let found = Counters::of(&stats.iter().map(|&(n, v)| (n.to_owned(), v)).collect());
        assert_eq!(found.all, Count { allowed: 3, denied: 2, shadow: 1 });
        assert_eq!(found.policies["kri_a_"], Count { denied: 2, ..Count::default() });
        assert_eq!(found.policies.len(), 2);
        assert_eq!(found.policies["kri_b_"], Count { shadow: 4, ..Count::default() });
    }
}
