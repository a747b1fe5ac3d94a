// SPDX-License-Identifier: Apache-2.0
//! In: a chain of three routes behind a gateway. Out: answers worked out by hand, mostly of the design, which few cases
//! are about. Not here: what the cases already show.

use serde_json::{Value, json};

use super::small::{Small, small};
use crate::kgateway::{Profile, paths};

use Profile::{Design, Shipped};

const SPP: &str = "ShallowMergePreferParent";
const DPP: &str = "DeepMergePreferParent";
const DPC: &str = "DeepMergePreferChild";
const BOTH: [Profile; 2] = [Shipped, Design];

fn provider(name: &str) -> String {
    format!("extAuth: {{extensionRef: {{name: {name}}}}}")
}

const OFF: &str = "extAuth: {disable: {}}";

/// The table of three levels: annotations of root and middle, and who owns `cors`, `csrf` and `rateLimit.local`.
#[test]
fn plain_units_over_three_routes() {
    let table = [
        ("", "", "leaf mid leaf", "leaf mid leaf"),
        (SPP, "", "root root leaf", "root root leaf"),
        ("", SPP, "mid mid mid", "mid mid mid"),
        (SPP, SPP, "root root mid", "root root mid"),
        (DPP, "", "leaf mid leaf", "root root leaf"),
        (DPC, SPP, "mid mid mid", "mid mid mid"),
        (DPP, SPP, "mid mid mid", "root root mid"),
        (DPC, DPC, "leaf mid leaf", "leaf mid leaf"),
        ("", DPP, "leaf mid leaf", "mid mid mid"),
    ];
    for (root, mid, shipped, design) in table {
        let world = small()
            .priority("root", root)
            .priority("mid", mid)
            .policy("root", "{cors: {}, csrf: {}}")
            .policy("mid", "{cors: {}, csrf: {}, rateLimit: {local: {}}}")
            .policy("leaf", "{cors: {}, rateLimit: {local: {}}}");
        for (profile, expected) in BOTH.into_iter().zip([shipped, design]) {
            let found =
                ["cors", "csrf", "rateLimit.local"].map(|u| world.unit(u, "http", profile).1);
            assert_eq!(found.join(" "), expected, "{root} {mid} {profile:?}");
        }
    }
}

/// The table of lists: the last entry is the one that holds.
#[test]
fn transformations_over_three_routes() {
    let table = [
        (DPC, DPC, "root mid leaf"),
        (DPP, DPP, "leaf mid root"),
        (DPP, DPC, "mid leaf root"),
        (DPC, DPP, "root leaf mid"),
        (DPP, "", "leaf root"),
        (SPP, DPC, "root"),
        ("", DPP, "leaf mid"),
    ];
    for (root, mid, expected) in table {
        let mut world = small().priority("root", root).priority("mid", mid);
        for place in ["root", "mid", "leaf"] {
            world =
                world.policy(place, &format!("transformation: {{request: {{remove: [{place}]}}}}"));
        }
        let list: Vec<&str> = expected.split(' ').collect();
        let mut sources = list.clone();
        sources.sort_unstable();
        let value = json!({"request": {"remove": list}});
        for profile in BOTH {
            world.check("transformation", "http", profile, value.clone(), &sources.join(" "));
        }
    }
}

#[test]
fn metadata_of_the_preferred_side() {
    let world = small()
        .priority("mid", DPC)
        .policy("mid", "transformation: {request: {dynamicMetadata: [m]}}")
        .policy("leaf", "transformation: {request: {dynamicMetadata: [l]}}");
    let value = |list: &[&str]| json!({"request": {"dynamicMetadata": list}});
    world.check("transformation", "http", Shipped, value(&["m"]), "leaf mid");
    world.check("transformation", "http", Design, value(&["m", "l"]), "leaf mid");
}

