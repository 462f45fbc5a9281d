//! Pictures of stored rows, as SVG: tables as boxes, their partitions in them, rows in key order, and an arrow from each
//! row of an index to its entity.
//!
//! rustdoc puts a picture into the page of the guide as it is. So a picture has no blank line and no style of its own
//! but `currentColor`, and is readable in light and in dark themes.

use std::fmt::Write as _;

use crate::guide::{ShownRow, ShownTable};

/// Width of a picture, and that of its tables: arrows are drawn beside them.
const WIDTH: usize = 700;
const TABLE_WIDTH: usize = 650;

/// Height of a line.
const LINE: usize = 22;
/// Distance between two boxes, and between a box and its content.
const GAP: usize = 8;
/// Width of a character in hundredths of a pixel, at a size of 12.
const CHARACTER: usize = 723;

/// Colours of entities after the first one, and of the rows of indexes; both are readable on white and on black.
const ENTITIES: [&str; 4] = ["currentColor", "#2f9e58", "#c2780e", "#a64ac9"];
const INDEX: &str = "#3b82d6";

/// Draws the tables, one below the other.
pub(crate) fn draw(tables: &[ShownTable]) -> String {
    let mut entities: Vec<&str> = Vec::new();
    for row in tables.iter().flat_map(|table| &table.rows) {
        if !entities.contains(&row.entity.as_str()) {
            entities.push(&row.entity);
        }
    }
    let mut drawing = Drawing { shapes: String::new(), y: 1, heights: Vec::new(), entities };
    for table in tables {
        drawing.table(table);
    }
    drawing.arrows(tables);
    let Drawing { shapes, y, .. } = drawing;
    let (height, label) = (y - GAP + 1, label(tables));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{label}\" style=\"max-width: 100%; height: auto\" \
         font-family=\"'Source Code Pro', 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"12\" \
         fill=\"currentColor\">\n{shapes}</svg>\n"
    )
}

fn label(tables: &[ShownTable]) -> String {
    let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
    format!("Stored rows of {}", names.join(", "))
}

struct Drawing<'a> {
    shapes: String,
    /// Upper edge of the next box.
    y: usize,
    /// Middle of each row, by table.
    heights: Vec<Vec<usize>>,
    /// Names of the entities, in the order of their colours.
    entities: Vec<&'a str>,
}

