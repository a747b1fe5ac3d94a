// SPDX-License-Identifier: Apache-2.0
//! In: a world in which something is wrong, and a way to tell. Out: a small one in which something still is.
//! Not here: what is wrong.

use serde_json::Value;

/// Members that are worth taking out one by one; of lists every element is.
const MEMBERS: [&str; 2] = ["annotations", "labels"];

/// Takes out documents, elements and members as long as something stays wrong. Every round tries everything that is
/// left, so that what one removal makes possible is found by the next.
pub fn shrink(mut objects: Vec<Value>, is_wrong: &dyn Fn(&[Value]) -> bool) -> Vec<Value> {
    loop {
        let before = size(&objects);
        for index in (0..objects.len()).rev() {
            let removed = objects.remove(index);
            if !is_wrong(&objects) {
                objects.insert(index, removed);
            }
        }
        for index in 0..objects.len() {
            for place in places(&objects[index]).into_iter().rev() {
                let kept = objects[index].clone();
                remove(&mut objects[index], &place);
                if !is_wrong(&objects) {
                    objects[index] = kept;
                }
            }
        }
        if size(&objects) == before {
            return objects;
        }
    }
}

fn size(objects: &[Value]) -> usize {
    objects.iter().map(|object| object.to_string().len()).sum()
}

/// Pointers to what may be taken out, outer places before inner ones and earlier before later.
fn places(object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(object, "", object["kind"] == "TrafficPolicy", &mut found);
    found
}

fn walk(value: &Value, at: &str, is_policy: bool, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                found.push(format!("{at}/{index}"));
                walk(item, &format!("{at}/{index}"), is_policy, found);
            }
        }
        Value::Object(members) => {
            let last = at.rsplit('/').next().unwrap_or("");
            // Members of a rule stand below its number.
            let above = at.rsplit('/').nth(1).unwrap_or("");
            let is_rule = last.parse::<usize>().is_ok() && above == "rules";
            let removable = MEMBERS.contains(&last) || is_rule || (is_policy && last == "spec");
            for (key, member) in members {
                let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                if removable {
                    found.push(place.clone());
                }
                walk(member, &place, is_policy, found);
            }
        }
        _ => {}
    }
}

fn remove(object: &mut Value, place: &str) {
    let Some((parent, last)) = place.rsplit_once('/') else { return };
    match object.pointer_mut(parent) {
        Some(Value::Array(items)) => {
            let index = last.parse::<usize>().unwrap_or(usize::MAX);
            if index < items.len() {
                items.remove(index);
            }
        }
        Some(Value::Object(members)) => {
            members.remove(&last.replace("~1", "/").replace("~0", "~"));
        }
        _ => {}
    }
}
