// SPDX-License-Identifier: Apache-2.0
//! In: an analysis. Out: everything it says, as lines that can be compared.

use overrule::{Analysis, Client, Question};

/// Everything an analysis says, under the profiles that are compared with too: every effective policy, every outcome, every
/// finding.
pub fn everything(analysis: &Analysis) -> Vec<String> {
    let stage = analysis.stage();
    let scene = stage.scene();
    let mut said = Vec::new();
    for part in scene.parts.iter().chain(scene.others.iter().map(|other| &other.part)) {
        for (kind, _) in part.resolution.kinds() {
            for (path, _) in part.resolution.contexts(kind) {
                let effective = overrule::view::effective(&scene, part, kind, path);
                said.push(overrule::view::json_line(&effective));
            }
        }
        for (policy, entry) in part.resolution.policies() {
            let (outcome, tally) = (part.resolution.outcome(policy), part.resolution.tally(policy));
            let name = analysis.snapshot.display(entry.object);
            let landed: Vec<_> = part.resolution.attachments_of(policy).map(|a| a.at).collect();
            said.push(format!("{name} {} {tally:?} {landed:?}", outcome.word()));
        }
    }
    said.extend(decisions(analysis));
    let found: Vec<_> = analysis.diagnostics.iter().cloned().collect();
    let found = overrule::view::diagnostics(&analysis.documents.sources, &found);
    said.extend(found.items.iter().map(overrule::view::json_line));
    said
}

/// Whom each inbound takes of all clients there are.
fn decisions(analysis: &Analysis) -> Vec<String> {
    let objects = || analysis.snapshot.objects().map(|object| object.id);
    let clients: Vec<_> = objects().filter(|object| analysis.is_client(*object)).collect();
    let mut said = Vec::new();
    for at in clients.iter().flat_map(|object| analysis.inbounds(*object, None)) {
        for client in &clients {
            let (from, question) = (Client::Object(*client), Question::default());
            let (method, path) = (Some("GET"), Some("/a"));
            let answer = analysis.can(Question { from, method, path, ..question }, "client", at);
            said.extend(answer.map(|answer| overrule::view::json_line(&answer)));
        }
    }
    said
}