impl Drawing<'_> {
    fn table(&mut self, table: &ShownTable) {
        let top = self.y;
        let key_width = table.rows.iter().map(|row| row.row_key.chars().count()).max().unwrap_or(0).max(7);
        let (mut inner, mut heights) = (String::new(), Vec::new());
        self.y += LINE + GAP;
        let mut rest = &table.rows[..];
        while let Some(first) = rest.first() {
            let count = rest.iter().take_while(|row| row.partition_key == first.partition_key).count();
            let (rows, after) = rest.split_at(count);
            self.partition(rows, key_width, &mut inner, &mut heights);
            rest = after;
        }
        let height = self.y - top;
        let name = escaped(&table.name);
        self.rectangle(
            0,
            top,
            TABLE_WIDTH,
            height,
            "fill=\"currentColor\" fill-opacity=\".05\" stroke=\"currentColor\" stroke-opacity=\".45\"",
        );
        self.text(GAP + 2, top + LINE - 4, "font-weight=\"bold\"", &format!("table {name}"));
        self.shapes.push_str(&inner);
        self.heights.push(heights);
        self.y += 2 * GAP;
    }

    fn partition(&mut self, rows: &[ShownRow], key_width: usize, inner: &mut String, heights: &mut Vec<usize>) {
        let (top, left) = (self.y, GAP);
        let width = TABLE_WIDTH - 2 * GAP;
        let height = LINE * (rows.len() + 1) + GAP;
        writeln!(
            inner,
            "<rect x=\"{left}.5\" y=\"{top}.5\" width=\"{width}\" height=\"{height}\" rx=\"4\" fill=\"none\" \
             stroke=\"currentColor\" stroke-opacity=\".3\" stroke-dasharray=\"3 3\"/>"
        )
        .unwrap();
        let key = escaped(&or_empty(&rows[0].partition_key));
        let baseline = top + LINE - 6;
        writeln!(
            inner,
            "<text x=\"{}\" y=\"{baseline}\"><tspan fill-opacity=\".6\">partition </tspan>{key}</text>",
            left + GAP
        )
        .unwrap();
        for (at, row) in rows.iter().enumerate() {
            let y = top + LINE * (at + 1);
            heights.push(y + LINE / 2);
            self.row(row, key_width, y, inner);
        }
        self.y += height + GAP;
    }

    fn row(&self, row: &ShownRow, key_width: usize, y: usize, inner: &mut String) {
        let left = 2 * GAP;
        let width = TABLE_WIDTH - 4 * GAP;
        let colour = self.colour(row);
        // Browsers show a title when the pointer is over the row: what its keys mean, and properties that were cut.
        let properties: Vec<_> = row.properties.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let title = [row.values.as_str(), &properties.join(", ")].join("; ");
        writeln!(inner, "<g><title>{}</title>", escaped(title.trim_matches([';', ' ']))).unwrap();
        writeln!(
            inner,
            "<rect x=\"{left}.5\" y=\"{}.5\" width=\"{width}\" height=\"{}\" rx=\"3\" fill=\"{colour}\" \
             fill-opacity=\".1\" stroke=\"{colour}\" stroke-opacity=\".5\"/>",
            y + 1,
            LINE - 3,
        )
        .unwrap();
        let characters = (width - 2 * GAP) * 100 / CHARACTER;
        let name = match &row.index {
            Some(index) => format!("index {index}"),
            None => row.entity.clone(),
        };
        // The name of the index or of the entity is at the right edge.
        let of = format!("  {name}");
        let key = cut(&or_empty(&row.row_key), characters - of.chars().count());
        let room = characters.saturating_sub(key_width.max(key.chars().count()) + 2 + of.chars().count());
        let properties = cut(&properties.join(", "), room);
        let (baseline, right) = (y + LINE - 7, left + width - GAP);
        let properties_at = left + GAP + (key_width + 2) * CHARACTER / 100;
        writeln!(inner, "<text x=\"{}\" y=\"{baseline}\" font-weight=\"600\">{}</text>", left + GAP, escaped(&key))
            .unwrap();
        if !properties.is_empty() {
            let properties = escaped(&properties);
            writeln!(inner, "<text x=\"{properties_at}\" y=\"{baseline}\" fill-opacity=\".75\">{properties}</text>")
                .unwrap();
        }
        writeln!(
            inner,
            "<text x=\"{right}\" y=\"{baseline}\" text-anchor=\"end\" font-style=\"italic\">{}</text></g>",
            escaped(&name)
        )
        .unwrap();
    }

    fn colour(&self, row: &ShownRow) -> &'static str {
        if row.index.is_some() {
            return INDEX;
        }
        let at = self.entities.iter().position(|entity| *entity == row.entity).unwrap_or(0);
        ENTITIES[at % ENTITIES.len()]
    }

    fn arrows(&mut self, tables: &[ShownTable]) {
        let x = TABLE_WIDTH - 2 * GAP + 1;
        let mut lane = 0;
        for (table, heights) in tables.iter().zip(self.heights.clone()) {
            for (row, from) in table.rows.iter().zip(heights) {
                for (to_table, to_row) in &row.leads_to {
                    let to = self.heights[*to_table][*to_row];
                    // Neighbouring arrows bend differently, so that they do not lie on each other.
                    let bend = x + 36 + 9 * (lane % 4);
                    lane += 1;
                    writeln!(
                        self.shapes,
                        "<path d=\"M{x} {from} C{bend} {from} {bend} {to} {} {to}\" fill=\"none\" stroke=\"{INDEX}\" \
                         stroke-opacity=\".8\"/>\n<path d=\"M{x} {to} l7 -4 v8 z\" fill=\"{INDEX}\"/>",
                        x + 6,
                    )
                    .unwrap();
                }
            }
        }
    }

    fn rectangle(&mut self, x: usize, y: usize, width: usize, height: usize, style: &str) {
        writeln!(self.shapes, "<rect x=\"{x}.5\" y=\"{y}.5\" width=\"{width}\" height=\"{height}\" rx=\"6\" {style}/>")
            .unwrap();
    }

    fn text(&mut self, x: usize, y: usize, style: &str, text: &str) {
        writeln!(self.shapes, "<text x=\"{x}\" y=\"{y}\" {style}>{text}</text>").unwrap();
    }
}

fn or_empty(key: &str) -> String {
    if key.is_empty() { "(empty)".to_owned() } else { key.to_owned() }
}

/// Returns the beginning of a text that is longer than `most` characters, with an ellipsis.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Returns a text of XML. Spaces at the beginning and repeated ones keep their width.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace("  ", "\u{a0} ")
}
