//! The programs that are compiled.

use std::fmt::Write as _;

/// One of the two programs that do the same with the same structs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Stores and reads each struct as an entity with two indexes.
    Ours,
    /// Writes and reads each struct as JSON.
    Serde,
}

/// Fields after the two of the key and the two of the indexes.
const FIELDS: [(&str, &str, &str); 6] = [
    ("text", "String", "\"some text\".to_owned()"),
    ("views", "i64", "7"),
    ("draft", "bool", "true"),
    ("note", "Option<String>", "None"),
    ("rating", "f64", "0.5"),
    ("parent", "Option<u32>", "Some(1)"),
];

impl Program {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Serde => "serde",
        }
    }

    /// Returns the source of a module with the structs: 6 to 10 fields each.
    pub(crate) fn structs(self, count: usize) -> String {
        let mut source = match self {
            Self::Ours => "use table_runtime::TableEntity;\n".to_owned(),
            Self::Serde => "use serde::{Deserialize, Serialize};\n".to_owned(),
        };
        for number in 0..count {
            let (derive, key, row, indexes) = match self {
                Self::Ours => (
                    "TableEntity",
                    "#[partition_key] ",
                    "#[row_key] ",
                    ["#[index(title, lowercase, same_partition)] ", "#[index(likes)] "],
                ),
                Self::Serde => ("Serialize, Deserialize", "", "", ["", ""]),
            };
            let [title, likes] = indexes;
            let rest =
                rest(number).map(|(name, ty, _)| format!("    pub {name}: {ty},\n")).collect::<Vec<_>>().concat();
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                source,
                "\n#[derive({derive})]\npub struct Entity{number} {{\n    {key}pub owner: String,\n    {row}pub id: u32,\n    \
                 {title}pub title: String,\n    {likes}pub likes: u32,\n{rest}}}"
            );
        }
        source
    }

    /// Returns the source of a program that uses each struct: it is inserted and read, or written and read.
    pub(crate) fn main(self, count: usize) -> String {
        let mut source = match self {
            Self::Ours => {
                "use table_runtime::{Result, TableEntity as _, Tables};\n\n#[path = \"structs.rs\"]\nmod structs;\n"
            }
            Self::Serde => "use serde_json::Result;\n\n#[path = \"structs.rs\"]\nmod structs;\n",
        }
        .to_owned();
        for number in 0..count {
            let rest = rest(number).map(|(name, _, value)| format!(", {name}: {value}")).collect::<Vec<_>>().concat();
            let value = format!(
                "structs::Entity{number} {{ owner: \"Marcus\".to_owned(), id: {number}, title: \"Keys\".to_owned(), likes: \
                 1{rest} }}"
            );
            let body = match self {
                Self::Ours => format!(
                    "async fn use_{number}(tables: &Tables) -> Result<bool> {{\n    let entity = {value};\n    \
                     tables.create::<structs::Entity{number}>().await?;\n    tables.insert(&entity).await?;\n    \
                     let read = structs::Entity{number}::key(\"Marcus\", {number}).get(tables).await?;\n    \
                     Ok(read.is_some_and(|read| read.title == entity.title))\n}}"
                ),
                Self::Serde => format!(
                    "fn use_{number}() -> Result<bool> {{\n    let entity = {value};\n    \
                     let text = serde_json::to_string(&entity)?;\n    \
                     let read: structs::Entity{number} = serde_json::from_str(&text)?;\n    \
                     Ok(read.title == entity.title)\n}}"
                ),
            };
            let _ = writeln!(source, "\n{body}");
        }
        source += &match self {
            Self::Ours => calls(
                count,
                "async fn run() -> Result<usize>",
                "    let tables = Tables::in_memory()?;\n",
                "(&tables).await?",
            ),
            Self::Serde => calls(count, "fn run() -> Result<usize>", "", "()?"),
        };
        source += match self {
            Self::Ours => {
                "\nfn main() -> Result<()> {\n    let mut context = std::task::Context::from_waker(std::task::Waker::noop());\n    \
                 let mut run = std::pin::pin!(run());\n    loop {\n        \
                 if let std::task::Poll::Ready(equal) = run.as_mut().poll(&mut context) {\n            \
                 println!(\"{}\", equal?);\n            return Ok(());\n        }\n        \
                 std::thread::yield_now();\n    }\n}\n"
            }
            Self::Serde => "\nfn main() -> Result<()> {\n    println!(\"{}\", run()?);\n    Ok(())\n}\n",
        };
        source
    }
}

/// Returns the fields of a struct that no key and no index has.
fn rest(number: usize) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    (0..2 + number % 5).map(move |at| FIELDS[(at + number) % FIELDS.len()])
}

/// Returns a function that counts the structs that were read as they were written.
fn calls(count: usize, signature: &str, begin: &str, arguments: &str) -> String {
    let call = |number| format!("    equal += usize::from(use_{number}{arguments});\n");
    let calls = (0..count).map(call).collect::<Vec<_>>().concat();
    format!("\n{signature} {{\n{begin}    let mut equal = 0;\n{calls}    Ok(equal)\n}}\n")
}
