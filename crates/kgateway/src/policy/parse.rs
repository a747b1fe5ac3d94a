// SPDX-License-Identifier: Apache-2.0
//! In: an object of one of kgateway's kinds. Out: a [`Policy`]. Not here: whether its targets exist.

use std::sync::Arc;

use overrule_engine::Reason;
use overrule_gateway::codes_policy::SELECTOR_MATCHES_NOTHING;
use overrule_gateway::kinds::Descriptor;
use overrule_gateway::policy::{Reference, ToRead, Who, read_again, read_all, references};
use overrule_gateway::topology::grants::GrantIndex;
use overrule_gateway::topology::read_grants;
use overrule_model::{At, Fields, GroupKind, Object, ObjectKey, Scope, Snapshot};
use overrule_source::{Diagnostic, Documents, NodeKind, NodeRef, View};

use super::permitted::{Forbidden, Permissions};
use super::{Policies, Policy, Provider, WEIGHT, annotation};
use crate::Settings;
use crate::kinds::{ALL, GROUP, KindInfo, KindShape, PROVIDERS};
use crate::{codes, reasons};

/// The most references the CRDs let in.
const MOST_REFERENCES: usize = 16;

/// Reads every policy.
pub fn parse(
    documents: &Documents,
    snapshot: &mut Snapshot,
    settings: &Settings,
) -> (Policies, Vec<Diagnostic>) {
    let grants = Arc::new(read_grants(documents, snapshot));
    let context = Context { documents, settings, grants: &grants };
    let (list, kinds, found) =
        read_all(snapshot, ALL, |snapshot, fields, policy| read(context, snapshot, fields, policy));
    let disables = list.iter().any(|policy| policy.disables);
    (Policies { list, kinds, grants, disables }, found)
}

/// Reads one policy again.
pub(crate) fn reparse(
    (documents, settings): (&Documents, &Settings),
    snapshot: &mut Snapshot,
    policies: &Policies,
    was: &Policy,
) -> Option<(Policy, Vec<Diagnostic>)> {
    let context = Context { documents, settings, grants: &policies.grants };
    let known = (was.kind, was.info, was.object);
    read_again(snapshot, &policies.kinds, known, |snapshot, fields, policy| {
        read(context, snapshot, fields, policy)
    })
}

/// What policies are read against.
#[derive(Clone, Copy)]
struct Context<'a> {
    documents: &'a Documents,
    settings: &'a Settings,
    grants: &'a GrantIndex,
}

fn read(
    context: Context<'_>,
    snapshot: &mut Snapshot,
    fields: &mut Fields,
    ToRead { kind, info, descriptor, object }: ToRead<'_, KindInfo>,
) -> Policy {
    let documents = context.documents;
    Reader { documents, context, snapshot, object, fields }.policy(kind, info, descriptor)
}

struct Reader<'a> {
    documents: &'a Documents,
    context: Context<'a>,
    snapshot: &'a mut Snapshot,
    object: &'a Object,
    fields: &'a mut Fields,
}

