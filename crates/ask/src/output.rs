// SPDX-License-Identifier: Apache-2.0
//! In: what `-o` was given. Out: the form of an answer, and what to take out of it. Not here: how each answer looks in
//! each form (the module of each command).

use overrule::view::{JsonPath, Styles};

use crate::{Argument, AskError, Form, Shared, Sink, Takes};

/// The form of an answer, or what to take out of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// All of it, in a form.
    Whole(Form),
    /// What a template of kubectl's takes out of it.
    Taken(JsonPath),
}

impl Output {
    /// What stands before a template.
    pub const TEMPLATE: &'static str = "jsonpath=";

    /// The form in which the answer is made.
    pub fn form(&self) -> Form {
        match self {
            Self::Whole(form) => *form,
            Self::Taken(_) => Form::Json,
        }
    }
}

impl Argument for Output {
    const TAKES: Takes = match <Form as Argument>::TAKES {
        Takes::Choice { words, help, .. } => {
            Takes::Choice { words, help, or: Some((Self::TEMPLATE, "as kubectl has it")) }
        }
        other => other,
    };

    fn read(given: &[String]) -> Result<Self, String> {
        match given.first().and_then(|text| text.strip_prefix(Self::TEMPLATE)) {
            Some(template) => template.parse().map(Self::Taken).map_err(|e| format!("{e}")),
            None => Form::read(given).map(Self::Whole),
        }
    }

    fn texts(&self) -> Vec<String> {
        match self {
            Self::Whole(form) => form.texts(),
            Self::Taken(path) => vec![format!("{}{}", Self::TEMPLATE, path.source())],
        }
    }
}

impl Shared {
    /// The form asked for.
    pub fn form(&self) -> Option<Form> {
        self.output.as_ref().map(Output::form)
    }
}

/// Keeps the result, and passes everything else on.
struct Held<'s> {
    result: String,
    sink: &'s mut dyn Sink,
}

impl Sink for Held<'_> {
    fn result(&mut self, text: &str) -> Result<(), AskError> {
        self.result.push_str(text);
        Ok(())
    }

    fn remark(&mut self, text: &str) {
        self.sink.remark(text);
    }

    fn problem(&mut self, text: &str) {
        self.sink.problem(text);
    }

    fn styles(&self) -> Styles {
        self.sink.styles()
    }

    fn now(&self) -> Option<i64> {
        self.sink.now()
    }
}

/// Answers, and writes what was asked to be taken out of the answer.
pub(crate) fn answered<T>(
    shared: &Shared,
    sink: &mut dyn Sink,
    answer: impl FnOnce(&mut dyn Sink) -> Result<T, AskError>,
) -> Result<T, AskError> {
    let Some(Output::Taken(path)) = &shared.output else { return answer(sink) };
    let mut held = Held { result: String::new(), sink };
    let outcome = answer(&mut held)?;
    let taken = path.of_json(&held.result).map_err(|e| AskError::Usage(e.to_string()))?;
    sink.result(&taken)?;
    Ok(outcome)
}

/// The form asked for, or the one the command is best read in. Pictures are for `graph`, names for lists.
pub(crate) fn form(shared: &Shared, default: Form) -> Result<Form, AskError> {
    match form_or_names(shared, default)? {
        Form::Name => Err(AskError::Usage(
            "names are for `overrule get`, `effective` and `reach`; use table, wide, yaml or json"
                .to_owned(),
        )),
        form => Ok(form),
    }
}

/// The same for a list of things with names.
pub(crate) fn form_or_names(shared: &Shared, default: Form) -> Result<Form, AskError> {
    match shared.form().unwrap_or(default) {
        Form::Tree | Form::Dot | Form::Mermaid | Form::Svg => Err(AskError::Usage(
            "this form of output is for `overrule graph`; use table, wide, yaml or json".to_owned(),
        )),
        Form::Markdown => Err(AskError::Usage(
            "markdown is for `overrule diff`; use table, wide, yaml or json".to_owned(),
        )),
        Form::Csv => Err(AskError::Usage(
            "csv is for `overrule can`; use table, wide, yaml or json".to_owned(),
        )),
        form => Ok(form),
    }
}

/// Styles of a table in a form.
pub(crate) fn table_styles(sink: &dyn Sink, form: Form) -> Styles {
    if form == Form::Wide { sink.styles().uncut() } else { sink.styles() }
}

/// Writes each name once, in order, as a target is written.
pub(crate) fn names(
    names: impl IntoIterator<Item = String>,
    sink: &mut dyn Sink,
) -> Result<(), AskError> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.contains(&name) {
            sink.line(&overrule::view::escape::terminal(&name))?;
            seen.insert(name);
        }
    }
    Ok(())
}
