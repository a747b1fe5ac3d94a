// SPDX-License-Identifier: Apache-2.0
//! In: corners of the algebra, as a table. Out: the oracle decides them as the texts do. Not here: pictures.

use super::{check, on_path};
use crate::kuadrant::Profile::{self, Design, Latest, Operator};

/// Title, profiles, policies as (head, spec), expected.
type Case = (
    &'static str,
    &'static [Profile],
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

const RFC: &[Profile] = &[Design, Latest];
const ALL: &[Profile] = &[Design, Latest, Operator];

const CASES: &[Case] = &[
    (
        "all three blocks on the gateway",
        &[Design],
        &[
            (
                "gateway gw",
                "{defaults: {strategy: merge, limits: {d: 1, x: 1}}, limits: {b: 2}, \
                 overrides: {strategy: merge, limits: {o: 3, x: 3}}}",
            ),
            ("route rt", "limits: {r: 4, o: 4}"),
        ],
        &[
            "limits.d=1<gw",
            "limits.o=3<gw",
            "limits.r=4<rt",
            "limits.x=3<gw",
            "-gw.bare:limits.b<gw,rt",
            "-gw.defaults:limits.x<gw",
            "-rt.bare:limits.o<gw",
        ],
    ),
    (
        "bare rules beside explicit ones are not looked at",
        &[Latest],
        &[("route rt", "{limits: {b: 2}, defaults: {limits: {d: 1}}}")],
        &["limits.d=1<rt"],
    ),
    (
        "bare rules beside explicit ones come too late",
        &[Design],
        &[("route rt", "{limits: {b: 2}, defaults: {strategy: merge, limits: {d: 1}}}")],
        &["limits.d=1<rt", "-rt.bare:limits.b<rt"],
    ),
    (
        "an empty explicit block hides bare rules",
        &[Latest, Operator],
        &[("gateway gw", "limits: {g: 1}"), ("route rt", "{limits: {b: 2}, defaults: {}}")],
        &["limits.g=1<gw"],
    ),
    (
        "an atomic default is for those who have nothing",
        ALL,
        &[
            ("gateway gw", "defaults: {limits: {g: 1}}"),
            ("listener ls", "defaults: {strategy: merge, limits: {l: 2}}"),
            ("route rt", "limits: {r: 3}"),
        ],
        &["limits.l=2<ls", "limits.r=3<rt", "-gw.defaults:limits.g<ls,rt"],
    ),
    (
        "an empty policy does not block",
        RFC,
        &[("gateway gw", "defaults: {limits: {g: 1}}"), ("route rt", "limits: {}")],
        &["limits.g=1<gw"],
    ),
    (
        "an empty atomic override leaves nothing",
        RFC,
        &[("gateway gw", "overrides: {}"), ("route rt", "limits: {r: 3}")],
        &["-rt.bare:limits.r<"],
    ),
    (
        "the higher of two atomic overrides",
        ALL,
        &[
            ("gateway gw", "overrides: {limits: {g: 1}}"),
            ("rule ru", "overrides: {limits: {r: 3}}"),
        ],
        &["limits.g=1<gw", "-ru.overrides:limits.r<gw"],
    ),
    (
        "a merging override over an atomic one",
        ALL,
        &[
            ("gateway gw", "overrides: {strategy: merge, limits: {g: 1}}"),
            ("listener ls", "overrides: {limits: {l: 2}}"),
            ("rule ru", "limits: {r: 3}"),
        ],
        &["limits.g=1<gw", "limits.l=2<ls", "-ru.bare:limits.r<gw,ls"],
    ),
    (
        "on one target the newer default wins, and what has no time is newest",
        ALL,
        &[
            ("route old 01", "limits: {x: 1}"),
            ("route new", "limits: {x: 3}"),
            ("route mid 02", "limits: {x: 2}"),
        ],
        &["limits.x=3<new", "-old.bare:limits.x<new", "-mid.bare:limits.x<new"],
    ),
    (
        "on one target the older override wins, in the same second the first name",
        ALL,
        &[
            ("route b 01", "overrides: {limits: {x: 2}}"),
            ("route a 01", "overrides: {limits: {x: 1}}"),
            ("route c 02", "overrides: {limits: {x: 3}}"),
        ],
        &["limits.x=1<a", "-b.overrides:limits.x<a", "-c.overrides:limits.x<a"],
    ),
    (
        "a removal list reaches all levels above, thins atomic defaults, lets the next one in",
        RFC,
        &[
            ("gateway gw", "defaults: {limits: {c: 1, d: 1}}"),
            ("listener ls", "limits: {a: 2, b: 2}"),
            ("route rt", "unset: [limits.a, limits.b, limits.c, nothing]"),
        ],
        &[
            "limits.d=1<gw",
            "/gw.defaults:limits.c<rt",
            "/ls.bare:limits.a<rt",
            "/ls.bare:limits.b<rt",
        ],
    ),
    (
        "a removal list is not about the policy's own rules or those below, and outlives an atomic override",
        RFC,
        &[
            ("gateway gw", "defaults: {strategy: merge, limits: {a: 1, b: 1, r: 1}}"),
            ("listener ls", "overrides: {limits: {a: 2}}"),
            ("route rt", "{limits: {a: 3, b: 3}, unset: [limits.a, r, limits.b]}"),
            ("rule ru", "limits: {r: 4}"),
        ],
        &[
            "limits.a=2<ls",
            "-rt.bare:limits.a<ls",
            "-rt.bare:limits.b<ls",
            "-ru.bare:limits.r<ls",
            "/gw.defaults:limits.a<rt",
            "/gw.defaults:limits.b<rt",
            "/gw.defaults:limits.r<rt",
        ],
    ),
    (
        "a plain name is the last element of an id; removal is told block by block, by the lowest remover",
        &[Design],
        &[
            (
                "gateway gw",
                "{defaults: {strategy: merge, limits: {x.c: 1}}, overrides: {strategy: merge, limits: {x.c: 5}}}",
            ),
            ("listener ls", "remove: [limits.x.c]"),
            ("route rt", "{limits: {r: 3}, unset: [c]}"),
        ],
        &["limits.r=3<rt", "limits.x.c=5<gw", "/gw.defaults:limits.x.c<rt"],
    ),
    (
        "an entry with a dot is a whole id",
        RFC,
        &[("gateway gw", "limits: {a.b.c: 1}"), ("route rt", "unset: [b.c, a.b.c, limits.a.b]")],
        &["limits.a.b.c=1<gw"],
    ),
    (
        "a rule removed from one block can be overridden in another",
        RFC,
        &[
            ("gateway gw", "overrides: {limits: {x: 1}}"),
            (
                "listener ls",
                "{defaults: {strategy: merge, limits: {x: 2}}, overrides: {limits: {x: 3}}}",
            ),
            ("route rt", "unset: [x]"),
        ],
        &["limits.x=1<gw", "-ls.overrides:limits.x<gw", "/ls.defaults:limits.x<rt"],
    ),
    (
        "`remove` is no word of the latest text",
        &[Latest],
        &[("gateway gw", "limits: {a: 1}"), ("route rt", "remove: [limits.a]")],
        &["limits.a=1<gw"],
    ),
    (
        "and neither word is one of the operator",
        &[Operator],
        &[
            ("gateway gw", "limits: {a: 1}"),
            ("route rt", "{remove: [limits.a], unset: [limits.a]}"),
        ],
        &["limits.a=1<gw"],
    ),
    (
        "the operator knows no conditions and no removal",
        &[Operator],
        &[
            ("gateway gw", "overrides: {limits: {a: 1}, when: 'false'}"),
            ("route rt", "{limits: {b: 2}, unset: [a], remove: [a]}"),
        ],
        &["limits.a=1<gw", "-rt.bare:limits.b<gw"],
    ),
    (
        "a condition sees what was merged before, the policy's own defaults too, as the lowest policy",
        RFC,
        &[
            (
                "gateway gw",
                "{defaults: {strategy: merge, limits: {g: 1}}, overrides: {strategy: merge, limits: {o: 1}, \
                 when: \"spec.limits.g == 1 && size(spec.limits) == 3 && metadata.name == 'rt' \
                 && self.kind == 'RateLimitPolicy' && spec.targetRef.kind == 'HTTPRoute'\"}}",
            ),
            (
                "listener ls",
                "overrides: {strategy: merge, limits: {l: 2}, when: has(spec.limits.r)}",
            ),
            ("route rt", "limits: {r: 3}"),
        ],
        &["limits.g=1<gw", "limits.l=2<ls", "limits.o=1<gw", "limits.r=3<rt"],
    ),
    (
        "without a lower policy only an empty spec is there; what fails is skipped",
        RFC,
        &[(
            "gateway gw",
            "{defaults: {limits: {d: 1}, when: 'size(spec) == 0 && !has(self.metadata)'}, \
                 overrides: {limits: {a: 1}, when: metadata.name == 'gw'}}",
        )],
        &["limits.d=1<gw", "!gw.overrides"],
    ),
    (
        "run-time conditions are a rule",
        ALL,
        &[
            ("gateway gw", "defaults: {strategy: merge, limits: {g: 1}, when: [{predicate: x}]}"),
            ("route rt", "limits: {r: 3}"),
        ],
        &["limits.g=1<gw", "limits.r=3<rt", "when=[{\"predicate\":\"x\"}]<gw"],
    ),
];

#[test]
fn corners() {
    for (title, profiles, policies, expected) in CASES {
        for profile in *profiles {
            check(title, "RateLimitPolicy", *profile, policies, expected);
        }
    }
}

#[test]
fn auth_has_many_groups() {
    let all = "{patterns: {p: 1}, when: [{predicate: w}], rules: {authentication: {x: 2}, metadata: {x: 3}, \
               authorization: {x: 4}, callbacks: {x: 5}, response: {unauthenticated: {c: 1}, \
               unauthorized: {c: 2}, success: {headers: {x: 6}, filters: {x: 7}}}}}";
    let answer = on_path("AuthPolicy", &[("route rt", all)], Operator);
    let ids: Vec<&str> = answer.rules.keys().map(String::as_str).collect();
    assert_eq!(
        ids,
        [
            "patterns.p",
            "rules.authentication.x",
            "rules.authorization.x",
            "rules.callbacks.x",
            "rules.metadata.x",
            "rules.response.success.filters.x",
            "rules.response.success.headers.x",
            "rules.response.unauthenticated",
            "rules.response.unauthorized",
            "when",
        ]
    );
    let unset = "unset: [x, unauthorized, when]";
    let policies = [("gateway gw", all), ("route rt", unset)];
    let answer = on_path("AuthPolicy", &policies, Latest);
    let ids: Vec<&str> = answer.rules.keys().map(String::as_str).collect();
    assert_eq!(ids, ["patterns.p", "rules.response.unauthenticated"]);
    assert_eq!(answer.removed.len(), 8);
}
