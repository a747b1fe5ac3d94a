// SPDX-License-Identifier: Apache-2.0
//! In: a parsed tree that is not too deep. Out: whether it uses known names only, and the tree as it is evaluated.
//! Not here: how deep (`tree`) and how costly (`cost`) it is.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};

use crate::names::{self, FUNCTIONS, MACROS, MEMBERS, TYPES, VARIABLES, nearest};
use crate::parse::Places;
use crate::refusal::ConditionRefusal;
use crate::tree::children;

/// Refuses the first name that is not known, from left to right.
pub(crate) fn names(root: &IdedExpr, places: &Places<'_>) -> Result<(), ConditionRefusal> {
    Check { places, locals: Vec::new() }.node(root)
}

struct Check<'c> {
    places: &'c Places<'c>,
    /// The variables of the macros around, innermost last.
    locals: Vec<&'c str>,
}

impl<'c> Check<'c> {
    fn node(&mut self, node: &'c IdedExpr) -> Result<(), ConditionRefusal> {
        match &node.expr {
            Expr::Ident(name) => return self.variable(node.id, name),
            Expr::Comprehension(all) => return self.comprehension(node.id, all),
            Expr::Struct(_) => return Err(self.no_struct(node.id)),
            Expr::Call(call) => self.call(node.id, call)?,
            Expr::Select(select) if is_self(&select.operand) => {
                self.member_of_self(self.places.member(select.operand.id), &select.field)?;
            }
            _ => {}
        }
        children(&node.expr).into_iter().try_for_each(|child| self.node(child))
    }

    fn variable(&self, id: u64, name: &str) -> Result<(), ConditionRefusal> {
        let known = self.locals.contains(&name)
            || VARIABLES.contains(&name)
            || TYPES.contains(&name)
            || name == names::RESULT;
        if known {
            return Ok(());
        }
        let place = self.places.token(id);
        if let Some(plain) = name.strip_prefix('.') {
            let message = format!("`{name}` starts with a dot");
            return Err(ConditionRefusal::new(place, message, format!("write `{plain}`")));
        }
        let candidates = VARIABLES.into_iter().chain(self.locals.iter().copied());
        let help = match nearest(name, candidates) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "the variables are {}; text needs quotes, and fields of a policy start with `spec.`",
                VARIABLES.join(", ")
            ),
        };
        Err(ConditionRefusal::new(place, format!("unknown variable `{name}`"), help))
    }

    fn comprehension(
        &mut self,
        id: u64,
        all: &'c ComprehensionExpr,
    ) -> Result<(), ConditionRefusal> {
        self.node(&all.iter_range)?;
        let name = all.iter_var.as_str();
        let taken = VARIABLES.contains(&name);
        if taken || name.starts_with('.') || all.iter_var2.is_some() {
            let message = if taken {
                format!("`{name}` is already the variable of the policy")
            } else {
                format!("`{name}` cannot be the variable of a macro")
            };
            let place = self.places.first_argument(id);
            return Err(ConditionRefusal::new(place, message, "use another name, such as `item`"));
        }
        self.locals.push(name);
        for part in [&all.accu_init, &all.loop_cond, &all.loop_step, &all.result] {
            self.node(part)?;
        }
        self.locals.pop();
        Ok(())
    }

    fn call(&self, id: u64, call: &CallExpr) -> Result<(), ConditionRefusal> {
        let name = call.func_name.as_str();
        if is_operator(name) {
            return match (name, call.args.as_slice()) {
                (operators::INDEX, [of, key]) if is_self(of) => match text_of(key) {
                    Some(member) => self.member_of_self(self.places.token(key.id), member),
                    None => Ok(()),
                },
                _ => Ok(()),
            };
        }
        let on_value = call.target.is_some();
        let forms = FUNCTIONS.iter().chain(&MACROS).filter(|form| form.name == name);
        let usages: Vec<&str> = forms.map(|form| form.usage).collect();
        let fits = FUNCTIONS.iter().any(|form| {
            form.name == name && form.on_value == on_value && form.arguments == call.args.len()
        });
        let place = self.places.function(id, name);
        match (fits, usages.is_empty()) {
            (true, _) => Ok(()),
            (false, false) => {
                let message = format!("invalid call of `{name}`");
                Err(ConditionRefusal::new(place, message, format!("write {}", usages.join(" or "))))
            }
            (false, true) => Err(unknown_function(place, name)),
        }
    }

    fn member_of_self(&self, place: (usize, usize), name: &str) -> Result<(), ConditionRefusal> {
        if MEMBERS.contains(&name) {
            return Ok(());
        }
        let help = match nearest(name, MEMBERS.into_iter()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("a condition sees {} of a policy", MEMBERS.join(", ")),
        };
        Err(ConditionRefusal::new(place, format!("`self` has no member `{name}`"), help))
    }

    fn no_struct(&self, id: u64) -> ConditionRefusal {
        let help = "write a map instead: `{'name': value}`";
        ConditionRefusal::new(self.places.token(id), "messages cannot be built here", help)
    }
}