impl Reader<'_> {
    fn policy(&mut self, kind: usize, info: &'static KindInfo, descriptor: &Descriptor) -> Policy {
        let root = self.documents.view(self.object.root);
        let spec = root.get("spec").filter(|v| v.kind() == NodeKind::Map);
        let references = match info.shape {
            KindShape::Sequential => Vec::new(),
            _ => references(self.fields, self.snapshot, descriptor, root),
        };
        let references = self.with_labels(references);
        let mut policy = Policy {
            object: self.object.id,
            info,
            kind,
            references,
            spec: self.at(spec.unwrap_or(root)),
            weight: 0,
            providers: Vec::new(),
            disables: spec.is_some_and(disables),
            admitted: spec.is_some(),
            problem: None,
            diagnostics: Vec::new(),
            at: self.object.at,
        };
        let at = At::ROOT.key("spec");
        match (spec, root.get("spec").filter(|v| !v.is_null())) {
            (Some(spec), _) => {
                if !info.fields.is_empty() {
                    let targets = ["targetRefs", "targetSelectors"];
                    let known: Vec<&str> = match info.shape {
                        KindShape::Sequential => info.fields.to_vec(),
                        _ => info.fields.iter().copied().chain(targets).collect(),
                    };
                    self.fields.only(spec, &at, &known);
                }
                self.count_references(&mut policy, spec);
                self.route_fields(&mut policy, spec);
                self.providers(&mut policy, spec);
                self.secrets(&mut policy, spec);
            }
            (None, Some(other)) => self.fields.wrong_type(&at, other, "a mapping"),
            (None, None) => self.fields.missing(&at, root),
        }
        self.weight(&mut policy);
        policy
    }

    /// A selector without labels selects nothing.
    fn with_labels(&mut self, mut references: Vec<Reference>) -> Vec<Reference> {
        for reference in &mut references {
            let empty = matches!(&reference.who, Who::Labelled(s) if s.requirements.is_empty());
            if !empty {
                continue;
            }
            reference.who = Who::Unreadable;
            let d = Diagnostic::new(
                &SELECTOR_MATCHES_NOTHING,
                "a selector without labels selects nothing",
            );
            let d = d.at(reference.at).field(format!("{}.matchLabels", reference.field));
            self.fields.diagnostics.push(d.help("add at least one label to `matchLabels`"));
        }
        references
    }

    fn at(&self, view: View<'_>) -> NodeRef {
        NodeRef { doc: self.object.root.doc, node: view.id() }
    }

    fn count_references(&self, policy: &mut Policy, spec: View<'_>) {
        let Some(list) = spec.get("targetRefs").filter(|l| l.len() > MOST_REFERENCES) else {
            return;
        };
        policy.admitted = false;
        let message = format!(
            "spec.targetRefs: Too many: {}: must have at most {MOST_REFERENCES} items",
            list.len()
        );
        let d = Diagnostic::new(&codes::INVALID, message).at(list.span());
        let help = "split the policy, or select its targets by label";
        policy.diagnostics.push(d.field("spec.targetRefs").help(help));
    }

    /// Fields that the CRD lets in only where every target is a route of a kind they act on.
    fn route_fields(&self, policy: &mut Policy, spec: View<'_>) {
        const HTTP: &[&str] = &["HTTPRoute"];
        const ANY: &[&str] = &["HTTPRoute", "GRPCRoute"];
        let fields = [
            ("autoHostRewrite", HTTP),
            ("urlRewrite", HTTP),
            ("tracing", ANY),
            ("statPrefix", ANY),
        ];
        if policy.info.shape != KindShape::Path {
            return;
        }
        for (field, kinds) in fields {
            let Some((key, _)) = spec.get_entry(field).filter(|(_, v)| !v.is_null()) else {
                continue;
            };
            let other = policy.references.iter().find(|r| {
                let kind = self.snapshot.text(r.kind);
                !kind.is_empty() && !kinds.contains(&kind)
            });
            let Some(other) = other else { continue };
            policy.admitted = false;
            let message = format!(
                "`{field}` can only be used where every target is {}, and this policy targets {}",
                overrule_model::with_article(&kinds.join(" or ")),
                overrule_model::with_article(self.snapshot.text(other.kind))
            );
            let d = Diagnostic::new(&codes::INVALID, message)
                .at(key.span())
                .see(other.at, "this target");
            let help = "move the field to a policy that targets routes only";
            policy.diagnostics.push(d.field(format!("spec.{field}")).help(help));
        }
    }

    /// The weight. If it is not a number, the policy is invalid.
    fn weight(&self, policy: &mut Policy) {
        let found = annotation(self.documents, self.snapshot, self.object.id, WEIGHT);
        let Some(value) = found else { return };
        if value.as_str().is_none() {
            policy.admitted = false;
            let message = format!(
                "annotation `{WEIGHT}` is not a string, so the API server rejects the policy"
            );
            let d = Diagnostic::new(&codes::INVALID, message).at(value.span());
            let d = d.field(format!("metadata.annotations.{WEIGHT}"));
            policy.diagnostics.push(d.help("put the number in quotes"));
            return;
        }
        match value.as_str().and_then(|text| text.parse::<i32>().ok()) {
            Some(weight) => policy.weight = weight,
            None => {
                let text = value.scalar_text().unwrap_or("");
                let message = format!(
                    "`{WEIGHT}` is `{text}`, which is not a number; the policy is invalid, and every rule it reaches answers 500"
                );
                let d = Diagnostic::new(&codes::BAD_WEIGHT, message).at(value.span());
                let d = d.field(format!("metadata.annotations.{WEIGHT}"));
                let help = "write a whole number in quotes, such as \"10\"";
                refuse(policy, &reasons::BAD_WEIGHT, d.help(help));
            }
        }
    }

    /// The providers that units name.
    fn providers(&mut self, policy: &mut Policy, spec: View<'_>) {
        if policy.info.shape != KindShape::Path {
            return;
        }
        for (unit, (path, _)) in PROVIDERS.iter().enumerate() {
            let value = path.iter().try_fold(spec, |at, key| at.get(key));
            let Some(reference) = value.and_then(|v| v.get("extensionRef")) else { continue };
            let at = format!("spec.{}.extensionRef", path.join("."));
            self.provider(policy, unit, reference, &at);
        }
    }

    fn provider(&mut self, policy: &mut Policy, unit: usize, reference: View<'_>, at: &str) {
        let text = |key| reference.get(key).and_then(View::as_str);
        let Some(name) = text("name") else {
            let message = format!("`{at}.name` is missing, so the policy is invalid");
            let d = Diagnostic::new(&codes::EXTENSION_NOT_FOUND, message).at(reference.span());
            let d = d.field(format!("{at}.name")).help("name a GatewayExtension");
            refuse(policy, &reasons::EXTENSION_NOT_FOUND, d);
            return;
        };
        let own = self.snapshot.text(self.object.scope.name()).to_owned();
        let namespace = text("namespace").unwrap_or(&own);
        let node = self.at(reference);
        policy.providers.push(Provider { unit, name: format!("{namespace}/{name}").into(), node });
        // Before it is looked up: what a grant does not show must not be told.
        if let Some(Forbidden { wanted, help, at: named }) =
            self.permissions().extension(self.object, reference)
        {
            let message = format!(
                "`{wanted}` is in another namespace without a ReferenceGrant, which the setting `referenceGrantMode` demands; the policy is invalid, and every rule it reaches answers 500"
            );
            let d = Diagnostic::new(&codes::NOT_PERMITTED, message).at(named.span());
            let d = d.field(format!("{at}.namespace")).help(help);
            refuse(policy, &reasons::NOT_PERMITTED, d);
            return;
        }
        let Some(extension) = self.extension(namespace, name) else {
            let message = format!(
                "GatewayExtension `{namespace}/{name}` does not exist; the policy is invalid, and every rule it reaches answers 500"
            );
            let d = Diagnostic::new(&codes::EXTENSION_NOT_FOUND, message).at(reference.span());
            let d = d.field(format!("{at}.name")).help(self.extensions_there(namespace, name));
            let key = self.extension_key(namespace, name);
            let d = key.map_or(d.clone(), |key| self.snapshot.with_deletion(d, key));
            refuse(policy, &reasons::EXTENSION_NOT_FOUND, d);
            return;
        };
        let wanted = EXTENSION_TYPES.get(unit).copied().unwrap_or_default();
        let view = self.documents.view(extension.root);
        let set =
            |key: &&&str| view.get("spec").and_then(|s| s.get(key)).is_some_and(|v| !v.is_null());
        let kind = EXTENSION_TYPES.iter().find(|key| set(key)).copied();
        if let Some(kind) = kind.filter(|_| !set(&&wanted)) {
            let message = format!(
                "GatewayExtension `{namespace}/{name}` configures `{kind}`, which cannot be used here; the policy is invalid, and every rule it reaches answers 500"
            );
            let d = Diagnostic::new(&codes::EXTENSION_WRONG_TYPE, message)
                .at(reference.span())
                .see(extension.at, "the extension")
                .field(at.to_owned())
                .help(format!("name one that configures `{wanted}`"));
            refuse(policy, &reasons::EXTENSION_WRONG_TYPE, d);
        }
        let config = view.get("spec").and_then(|s| s.get(wanted));
        let forbidden = config.and_then(|c| self.permissions().backend(extension, c));
        if let Some(Forbidden { wanted, help, at: named }) = forbidden {
            let message = format!(
                "GatewayExtension `{namespace}/{name}` sends to `{wanted}` in another namespace without a ReferenceGrant; the policy is invalid, and every rule it reaches answers 500"
            );
            let d = Diagnostic::new(&codes::NOT_PERMITTED, message)
                .at(reference.span())
                .see(named.span(), "the reference")
                .field(at.to_owned())
                .help(help);
            refuse(policy, &reasons::NOT_PERMITTED, d);
        }
    }

    /// Credentials in other namespaces.
    fn secrets(&self, policy: &mut Policy, spec: View<'_>) {
        if policy.info.shape != KindShape::Path {
            return;
        }
        for (unit, Forbidden { wanted, help, at }) in self.permissions().secrets(self.object, spec)
        {
            let message = format!(
                "`{wanted}` is in another namespace without a ReferenceGrant; the policy is invalid, and every rule it reaches answers 500"
            );
            let d = Diagnostic::new(&codes::NOT_PERMITTED, message).at(at.span());
            let d = d.field(format!("spec.{unit}.secretRef.namespace")).help(help);
            refuse(policy, &reasons::NOT_PERMITTED, d);
        }
    }

    fn permissions(&self) -> Permissions<'_> {
        Permissions::new(self.snapshot, self.context.grants, self.context.settings)
    }

    fn extension(&self, namespace: &str, name: &str) -> Option<&Object> {
        self.snapshot.find(self.extension_key(namespace, name)?)
    }

    fn extension_key(&self, namespace: &str, name: &str) -> Option<ObjectKey> {
        let sym = |text| self.snapshot.names().lookup(text);
        let kind = GroupKind { group: sym(GROUP)?, kind: sym("GatewayExtension")? };
        Some(ObjectKey { kind, scope: Scope::Namespace(sym(namespace)?), name: sym(name)? })
    }

    fn extensions_there(&self, namespace: &str, name: &str) -> String {
        let all = self.snapshot.of_kind(GROUP, "GatewayExtension");
        let text = |sym| self.snapshot.text(sym);
        let here: Vec<&str> = all
            .iter()
            .filter(|o| text(o.scope.name()) == namespace)
            .map(|o| text(o.name))
            .take(1000)
            .collect();
        match overrule_model::nearest(name, here.iter().copied(), 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None if all.is_empty() => {
                "no GatewayExtension was read at all; add its manifest".to_owned()
            }
            None => {
                "check name and namespace; without `namespace`, the policy's own is used".to_owned()
            }
        }
    }
}

/// What a GatewayExtension configures for each unit of [`PROVIDERS`]. Its `type` is optional and decides nothing.
static EXTENSION_TYPES: &[&str] = &["extAuth", "extProc", "jwt", "rateLimit", "oauth2"];

/// Whether a unit of a spec switches something off.
fn disables(spec: View<'_>) -> bool {
    spec.entries().any(|(_, unit)| unit.get("disable").is_some_and(|v| !v.is_null()))
}

/// The policy is invalid; the first reason counts, every one is told.
fn refuse(policy: &mut Policy, reason: Reason, diagnostic: Diagnostic) {
    policy.problem = policy.problem.or(Some(reason));
    policy.diagnostics.push(diagnostic);
}
