// SPDX-License-Identifier: Apache-2.0
//! In: documents of which a tool makes others. Out: which files only change others, and one finding for each folder that
//! must be rendered to be answered. Not here: rendering; answers are about what is written.

use std::collections::{BTreeMap, BTreeSet};

use overrule_source::{
    Diagnostic, DocId, Documents, NodeKind, Source, SourceId, SourceMap, Span, View, Why,
    codes::HELM_TEMPLATE,
};

use crate::codes;
use crate::definitions::folder;

/// Every kustomization of the input.
#[derive(Debug, Default)]
pub(crate) struct Kustomizations<'a> {
    all: Vec<Kustomization<'a>>,
    patches: BTreeSet<SourceId>,
}

#[derive(Debug)]
struct Kustomization<'a> {
    root: View<'a>,
    folder: String,
    /// What it does to the resources that it lists.
    changes: Vec<&'static str>,
}

/// Fields by which a kustomization changes what answers are about.
const CHANGES: &[&str] = &[
    "namePrefix",
    "nameSuffix",
    "namespace",
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "replacements",
    "vars",
    "components",
    "transformers",
    "generators",
    "helmCharts",
    "labels",
    "commonLabels",
    "commonAnnotations",
];

impl<'a> Kustomizations<'a> {
    pub(crate) fn of(documents: &'a Documents) -> Self {
        let roots = documents.ids().map(|doc| (doc, documents.root(doc)));
        let found: Vec<(DocId, View<'a>)> =
            roots.filter(|(_, root)| is_kustomization(*root)).collect();
        if found.is_empty() {
            return Self::default();
        }
        let by_name: BTreeMap<&str, SourceId> =
            documents.sources.iter().map(|(id, source)| (source.name(), id)).collect();
        let mut kustomizations = Self::default();
        for (_, root) in found {
            let name = documents.sources.get(root.span().source).map_or("", Source::name);
            let folder = folder(name);
            let patches = patches(root).filter_map(|path| by_name.get(&*joined(folder, path)));
            kustomizations.patches.extend(patches);
            let changes = CHANGES.iter().filter(|key| root.get(key).is_some()).copied().collect();
            kustomizations.all.push(Kustomization { root, folder: folder.to_owned(), changes });
        }
        kustomizations
    }

    /// Whether a file only changes resources that stand elsewhere.
    pub(crate) fn is_patch(&self, source: SourceId) -> bool {
        self.patches.contains(&source)
    }

    /// One for each that changes what answers are about. `answered` are the files with such objects.
    pub(crate) fn findings(&self, mut answered: Vec<&str>) -> Vec<Diagnostic> {
        answered.sort_unstable();
        answered.dedup();
        let below = |path: &str| {
            let at = answered.partition_point(|name| **name < *path);
            let inside = |name: &&str| {
                name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            path == "." && !answered.is_empty() || answered.get(at).is_some_and(inside)
        };
        let concerns = |k: &&Kustomization<'_>| {
            let lists = ["resources", "bases"].map(|key| k.root.get(key));
            let listed = lists.into_iter().flatten().flat_map(View::items).filter_map(View::as_str);
            !k.changes.is_empty()
                && (below(&k.folder)
                    || listed.map(|path| joined(&k.folder, path)).any(|p| below(&p)))
        };
        let finding = |k: &Kustomization<'_>| {
            let message = format!(
                "this kustomization changes resources ({}); the answers are about them as they are written",
                k.changes.join(", ")
            );
            let help = format!("build it: kustomize build {} | overrule check -f -", k.folder);
            Diagnostic::new(&codes::KUSTOMIZATION, message).at(k.root.span()).help(help)
        };
        self.all.iter().filter(concerns).map(finding).collect()
    }
}

