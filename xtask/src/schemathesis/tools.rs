// SPDX-License-Identifier: Apache-2.0
//! In: a server and its document. Out: what schemathesis and a validator of OpenAPI say, both from the package index, in
//! the user's cache. Not here: the server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::server::{EXAMPLES, Server};
use super::{Arguments, Run};

/// How schemathesis runs; the file says which checks are off, and why.
const SETTINGS: &str = include_str!("settings.toml");
/// What schemathesis cannot know: names of what is stored, and manifests.
const HOOKS: &str = include_str!("hooks.py");

/// The tools and everything they need, so that a run of today is a run of tomorrow.
const VERSION: &str = "4.32.5";
const PACKAGES: &str = "\
annotated-types==0.8.0 anyio==4.16.0 attrs==26.1.0 certifi==2026.10.18 charset-normalizer==3.5.2 click==8.5.1 \
graphql-core==3.3.2 harfile==0.6.0 hypothesis==6.170.15 hypothesis-graphql==0.13.5 idna==3.20 iniconfig==2.3.1 \
jsonschema==4.26.0 jsonschema-path==0.5.0 jsonschema-specifications==2025.9.1 jsonschema_rs==0.60.3 \
lazy-object-proxy==1.13.0 markdown-it-py==4.3.0 MarkupSafe==3.0.4 mdurl==0.1.2 openapi-schema-validator==0.9.0 \
openapi-spec-validator==0.9.0 packaging==26.3 pathable==0.6.0 pluggy==1.7.0 pydantic==2.14.3 \
pydantic-settings==2.16.2 pydantic_core==2.50.4 Pygments==2.21.0 pyrate-limiter==4.5.1 pytest==9.2.0 \
python-dotenv==1.2.4 PyYAML==6.0.3 referencing==0.37.0 requests==2.34.2 rfc3339-validator==0.1.4 rich==15.0.0 \
rpds-py==2026.9.1 schemathesis==4.32.5 six==1.17.0 sortedcontainers==2.4.0 typing-inspection==0.4.5 \
typing_extensions==4.16.0 urllib3==2.8.0 Werkzeug==3.1.9";

/// Python packages in the user's cache.
pub(super) struct Tools {
    packages: PathBuf,
}

/// All that a run of schemathesis depends on.
pub(super) struct Asking<'a> {
    pub(super) run: &'a Run,
    pub(super) server: &'a Server,
    pub(super) token: Option<&'a str>,
    pub(super) root: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) document: &'a Path,
    pub(super) bare: &'a BTreeSet<String>,
    pub(super) arguments: &'a Arguments,
}

/// Finds the packages, or has pip fetch them. They belong to one version of Python, for some are compiled.
pub(super) fn tools() -> Result<Tools, String> {
    let tell = "import sys; print('%d.%d' % sys.version_info[:2])";
    let python = Command::new("python3").args(["-c", tell]).output();
    let python = python.map_err(|e| format!("python3 cannot be run: {e}"))?;
    let python = String::from_utf8_lossy(&python.stdout).trim().to_owned();
    let cache = cache()?;
    let packages = cache.join(format!("schemathesis-{VERSION}-python-{python}"));
    let tools = Tools { packages: packages.clone() };
    if tools.packages.is_dir() {
        return Ok(tools);
    }
    std::fs::create_dir_all(&cache).map_err(|e| format!("{}: {e}", cache.display()))?;
    let fresh = tempfile::Builder::new().prefix("schemathesis-").tempdir_in(&cache);
    let fresh = fresh.map_err(|e| format!("{}: {e}", cache.display()))?;
    let target = fresh.path().join("packages");
    let output = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--retries", "1", "--no-input"])
        .args(["--only-binary", ":all:", "--disable-pip-version-check", "--target"])
        .arg(&target)
        .args(PACKAGES.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("python3 cannot be run: {e}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why =
            why.lines().rev().find(|line| line.contains("ERROR")).unwrap_or("it says nothing");
        return Err(format!("pip cannot fetch schemathesis {VERSION}: {}", why.trim()));
    }
    // Others may install at the same time; whoever comes second uses the first's.
    match std::fs::rename(&target, &packages) {
        Err(error) if !packages.is_dir() => Err(format!("{}: {error}", packages.display())),
        Ok(()) | Err(_) => Ok(tools),
    }
}

/// The user's cache folder.
fn cache() -> Result<PathBuf, String> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("overrule"))
        .ok_or_else(|| "neither XDG_CACHE_HOME nor HOME says where to keep tools".to_owned())
}

impl Tools {
    fn python(&self, module: &str) -> Command {
        let mut command = Command::new("python3");
        command.args(["-m", module]).env("PYTHONPATH", &self.packages).stdin(Stdio::null());
        command
    }

    /// Whether a file is an OpenAPI 3.1 document.
    pub(super) fn validate(&self, document: &Path) -> Result<(), String> {
        let mut command = self.python("openapi_spec_validator");
        let output = command.args(["--schema", "3.1"]).arg(document).output();
        let output = output.map_err(|e| format!("the validator cannot be run: {e}"))?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let said = String::from_utf8_lossy(&output.stdout);
                Err(format!("/openapi.json is not an OpenAPI 3.1 document: {}", said.trim()))
            }
        }
    }

    /// Runs schemathesis; an error if it found anything.
    pub(super) fn ask(&self, asking: &Asking<'_>) -> Result<(), String> {
        let Asking { run, server, token, root, folder, document, arguments, .. } = asking;
        let settings = settings(asking)?;
        let mut command = self.python("schemathesis.cli");
        command.arg("--config-file").arg(&settings).args(["run", "--no-color"]);
        command.args(["--url", &server.base]);
        match arguments.long {
            true => command.args(["--max-time", "600"]),
            false => command.args(["--phases", run.phases]),
        };
        if let Some(keep) = &arguments.keep {
            let keep = keep.join(run.name);
            command.args(["--report", "ndjson,junit"]).arg("--report-dir").arg(keep);
        }
        command.arg(document).current_dir(folder);
        command.env("OVERRULE_BASE", &server.base).env("OVERRULE_TOKEN", token.unwrap_or_default());
        command.env("OVERRULE_ADMIN", server.admin.as_deref().unwrap_or_default());
        let examples = EXAMPLES.map(|folder| root.join(folder).display().to_string());
        command.env("OVERRULE_EXAMPLES", examples.join(":"));
        let status = command.status().map_err(|e| format!("schemathesis cannot be run: {e}"))?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("schemathesis found something ({status}); it is told above")),
        }
    }
}

/// Writes the settings and the hooks; says where the settings are.
fn settings(asking: &Asking<'_>) -> Result<PathBuf, String> {
    let Asking { run, token, folder, bare, arguments, .. } = asking;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok::<_, String>(path)
    };
    let hooks = write("hooks.py", HOOKS)?;
    let examples = if arguments.long { 200 } else { run.examples };
    let bare: Vec<&String> = bare.iter().collect();
    // Tokens are not made up: see `strangers`.
    let mut text = format!(
        r#"hooks = "{}"
seed = {}
{SETTINGS}
[generation]
max-examples = {examples}
database = "none"
with-security-parameters = false

[[operations]]
include-operation-id = {bare:?}
phases.fuzzing.generation.mode = "positive"
"#,
        hooks.display(),
        arguments.seed,
    );
    if token.is_some() {
        text.push_str("\n[auth.openapi.token]\nbearer = \"${OVERRULE_TOKEN}\"\n");
    }
    write("schemathesis.toml", &text)
}
