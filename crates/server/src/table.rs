// SPDX-License-Identifier: Apache-2.0
//! What an endpoint is: the one description that the router, the checks of requests and the OpenAPI
//! document are all made of. Not here: the endpoints themselves.

use std::future::Future;
use std::pin::Pin;

use overrule_ask::{Parameter, Required, Takes};

use crate::call::{Call, Reply};
use crate::problem::Problem;

/// What a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Any text, judged by whoever answers.
    Any,
    /// The same; this is what is understood.
    Like(&'static str),
    /// Any text that is not empty.
    Text,
    /// Several texts: the parameter may be repeated.
    Texts,
    /// `true` or `false`.
    Bool,
    /// A number from 0 to the largest.
    Number(u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, or a text that begins like this.
    WordOr(&'static [&'static str], &'static str),
}

/// A parameter of the query.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: Type,
    /// Whether it must be there.
    pub required: bool,
    /// What it means.
    pub about: &'static str,
}

impl Param {
    /// One that may be left out.
    pub const fn new(name: &'static str, kind: Type, about: &'static str) -> Self {
        Self { name, kind, required: false, about }
    }

    /// A parameter of a question.
    pub fn of(parameter: &Parameter) -> Self {
        let kind = match parameter.takes {
            Takes::Choice { words, or: Some((begin, _)), .. } => {
                Type::WordOr(parameter.http_words.unwrap_or(words), begin)
            }
            Takes::Word(words) | Takes::Choice { words, .. } => {
                Type::Word(parameter.http_words.unwrap_or(words))
            }
            Takes::Flag => Type::Bool,
            Takes::Number(largest) => Type::Number(largest),
            Takes::Texts => Type::Texts,
            Takes::Text | Takes::Path | Takes::Address => Type::Text,
        };
        let about = parameter.http_help.unwrap_or(parameter.help);
        Self { name: parameter.name, kind, required: parameter.required != Required::No, about }
    }

    /// The same, but it must be there.
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }
}

/// What a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodySpec {
    /// Nothing.
    None,
    /// Manifests as YAML or JSON.
    Manifests,
    /// JSON of a schema.
    Json(&'static str),
}

/// What an answer carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// Nothing.
    None,
    /// JSON of a schema.
    Json(&'static str),
    /// Text of this type.
    Text(&'static str),
    /// JSON of a schema, or text if it was asked for.
    Either(&'static str),
}

/// An answer that is not an error.
#[derive(Debug, Clone, Copy)]
pub struct ResponseSpec {
    /// Its status.
    pub status: u16,
    /// What it carries.
    pub media: Media,
    /// When.
    pub about: &'static str,
}

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointAccess {
    /// Anybody who reaches the port: only what tells nothing.
    Anybody,
    /// Whoever has proved who they are; the answer depends on what they may read.
    Known,
    /// Whoever may write what the path names, or anything where it names nothing. It is asked before the body is read;
    /// the content of the body is checked afterwards.
    Writes,
    /// Whoever may read everything.
    ReadsAll,
    /// Admins.
    Admin,
}

/// Work that is under way.
pub type PendingReply = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// One endpoint.
#[derive(Clone, Copy)]
pub struct Endpoint {
    /// Its name: in the OpenAPI document, in metrics and in logs.
    pub id: &'static str,
    /// The method.
    pub method: Verb,
    /// The path, parameters in braces.
    pub path: &'static str,
    /// What it answers, in a sentence.
    pub about: &'static str,
    /// Who may call.
    pub access: EndpointAccess,
    /// Parameters of the query; others are refused.
    pub query: &'static [Param],
    /// What it takes.
    pub body: BodySpec,
    /// What it gives.
    pub answers: &'static [ResponseSpec],
    /// Statuses of its errors, beyond those that every endpoint has.
    pub errors: &'static [u16],
    /// Does the work.
    pub run: fn(Call) -> PendingReply,
}

impl Endpoint {
    /// Whether it writes. One question is asked with `POST`, because it is long.
    pub fn writes(&self) -> bool {
        self.method != Verb::Get && !matches!(self.body, BodySpec::Json("Matrix"))
    }

    /// One that reads, for whoever may read something; the rest is said by whoever adds it.
    pub const fn reading(
        id: &'static str,
        path: &'static str,
        about: &'static str,
        run: fn(Call) -> PendingReply,
    ) -> Self {
        Self {
            id,
            method: Verb::Get,
            path,
            about,
            access: EndpointAccess::Known,
            query: &[],
            body: BodySpec::None,
            answers: &[],
            errors: &[],
            run,
        }
    }
}

/// Methods in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// GET, and so HEAD.
    Get,
    /// PUT.
    Put,
    /// POST.
    Post,
    /// DELETE.
    Delete,
}

impl Verb {
    /// As OpenAPI writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }
}
