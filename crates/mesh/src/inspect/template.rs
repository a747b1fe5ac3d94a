// SPDX-License-Identifier: Apache-2.0
//! In: the template of a HostnameGenerator and a service. Out: the hostname. Not here: which services a generator is for.
//!
//! The templates are Go's, of which hostnames need little: `{{ .DisplayName }}` and the other fields, `{{ label "key" }}`,
//! quoted texts, comments, and the marks `{{-` and `-}}` that eat white space.

use crate::resource::Meta;

/// What a template may name.
struct Fields<'a> {
    meta: &'a Meta,
    zone: &'a str,
}

/// The hostname of a service. `zone` is that of the control plane, for services that name none. An error says what
/// cannot be rendered.
pub fn render(template: &str, meta: &Meta, zone: &str) -> Result<String, String> {
    let own = meta.zone();
    let fields = Fields { meta, zone: if own.is_empty() { zone } else { own } };
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let eats_before = after.strip_prefix('-').filter(|a| a.starts_with(is_space));
        let after = eats_before.unwrap_or(after);
        out.push_str(if eats_before.is_some() { before.trim_end() } else { before });
        let (action, behind) = action(after).ok_or("an action is not closed")?;
        let eats_after = action.strip_suffix('-').filter(|a| a.ends_with(is_space));
        let action = eats_after.unwrap_or(action);
        out.push_str(&fields.value(action.trim())?);
        rest = if eats_after.is_some() { behind.trim_start() } else { behind };
    }
    out.push_str(rest);
    Ok(out)
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace()
}

/// The text before the closing braces, and the text after them. Braces in quotes do not close.
fn action(text: &str) -> Option<(&str, &str)> {
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '`' => quote = Some(c),
            None if text.get(at..)?.starts_with("}}") => {
                return Some((text.get(..at)?, text.get(at + 2..)?));
            }
            None => {}
        }
    }
    None
}

impl Fields<'_> {
    fn value(&self, action: &str) -> Result<String, String> {
        let is_comment = action.starts_with("/*") && action.ends_with("*/");
        if is_comment {
            return Ok(String::new());
        }
        let value = match action {
            ".Name" => &self.meta.name,
            ".DisplayName" => self.meta.display_name(),
            ".Namespace" => self.meta.namespace(),
            ".Mesh" => &self.meta.mesh,
            ".Zone" => self.zone,
            _ => return self.other(action),
        };
        Ok(value.to_owned())
    }

    fn other(&self, action: &str) -> Result<String, String> {
        let inner = action.strip_prefix('(').and_then(|a| a.strip_suffix(')'));
        if let Some(inner) = inner {
            return self.value(inner.trim());
        }
        if let Some(text) = unquoted(action) {
            return Ok(text);
        }
        let key =
            action.strip_prefix("label").filter(|k| k.starts_with([' ', '\t', '"', '`', '(']));
        let key = key.map(str::trim).ok_or_else(|| format!("`{action}` is not known"))?;
        let key = match unquoted(key) {
            Some(key) => key,
            None => self.value(key)?,
        };
        let value = self.meta.labels.get(&key).cloned();
        value.ok_or_else(|| format!("the service has no label `{key}`"))
    }
}

/// The text between quotes.
fn unquoted(text: &str) -> Option<String> {
    let raw = text.strip_prefix('`').and_then(|t| t.strip_suffix('`'));
    if let Some(raw) = raw.filter(|raw| !raw.contains('`')) {
        return Some(raw.to_owned());
    }
    // Go's quoted texts that can stand in a label are JSON's.
    serde_json::from_str(text).ok().filter(|_| text.starts_with('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;
    use crate::labels::{DISPLAY_NAME, NAMESPACE, ZONE};

    fn service(labels: &[(&str, &str)]) -> Meta {
        Meta {
            kind: kinds::KindName::Known(&kinds::SERVICE),
            mesh: "m".into(),
            name: "web-hash".into(),
            labels: labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
        }
    }

    #[test]
    fn every_field_and_every_function() {
        let all = [(DISPLAY_NAME, "web"), (NAMESPACE, "shop"), (ZONE, "east"), ("team", "a}}")];
        let of = |template: &str| render(template, &service(&all), "here");
        for (template, want) in [
            ("plain", "plain"),
            ("{{ .Name }}.{{.DisplayName}}", "web-hash.web"),
            ("{{ .Namespace }}.{{ .Mesh }}.{{ .Zone }}", "shop.m.east"),
            ("{{ label \"team\" }}", "a}}"),
            ("{{label `team`}}x", "a}}x"),
            ("{{ (label \"kuma.io/zone\") }}", "east"),
            ("a {{- .Mesh -}} b", "amb"),
            ("{{/* nothing */}}a{{ \"}}\" }}", "a}}"),
        ] {
            assert_eq!(of(template).as_deref(), Ok(want), "{template}");
        }
    }

    #[test]
    fn what_is_not_there_has_a_fallback_or_is_an_error() {
        let of = |template: &str| render(template, &service(&[]), "here");
        assert_eq!(
            of("{{ .DisplayName }}.{{ .Zone }}.{{ .Namespace }}").as_deref(),
            Ok("web-hash.here.")
        );
        for broken in
            ["{{ label \"x\" }}", "{{ .Other }}", "{{ .Name", "{{ labelx }}", "{{ label }}"]
        {
            assert!(of(broken).is_err(), "{broken}");
        }
    }
}
