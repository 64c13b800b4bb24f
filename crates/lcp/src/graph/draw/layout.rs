//! Positions: one horizontal band per layer.
//!
//! The *base* layer (values, or objects in the AOAG) keeps the order of the task, with a gap between
//! variables; every other layer stands above or below the middle of what it is joined to.
//! The picture is as wide as its widest layer, up to a limit; a layer that is wider still is broken
//! into columns of several boxes.

use super::{Drawing, Layer};

const CHARACTER: f64 = 6.7;
const PADDING: f64 = 16.0;
const GAP: f64 = 10.0;
const VARIABLE_GAP: f64 = 34.0;
pub(super) const BOX_HEIGHT: f64 = 24.0;
const ROW: f64 = BOX_HEIGHT + 14.0;
/// No layer but the base makes the picture wider than this.
const MAX_WIDTH: f64 = 2400.0;
/// The distance between two layers.
const BAND: f64 = 110.0;
pub(super) const MARGIN: f64 = 30.0;
pub(super) const HEADING: f64 = 44.0;

/// Where the boxes stand: the middle of each, and the size of all.
pub(super) struct Layout {
    pub(super) centres: Vec<(f64, f64)>,
    pub(super) widths: Vec<f64>,
    pub(super) width: f64,
    pub(super) height: f64,
}

pub(super) fn box_width(label: &str) -> f64 {
    label.chars().count() as f64 * CHARACTER + PADDING
}

impl Layout {
    pub(super) fn new(drawing: &Drawing, min_width: f64) -> Layout {
        let widths: Vec<f64> = drawing.shapes.iter().map(|shape| box_width(&shape.label)).collect();
        let of_layer = |layer: Layer| -> Vec<usize> {
            (0..drawing.shapes.len()).filter(|&i| drawing.shapes[i].layer == layer).collect()
        };
        let base = if of_layer(Layer::Values).is_empty() { Layer::Objects } else { Layer::Values };
        let mut x = vec![None; widths.len()];

        let members = of_layer(base);
        let gaps: Vec<f64> = members
            .windows(2)
            .map(|pair| {
                let [a, b] = [pair[0], pair[1]].map(|i| drawing.shapes[i].variable);
                if a == b { GAP } else { VARIABLE_GAP }
            })
            .collect();
        let natural = gaps.iter().sum::<f64>() + members.iter().map(|&i| widths[i]).sum::<f64>();
        let others = [Layer::Actions, Layer::Variables, Layer::Objects, Layer::Atoms];
        let widest = others
            .map(|layer| of_layer(layer).iter().map(|&i| widths[i] + GAP).sum::<f64>())
            .into_iter()
            .fold(0.0, f64::max);
        let room = natural.max(min_width).max(widest.min(MAX_WIDTH));
        let width = room + 2.0 * MARGIN;
        // What the base does not need goes between its boxes.
        let spare = (room - natural) / (members.len() + 1) as f64;
        let mut end = MARGIN + spare;
        for (n, &i) in members.iter().enumerate() {
            x[i] = Some(end + widths[i] / 2.0);
            end += widths[i] + gaps.get(n).unwrap_or(&0.0) + spare;
        }

        let mut neighbours = vec![Vec::new(); widths.len()];
        for line in &drawing.lines {
            neighbours[line.from].push(line.to);
            neighbours[line.to].push(line.from);
        }
        let mut centres = vec![(0.0, 0.0); widths.len()];
        let mut y = HEADING + MARGIN;
        let mut bands = Vec::new();
        for layer in [Layer::Actions, Layer::Values, Layer::Variables, Layer::Objects, Layer::Atoms]
        {
            let members = of_layer(layer);
            if !members.is_empty() {
                bands.push((layer, members));
            }
        }
        for (layer, members) in bands {
            let rows = if layer == base {
                for &i in &members {
                    centres[i] = (x[i].expect("placed"), y);
                }
                1
            } else {
                let wish = |i: usize| {
                    let around: Vec<f64> = neighbours[i].iter().filter_map(|&n| x[n]).collect();
                    let sum: f64 = around.iter().sum();
                    // What is joined to nothing goes to the right end.
                    if around.is_empty() { width } else { sum / around.len() as f64 }
                };
                let mut wished: Vec<(f64, usize)> = members.iter().map(|&i| (wish(i), i)).collect();
                wished.sort_by(|a, b| a.0.total_cmp(&b.0));
                place(&wished, &widths, width, y, &mut centres)
            };
            y += (rows - 1) as f64 * ROW + BAND;
        }
        Layout { centres, widths, width, height: y - BAND + BOX_HEIGHT }
    }
}

/// Places boxes (given with the middle they wish for, ascending) in columns of as many rows as
/// the width demands; returns the number of rows.
fn place(
    wished: &[(f64, usize)],
    widths: &[f64],
    width: f64,
    y: f64,
    centres: &mut [(f64, f64)],
) -> usize {
    let room = width - 2.0 * MARGIN;
    let mut rows = 1;
    let columns = loop {
        let columns: Vec<&[(f64, usize)]> = wished.chunks(rows).collect();
        let total: f64 = columns.iter().map(|column| column_width(column, widths) + GAP).sum();
        if total - GAP <= room || columns.len() <= 1 {
            break columns;
        }
        rows += 1;
    };
    // Left to right, each as near to its wish as the ones before it allow; then back from the
    // right end as far as the last ones stick out.
    let mut left = MARGIN;
    let mut middles: Vec<f64> = Vec::with_capacity(columns.len());
    for column in &columns {
        let half = column_width(column, widths) / 2.0;
        let wish = column.iter().map(|&(wish, _)| wish).sum::<f64>() / column.len() as f64;
        let middle = wish.max(left + half);
        left = middle + half + GAP;
        middles.push(middle);
    }
    let mut right = width - MARGIN;
    for (middle, column) in middles.iter_mut().zip(&columns).rev() {
        let half = column_width(column, widths) / 2.0;
        *middle = middle.min(right - half);
        right = *middle - half - GAP;
    }
    for (&middle, column) in middles.iter().zip(&columns) {
        for (row, &(_, i)) in column.iter().enumerate() {
            centres[i] = (middle, y + row as f64 * ROW);
        }
    }
    rows
}

fn column_width(column: &[(f64, usize)], widths: &[f64]) -> f64 {
    column.iter().map(|&(_, i)| widths[i]).fold(0.0, f64::max)
}