fn unknown_function(place: (usize, usize), name: &str) -> ConditionRefusal {
    let candidates = FUNCTIONS.iter().chain(&MACROS).map(|form| form.name);
    let help = match (name, nearest(name, candidates)) {
        ("matches", _) => {
            "patterns are not available: use startsWith, endsWith, contains or `in [...]`"
                .to_owned()
        }
        (_, Some(near)) => format!("did you mean `{near}`?"),
        (_, None) => format!("available: {}", names::available()),
    };
    ConditionRefusal::new(place, format!("unknown function `{name}`"), help)
}

fn is_operator(name: &str) -> bool {
    matches!(
        name,
        operators::CONDITIONAL
            | operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::SUBSTRACT
            | operators::ADD
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO
            | operators::EQUALS
            | operators::NOT_EQUALS
            | operators::GREATER_EQUALS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::LESS
            | operators::NEGATE
            | operators::INDEX
            | operators::IN
            | operators::NOT_STRICTLY_FALSE
    )
}

/// Whether a node is the variable `self`. It cannot be shadowed.
pub(crate) fn is_self(node: &IdedExpr) -> bool {
    matches!(&node.expr, Expr::Ident(name) if name == "self")
}

/// The text of a string literal.
pub(crate) fn text_of(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

/// Rewrites a checked tree: `self.spec` is `spec`, so that a policy is converted once; and macros go over the keys of a
/// map in order, because the interpreter's own order changes from run to run.
pub(crate) fn prepare(node: &mut IdedExpr) {
    if let Some(member) = member_of_self(&node.expr) {
        node.expr = Expr::Ident(member);
        return;
    }
    match &mut node.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) => {}
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| prepare(target));
            call.args.iter_mut().for_each(prepare);
        }
        Expr::Select(select) => prepare(&mut select.operand),
        Expr::List(list) => list.elements.iter_mut().for_each(prepare),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    prepare(&mut entry.key);
                    prepare(&mut entry.value);
                }
            }
        }
        Expr::Comprehension(all) => {
            prepare(&mut all.iter_range);
            prepare(&mut all.loop_step);
            if !matches!(all.iter_range.expr, Expr::List(_)) {
                let id = all.iter_range.id;
                let range = std::mem::take(&mut all.iter_range);
                all.iter_range = IdedExpr { id, expr: in_order(range) };
            }
        }
    }
}

fn in_order(range: IdedExpr) -> Expr {
    Expr::Call(CallExpr { func_name: names::IN_ORDER.to_owned(), target: None, args: vec![range] })
}

fn member_of_self(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Select(select) if !select.test && is_self(&select.operand) => {
            Some(select.field.clone())
        }
        Expr::Call(call) if call.func_name == operators::INDEX => match call.args.as_slice() {
            [of, key] if is_self(of) => text_of(key).map(str::to_owned),
            _ => None,
        },
        _ => None,
    }
}