#[test]
fn switching_off_in_a_deep_merge() {
    let e1 = provider("e1");
    let off = || json!({"disable": true});
    let only = || json!({"providers": ["n/e1"]});
    let beside = || json!({"providers": ["n/e1"], "disable": true});
    let table = [
        // annotation of the middle, its unit, that of the leaf, then value and sources of both profiles
        (DPC, OFF, e1.as_str(), (beside(), "mid"), (only(), "leaf")),
        (DPP, OFF, &e1, (beside(), "mid"), (off(), "mid")),
        (DPC, &e1, OFF, (beside(), "leaf mid"), (off(), "leaf")),
        (DPP, &e1, OFF, (beside(), "leaf mid"), (only(), "mid")),
        (DPC, OFF, OFF, (off(), "mid"), (off(), "leaf")),
        (DPP, &e1, &e1, (only(), "leaf"), (only(), "mid")),
        (DPC, &e1, &e1, (only(), "leaf"), (only(), "leaf")),
    ];
    for (word, mid, leaf, shipped, design) in table {
        let world = small().priority("mid", word).policy("mid", mid).policy("leaf", leaf);
        world.check("extAuth", "http", Shipped, shipped.0, shipped.1);
        world.check("extAuth", "http", Design, design.0, design.1);
    }
}

#[test]
fn a_lower_policy_of_the_same_level_switches_off() {
    let world = small()
        .deep("extAuth")
        .named("a", "leaf", &provider("e1"))
        .named("b", "leaf", OFF)
        .named("c", "leaf", &provider("e2"));
    let value = json!({"providers": ["n/e1", "n/e2"], "disable": true});
    world.check("extAuth", "http", Shipped, value, "b c");
    let value = json!({"providers": ["n/e1", "n/e2"]});
    world.check("extAuth", "http", Design, value, "a c");
}

#[test]
fn providers_over_tiers() {
    let world = |priority: &str| {
        small()
            .priority("gw", priority)
            .policy("leaf", &provider("e1"))
            .policy("gw/http", &provider("e2"))
            .policy("gw/https", &provider("e2"))
            .policy("gw", &provider("e3"))
    };
    let value = |names: &[&str]| json!({"providers": names});
    let plain = world("");
    plain.check("extAuth", "http", Shipped, value(&["n/e1", "n/e2", "n/e3"]), "gw gw-http leaf");
    // One level: there is no accumulating inside of it.
    plain.check("extAuth", "https", Shipped, value(&["n/e1", "n/e2"]), "gw-https leaf");
    for listener in ["http", "https"] {
        let sources = format!("gw gw-{listener} leaf");
        let all = value(&["n/e1", "n/e2", "n/e3"]);
        plain.check("extAuth", listener, Design, all, &sources);
        for word in [SPP, DPP] {
            let all = value(&["n/e2", "n/e3", "n/e1"]);
            world(word).check("extAuth", listener, Design, all, &sources);
        }
    }
}

/// Listener and Gateway are laid over each other first, whatever the annotation; it is about what the two come to.
#[test]
fn a_gateway_of_the_design_speaks_with_one_voice() {
    let e1 = provider("e1");
    let e2 = provider("e2");
    let on = |word: &str, leaf: &str, listener: &str, gateway: &str| {
        small()
            .priority("gw", word)
            .policy("leaf", leaf)
            .policy("gw/http", listener)
            .policy("gw", gateway)
    };
    let both = json!({"providers": ["n/e2", "n/e1"]});
    let off = json!({"disable": true});
    // The listener has a provider, so what the gateway switches off is only what is less specific still.
    on(SPP, &e1, &e2, OFF).check("extAuth", "http", Design, both, "gw-http leaf");
    on(SPP, &e1, OFF, &e2).check("extAuth", "http", Design, off, "gw-http");
    let plain = ["{timeouts: {request: 1s}}", "{timeouts: {streamIdle: 2s}}"];
    let gateway = "{timeouts: {request: 3s, streamIdle: 3s}}";
    let table = [("", "1s", "gw-http leaf"), (SPP, "3s", "gw gw-http")];
    for (word, request, sources) in table {
        let value = json!({"request": request, "streamIdle": "2s"});
        on(word, plain[0], plain[1], gateway).check("timeouts", "http", Design, value, sources);
    }
    let acl = |rule: &str| format!("acl: {{rules: [{rule}]}}");
    let value = json!({"rules": ["h", "l"]});
    on(DPP, &acl("l"), &acl("h"), &acl("g")).check("acl", "http", Design, value, "gw-http leaf");
}

