// SPDX-License-Identifier: Apache-2.0
//! In: the pages of docs/rules. Out: that each is true: its example gives the code, its remedy does not.
//! Not here: which codes must have a page (`src/rules.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;

use std::path::{Path, PathBuf};

use common::{Fence, Ran, fences, files_below, root, run, run_on, write};

/// A finding, as much of it as a page promises.
#[derive(Debug)]
struct Found {
    code: String,
    severity: String,
    place: String,
    help: String,
}

impl Found {
    fn complete(&self) -> bool {
        let mut place = self.place.rsplitn(3, ':');
        let number =
            |text: Option<&str>| text.and_then(|t| t.parse::<u32>().ok()).is_some_and(|n| n > 0);
        let (column, line) = (number(place.next()), number(place.next()));
        column && line && place.next().is_some_and(|file| !file.is_empty()) && !self.help.is_empty()
    }
}

fn pages() -> Vec<(String, PathBuf)> {
    let pages = files_below(&root().join("docs/rules"), ".md");
    let code = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    pages
        .into_iter()
        .map(|path| (code(&path), path))
        .filter(|(code, _)| code.starts_with("OV"))
        .collect()
}

/// The profile a page is about, from a line such as ``Profile: `kuadrant=operator` `` before its example.
fn profile(intro: &str) -> Result<Option<&str>, String> {
    let mut lines = intro.lines().filter_map(|line| line.strip_prefix("Profile: "));
    let (first, second) = (lines.next(), lines.next());
    if second.is_some() {
        return Err("names more than one profile".to_owned());
    }
    let Some(line) = first else { return Ok(None) };
    let name = line.strip_prefix('`').and_then(|line| line.strip_suffix('`'));
    match name.filter(|name| name.contains('=') && !name.contains(char::is_whitespace)) {
        Some(name) => Ok(Some(name)),
        None => Err(format!("write the profile as `FAMILY=NAME`, not {line:?}")),
    }
}

/// Writes the fences to a folder and says what is found there, under a profile if one is named.
fn found(fences: &[Fence], profile: Option<&str>) -> Vec<Found> {
    let dir = tempfile::tempdir().unwrap();
    for fence in fences {
        let content = match fence.language() {
            "bytes" => bytes(&fence.body),
            _ => fence.body.clone().into_bytes(),
        };
        write(&dir.path().join(fence.value("file").unwrap_or("manifest.yaml")), &content);
    }
    let args: Vec<&str> = fences.iter().filter_map(|f| f.value("args")).collect();
    let profile = profile.map(|name| format!("--profile {name}"));
    let args: Vec<&str> = args.into_iter().chain(profile.as_deref()).collect();
    if fences.iter().any(|f| f.value("command") == Some("test")) {
        return of_tests(&run(&format!("test {} {}", args.join(" "), dir.path().display())));
    }
    let ran = run_on(dir.path(), &format!("check -o json {}", args.join(" ")));
    let items = ran.json()["items"].as_array().unwrap().clone();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("").to_owned();
    let found = items.iter().map(|item| Found {
        code: text(&item["code"]),
        severity: text(&item["severity"]),
        place: format!(
            "{}:{}:{}",
            text(&item["at"]["file"]),
            item["at"]["line"],
            item["at"]["column"]
        ),
        help: text(&item["help"]),
    });
    found.collect()
}

/// Findings about tests are lines `FILE:LINE:COLUMN: CODE: message; help`.
fn of_tests(ran: &Ran) -> Vec<Found> {
    let finding = |line: &str| {
        let (place, rest) = line.trim().split_once(": OV")?;
        let (code, message) = rest.split_once(": ")?;
        let help = message.split_once("; ").map_or("", |(_, help)| help);
        let (code, severity) = (format!("OV{code}"), "error".to_owned());
        Some(Found { code, severity, place: place.to_owned(), help: help.to_owned() })
    };
    let found: Vec<Found> = ran.out.lines().filter_map(finding).collect();
    let failed = usize::from(!ran.out.ends_with(" passed, 0 failed\n"));
    assert_eq!(ran.code, Some(i32::try_from(failed).unwrap()), "{ran:?}");
    found
}

/// `\xNN` as bytes.
fn bytes(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        let (hex, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(hex, 16).unwrap());
        bytes.extend(rest.as_bytes());
    }
    bytes
}

