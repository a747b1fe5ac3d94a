// SPDX-License-Identifier: Apache-2.0
//! In: tokens. Out: an expression, its variables by position, its macros as what they are. Not here: values.

use regex::Regex;

use super::functions::Function;
use super::lexer::{Token, tokens};

/// An expression.
#[derive(Debug)]
pub(super) enum Expr {
    Text(String),
    Int(i64),
    Bool(bool),
    List(Vec<Expr>),
    /// The value the rule is about.
    Itself,
    /// The variable of the n-th macro around, from the outside.
    Variable(usize),
    Field(Box<Expr>, String),
    Has(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Both(Box<Expr>, Operator, Box<Expr>),
    Choose(Box<(Expr, Expr, Expr)>),
    Matches(Box<Expr>, Regex),
    Call(Function, Vec<Expr>),
    Macro(Macro, Box<Expr>, Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Macro {
    All,
    Exists,
    ExistsOne,
    Filter,
}

/// The operators by how tightly they bind, loosest first.
const LEVELS: [&[(&str, Operator)]; 4] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("in", Operator::In),
    ],
    &[("+", Operator::Add)],
];

/// None if it is not a rule that can be evaluated.
pub(super) fn parse(text: &str) -> Option<Expr> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, locals: Vec::new() };
    let root = parser.choice()?;
    (parser.at == parser.tokens.len()).then_some(root)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    /// The variables of the macros around, innermost last.
    locals: Vec<String>,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is = match self.peek() {
            Some(Token::Sign(s)) => *s == sign,
            // The only operator that is a word.
            Some(Token::Name(name)) => sign == "in" && name == "in",
            _ => false,
        };
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, sign: &str) -> Option<()> {
        self.takes(sign).then_some(())
    }

    fn choice(&mut self) -> Option<Expr> {
        let test = self.level(0)?;
        if !self.takes("?") {
            return Some(test);
        }
        let then = self.choice()?;
        self.expect(":")?;
        let otherwise = self.choice()?;
        Some(Expr::Choose(Box::new((test, then, otherwise))))
    }

    fn level(&mut self, level: usize) -> Option<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.takes(sign)) {
            let right = self.level(level + 1)?;
            left = Expr::Both(Box::new(left), *operator, Box::new(right));
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr> {
        if self.takes("!") {
            return Some(Expr::Not(Box::new(self.unary()?)));
        }
        let mut value = self.primary()?;
        loop {
            if self.takes(".") {
                let Token::Name(name) = self.next()? else { return None };
                value = match self.takes("(") {
                    true => self.method(value, &name)?,
                    false => Expr::Field(Box::new(value), name),
                };
            } else if self.takes("[") {
                let index = self.choice()?;
                self.expect("]")?;
                value = Expr::Index(Box::new(value), Box::new(index));
            } else {
                return Some(value);
            }
        }
    }

    fn primary(&mut self) -> Option<Expr> {
        match self.next()? {
            Token::Text(text) => Some(Expr::Text(text)),
            Token::Int(number) => Some(Expr::Int(number)),
            Token::Sign("(") => {
                let inside = self.choice()?;
                self.expect(")")?;
                Some(inside)
            }
            Token::Sign("[") => Some(Expr::List(self.list("]")?)),
            Token::Sign(_) => None,
            Token::Name(name) => self.name(&name),
        }
    }

    fn name(&mut self, name: &str) -> Option<Expr> {
        if let Some(place) = self.locals.iter().rposition(|local| local == name) {
            return Some(Expr::Variable(place));
        }
        match name {
            "self" => Some(Expr::Itself),
            "true" => Some(Expr::Bool(true)),
            "false" => Some(Expr::Bool(false)),
            "has" => {
                self.expect("(")?;
                let Expr::Field(of, field) = self.unary()? else { return None };
                self.expect(")")?;
                Some(Expr::Has(of, field))
            }
            "format" => self.named_format(),
            _ => {
                self.expect("(")?;
                let arguments = self.list(")")?;
                Some(Expr::Call(Function::called(name, arguments.len())?, arguments))
            }
        }
    }

    /// `format.NAME().validate(TEXT).hasValue()`: whether the text does not have the format.
    fn named_format(&mut self) -> Option<Expr> {
        self.expect(".")?;
        let Token::Name(name) = self.next()? else { return None };
        for sign in ["(", ")", "."] {
            self.expect(sign)?;
        }
        let function = Function::format(&name)?;
        (self.next()? == Token::Name("validate".to_owned())).then_some(())?;
        self.expect("(")?;
        let arguments = self.list(")")?;
        self.expect(".")?;
        (self.next()? == Token::Name("hasValue".to_owned())).then_some(())?;
        self.expect("(")?;
        self.expect(")")?;
        (arguments.len() == 1).then_some(Expr::Call(function, arguments))
    }

    fn list(&mut self, end: &str) -> Option<Vec<Expr>> {
        let mut all = Vec::new();
        if self.takes(end) {
            return Some(all);
        }
        loop {
            all.push(self.choice()?);
            if self.takes(end) {
                return Some(all);
            }
            self.expect(",")?;
        }
    }

    /// A call on a value; the bracket is taken.
    fn method(&mut self, of: Expr, name: &str) -> Option<Expr> {
        let named = match name {
            "all" => Macro::All,
            "exists" => Macro::Exists,
            "exists_one" => Macro::ExistsOne,
            "filter" => Macro::Filter,
            _ => return self.function(of, name),
        };
        let Token::Name(variable) = self.next()? else { return None };
        self.expect(",")?;
        self.locals.push(variable);
        let body = self.choice()?;
        self.locals.pop();
        self.expect(")")?;
        Some(Expr::Macro(named, Box::new(of), Box::new(body)))
    }

    fn function(&mut self, of: Expr, name: &str) -> Option<Expr> {
        let mut arguments = self.list(")")?;
        if let ("matches", [Expr::Text(pattern)]) = (name, arguments.as_slice()) {
            return Some(Expr::Matches(Box::new(of), Regex::new(pattern).ok()?));
        }
        arguments.insert(0, of);
        Some(Expr::Call(Function::called(name, arguments.len())?, arguments))
    }
}