#[test]
fn a_tier_that_switches_off_ends_the_list() {
    let e1 = provider("e1");
    let e2 = provider("e2");
    let on = |leaf: &str, set: &str, gateway: &str| {
        small().policy("leaf", leaf).policy("set", set).policy("gw", gateway)
    };
    let (one, off) = (json!({"providers": ["n/e1"]}), json!({"disable": true}));
    for profile in BOTH {
        on(&e1, OFF, &e2).check("extAuth", "foo", profile, one.clone(), "leaf");
        on(OFF, &e1, &e2).check("extAuth", "foo", profile, off.clone(), "leaf");
        on("csrf: {}", OFF, &e2).check("extAuth", "foo", profile, off.clone(), "set");
    }
    // The gateway decides for itself: it takes in what a more specific tier had closed, and a disable below it loses.
    let firm = on(&e1, OFF, &e2).priority("gw", SPP);
    firm.check("extAuth", "foo", Design, json!({"providers": ["n/e2", "n/e1"]}), "gw leaf");
    let firm = on(OFF, &e1, &e2).priority("gw", SPP);
    firm.check("extAuth", "foo", Design, json!({"providers": ["n/e2"]}), "gw");
    let firm = on(&e1, &e2, OFF).priority("gw", SPP);
    firm.check("extAuth", "foo", Design, off, "gw");
}

#[test]
fn providers_with_values_are_listed_as_written() {
    let limit = |name: &str, n: u32| {
        format!("rateLimit: {{global: {{extensionRef: {{name: {name}}}, descriptors: [{n}]}}}}")
    };
    let value = |name: &str, n: u32| json!({"extensionRef": {"name": name}, "descriptors": [n]});
    let unit = "rateLimit.global";
    let same = small().policy("leaf", &limit("e1", 1)).policy("gw", &limit("e1", 2));
    same.check(unit, "http", Shipped, value("e1", 1), "leaf");
    same.check(unit, "http", Design, value("e1", 1), "leaf");
    same.priority("gw", SPP).check(unit, "http", Design, value("e1", 2), "gw");
    let two = small().policy("leaf", &limit("e1", 1)).policy("gw", &limit("e2", 2));
    let levels = json!({"levels": [value("e1", 1), value("e2", 2)]});
    two.check(unit, "http", Shipped, levels.clone(), "gw leaf");
    two.check(unit, "http", Design, levels, "gw leaf");
    let levels = json!({"levels": [value("e2", 2), value("e1", 1)]});
    two.priority("gw", DPP).check(unit, "http", Design, levels, "gw leaf");
}

#[test]
fn gateways_and_sets_may_prefer_themselves() {
    let world = |set: &str, gateway: &str| {
        small()
            .priority("set", set)
            .priority("gw", gateway)
            .policy("leaf", "{cors: {}, timeouts: {request: 1s}}")
            .policy("set", "{cors: {}, timeouts: {streamIdle: 2s}}")
            .policy("gw", "{cors: {}, timeouts: {request: 3s, streamIdle: 3s}}")
    };
    let table = [
        ("", "", "leaf", ("1s", "2s")),
        (SPP, "", "set", ("1s", "2s")),
        ("", SPP, "gw", ("3s", "3s")),
        (SPP, DPC, "set", ("1s", "2s")),
        ("", DPP, "gw", ("3s", "3s")),
        ("nonsense", "", "leaf", ("1s", "2s")),
    ];
    for (set, gateway, owner, (request, idle)) in table {
        let world = world(set, gateway);
        assert_eq!(world.unit("cors", "foo", Design).1, owner, "{set} {gateway}");
        assert_eq!(world.unit("cors", "foo", Shipped).1, "leaf", "{set} {gateway}");
        let timeouts = world.unit("timeouts", "foo", Design).0;
        assert_eq!(timeouts, json!({"request": request, "streamIdle": idle}), "{set} {gateway}");
    }
}

#[test]
fn gateways_may_combine() {
    let world = |word: &str| {
        small()
            .priority("gw", word)
            .policy("leaf", "{transformation: {request: {set: [l]}}, acl: {rules: [l]}}")
            .policy("gw", "{transformation: {request: {set: [g]}}, acl: {rules: [g]}}")
    };
    let table = [("", "l", "l"), (SPP, "g", "g"), (DPC, "gl", "lg"), (DPP, "lg", "gl")];
    for (word, set, rules) in table {
        let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        let world = world(word);
        let (value, _) = world.unit("transformation", "http", Design);
        assert_eq!(value["request"]["set"], json!(letters(set)), "{word}");
        assert_eq!(world.unit("acl", "http", Design).0["rules"], json!(letters(rules)), "{word}");
        assert_eq!(world.unit("acl", "http", Shipped).0["rules"], json!(["l"]), "{word}");
    }
}