/// What is wrong with a page.
fn check(code: &str, page: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some((before, after)) = page.split_once("\n## What to do\n") else {
        return vec![format!("{code}: no heading `## What to do`")];
    };
    let Some((intro, example)) = before.split_once("\n## Example\n") else {
        return vec![format!("{code}: no heading `## Example`")];
    };
    let profile = match profile(intro) {
        Ok(profile) => profile,
        Err(why) => return vec![format!("{code}: {why}")],
    };
    let prose =
        intro.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("Profile: "));
    if prose.count() < 2 {
        wrong.push(format!("{code}: the title needs a paragraph that says what the finding means"));
    }
    if let Some(long) = page.lines().find(|line| line.chars().count() > 140) {
        wrong.push(format!("{code}: a line is too long: {long}"));
    }
    let (example, mended) = (fences(example), fences(after));
    if example.is_empty() || mended.is_empty() {
        wrong.push(format!("{code}: needs fences after `## Example` and after `## What to do`"));
        return wrong;
    }
    let findings = found(&example, profile);
    let own: Vec<&Found> = findings.iter().filter(|f| f.code == code).collect();
    if own.is_empty() {
        let codes: Vec<&str> = findings.iter().map(|f| f.code.as_str()).collect();
        wrong.push(format!("{code}: the example does not give it, but {codes:?}"));
    }
    if let Some(poor) = own.iter().find(|f| !f.complete()) {
        wrong.push(format!("{code}: without file, line, column or help: {poor:?}"));
    }
    // A page that names a profile says that it takes one; otherwise readers would look for it in vain.
    if profile.is_some() && found(&example, None).iter().any(|f| f.code == code) {
        wrong.push(format!("{code}: the example gives it under the default profile too"));
    }
    // What is left to mend would distract from what the page is about. That released controllers do not know what the
    // page is about can only be told.
    let is_told = |f: &&Found| f.code == "OV1040" && page.contains("[OV1040](OV1040.md)");
    let left = found(&mended, profile);
    let left = left.iter().filter(|f| f.code == code || f.severity != "note");
    for left in left.filter(|f| !is_told(f)) {
        wrong.push(format!("{code}: after mending there is still {left:?}"));
    }
    wrong
}

#[test]
fn every_page_is_true() {
    let mut wrong = Vec::new();
    for (code, path) in pages() {
        wrong.extend(check(&code, &std::fs::read_to_string(&path).unwrap()));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn profiles_of_pages_are_read() {
    assert_eq!(profile("# T\n\nText.\n"), Ok(None));
    assert_eq!(profile("# T\n\nText.\n\nProfile: `a=b`\n"), Ok(Some("a=b")));
    for bad in [
        "Profile: a=b\n",
        "Profile: `a`\n",
        "Profile: `a=b c`\n",
        "Profile: `a=b`\nProfile: `c=d`\n",
    ] {
        assert!(profile(bad).is_err(), "{bad}");
    }
}

#[test]
fn every_page_is_printed() {
    let mut wrong = Vec::new();
    for (code, path) in pages() {
        let ran = run(&format!("rule {code}"));
        let page = std::fs::read_to_string(&path).unwrap();
        if (ran.code, &ran.out, ran.err.as_str()) != (Some(0), &page, "") {
            wrong.push(format!("{code}: {ran:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let lower = run("rule ov1301");
    assert_eq!(lower.out, run("rule OV1301").out, "the case of a code does not matter");
}

#[test]
fn the_list_has_every_page_with_its_title() {
    let list = run("rule").out;
    let listed: Vec<&str> =
        list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let pages = pages();
    let codes: Vec<&str> = pages.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(listed, codes);
    for (code, path) in &pages {
        let page = std::fs::read_to_string(path).unwrap();
        let title = page.lines().next().unwrap().strip_prefix(&format!("# {code}: ")).unwrap();
        let line = list.lines().find(|line| line.starts_with(code.as_str())).unwrap();
        assert!(line.ends_with(title), "{line:?} has another title than the page: {title:?}");
    }
}

/// Whether a page has a heading of this name, written as links write it.
fn has_heading(page: &str, name: &str) -> bool {
    let headings = page.lines().filter_map(|line| line.strip_prefix('#'));
    headings.map(|rest| rest.trim_start_matches('#').trim()).any(|heading| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-") == name
    })
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut wrong = Vec::new();
    for (code, path) in pages() {
        let page = std::fs::read_to_string(&path).unwrap();
        let links =
            page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let text = std::fs::read_to_string(path.parent().unwrap().join(file));
            let leads = text.is_ok_and(|text| heading.is_empty() || has_heading(&text, heading));
            if !leads {
                wrong.push(format!("{code}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
