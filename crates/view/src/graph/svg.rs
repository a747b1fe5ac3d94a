// SPDX-License-Identifier: Apache-2.0
//! In: a graph and its layout. Out: an SVG that needs no script, no font of ours and no other program; it follows the
//! reader's light or dark mode. Not here: where things are (`layout.rs`).

use unicode_width::UnicodeWidthStr;

use super::Graph;
use super::layout::{Layout, Place, Size, layout};
use super::text::color;
use crate::table::{cut, shorten};
use crate::{beside, escape, v1, words};

/// Sizes in pixels.
const MARGIN: f64 = 32.0;
const HEADER: f64 = 104.0;
const BOX: f64 = 46.0;
const CHIP: f64 = 36.0;
const CHIP_GAP: f64 = 4.0;
const LINE: f64 = 18.0;
/// Widest box; longer names are shortened in the middle, and shown whole when pointed at.
const WIDEST: f64 = 300.0;
/// Room for the legend.
const NARROWEST: f64 = 880.0;
/// Policies shown on one node; the others are counted.
const CHIPS: usize = 8;
/// Lines of what is not in the picture.
const NOTES: usize = 12;

/// Estimated width of a character, generous enough for wide fonts.
const NAME_CHAR: f64 = 8.0;
const SMALL_CHAR: f64 = 6.6;

