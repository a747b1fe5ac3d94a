// SPDX-License-Identifier: Apache-2.0
//! In: restated cases about identifiers, stored names and labels. Out: what differs.

use overrule_mesh::kinds::plural;
use overrule_mesh::kinds::{KindName, ResourceKind};
use overrule_mesh::kri::Kri;
use overrule_mesh::labels::{NewResource, compute_labels, is_referenced};
use overrule_mesh::names::{ControlPlane, Mode, hashed_name};
use overrule_mesh::role::{Namespace, PolicyShape, policy_role};
use serde_json::{Value, json};

use super::read::{Outcome, flag, kri, need, pairs, text, texts, verify};

/// Runs a case; none if the area is not one of these.
pub(super) fn run(area: &str, case: &Value) -> Option<Outcome> {
    Some(match area {
        "kri/parse" => parse(case),
        "kri/format" => format(case),
        "kri/from_meta" => from_meta(case),
        "kri/core_name" => core_name(case),
        "kri/hashed_name" => hashed(case),
        "labels/compute_labels" => computed(case),
        "labels/is_referenced" => referenced(case),
        "labels/plural" => {
            text(case, "type").and_then(|t| verify(case, "plural", &plural(t).into()))
        }
        "labels/policy_role" => role(case),
        _ => return None,
    })
}

fn parse(case: &Value) -> Outcome {
    match Kri::parse(text(case, "kri")?) {
        Ok(kri) => verify(
            case,
            "ok",
            &json!({
                "resourceType": kri.kind.as_str(), "mesh": kri.mesh, "zone": kri.zone,
                "namespace": kri.namespace, "name": kri.name, "sectionName": kri.section,
            }),
        ),
        Err(error) => verify(case, "error", &error.to_string().into()),
    }
}

fn format(case: &Value) -> Outcome {
    let written = need(case, "identifier")?;
    let part = |key| text(written, key).map(str::to_owned);
    let kri = Kri {
        kind: KindName::of_resource(text(written, "resourceType")?),
        mesh: part("mesh")?,
        zone: part("zone")?,
        namespace: part("namespace")?,
        name: part("name")?,
        section: part("sectionName")?,
    };
    verify(case, "expected", &kri.to_string().into())
}

fn from_meta(case: &Value) -> Outcome {
    let labels = pairs(case, "labels")?;
    let kind = KindName::of_resource(text(case, "type")?);
    let kri = Kri::from_meta(&kind, text(case, "mesh")?, text(case, "name")?, &labels);
    verify(case, "expected", &kri.to_string().into())
}

fn mode(of: &Value) -> Result<Mode, String> {
    match text(of, "mode")? {
        "global" => Ok(Mode::Global),
        "zone" => Ok(Mode::Zone),
        other => Err(format!("there is no mode `{other}`")),
    }
}

fn core_name(case: &Value) -> Outcome {
    let plane = need(case, "cp")?;
    let kubernetes = match text(plane, "environment")? {
        "kubernetes" => true,
        "universal" => false,
        other => return Err(format!("there is no environment `{other}`")),
    };
    let plane = ControlPlane {
        mode: mode(plane)?,
        zone: text(plane, "zone")?,
        kubernetes,
        system_namespace: text(plane, "systemNamespace")?,
    };
    verify(case, "expected", &kri(text(case, "kri")?)?.core_name(&plane).into())
}

fn hashed(case: &Value) -> Outcome {
    let name = hashed_name(text(case, "mesh")?, text(case, "name")?, &texts(case, "values")?);
    verify(case, "expected", &name.into())
}

fn computed(case: &Value) -> Outcome {
    let plane = ControlPlane {
        mode: mode(case)?,
        zone: text(case, "zone")?,
        kubernetes: flag(case, "kubernetes")?,
        system_namespace: text(case, "systemNamespace")?,
    };
    let document = need(case, "resource")?;
    let written = NewResource {
        kind: ResourceKind::by_type(text(document, "type")?),
        mesh: text(document, "mesh")?,
        namespace: text(document, "namespace")?,
        labels: &pairs(document, "labels")?,
        document,
    };
    match compute_labels(&written, &plane) {
        Ok(labels) => verify(case, "expected", &json!(labels)),
        Err(error) => verify(case, "error", &error.to_string().into()),
    }
}

fn referenced(case: &Value) -> Outcome {
    let resource = need(case, "resource")?;
    let is = is_referenced(
        text(case, "policyMesh")?,
        text(case, "refName")?,
        text(resource, "mesh")?,
        text(resource, "name")?,
        &pairs(resource, "labels")?,
    );
    verify(case, "referenced", &is.into())
}

fn role(case: &Value) -> Outcome {
    let shape = PolicyShape::read(ResourceKind::by_type(text(case, "kind")?), need(case, "spec")?);
    let is_system = flag(case, "isSystemNamespace")?;
    match policy_role(&shape, Namespace { name: text(case, "namespace")?, is_system }) {
        Ok(role) => verify(case, "role", &role.label().into()),
        Err(error) => verify(case, "error", &error.to_string().into()),
    }
}
