// SPDX-License-Identifier: Apache-2.0
//! In: counts. Out: the plots of docs/performance.md. Not here: how a picture is written (`svg`).
//!
//! ```text
//!  ratios.svg      each stage of a gateway fleet against serde_json on the same fleet
//!  growth.svg      the power of size that each stage grows by
//!  per-route.svg   instructions for each route, over sizes: level lines are linear stages
//! ```

use std::path::Path;

use super::EXPONENT;
use super::kept::{Kept, Row};
use super::svg::{Anchor, Picture};

const WIDTH: f64 = 760.0;
/// Where names end and figures begin.
const LEFT: f64 = 170.0;
const TOP: f64 = 64.0;
const ROW: f64 = 24.0;

pub(crate) fn write(kept: &Kept, folder: &Path) -> Result<(), String> {
    let plots = [
        ("ratios.svg", ratios(kept)),
        ("growth.svg", growth(kept)),
        ("per-route.svg", per_route(kept)),
    ];
    for (name, text) in plots {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Heights of rows, from the top.
fn rows() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(TOP), |y| Some(y + ROW))
}

fn height(rows: usize) -> f64 {
    TOP + ROW * rows as f64 + 24.0
}

/// A number of routes as people say it.
fn short(size: u32) -> String {
    match size {
        size if size >= 1_000_000 => format!("{}M", size / 1_000_000),
        size if size >= 1_000 => format!("{}k", size / 1_000),
        size => size.to_string(),
    }
}

fn ratios(kept: &Kept) -> String {
    let stages: Vec<(&Row, f64)> = kept
        .rows
        .iter()
        .filter(|row| row.stage != "serde_json")
        .filter_map(|row| Some((row, kept.ratio(row)?)))
        .collect();
    let size =
        stages.iter().filter_map(|(row, _)| row.counts.last_key_value()).map(|(s, _)| *s).max();
    let most = stages.iter().map(|(_, ratio)| *ratio).fold(1.0, f64::max);
    let x = |ratio: f64| LEFT + ratio / most * (WIDTH - LEFT - 70.0);
    let mut picture =
        Picture::new(WIDTH, height(stages.len()), "Instructions, for each one of serde_json");
    let subtitle = format!(
        "parsing the same fleet into Value; {} routes, one thread",
        short(size.unwrap_or(0))
    );
    picture.text((16.0, 46.0), Anchor::Start, "dim", &subtitle);
    picture.text((x(1.0), height(stages.len()) - 8.0), Anchor::Middle, "dim", "serde_json");
    let bottom = height(stages.len()) - 22.0;
    for ((row, ratio), y) in stages.into_iter().zip(rows()) {
        picture.text((LEFT - 10.0, y + 13.0), Anchor::End, "", &row.stage);
        picture.bar((LEFT, y), ((x(ratio) - LEFT).max(1.0), ROW - 8.0), "bar");
        picture.text((x(ratio) + 6.0, y + 13.0), Anchor::Start, "dim", &format!("{ratio:.2}"));
    }
    // Over the bars, to be seen on them.
    picture.line((x(1.0), TOP - 8.0), (x(1.0), bottom), "limit");
    picture.finish()
}

fn growth(kept: &Kept) -> String {
    let exponent = |row: &Row| {
        let mut sizes = row.counts.keys().rev();
        let (to, from) = (*sizes.next()?, *sizes.next()?);
        row.exponent(from, to)
    };
    let stages: Vec<(&Row, f64)> =
        kept.rows.iter().filter_map(|row| Some((row, exponent(row)?))).collect();
    let most = stages.iter().map(|(_, e)| *e).fold(1.2, f64::max);
    let x = |e: f64| LEFT + e.max(0.0) / most * (WIDTH - LEFT - 70.0);
    let mut picture = Picture::new(WIDTH, height(stages.len()), "How instructions grow with size");
    let subtitle =
        format!("the power of size, from the last size but one to the last; the bar is {EXPONENT}");
    picture.text((16.0, 46.0), Anchor::Start, "dim", &subtitle);
    let bottom = height(stages.len()) - 22.0;
    for (value, class) in [(0.0, "grid"), (0.5, "grid"), (1.0, "grid"), (EXPONENT, "limit")] {
        picture.line((x(value), TOP - 8.0), (x(value), bottom), class);
        picture.text((x(value), bottom + 14.0), Anchor::Middle, "dim", &value.to_string());
    }
    for ((row, e), y) in stages.into_iter().zip(rows()) {
        picture.text((LEFT - 10.0, y + 13.0), Anchor::End, "", &row.name());
        picture.dot((x(e), y + 8.0), if e > EXPONENT { "over" } else { "dot" });
        picture.text((WIDTH - 16.0, y + 13.0), Anchor::End, "dim", &format!("{e:.2}"));
    }
    picture.finish()
}

