// SPDX-License-Identifier: Apache-2.0
//! In: lines, texts, bars and dots. Out: an SVG picture that can be read on light and dark pages. Not here: what it shows.

use std::fmt::Write as _;

/// A picture that is being drawn. Coordinates are in pixels; colours are named by what they are for.
#[derive(Debug)]
pub(crate) struct Picture {
    width: f64,
    height: f64,
    body: String,
}

/// Where a text stands to its point.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Follows the colours of the reader: a picture in a page cannot see the page, but knows what the reader prefers.
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:15px;font-weight:600}\
.dim{fill:#59636e}.page{fill:#fff}.grid{stroke:#d1d9e0}.limit{stroke:#cf222e;stroke-dasharray:5 4}.bar,.dot{fill:#2a6fdb}\
.line{fill:none;stroke:#2a6fdb;stroke-width:2}.over{fill:#cf222e}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.dim{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#3d444d}\
.limit{stroke:#ff7b72}.bar,.dot{fill:#6cb0ff}.line{stroke:#6cb0ff}.over{fill:#ff7b72}}";

impl Picture {
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let mut picture = Self { width, height, body: String::new() };
        picture.text((16.0, 26.0), Anchor::Start, "title", title);
        picture
    }

    pub(crate) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.push(&format!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{text}</text>"#
        ));
    }

    pub(crate) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.push(&format!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#
        ));
    }

    pub(crate) fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        self.push(&format!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="2" class="{class}"/>"#
        ));
    }

    pub(crate) fn dot(&mut self, (x, y): (f64, f64), class: &str) {
        self.push(&format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="5" class="{class}"/>"#));
    }

    pub(crate) fn path(&mut self, points: &[(f64, f64)]) {
        let mut list = String::new();
        for (x, y) in points {
            let _ = write!(list, "{x:.1},{y:.1} ");
        }
        self.push(&format!(r#"<polyline points="{}" class="line"/>"#, list.trim_end()));
    }

    fn push(&mut self, element: &str) {
        self.body += element;
        self.body.push('\n');
    }

    pub(crate) fn finish(self) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<style>{STYLE}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"6\" class=\"page\"/>\n{body}</svg>\n"
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
