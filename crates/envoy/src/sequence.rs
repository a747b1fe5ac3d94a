// SPDX-License-Identifier: Apache-2.0
//! In: conditions with answers, in order. Out: a matcher list in which the first that holds wins. Not here: which
//! conditions there are.

use crate::entry::spelled;
use crate::names::Names;
use crate::proto::matcher::{FieldMatcher, Matcher, MatcherList, OnMatch, Predicate};
use crate::proto::rbac::RbacAction;
use crate::spelling::Spelling;

/// What must hold.
#[derive(Debug, Clone)]
pub(crate) enum Condition<'a> {
    /// Nothing.
    None,
    /// This.
    Holds(Predicate<'a>),
    /// The path is a spelling of this one.
    Spelled(Spelling),
}

/// A condition and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Step<'a> {
    pub condition: Condition<'a>,
    pub action: RbacAction,
    pub policy: u32,
}

/// Steps as Envoy has them.
#[derive(Debug, Default)]
pub(crate) struct Sequence<'a> {
    pub matchers: Vec<FieldMatcher<'a>>,
    /// The answer of a step without condition. What comes after it can never be asked and is not written.
    pub end: Option<OnMatch<'a>>,
}

/// Steps next to each other with the same answer share an entry, which is shorter and changes nothing.
pub(crate) fn sequence<'a>(
    steps: impl IntoIterator<Item = Step<'a>>,
    names: &Names<'a>,
) -> Sequence<'a> {
    let mut done = Sequence::default();
    let mut run = Run::default();
    for step in steps {
        let answer = (step.action, step.policy);
        if matches!(step.condition, Condition::None) {
            // The conditions of the run lead to where everything leads.
            if run.answer != Some(answer) {
                run.flush(&mut done.matchers, names);
            }
            done.end = Some(names.answer(step.action, step.policy));
            return done;
        }
        if run.answer != Some(answer) {
            run.flush(&mut done.matchers, names);
            run.answer = Some(answer);
        }
        match step.condition {
            Condition::None => {}
            Condition::Holds(Predicate::OrMatcher(list)) => run.parts.extend(list.predicate),
            Condition::Holds(other) => run.parts.push(other),
            Condition::Spelled(one) => run.spellings.push(one),
        }
    }
    run.flush(&mut done.matchers, names);
    done
}

#[derive(Default)]
struct Run<'a> {
    answer: Option<(RbacAction, u32)>,
    parts: Vec<Predicate<'a>>,
    /// Paths that are asked about together.
    spellings: Vec<Spelling>,
}

impl<'a> Run<'a> {
    fn flush(&mut self, into: &mut Vec<FieldMatcher<'a>>, names: &Names<'a>) {
        let mut parts = std::mem::take(&mut self.parts);
        match spelled(&std::mem::take(&mut self.spellings)) {
            Some(Predicate::OrMatcher(list)) => parts.extend(list.predicate),
            other => parts.extend(other),
        }
        if let (Some((action, policy)), Some(predicate)) =
            (self.answer.take(), Predicate::any(parts))
        {
            into.push(FieldMatcher { on_match: names.answer(action, policy), predicate });
        }
    }
}

impl<'a> Sequence<'a> {
    /// Whether it asks nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.matchers.is_empty() && self.end.is_none()
    }

    /// As a matcher; `otherwise` applies if no condition holds and the sequence has no last answer.
    pub(crate) fn matcher(self, otherwise: Option<OnMatch<'a>>) -> Matcher<'a> {
        let matchers = self.matchers;
        Matcher {
            matcher_list: (!matchers.is_empty()).then_some(MatcherList { matchers }),
            matcher_tree: None,
            on_no_match: self.end.or(otherwise),
        }
    }

    /// As what a condition leads to.
    pub(crate) fn on_match(self) -> OnMatch<'a> {
        match self {
            Self { matchers, end: Some(end) } if matchers.is_empty() => end,
            other => OnMatch::Matcher(Box::new(other.matcher(None))),
        }
    }
}
