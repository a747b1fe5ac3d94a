// SPDX-License-Identifier: Apache-2.0
//! In: the spec of an EnvoyExtensionPolicy. Out: what cannot be translated.

use serde_json::Value;

use super::traffic::{backend_settings, go_duration_error};
use super::values::duration;
use super::{Owners, Translator};

impl Translator<'_, '_> {
    pub(super) fn extension(&mut self) {
        self.each("wasm", "Wasm");
        if self.get(&["lua"]).is_some_and(super::is_present) {
            let result = self.lua();
            self.check("lua", "Lua", result);
        }
        self.each("extProc", "ExtProc");
    }

    /// The elements of a list that may open when they fail.
    fn each(&mut self, field: &'static str, label: &str) {
        let Some(number) = self.info.field(field) else { return };
        let list = self.get(&[field]).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let (mut texts, mut closes) = (Vec::new(), false);
        for (n, item) in list.iter().enumerate() {
            let result = match field {
                "extProc" => self.processor(item),
                _ => self.wasm(item),
            };
            if let Err(text) = result {
                texts.push(text);
                self.out.left_out.push((number, n));
                closes |= item.get("failOpen").and_then(Value::as_bool) != Some(true);
            }
        }
        if texts.is_empty() {
            return;
        }
        let all = texts.len() == list.len();
        let inert = self.out.inert;
        self.fail(field, label, &texts.join("\n"));
        // Those that work stay.
        if !all {
            self.out.inert = inert;
        }
        if !closes {
            self.out.opens.add(number);
        }
    }

    fn processor(&self, item: &Value) -> Result<(), String> {
        let owner = self.owner(&["extProc"]);
        self.fabric.backend_refs(owner, item.get("backendRefs").unwrap_or(&Value::Null))?;
        if let Some(settings) = item.get("backendSettings") {
            backend_settings(settings)?;
        }
        match item.get("messageTimeout").and_then(Value::as_str) {
            Some(text) if duration(text).is_none() => {
                Err(format!("invalid ExtProc MessageTimeout value {text}"))
            }
            _ => Ok(()),
        }
    }

    /// What can be said without the module: the Secret that opens its registry.
    fn wasm(&self, item: &Value) -> Result<(), String> {
        let image = item.get("code").and_then(|code| code.get("image"));
        match image.and_then(|image| image.get("pullSecretRef")) {
            Some(reference) => {
                self.fabric.object_ref(self.owner(&["wasm"]), reference, "Secret", true)
            }
            None => Ok(()),
        }
    }

    fn lua(&self) -> Result<(), String> {
        if !self.fabric.world.ground.lua {
            return Err("Skipping Lua EnvoyExtensionPolicy as feature is disabled in the Gateway"
                .to_owned());
        }
        let owners: &dyn Owners = self.owners;
        let namespace = owners.namespace(&["lua"]);
        let list = self.get(&["lua"]).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for item in list {
            if item.get("type").and_then(Value::as_str) != Some("ValueRef") {
                continue;
            }
            let name = item.get("valueRef").and_then(|r| r.get("name")).and_then(Value::as_str);
            let name = name.unwrap_or("");
            if !self.fabric.is_there("ConfigMap", namespace, name) {
                return Err(format!(
                    "can't find the referenced configmap {name} in namespace {namespace}"
                ));
            }
        }
        Ok(())
    }
}

/// What Go says about a duration that is none, for fields that pass it on.
pub(super) fn passed_on(text: &str) -> Result<(), String> {
    match duration(text) {
        Some(_) => Ok(()),
        None => Err(go_duration_error(text)),
    }
}
