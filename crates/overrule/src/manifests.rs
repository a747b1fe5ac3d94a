// SPDX-License-Identifier: Apache-2.0
//! In: a folder, files or texts, and questions by name. Out: typed answers of `overrule/v1`, or typed errors.
//! Not here: how names are found (`lookup`), how answers are made (`overrule_view`).

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use overrule_access::{Http, Request};
use overrule_source::{Input, Read};
use overrule_view::{self as view, Scene, access, v1};

use crate::files::{self, WorldError};
use crate::lookup::{self, Finder, LookupError, PolicyContext};
use crate::{Analysis, Options};

/// Manifests, resolved and ready for questions.
#[derive(Debug, Clone)]
pub struct Manifests {
    analysis: Arc<Analysis>,
    options: Options,
    skipped: Vec<WorldError>,
}

/// Some of the input could not be read.
#[derive(Debug)]
pub struct Unread {
    /// The reading errors; never empty.
    pub errors: Vec<WorldError>,
    /// Everything that could be read, for an incomplete answer.
    pub rest: Manifests,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors: Vec<String> = self.errors.iter().map(WorldError::to_string).collect();
        f.write_str(&errors.join("\n"))
    }
}

impl std::error::Error for Unread {}

/// A call to a proxy of a mesh.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeshCall<'a> {
    /// The client: a SPIFFE ID, a dataplane, `nobody` or `unnamed`.
    pub from: &'a str,
    /// The callee: a dataplane, one of its inbounds, or a service.
    pub to: &'a str,
    /// The method of the request, if the call is one.
    pub method: Option<&'a str>,
    /// Its path.
    pub path: Option<&'a str>,
    /// The server name it requests.
    pub sni: Option<&'a str>,
    /// The version of HTTP; none for both.
    pub http: Option<Http>,
}

impl Manifests {
    /// Reads and resolves a file, or every manifest below a folder. All profiles are resolved, so that answers show
    /// where they differ. What is referred to and missing is assumed, and answers say so.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Box<Unread>> {
        let options = Options { compare: true, assume_missing: true, ..Options::default() };
        Self::open_with(&[path.as_ref().to_path_buf()], options)
    }

    /// The same for many paths, with options.
    pub fn open_with(paths: &[PathBuf], options: Options) -> Result<Self, Box<Unread>> {
        let found = files::find(paths);
        let all = found.files.into_iter().chain(found.sources).collect();
        let (inputs, refused) = files::read(all);
        let all = found.errors.into_iter().chain(refused);
        let (errors, skipped): (Vec<_>, Vec<_>) = all.partition(|error| error.fatal);
        let manifests = Self { skipped, ..Self::from_inputs(inputs, options) };
        if errors.is_empty() {
            Ok(manifests)
        } else {
            Err(Box::new(Unread { errors, rest: manifests }))
        }
    }

    /// Resolves texts, each with the name that origins and findings show.
    pub fn from_inputs(inputs: Vec<Input>, options: Options) -> Self {
        Self::of(Arc::new(Analysis::new(inputs, &options)), options)
    }

    /// Uses an existing analysis, for instance one that [`live`](crate::live) published. The options must be
    /// those it was made with.
    pub fn of(analysis: Arc<Analysis>, options: Options) -> Self {
        Self { analysis, options, skipped: Vec::new() }
    }

    /// Links that were not followed because they lead out of the folder.
    pub fn skipped(&self) -> &[WorldError] {
        &self.skipped
    }

    /// Everything that was resolved.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// What is in force at a target (`httproute/shop/cart#rule-1`): one effective policy per kind and path.
    pub fn effective(&self, target: &str) -> Result<Vec<v1::EffectivePolicy>, LookupError> {
        let analysis = self.about(target);
        let stage = analysis.stage();
        let scene = stage.scene();
        let finder = Finder::new(&analysis);
        let nodes = [finder.node(&scene, target)?];
        let kinds = finder.kinds(&scene, None)?;
        let here = lookup::contexts(&kinds, &nodes).filter(|c| c.is_covered(&scene));
        let here = here.map(|c| view::effective(&scene, c.part, c.kind, c.path));
        let elsewhere = lookup::elsewhere(&scene, &kinds, &nodes).into_iter();
        let elsewhere = elsewhere.map(|e| view::elsewhere(&scene, e.part, e.other, e.kind, e.path));
        Ok(here.chain(elsewhere).collect())
    }

    /// Why that is in force: the ladder, every decision, winners and losers, per kind and path. Paths that only exist
    /// under another profile are in the answer of [`Manifests::effective`].
    pub fn explain(&self, target: &str) -> Result<Vec<v1::Explanation>, LookupError> {
        let analysis = self.about(target);
        let stage = analysis.stage();
        let scene = stage.scene();
        let finder = Finder::new(&analysis);
        let nodes = [finder.node(&scene, target)?];
        let kinds = finder.kinds(&scene, None)?;
        let here = lookup::contexts(&kinds, &nodes).filter(|c| c.is_covered(&scene));
        let explain =
            |c: PolicyContext<'_>| view::explain(&scene, c.part, c.path, Some(c.kind), None);
        Ok(here.map(explain).collect())
    }

    /// Where a policy is in force, partly in force, or shadowed, and by which policies.
    pub fn reach(&self, policy: &str) -> Result<v1::Reach, LookupError> {
        let stage = self.analysis.stage();
        let scene = Scene { others: &[], ..stage.scene() };
        let (part, policy) = Finder::new(&self.analysis).policy(&scene, policy)?;
        Ok(view::reach(&scene, part, policy, None))
    }

    /// Whether a client may call, and which policy decides: one decision per inbound.
    pub fn can(&self, call: MeshCall<'_>) -> Result<Vec<v1::AccessDecision>, LookupError> {
        let MeshCall { from, to, method, path, sni, http } = call;
        let finder = Finder::new(&self.analysis);
        let inbounds = finder.inbounds(to)?;
        let caller = self.analysis.caller(finder.client(from)?);
        let request = Request { sni, method, path, ..Request::default() };
        let asked = inbounds.iter().filter_map(|inbound| inbound.ask(from, &caller, request, http));
        Ok(asked.map(|answer| access::decision(&answer)).collect())
    }

    /// Every finding, with its place, code and remedy.
    pub fn check(&self) -> v1::DiagnosticList {
        let found: Vec<_> = self.analysis.diagnostics.iter().cloned().collect();
        view::diagnostics(&self.analysis.documents.sources, &found)
    }

    /// An analysis that has every path of a target. In a large mesh, proxies that get the same as another one are left
    /// out, unless they are asked about.
    fn about(&self, target: &str) -> Cow<'_, Arc<Analysis>> {
        let analysis = &self.analysis;
        if analysis.shown().all(|answer| answer.alike() == 0) {
            return Cow::Borrowed(analysis);
        }
        // Findings of reading are among all others, and none is told twice.
        let documents = analysis.documents.clone();
        let diagnostics = analysis.diagnostics.iter().cloned().collect();
        let read = Read { documents, diagnostics };
        let options = Options { focus: vec![target.to_owned()], ..self.options.clone() };
        Cow::Owned(Arc::new(Analysis::of(read, &options)))
    }
}