#[test]
fn header_modifiers_run_in_an_order() {
    let world = |word: &str| {
        let mut world = small().priority("gw", word);
        for place in ["leaf", "set", "gw", "gw/http"] {
            world = world
                .policy(place, &format!("headerModifiers: {{{}: 1}}", place.replace('/', "-")));
        }
        world
    };
    let levels = |names: &[&str]| json!({"levels": names.iter().map(|name| json!({*name: 1})).collect::<Vec<_>>()});
    let plain = world("");
    plain.check("headerModifiers", "foo", Shipped, levels(&["leaf", "set", "gw"]), "gw leaf set");
    plain.check("headerModifiers", "foo", Design, levels(&["gw", "set", "leaf"]), "gw leaf set");
    plain.check(
        "headerModifiers",
        "http",
        Shipped,
        levels(&["leaf", "gw-http", "gw"]),
        "gw gw-http leaf",
    );
    let all = "gw gw-http leaf";
    plain.check("headerModifiers", "http", Design, levels(&["gw", "gw-http", "leaf"]), all);
    let firm = world(DPP);
    firm.check("headerModifiers", "http", Design, levels(&["leaf", "gw", "gw-http"]), all);
    firm.check("headerModifiers", "foo", Design, levels(&["set", "leaf", "gw"]), "gw leaf set");
}

#[test]
fn access_lists_that_contradict_each_other() {
    let world = |word: &str| {
        small()
            .priority("mid", word)
            .policy("mid", "acl: {rules: [m], denyResponse: {statusCode: 403, headers: [m]}}")
            .policy("leaf", "acl: {rules: [l], denyResponse: {statusCode: 404, headers: [l]}}")
    };
    for profile in BOTH {
        assert_eq!(world(DPC).unit("acl", "http", profile).1, "leaf");
        assert_eq!(world(DPP).unit("acl", "http", profile).1, "mid");
    }
    let world = small()
        .priority("mid", DPP)
        .policy("mid", "acl: {rules: [m], denyResponse: {headers: [m]}}")
        .policy(
            "leaf",
            "acl: {defaultAction: deny, denyResponse: {statusCode: 404, headers: [l]}}",
        );
    let response = json!({"statusCode": 404, "headers": ["m", "l"]});
    let value = json!({"defaultAction": "deny", "rules": ["m"], "denyResponse": response});
    world.check("acl", "http", Shipped, value, "leaf mid");
}

#[test]
fn built_ins_over_three_routes() {
    let world = |root: &str, mid: &str| {
        let mut world = small().priority("root", root).priority("mid", mid);
        for name in ["root", "mid", "leaf"] {
            let modifier = json!({"type": "RequestHeaderModifier", "requestHeaderModifier": name});
            let rule = &mut world.object(name)["spec"]["rules"][0];
            rule["filters"] = json!([modifier]);
            rule["retry"] = json!(name);
        }
        world
    };
    let table = [
        ("", "", ("leaf", "leaf mid root"), ("leaf", "root mid leaf")),
        (SPP, "", ("root", "leaf mid root"), ("root", "mid leaf root")),
        ("", DPC, ("mid", "leaf mid root"), ("leaf", "root mid leaf")),
        ("", DPP, ("mid", "leaf mid root"), ("mid", "root leaf mid")),
    ];
    for (root, mid, shipped, design) in table {
        for (profile, (retry, order)) in BOTH.into_iter().zip([shipped, design]) {
            let answer = world(root, mid).answer("builtin", "http", profile);
            assert_eq!(answer.fields["retry"], json!(retry), "{root} {mid} {profile:?}");
            let found: Vec<&str> =
                answer.accumulated.iter().map(|e| e["value"].as_str().unwrap()).collect();
            assert_eq!(found.join(" "), order, "{root} {mid} {profile:?}");
        }
    }
}

