//! The table of formats: what each stores of a page.

use std::fmt::Write;

use seine_formats::Format;
use seine_formats::stored_fields::{Field, Stored};

use super::{check, escaped};

const BEFORE: &str = "# Formats

This page is made from the table of formats in the source. Use a name in `target_storage.data_formats`, in
`--sink`, or as the format of a destination. `seine cat`, `convert`, `replay`, `verify` and `recover` read all of them.

[Consuming](../consuming.md) describes the messages and documents field by field.

";

#[test]
fn the_formats_are_those_of_the_table() {
    let mut page = BEFORE.to_owned();
    page.push_str("| name | what it is | `schema` header in Kafka |\n|---|---|---|\n");
    for format in Format::ALL {
        writeln!(page, "| `{}` | {} | `{}` |", format.name, escaped(format.about), format.schema).unwrap();
    }
    page.push_str("\n## What each format stores\n\n| of a page |");
    Format::ALL.iter().for_each(|format| write!(page, " {} |", format.name).unwrap());
    writeln!(page, "\n|---|{}", "---|".repeat(Format::ALL.len())).unwrap();
    for field in Field::all() {
        write!(page, "| {field} |").unwrap();
        for format in Format::ALL {
            match format.holds(field) {
                Stored::Complete => page.push_str(" yes |"),
                Stored::Partly(part) => write!(page, " {part} |").unwrap(),
                Stored::No => page.push_str(" – |"),
            }
        }
        page.push('\n');
    }
    check("formats.md", &page);
}
