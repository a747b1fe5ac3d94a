// SPDX-License-Identifier: Apache-2.0
//! In: texts that are not conditions. Out: the exact place, the message and the help. Not here: hostile ones (`hostile.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

use overrule_condition::CelCondition;

/// The text with the place between `«` and `»`, a part of the message, a part of the help.
const CASES: &[(&str, &str, &str)] = &[
    // Characters, strings, brackets.
    ("spec.a «@» 1", "`@` has no meaning", "remove it"),
    ("spec.a == «€»", "`€` has no meaning", "quotes"),
    ("spec.a «&» spec.b", "`&` is not an operator", "`&&`"),
    ("spec.a == «'»abc", "string that starts here is never closed", "close it with `'`"),
    ("'é' == «\"»abc", "never closed", "close it with `\"`"),
    ("spec.«`»a-b == 1", "name that starts here is never closed", "close it with ```"),
    ("size«(»spec.a == 1", "`(` is never closed", "add `)`"),
    ("size(spec.a)«)» == 1", "`)` has no opening bracket", "remove it"),
    ("spec.a[0«)» == 1", "`)` does not close `[`", "write `]` before it"),
    ("spec.a == «12x»y", "not a number", "write a number"),
    // Grammar.
    ("«»", "the condition is empty", "has(spec.limits)"),
    ("spec.a ==«»", "ends too early", "missing part at the end"),
    ("spec.a == 1 «spec»", "unexpected `spec`", "operator between two values"),
    ("spec.a «=» 1", "unexpected `=`", "`==`"),
    ("spec.a «and» spec.b", "unexpected `and`", "write `&&`"),
    ("spec.a == 1 || «)»", "`)` has no opening bracket", ""),
    ("(1 + «)» == 1", "unexpected `)`", "a value after each operator"),
    ("spec.a ? 1«»", "ends too early", ""),
    ("spec«.1»", "unexpected `.1`", ""),
    ("«if» == 1", "`if` is a reserved word", "another name"),
    ("spec.a == «99999999999999999999»", "out of range", "64 bits"),
    ("spec.a == «'\\q'»", "invalid escape", "double the backslash"),
    ("has(«spec»)", "has() takes one field", "has(spec.limits)"),
    ("has(spec«[»'a'])", "has() takes one field", "'key' in"),
    ("spec.a.exists(«1», true)", "must be a variable name", "list.exists"),
    ("spec.a«.»?b == 1", "unexpected", "not available"),
    ("spec.a.\n  b == 1 &&\n  «?»", "unexpected `?`", ""),
    // Names.
    ("«sepc».a == 1", "unknown variable `sepc`", "did you mean `spec`?"),
    ("«Metadata».name == 'a'", "unknown variable `Metadata`", "did you mean `metadata`?"),
    ("«request».host == 'a'", "unknown variable `request`", "the variables are self, kind"),
    ("kind == «Gateway»", "unknown variable `Gateway`", "quotes"),
    ("spec.a.exists(rate, «rat».x > 1)", "unknown variable `rat`", "did you mean `rate`?"),
    ("spec.a.exists(r, r > 1) && «r» > 1", "unknown variable `r`", ""),
    ("«.»spec.a == 1", "`.spec` starts with a dot", "write `spec`"),
    ("spec.a.exists(«spec», true)", "already the variable of the policy", "another name"),
    ("self.«sepc».a == 1", "`self` has no member `sepc`", "did you mean `spec`?"),
    ("has(self.«status»)", "`self` has no member `status`", "kind, metadata, spec"),
    ("self[«'apiVersion'»] == 'v1'", "`self` has no member `apiVersion`", ""),
    ("kind.«startswith»('a')", "unknown function `startswith`", "did you mean `startsWith`?"),
    ("«lenght»(kind) == 1", "unknown function `lenght`", "available: has, exists"),
    ("kind.«matches»('a.*')", "unknown function `matches`", "startsWith"),
    ("kind.\n «matches» ('a.*')", "unknown function `matches`", "startsWith"),
    ("«matches»(kind, 'a')", "unknown function `matches`", "contains"),
    ("«duration»('1s') == 1", "unknown function `duration`", "available"),
    ("spec.a.«exists»(x)", "invalid call of `exists`", "list.exists(item, condition)"),
    ("spec.«has»(a)", "invalid call of `has`", "has(x.member)"),
    ("«size»() == 1", "invalid call of `size`", "size(x) or x.size()"),
    ("«startsWith»(kind, 'a')", "invalid call of `startsWith`", "text.startsWith(prefix)"),
    ("optional.«of»(1) == 1", "unknown function `of`", ""),
    ("«google».protobuf == 1", "unknown variable `google`", ""),
    ("«Foo»{a: 1} == 1", "messages cannot be built", "write a map"),
];

#[test]
fn places_and_words() {
    let mut wrong = Vec::new();
    for (marked, message, help) in CASES {
        let start = marked.find('«').unwrap();
        let end = marked.find('»').unwrap() - '«'.len_utf8();
        let text = marked.replace(['«', '»'], "");
        match CelCondition::parse(&text) {
            Ok(_) => wrong.push(format!("{text}: accepted")),
            Err(r) => {
                let right = (r.start, r.end) == (start, end)
                    && r.message.contains(message)
                    && r.help.contains(help);
                if !right {
                    let found = &text[r.start..r.end];
                    wrong.push(format!("{marked}: {found:?} {r}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn limits_have_places() {
    let place = |text: &str| {
        let refusal = CelCondition::parse(text).unwrap_err();
        (text[refusal.start..refusal.end].to_owned(), refusal.message)
    };
    let long = format!("kind == '{}'", "é".repeat(1100));
    assert!(place(&long).1.contains("more than 2048"));
    let (found, message) = place(&("(".repeat(60) + "true" + &")".repeat(60)));
    assert_eq!((found.as_str(), message.as_str()), ("(", "brackets nest deeper than 48"));
    let (found, message) = place(&vec!["1"; 60].join(" + "));
    assert_eq!((found.as_str(), message.as_str()), ("+", "the condition is nested too deep here"));
    let fifty = format!("[{}]", ["1"; 50].join(","));
    let text = format!("true || {fifty}.map(a, {fifty}.map(b, {fifty}.map(c, a))) == []");
    let (_, message) = place(&text);
    assert_eq!(message, "the condition is too expensive");
}
