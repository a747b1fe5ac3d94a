// SPDX-License-Identifier: Apache-2.0
//! In: an analysis and who asks. Out: what every command reads, and what is said on the side of every answer.
//! Not here: analysing; the command line and the server do that, as [`Needs`] says.

use std::borrow::Cow;

use overrule::engine::{NodeId, Paths};
use overrule::gateway::codes_policy;
use overrule::model::{Object, ObjectId};
use overrule::source::{Diagnostic, Severity};
use overrule::view::tenancy::Reader;
use overrule::view::{self, PlacedFindings as _, Scene};
use overrule::{Analysis, Stage};

use crate::{Sees, Shared, Sink};

/// What is known, and who asks.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Everything that was analysed.
    pub analysis: &'a Analysis,
    /// What the one who asks may read.
    pub sees: &'a dyn Sees,
    /// How findings are listed: `overrule check -f DIR`.
    pub source: &'a str,
}

/// What an analysis must have for a question to be answered.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Needs<'a> {
    /// A policy kind it asks about, to be resolved although no policy of it is there.
    pub kind: Option<&'a str>,
    /// Whether other profiles are compared with.
    pub compare: Compare,
    /// The targets it asks about.
    pub targets: Vec<&'a str>,
}

/// When a command compares profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compare {
    /// It cannot.
    #[default]
    Never,
    /// If it is told to.
    Asked,
    /// Always: it is about one target.
    Always,
}

impl Needs<'_> {
    /// Whether the analysis must have the other profiles.
    pub fn compares(&self, shared: &Shared) -> bool {
        match self.compare {
            Compare::Never => false,
            Compare::Asked => shared.compare,
            Compare::Always => true,
        }
    }

    /// Words for kinds to be resolved although no policy of them is there.
    pub fn include_kinds(&self) -> Vec<String> {
        self.kind.map(crate::select::kind_words).unwrap_or_default()
    }

    /// What views read. An analysis may have more profiles than this question compares.
    pub(crate) fn scene<'a>(&self, stage: &'a Stage<'a>, shared: &Shared) -> Scene<'a> {
        let scene = stage.scene();
        if self.compares(shared) { scene } else { Scene { others: &[], ..scene } }
    }
}

impl<'a> Known<'a> {
    /// Whether an object may be read.
    pub(crate) fn sees(&self, object: &Object) -> bool {
        self.sees.everything() || self.sees.object(&self.analysis.snapshot, object)
    }

    /// The same by id.
    pub(crate) fn sees_id(&self, object: ObjectId) -> bool {
        self.analysis.snapshot.get(object).is_some_and(|o| self.sees(o))
    }

    /// Whether there are policies that may be read.
    pub(crate) fn has_policies(&self) -> bool {
        let mut declared = self.analysis.shown().flat_map(|a| a.resolution.declared());
        declared.any(|(_, p)| self.sees_id(p.object))
    }

    /// Whether there are policies that nobody resolves and that may be read.
    pub(crate) fn has_unresolved(&self) -> bool {
        self.analysis.unresolved().iter().any(|one| self.sees_id(one.object))
    }