#[test]
fn who_is_first_in_one_class() {
    // Behind the name comes a slash if there is a section, and that is later than a dash.
    let world = small()
        .named("p", "leaf/x", "cors: {}")
        .named("p-a", "leaf/x", "cors: {}")
        .named("p", "leaf", "csrf: {}");
    assert_eq!(world.unit("cors", "http", Shipped).1, "p-a");
    let world = small().named("p", "leaf", "cors: {}").named("p-a", "leaf", "cors: {}");
    assert_eq!(world.unit("cors", "http", Shipped).1, "p");
    let mut world = small().named("z", "leaf", "cors: {}").named("a", "leaf", "cors: {}");
    world.object("z")["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
    assert_eq!(world.unit("cors", "http", Shipped).1, "z");
    assert_eq!(world.unit("cors", "http", Design).1, "a");
}

/// Paths as routes and rules, the dead ones marked.
fn ways(world: &Small) -> Vec<String> {
    let all = paths::all(&world.objects, &world.settings);
    let behind = all.into_iter().filter(|path| path.listener == "http");
    let mut ways: Vec<String> = behind
        .map(|path| {
            let routes: Vec<&str> =
                path.chain.iter().map(|(route, _)| route.trim_start_matches("n/")).collect();
            format!("{}{}", routes.join(">"), if path.dead { "!" } else { "" })
        })
        .collect();
    ways.sort();
    ways
}

#[test]
fn delegation_in_circles_in_vain_and_in_part() {
    let reference = |name: &str| json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": name});
    let mut world = small();
    assert_eq!(ways(&world), ["root>mid>leaf"]);
    // Some service beside the child.
    let refs = |list: &[Value]| json!(list);
    world.object("mid")["spec"]["rules"][0]["backendRefs"] =
        refs(&[reference("leaf"), json!({"name": "svc", "port": 80})]);
    assert_eq!(ways(&world), ["root>mid", "root>mid>leaf"]);
    // Itself beside the child: also by `*`, which does not mean the root, for that is only the gateway's.
    for itself in ["mid", "*", ""] {
        world.object("mid")["spec"]["rules"][0]["backendRefs"] =
            refs(&[reference("leaf"), reference(itself)]);
        assert_eq!(ways(&world), ["root>mid!", "root>mid>leaf"]);
    }
    world.object("mid")["spec"]["rules"][0]["backendRefs"] = refs(&[reference("nobody")]);
    assert_eq!(ways(&world), ["root>mid!"]);
    // A second child makes up for one that is not there.
    world.object("mid")["spec"]["rules"][0]["backendRefs"] =
        refs(&[reference("nobody"), reference("leaf")]);
    assert_eq!(ways(&world), ["root>mid>leaf"]);
    world.object("leaf")["spec"]["rules"][0].as_object_mut().unwrap().remove("matches");
    assert_eq!(ways(&world), ["root>mid!"]);
    world.object("leaf")["metadata"]["annotations"] =
        json!({"delegation.kgateway.dev/inherit-parent-matcher": "Enabled"});
    assert_eq!(ways(&world), ["root>mid>leaf"]);
}

#[test]
fn reached_twice_is_merged_twice() {
    let mut world =
        small().deep("transformation").policy("leaf", "transformation: {request: {set: [l]}}");
    world.object("leaf")["metadata"]["labels"] = json!({"app": "x"});
    let policy = world.objects.last_mut().unwrap();
    policy["spec"]["targetSelectors"] = json!([{
        "group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "matchLabels": {"app": "x"},
    }]);
    let value = |list: &[&str]| json!({"request": {"set": list}});
    world.check("transformation", "http", Shipped, value(&["l", "l"]), "leaf");
    world.check("transformation", "http", Design, value(&["l"]), "leaf");
}

#[test]
fn timeouts_of_a_try_do_not_shadow_those_of_requests() {
    let mut world = small().policy("gw", "timeouts: {request: 1s}");
    let rule = &mut world.object("root")["spec"]["rules"][0];
    rule["timeouts"] = json!({"backendRequest": "2s"});
    let shadowed = |world: &Small| world.answer("TrafficPolicy", "http", Shipped).shadowed.len();
    assert_eq!(shadowed(&world), 1);
    world.object("root")["spec"]["rules"][0]["retry"] = json!({"attempts": 1});
    assert_eq!(shadowed(&world), 0);
}