/// Files that hold patches.
fn patches(root: View<'_>) -> impl Iterator<Item = &str> {
    let keys = ["patches", "patchesStrategicMerge", "patchesJson6902"];
    let all = keys.into_iter().filter_map(move |key| root.get(key)).flat_map(View::items);
    all.filter_map(|item| item.get("path").or(Some(item)).and_then(View::as_str))
}

/// A path, seen from a folder.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = match folder {
        "." => Vec::new(),
        folder => folder.split('/').collect(),
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    match parts.is_empty() {
        true => ".".to_owned(),
        false => parts.join("/"),
    }
}

/// Whether a document is a kustomization.
pub(crate) fn is_kustomization(root: View<'_>) -> bool {
    let text = |key| root.get(key).and_then(View::as_str);
    match text("apiVersion") {
        Some(api) => api.starts_with("kustomize.config.k8s.io/"),
        None => {
            let paths = |v: View<'_>| v.items().all(|i| matches!(i.kind(), NodeKind::String));
            let lists = ["resources", "bases", "components", "patchesStrategicMerge"];
            let any = |key: &str| {
                root.get(key)
                    .is_some_and(|v| v.kind() == NodeKind::List && !v.is_empty() && paths(v))
            };
            root.get("kind").is_none() && (lists.iter().any(|k| any(k)) || is_patch_list(root))
        }
    }
}

fn is_patch_list(root: View<'_>) -> bool {
    let patches = root.get("patches").into_iter().flat_map(View::items);
    let mut patches =
        patches.map(|item| item.get("path").or(item.get("patch")).is_some()).peekable();
    patches.peek().is_some() && patches.all(|is| is)
}

/// One finding for each chart, or folder of templates, that would make resources which answers are about.
pub(crate) fn templates(sources: &SourceMap) -> Vec<Diagnostic> {
    let ours = |why| matches!(why, Why::Template { ours: true });
    let mut found: BTreeMap<&str, (Span, usize, Option<&'static str>)> = BTreeMap::new();
    let mut charts: Option<BTreeSet<&str>> = None;
    for (id, source) in sources.iter() {
        for passed in source.passed().iter().filter(|passed| ours(passed.why)) {
            let charts = charts.get_or_insert_with(|| {
                let names = sources.iter().map(|(_, source)| source.name());
                names.filter_map(|n| n.strip_suffix("Chart.yaml")).collect()
            });
            let name = source.name();
            let folders = name.match_indices('/').filter_map(|(at, _)| name.get(..=at));
            let chart = [""].into_iter().chain(folders).find(|path| charts.contains(path));
            let (of, tool) = match chart {
                _ if is_jsonnet(name) => (folder(name), Some("jsonnet")),
                Some(path) => (path.strip_suffix('/').unwrap_or("."), Some("helm")),
                None => (folder(name), None),
            };
            let span = Span { source: id, start: passed.at, end: passed.at + 2 };
            let entry = found.entry(of).or_insert((span, 0, tool));
            entry.1 += 1;
        }
    }
    let finding = |(folder, (span, count, tool)): (&str, (Span, usize, Option<&str>))| {
        let (what, help) = match tool {
            Some("helm") => (
                "is a Helm chart",
                format!("render it: helm template {folder} | overrule check -f -"),
            ),
            Some(_) => (
                "has Jsonnet sources",
                "render them: jsonnet -y FILE | overrule check -f -".to_owned(),
            ),
            None => (
                "has templates",
                "render them with their tool, and check the result: ... | overrule check -f -"
                    .to_owned(),
            ),
        };
        let many = match count {
            1 => "1 resource in it that would matter is".to_owned(),
            n => format!("{n} resources in it that would matter are"),
        };
        let message = format!("`{folder}` {what}; {many} not read");
        Diagnostic::new(&HELM_TEMPLATE, message).at(span).help(help)
    };
    found.into_iter().map(finding).collect()
}

fn is_jsonnet(name: &str) -> bool {
    name.ends_with(".jsonnet") || name.ends_with(".libsonnet")
}