const PLOT_HEIGHT: f64 = 420.0;

fn per_route(kept: &Kept) -> String {
    let stages: Vec<&Row> = kept.rows.iter().filter(|row| row.group == "gateway").collect();
    let each = |(size, count): (&u32, &u64)| {
        (f64::from(*size).log10(), (*count as f64 / f64::from(*size)).log10())
    };
    let all: Vec<(f64, f64)> = stages.iter().flat_map(|row| row.counts.iter().map(each)).collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = || all.iter().map(of);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((x0, x1), (y0, y1)) = (range(|p| p.0), range(|p| p.1));
    let (y0, y1) = (y0.floor(), y1.ceil());
    let (left, right, bottom) = (70.0, WIDTH - 130.0, PLOT_HEIGHT - 44.0);
    let x = |v: f64| left + (v - x0) / (x1 - x0).max(1e-9) * (right - left);
    let y = |v: f64| bottom - (v - y0) / (y1 - y0).max(1e-9) * (bottom - TOP);
    let mut picture = Picture::new(WIDTH, PLOT_HEIGHT, "Instructions for each route");
    picture.text(
        (16.0, 46.0),
        Anchor::Start,
        "dim",
        "a level line is a stage that is linear in the size of the fleet",
    );
    let mut decade = y0;
    while decade <= y1 {
        picture.line((left, y(decade)), (right, y(decade)), "grid");
        let value = 10_f64.powf(decade);
        let label =
            if value >= 1e6 { format!("{} M", value / 1e6) } else { format!("{} k", value / 1e3) };
        picture.text((left - 8.0, y(decade) + 4.0), Anchor::End, "dim", &label);
        decade += 1.0;
    }
    for size in [1_000_u32, 10_000, 100_000] {
        let at = f64::from(size).log10();
        if (x0..=x1).contains(&at) {
            let label = format!("{} routes", short(size));
            picture.text((x(at), bottom + 22.0), Anchor::Middle, "dim", &label);
        }
    }
    let mut labels: Vec<(f64, &str)> = Vec::new();
    for row in stages {
        let points: Vec<(f64, f64)> =
            row.counts.iter().map(each).map(|(a, b)| (x(a), y(b))).collect();
        picture.path(&points);
        points.iter().for_each(|point| picture.dot(*point, "dot"));
        labels.extend(points.last().map(|(_, y)| (*y, row.stage.as_str())));
    }
    for (y, label) in apart(labels) {
        picture.text((right + 12.0, y + 4.0), Anchor::Start, "", label);
    }
    picture.finish()
}

/// Labels from top to bottom, moved down until none covers another.
fn apart(mut labels: Vec<(f64, &str)>) -> Vec<(f64, &str)> {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut last = f64::NEG_INFINITY;
    for (y, _) in &mut labels {
        *y = y.max(last + 15.0);
        last = *y;
    }
    labels
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_stage_is_in_the_plots() {
        let row = |stage: &str, times: u64| Row {
            group: "gateway".to_owned(),
            stage: stage.to_owned(),
            counts: BTreeMap::from([
                (1_000, 1_000 * times),
                (10_000, 12_000 * times),
                (100_000, 170_000 * times),
            ]),
        };
        let rows = vec![row("serde_json", 9), row("read<yaml>", 30), row("model", 4)];
        let kept = Kept { rustc: String::new(), valgrind: String::new(), rows };
        for plot in [ratios(&kept), growth(&kept), per_route(&kept)] {
            assert!(
                plot.contains(">read&lt;yaml&gt;<") || plot.contains(">gateway read&lt;yaml&gt;<"),
                "{plot}"
            );
            assert!(plot.contains("prefers-color-scheme") && plot.ends_with("</svg>\n"));
            assert!(!plot.contains("NaN") && !plot.contains("inf"), "{plot}");
        }
        assert!(growth(&kept).contains("over"), "1.15 is above the bar");
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        assert_eq!(apart(vec![(20.0, "b"), (10.0, "a")]), [(10.0, "a"), (25.0, "b")]);
    }
}
