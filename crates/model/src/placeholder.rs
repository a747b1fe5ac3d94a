// SPDX-License-Identifier: Apache-2.0
//! In: a text. Out: the first part of it that a tool fills in before the text is used. Not here: which tool that is.

/// No name, host or number is longer; what is has no placeholder, so that looking for one costs next to nothing.
const LONGEST: usize = 300;

/// The first placeholder of a text: `${NAME}`, `$(NAME)`, `$NAME` or `{{ name }}`.
pub fn first(text: &str) -> Option<&str> {
    if text.len() > LONGEST {
        return None;
    }
    let places = text.match_indices(['$', '{']).map(|(at, _)| text.get(at..).unwrap_or(""));
    places.filter_map(at_start).next()
}

fn at_start(rest: &str) -> Option<&str> {
    let up_to = |end: &str| rest.find(end).and_then(|at| rest.get(..at + end.len()));
    let behind = rest.get(1..)?;
    match (rest.as_bytes().first()?, behind.as_bytes().first()?) {
        (b'{', b'{') => up_to("}}"),
        (b'$', b'{') => up_to("}"),
        (b'$', b'(') => up_to(")"),
        (b'$', b'A'..=b'Z' | b'_') => {
            let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            rest.get(..1 + behind.find(end).unwrap_or(behind.len()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn placeholders_of_common_tools_are_known() {
        let rows = [
            ("a-${APP:=x}.b", Some("${APP:=x}")),
            ("$(NAME)-route", Some("$(NAME)")),
            ("$HOST/x", Some("$HOST")),
            ("{{ .Values.host }}.example", Some("{{ .Values.host }}")),
            ("{x} {{y}}", Some("{{y}}")),
            ("${open", None),
            ("cart$", None),
            ("^/a$", None),
            ("costs 5$", None),
            ("{}", None),
        ];
        for (text, expected) in rows {
            assert_eq!(first(text), expected, "{text}");
        }
        assert_eq!(first(&"{{".repeat(200)), None);
    }
}