    /// Answers for one who may not read everything; none for one who may.
    pub(crate) fn reader<'s>(&'s self, scene: &'s Scene<'s>) -> Option<Reader<'s>> {
        self.restricted().then(|| Reader::new(scene, self.sees))
    }

    /// What was found wrong, as far as the one who asks may know it.
    pub(crate) fn findings(&self) -> Vec<Cow<'a, Diagnostic>> {
        let all = self.analysis.diagnostics.iter();
        if !self.restricted() {
            return all.map(Cow::Borrowed).collect();
        }
        let stage = self.analysis.stage();
        let scene = stage.scene();
        let reader = Reader::new(&scene, self.sees);
        all.filter_map(|d| reader.finding(d)).map(Cow::Owned).collect()
    }

    /// Whether there is anything that may not be read.
    pub(crate) fn restricted(&self) -> bool {
        !self.sees.everything()
    }

    /// Says on the side what an answer leaves out, and that the input has findings which this command does not list.
    pub(crate) fn mention_findings(&self, sink: &mut dyn Sink) {
        let variants: Vec<&str> = match self.restricted() {
            true => Vec::new(),
            false => self.analysis.variants().collect(),
        };
        if let Some(one) = variants.first() {
            sink.remark(&format!(
                "note: some resources are defined in several files; the first by path is used ({} names them, -f {} chooses)",
                self.source,
                view::escape::terminal(one),
            ));
        }
        // How many there are is not for everybody.
        let alike = self.analysis.shown().filter(|a| a.alike() > 0 && !self.restricted());
        for answer in alike {
            let what = answer.family.path_owners().first().map_or("target", |kind| *kind);
            sink.remark(&format!(
                "note: paths to destinations are left out for {}: each has the same as another one that policies \
                 cannot tell apart from it; name one to see its own",
                counted(answer.alike(), &what.to_lowercase())
            ));
        }
        let unresolved = [&codes_policy::FOREIGN_KIND, &codes_policy::UNKNOWN_KIND];
        let say = |sink: &mut dyn Sink, d: &Diagnostic| {
            sink.remark(&format!("note: {}", view::escape::terminal(&d.message)));
        };
        let (errors, warnings) = if self.restricted() {
            let found = self.findings();
            let is_one = |d: &&Cow<'_, Diagnostic>| unresolved.iter().any(|c| c.id == d.code.id);
            found.iter().filter(is_one).for_each(|d| say(sink, d));
            let count = |severity| found.iter().filter(|d| d.severity() == severity).count();
            (count(Severity::Error), count(Severity::Warning))
        } else {
            // Looked up: most answers are about one target of a fleet that has thousands of findings.
            let all = &self.analysis.diagnostics;
            let mut found: Vec<&Diagnostic> =
                unresolved.into_iter().flat_map(|code| all.of_code(code)).collect();
            found.sort_by_key(|d| d.primary.as_ref().map(|label| label.span));
            found.into_iter().for_each(|d| say(sink, d));
            (all.count(Severity::Error), all.count(Severity::Warning))
        };
        if errors + warnings > 0 {
            sink.remark(&format!(
                "note: the input has {}; to see more: {}",
                findings(errors, warnings),
                self.source
            ));
        }
    }

    /// A target no path passes through has a reason, and the findings about it usually say which.
    pub(crate) fn mention_unreached(&self, node: NodeId, sink: &mut dyn Sink) {
        let analysis = self.analysis;
        let on_path = |paths: &Paths| !paths.ending_at(node).is_empty();
        // Whether a target that stands alone has a path depends on policies that may be hidden.
        if self.restricted() || analysis.shown().any(|a| on_path(&a.resolution.paths)) {
            return;
        }
        let object = analysis
            .topology
            .nodes
            .get(node)
            .and_then(|n| n.object)
            .and_then(|o| analysis.snapshot.get(o));
        let Some(object) = object else { return };
        let span = analysis.documents.view(object.root).span();
        let found: Vec<Diagnostic> =
            analysis.diagnostics.within(span).into_iter().cloned().collect();
        let listed =
            view::diagnostics_short(&analysis.documents.sources, &found, &view::Styles::plain());
        sink.remark(&format!(
            "no path in the input passes through {}\n{}",
            analysis.snapshot.display(object.id),
            listed.trim_end()
        ));
    }
}

/// `1 error and 2 warnings`.
fn findings(errors: usize, warnings: usize) -> String {
    match (errors, warnings) {
        (0, w) => counted(w, "warning"),
        (e, 0) => counted(e, "error"),
        (e, w) => format!("{} and {}", counted(e, "error"), counted(w, "warning")),
    }
}

/// `1 file`, `2 files`, `3 policies`.
pub fn counted(n: usize, word: &str) -> String {
    match (n, word.strip_suffix('y')) {
        (1, _) => format!("1 {word}"),
        (_, Some(stem)) => format!("{n} {stem}ies"),
        (_, None) => format!("{n} {word}s"),
    }
}
