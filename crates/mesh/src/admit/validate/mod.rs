// SPDX-License-Identifier: Apache-2.0
//! In: a policy as written. Out: what a control plane would refuse it for, in its words. Not here: references that find
//! nothing; those are taken. What matches of clients may say.
//!
//! Where releases differ, or nobody wrote down what one does, the policy is let pass: a policy that is refused here
//! counts nowhere.

pub(crate) mod allowed;
mod confs;
mod lists;
mod shape;

use overrule_model::nearest;
use overrule_source::{Documents, NodeKind, NodeRef, View};

use crate::kinds::ResourceKind;
use crate::labels::PolicyRole;
use crate::policy::Policy;
use crate::quote::quoted;
use crate::targetref::TargetRef;
use crate::targetref::validate::{TargetRefOptions, TargetRefViolation, validate};

/// Something that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionProblem {
    /// Where it is written; for something that is missing, what lacks it.
    pub node: NodeRef,
    /// The field, from the top of the document: `spec.to[0].targetRef.kind`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
    /// What to do about it, if more can be said than to correct it.
    pub help: Option<String>,
    /// Whether only the release refuses it; the founding documents have it.
    pub release_only: bool,
    /// What it offends.
    pub against: Against,
}

/// What a problem offends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Nobody knows the field. A control plane passes over it.
    Fields,
    /// A value is of another type than the schema has.
    Schema,
    /// The rules of the kind.
    Rules,
}

/// What is said of values of another type.
const OF_TYPE: [&str; 3] = ["must be an object", "must be a list", "must be a string"];

/// Everything that is wrong with a policy.
pub fn policy(documents: &Documents, policy: &Policy) -> Vec<AdmissionProblem> {
    let root = documents.view(policy.root);
    let universal = root.get("type").is_some();
    let mut check = Check { policy, universal, found: Vec::new() };
    check.document(root);
    check.found
}

/// The lists of entries, in the order they are looked at.
const LISTS: [&str; 3] = ["to", "from", "rules"];

struct Check<'a> {
    policy: &'a Policy,
    /// Whether it is written as outside of Kubernetes.
    universal: bool,
    found: Vec<AdmissionProblem>,
}

impl<'a> Check<'a> {
    fn document(&mut self, root: View<'a>) {
        let Some(spec) = root.get("spec").filter(|s| !s.is_null()) else {
            return self.say(root, "spec", "must be defined");
        };
        if spec.kind() != NodeKind::Map {
            return self.say(spec, "spec", "must be an object");
        }
        let (known, name) = (self.known_members(), self.policy.kind.name);
        self.members(spec, "spec", &known, &|key| shape::another_kinds_list(name, key));
        if self.policy.kind.policy.is_some_and(|p| p.single) {
            self.conf_shape(spec, "spec");
        }
        let top = self.top(spec);
        self.together(spec);
        for list in LISTS {
            if self.has(list) {
                self.list(spec, list, top.as_ref());
            }
        }
    }

    /// The reference of the policy itself; none if it cannot be told what it means.
    fn top(&mut self, spec: View<'a>) -> Option<TargetRef> {
        let Some(written) = spec.get("targetRef").filter(|t| !t.is_null()) else {
            return Some(TargetRef::whole_mesh());
        };
        let path = "spec.targetRef";
        if written.kind() == NodeKind::Map && written.is_empty() {
            self.only_release(written, "spec.targetRef.kind", "must be defined");
            return Some(TargetRef::whole_mesh());
        }
        if !self.reference_shape(written, path) {
            return None;
        }
        let kinds = allowed::top(self.policy.kind, self.role());
        let may_be_short = self.policy.kind.policy.is_some_and(|p| p.may_be_short);
        let short = may_be_short && self.policy.single.is_some();
        let is_inbound = short || !self.policy.from.is_empty() || !self.policy.rules.is_empty();
        let target = TargetRef::from_view(written);
        self.reference(
            &target,
            written,
            &TargetRefOptions {
                path,
                supported_kinds: &kinds,
                is_inbound_policy: is_inbound,
                gateway_listener_tags_allowed: allowed::listener_tags(self.policy.kind),
                ..TargetRefOptions::default()
            },
        );
        // A kind that is not allowed here says as much about the lists as another; one that nobody knows says nothing.
        target.kind.known().is_some().then_some(target)
    }

    /// The role that counts. Outside of Kubernetes a policy is judged before it gets labels.
    fn role(&self) -> PolicyRole {
        match self.universal {
            true => PolicyRole::System,
            false => self.policy.meta.role(),
        }
    }

    /// Checks a reference. `inside` is the reference, or the entry that lacks one.
    fn reference(&mut self, target: &TargetRef, inside: View<'a>, options: &TargetRefOptions<'_>) {
        for TargetRefViolation { field, message } in validate(target, options) {
            // What is of another type than it must be is read as if it were not there. What was found in this reference
            // was found last.
            let mut here = self.found.iter().rev();
            let is_here = |known: &&AdmissionProblem| known.field.starts_with(options.path);
            if here.by_ref().take_while(is_here).any(|known| known.field == field) {
                continue;
            }
            let below = field.strip_prefix(options.path).unwrap_or_default();
            let node = member(inside, below.trim_start_matches('.')).unwrap_or(inside);
            let help = match below {
                ".kind" => Some(kinds_help(target, options.supported_kinds)),
                _ => None,
            };
            self.push(node, field, message, help);
        }
    }

    /// Something that the founding documents have, and the release refuses.
    fn only_release(&mut self, node: View<'_>, field: &str, message: &str) {
        self.say(node, field, message);
        if let Some(last) = self.found.last_mut() {
            last.release_only = true;
        }
    }

    fn say(&mut self, node: View<'_>, field: &str, message: impl Into<String>) {
        self.push(node, field.to_owned(), message.into(), None);
    }

    fn push(&mut self, node: View<'_>, field: String, message: String, help: Option<String>) {
        let node = NodeRef { doc: self.policy.root.doc, node: node.id() };
        let against =
            if OF_TYPE.contains(&message.as_str()) { Against::Schema } else { Against::Rules };
        self.found.push(AdmissionProblem {
            node,
            field,
            message,
            help,
            release_only: false,
            against,
        });
    }
}

fn kinds_help(target: &TargetRef, kinds: &[ResourceKind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let allowed = names.join(", ");
    match nearest(target.kind.as_str(), names, 1).first() {
        Some(near) => format!("did you mean `{near}`? allowed here: {allowed}"),
        None => format!("allowed here: {allowed}"),
    }
}

/// The member a path below a reference means: `name`, `tags["port"]`.
fn member<'a>(of: View<'a>, path: &str) -> Option<View<'a>> {
    let (name, key) = path.split_once('[').map_or((path, None), |(n, k)| (n, Some(k)));
    let member = of.get(name)?;
    let Some(key) = key.and_then(|k| k.strip_suffix(']')) else { return Some(member) };
    member.entries().find(|(k, _)| quoted(k.key_text()) == key).map(|(_, value)| value)
}