const STYLE: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;fill:#0f172a}
.bg{fill:#ffffff}.title{font-size:18px;font-weight:600}.muted{fill:#64748b;font-size:12px}
.column{fill:#64748b;font-size:11px;font-weight:600;letter-spacing:.06em}
.box{fill:#f8fafc;stroke:#cbd5e1;stroke-width:1.25}.focus{stroke:#2563eb;stroke-width:2.5}
.kind{fill:#64748b;font-size:10.5px}.name{font-size:13px;font-weight:600}
.edge{fill:none;stroke:#94a3b8;stroke-width:1.4}.dot{fill:#94a3b8}
.chip{fill:#ffffff;stroke:#e2e8f0;stroke-width:1}.policy{font-size:11.5px;font-weight:600}
.detail{fill:#64748b;font-size:10px}.faint{fill:#94a3b8}.lost{text-decoration:line-through;fill:#64748b}
@media (prefers-color-scheme:dark){
text{fill:#e2e8f0}.bg{fill:#0b1220}.muted,.kind,.detail,.column{fill:#94a3b8}
.box{fill:#172033;stroke:#3b4a63}.focus{stroke:#60a5fa}.edge{stroke:#5b6b85}.dot{fill:#5b6b85}
.chip{fill:#101a2c;stroke:#2b3950}.lost{fill:#94a3b8}}
";

/// The picture.
pub(super) fn write(graph: &Graph) -> String {
    let sizes: Vec<Size> = (0..graph.data.nodes.len()).map(|n| size(graph, n)).collect();
    let layout = layout(graph, &sizes);
    let notes = notes(graph);
    let legend = MARGIN + HEADER + layout.height + 40.0;
    let width = (layout.width + 2.0 * MARGIN).max(NARROWEST);
    let height = legend + 20.0 + LINE * notes.len() as f64 + MARGIN;
    let mut svg = Svg { out: String::new() };
    svg.open(graph, width, height);
    for column in &layout.columns {
        let title = column.title.to_uppercase();
        svg.text("column", MARGIN + column.x, MARGIN + HEADER - 18.0, &title);
    }
    for edge in &graph.data.edges {
        svg.edge(&layout, &sizes, edge);
    }
    for (node, place) in graph.data.nodes.iter().zip(&layout.places) {
        // Boxes of a column are equally wide, so that edges begin in one line.
        let width = layout.columns.get(place.column).map_or(0.0, |c| c.width);
        svg.node(graph, node, *place, width);
    }
    svg.legend(legend);
    for (line, i) in notes.iter().zip(0_u32..) {
        svg.text("muted", MARGIN, legend + 28.0 + LINE * f64::from(i), line);
    }
    svg.out.push_str("</svg>\n");
    svg.out
}

fn size(graph: &Graph, node: usize) -> Size {
    let Some(data) = graph.data.nodes.get(node) else { return Size::default() };
    let name = data.label().width() as f64 * NAME_CHAR;
    let kind = data.kind.width() as f64 * SMALL_CHAR;
    let policies = graph.policies(node).map(|(policy, attachment)| {
        let name = policy.policy.width() as f64 * (NAME_CHAR - 0.8) + 58.0;
        let detail = (policy.policy_kind.width() + attachment.outcome.width() + 3) as f64;
        name.max(detail * SMALL_CHAR + 58.0)
    });
    let widest = policies.fold(name.max(kind) + 28.0, f64::max);
    let count = graph.policies(node).count();
    let chips = count.min(CHIPS) as f64 * (CHIP + CHIP_GAP);
    let more = if count > CHIPS { LINE } else { 0.0 };
    Size { width: widest.clamp(128.0, WIDEST), head: BOX, height: BOX + chips + more }
}

/// What is not in the picture, in words.
fn notes(graph: &Graph) -> Vec<String> {
    let data = &graph.data;
    let rejections = data
        .rejections
        .iter()
        .map(|r| format!("Rejected: {} {}: {}", r.policy_kind, r.policy, r.because));
    let lonely = data.unattached.iter().map(|u| match u.policies.as_slice() {
        [] => format!("On no path: {}", u.target),
        policies => format!("On no path: {} (with {})", u.target, policies.join(", ")),
    });
    let unresolved = data.unresolved.iter().map(|one| {
        let v1::UnresolvedPolicy { policy_kind, policy, targets, .. } = &one.policy;
        let owner = beside::owner(&one.policy);
        format!("Not resolved ({owner}): {policy_kind} {policy} on {}", words::and(targets))
    });
    let mut notes: Vec<String> = unresolved.chain(rejections).chain(lonely).collect();
    if notes.len() > NOTES {
        let more = notes.len() - NOTES;
        notes.truncate(NOTES);
        notes.push(format!("… and {more} more"));
    }
    notes.iter().map(|n| cut(n, 160)).collect()
}

struct Svg {
    out: String,
}

impl Svg {
    fn open(&mut self, graph: &Graph, width: f64, height: f64) {
        let (title, summary) = (graph.title(), graph.summary());
        let (safe_title, safe_summary) = (escape::xml(&title), escape::xml(&summary));
        self.out.push_str(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title desc\" \
             width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n\
             <title id=\"title\">{safe_title}</title>\n<desc id=\"desc\">{safe_summary}</desc>\n\
             <style>\n{STYLE}</style>\n\
             <rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n"
        ));
        self.text("title", MARGIN, MARGIN + 16.0, &cut(&title, 120));
        self.text("muted", MARGIN, MARGIN + 38.0, &summary);
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escape::xml(text);
        self.out.push_str(&format!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n"
        ));
    }

    fn edge(&mut self, layout: &Layout, sizes: &[Size], edge: &v1::GraphEdge) {
        let place = |n: usize| layout.places.get(n).copied().unwrap_or_default();
        let (from, to) = (place(edge.from), place(edge.to));
        let width = layout.columns.get(from.column).map_or(0.0, |c| c.width);
        let head = |n: usize| sizes.get(n).map_or(BOX, |s| s.head);
        let (x1, y1) = (MARGIN + from.x + width, MARGIN + HEADER + from.y + head(edge.from) / 2.0);
        let (x2, y2) = (MARGIN + to.x, MARGIN + HEADER + to.y + head(edge.to) / 2.0);
        let bend = ((x2 - x1).abs() / 2.0).max(40.0);
        let (c1, c2) = (x1 + bend, x2 - bend);
        self.out.push_str(&format!(
            "<path class=\"edge\" d=\"M{x1:.1} {y1:.1}C{c1:.1} {y1:.1} {c2:.1} {y2:.1} {x2:.1} {y2:.1}\"/>\n\
             <circle class=\"dot\" cx=\"{x2:.1}\" cy=\"{y2:.1}\" r=\"3\"/>\n"
        ));
    }

    fn node(&mut self, graph: &Graph, node: &v1::GraphNode, place: Place, width: f64) {
        let (x, y) = (MARGIN + place.x, MARGIN + HEADER + place.y);
        let is_focus = graph.data.focus.as_deref() == Some(&*node.target);
        let class = if is_focus { "box focus" } else { "box" };
        let tip = graph.tip(node);
        self.out.push_str(&format!("<g><title>{}</title>\n", escape::xml(&tip)));
        self.out.push_str(&format!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BOX:.1}\" rx=\"8\"/>\n"
        ));
        self.text("kind", x + 14.0, y + 18.0, &shorten(&node.kind, fit(width - 28.0, SMALL_CHAR)));
        let name = shorten(&node.label(), fit(width - 28.0, NAME_CHAR));
        self.text("name", x + 14.0, y + 35.0, &name);
        self.out.push_str("</g>\n");
        let mut top = y + BOX + CHIP_GAP;
        let policies: Vec<_> = graph.policies(node.id).collect();
        for (policy, attachment) in policies.iter().take(CHIPS) {
            self.chip(policy, attachment, x + 10.0, top, width - 10.0);
            top += CHIP + CHIP_GAP;
        }
        if policies.len() > CHIPS {
            let more = format!("+ {} more policies", policies.len() - CHIPS);
            self.text("detail", x + 18.0, top + 10.0, &more);
        }
    }

    fn chip(
        &mut self,
        policy: &v1::GraphPolicy,
        attachment: &v1::GraphAttachment,
        x: f64,
        y: f64,
        width: f64,
    ) {
        let color = color(policy.id);
        let place = words::place_or_nothing(policy.at.as_ref());
        let tip =
            format!("{} {}: {} {place}", policy.policy_kind, policy.policy, attachment.outcome);
        let is_lost = !matches!(attachment.outcome, "in force" | "partly" | "inert");
        let class = if is_lost { "policy lost" } else { "policy" };
        self.out.push_str(&format!("<g><title>{}</title>\n", escape::xml(&tip)));
        self.out.push_str(&format!(
            "<rect class=\"chip\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{CHIP:.1}\" rx=\"6\"/>\n\
             <rect x=\"{x:.1}\" y=\"{:.1}\" width=\"4\" height=\"{:.1}\" rx=\"2\" fill=\"{color}\"/>\n",
            y + 5.0,
            CHIP - 10.0
        ));
        let name = shorten(&policy.policy, fit(width - 42.0, NAME_CHAR - 0.8));
        self.text(class, x + 13.0, y + 15.0, &name);
        let detail = format!("{} · {}", policy.policy_kind, attachment.outcome);
        self.text("detail", x + 13.0, y + 28.0, &cut(&detail, fit(width - 42.0, SMALL_CHAR)));
        self.symbol(attachment.outcome, color, x + width - 15.0, y + CHIP / 2.0);
        self.out.push_str("</g>\n");
    }

    /// A full disc is in force, half a one partly, a ring is not.
    fn symbol(&mut self, outcome: &str, color: &str, x: f64, y: f64) {
        let ring = |dash: &str| {
            format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5.5\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.75\"{dash}/>\n"
            )
        };
        let symbol = match outcome {
            "in force" => {
                format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\" fill=\"{color}\"/>\n")
            }
            "partly" => format!(
                "{}<path d=\"M{x:.1} {:.1}A5.5 5.5 0 0 0 {x:.1} {:.1}Z\" fill=\"{color}\"/>\n",
                ring(""),
                y - 5.5,
                y + 5.5
            ),
            "inert" => ring(" stroke-dasharray=\"2.2 2.2\""),
            _ => ring(""),
        };
        self.out.push_str(&symbol);
    }

    fn legend(&mut self, y: f64) {
        let mut x = MARGIN + 6.0;
        let entries = [
            ("in force", "policy in force"),
            ("partly", "partly in force"),
            ("shadowed", "shadowed, masked, removed or skipped"),
            ("inert", "inert: no path, or nothing to contribute"),
        ];
        for (outcome, text) in entries {
            self.symbol(outcome, "#64748b", x, y - 4.0);
            self.text("muted", x + 13.0, y, text);
            x += 13.0 + text.width() as f64 * 6.7 + 26.0;
        }
    }
}

/// How many characters fit.
fn fit(width: f64, char_width: f64) -> usize {
    let mut count = 0_u32;
    while f64::from(count + 1) * char_width <= width {
        count += 1;
    }
    count as usize
}
