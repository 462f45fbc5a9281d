//! `assert_layout!`: compares the layouts of entities with those that files hold.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;
use table_model::{
    EntitySet, Layout, LayoutInfo, TableEntity,
    unstable::entity::VisitEntities,
    unstable::layout::{Aspect, Baseline, LayoutChange, ReadLayout, TypeEffect, diff, is_in_key, with_properties},
};
use table_store::PropertyType;

/// Asserts that an entity is stored as a file describes. The file holds an earlier result of
/// [`TableEntity::layout`](crate::TableEntity::layout). If a change of the struct would make stored rows unreachable or
/// unreadable, the assertion fails in a test before the change reaches the data. The file holds the types of properties,
/// but not the content of JSON, the names of an enum's variants and the code of an index's predicate: they can change
/// unnoticed. A test of your own that reads a stored text, such as
/// `serde_json::from_str::<Status>("\"Waiting\"")`, notices a renamed variant. The path is relative to the package's folder.
///
/// Keep the file with the source. If the file is missing, the assertion writes it and fails this once. To accept a
/// change, run the test with `TABLE_LAYOUTS=overwrite`, do what the message asks for, and commit the file.
///
/// Structs can be renamed, and fields as long as the names of their properties stay.
///
/// ```
/// # use table_runtime::TableEntity;
/// #[derive(TableEntity)]
/// #[table(name = "Posts")]
/// struct Post {
///     #[partition_key]
///     author: String,
///     #[row_key]
///     number: u32,
///     title: String,
/// }
///
/// // In a test:
/// table_runtime::assert_layout!(Post, "layouts/post.json");
/// ```
///
/// With several entities, one run shows all differences, and writes all missing files:
/// `assert_layout!(Post, "layouts/post.json", Author, "layouts/author.json")`.
///
/// # Panics
/// Panics if a layout differs: the message states what has changed, what that does to stored rows, and what to run.
/// Panics if a file is missing or does not hold a layout.
#[macro_export]
macro_rules! assert_layout {
    ($($entity:ty, $path:expr),+ $(,)?) => {
        $crate::__private::assert_layouts(
            ::core::env!("CARGO_MANIFEST_DIR"),
            &[$((
                <$entity as $crate::TableEntity>::layout(),
                ::core::convert::AsRef::<::std::path::Path>::as_ref($path),
            )),+],
        )
    };
}

/// Asserts that all entities of a [set](crate::EntitySet) are stored as the files in a folder describe: that of an entity has its
/// name in the catalog, such as `Post.json`. Otherwise it does the same as [`assert_layout!`](crate::assert_layout).
///
/// ```
/// # use table_runtime::TableEntity;
/// # #[derive(TableEntity)]
/// # struct Post { #[partition_key] author: String, #[row_key] number: u32 }
/// # #[derive(TableEntity)]
/// # struct Author { #[partition_key] #[row_key] name: String }
/// type Blog = (Post, Author);
///
/// // In a test:
/// # if false {
/// table_runtime::assert_layouts!(Blog, "layouts/");
/// # }
/// ```
///
/// # Panics
/// Panics as [`assert_layout!`](crate::assert_layout) does.
#[macro_export]
macro_rules! assert_layouts {
    ($set:ty, $folder:expr $(,)?) => {
        $crate::__private::assert_layouts_of::<$set>(
            ::core::env!("CARGO_MANIFEST_DIR"),
            ::core::convert::AsRef::<::std::path::Path>::as_ref($folder),
        )
    };
}

/// Compares the layouts of a set with those in a folder of the package in `package`.
///
/// # Panics
/// Panics as [`assert_layouts`] does.
#[track_caller]
pub fn assert_layouts_of<S: EntitySet>(package: &str, folder: &Path) {
    let mut layouts = Layouts::default();
    S::visit(&mut layouts);
    let paths: Vec<_> = layouts.0.iter().map(|layout| folder.join(format!("{}.json", layout.entity))).collect();
    let layouts: Vec<_> = layouts.0.into_iter().zip(paths.iter().map(PathBuf::as_path)).collect();
    assert_layouts(package, &layouts);
}

/// The layouts of the entities of a set.
#[derive(Default)]
struct Layouts(Vec<Layout>);

impl VisitEntities for Layouts {
    fn entity<E: TableEntity>(&mut self) {
        self.0.push(E::layout());
    }
}

/// Compares layouts with those in files of the package in `folder`.
///
/// # Panics
/// Panics if one differs, or if a file is missing or does not hold a layout. The message has all of the problems.
#[track_caller]
pub fn assert_layouts(folder: &str, layouts: &[(Layout, &Path)]) {
    let overwrite = env::var_os("TABLE_LAYOUTS").is_some_and(|value| value == "overwrite");
    let compared = layouts.iter().map(|(layout, path)| compare(layout, &Path::new(folder).join(path), overwrite));
    let problems: Vec<_> = compared.filter_map(Result::err).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

fn compare(layout: &Layout, path: &Path, overwrite: bool) -> Result<(), String> {
    let (shown, name) = (path.display(), layout.entity);
    let write = || {
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        let text = serde_json::to_string_pretty(layout).unwrap_or_default() + "\n";
        folder.and_then(|()| fs::write(path, text)).map_err(|error| format!("{shown} cannot be written: {error}"))
    };
    let stored = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write()?;
            return Err(format!("there was no {shown}: the layout of `{name}` is written there now, to be committed"));
        }
        Err(error) => return Err(format!("{shown} cannot be read: {error}")),
        Ok(stored) => stored,
    };
    let stored: Described =
        serde_json::from_str(&stored).map_err(|_| format!("{shown} is no layout; delete it to have it written"))?;
    let changes = changes(layout, &stored);
    if changes.is_empty() {
        return Ok(());
    }
    if overwrite {
        return write();
    }
    let mut text = format!("`{name}` is not stored as {shown} says:\n");
    for change in changes {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "- {change}");
    }
    text.push_str("To accept that, run this test with TABLE_LAYOUTS=overwrite, and commit the file.");
    Err(text)
}

/// What a file holds.
#[derive(Deserialize)]
struct Described {
    layouts: Vec<Value>,
    #[serde(default, deserialize_with = "unless_damaged")]
    properties: Vec<DescribedProperty>,
    /// The kind and the separator, which later files have in their layouts.
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    separator: Option<char>,
    #[serde(default)]
    write_id: bool,
    #[serde(default, deserialize_with = "unless_damaged")]
    lifecycle: BTreeMap<String, Option<String>>,
}

/// A property in a file.
#[derive(Deserialize)]
struct DescribedProperty {
    field: String,
    name: String,
    edm: Option<String>,
}

impl Described {
    /// Returns what the file records, to be compared with a struct.
    fn baseline(&self) -> Baseline {
        let primary = self.primary();
        let fields = self.properties.iter().map(|property| property.field.clone());
        let ty = |property: &DescribedProperty| (property.name.clone(), property.edm.clone().unwrap_or_default());
        let options = self.lifecycle.iter().filter_map(|(option, property)| Some((option, property.as_ref()?)));
        let name = |layout: &Value| layout["name"].as_str().unwrap_or_default().to_owned();
        Baseline {
            layouts: self.layouts.iter().map(|layout| (name(layout), self.read(layout))).collect(),
            fields: fields.filter(|field| !is_in_key(primary.as_ref(), field)).collect(),
            types: Some(self.properties.iter().map(ty).collect()),
            options: options.map(|(option, property)| format!("{option} = {property}")).collect(),
            write_id: Some(self.write_id),
            ..Baseline::default()
        }
    }

    fn primary(&self) -> Option<LayoutInfo> {
        let primary = ReadLayout::of(self.layouts.first()?)?.layout;
        Some(primary).filter(|primary| primary.index.is_none())
    }

    /// Reads a layout as the catalog records it; `None` if it is damaged.
    fn read(&self, layout: &Value) -> Option<LayoutInfo> {
        let property_of = |field: &str| {
            let property = self.properties.iter().find(|property| property.field == field)?;
            Some(property.name.clone().into())
        };
        let mut layout = ReadLayout::of(layout).filter(|read| read.is_known)?.layout;
        layout.separator = layout.separator.or(self.separator);
        if layout.index.is_none() {
            layout.kind = layout.kind.or_else(|| self.kind.clone().map(Into::into));
        }
        Some(with_properties(layout, self.primary().as_ref(), property_of))
    }
}

/// Reads a value; the default if it is damaged.
fn unless_damaged<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

/// Returns the differences from a recorded layout, each with its effect on stored rows.
fn changes(layout: &Layout, stored: &Described) -> Vec<String> {
    let changes = diff(&stored.baseline(), layout);
    let mut texts = Vec::new();
    for info in layout.layouts {
        let of_layout = |change: &&LayoutChange| change.layout == info.name && change.what != Aspect::Index;
        let differs: Vec<_> = changes.iter().filter(of_layout).map(ToString::to_string).collect();
        if !differs.is_empty() {
            texts.push(change_of_layout(layout.entity, info, &differs.join("; ")));
        }
    }
    texts.extend(changes.iter().filter_map(|change| change_of_entity(layout, change)));
    texts
}

fn change_of_layout(entity: &str, info: &LayoutInfo, differs: &str) -> String {
    let name = &info.name;
    if info.index.is_none() {
        return format!(
            "the primary key has changed: {differs}; rows that are stored are not found by it, and `create` refuses it: \
             keep it, or move the rows with `tables.migrate::<Old, {entity}>()`"
        );
    }
    format!(
        "the index `{name}` has changed: {differs}; its rows that are stored are not found, and `create` refuses it: give it \
         another name, then run `tables.backfill` for that and `tables.drop_index::<{entity}>(\"{name}\")`"
    )
}

/// Returns the text of a change that is not of one layout alone; `None` if it is, or if the file has less than the struct.
fn change_of_entity(layout: &Layout, change: &LayoutChange) -> Option<String> {
    let (entity, name) = (layout.entity, &change.layout);
    let (was, is) = (change.was.as_deref(), change.is.as_deref());
    Some(match (&change.what, was, is) {
        (Aspect::Index, None, _) => format!(
            "the index `{name}` is new: rows that are stored have none in it until `tables.backfill::<{entity}>(\"{name}\")` \
             has run"
        ),
        (Aspect::Index, Some(_), _) => format!(
            "the index `{name}` is gone: no write keeps its rows, and `create` refuses that while the index is ready: run \
             `tables.drop_index::<{entity}>(\"{name}\")`"
        ),
        (Aspect::Type(property, effect), Some(was), Some(is)) => {
            // A file need not have the types. Releases before those that record JSON recorded it as any text.
            if was.is_empty() || is == PropertyType::Json.to_string() && was == PropertyType::String.edm() {
                return None;
            }
            format!("the property `{property}` was `{was}` and is `{is}`: {}", effect_of_type(effect, is))
        }
        (Aspect::Required(property), ..) => format!(
            "the property `{property}` is new, and required: rows that are stored have none, and `create` refuses it: make \
             the field an `Option`, or give it `#[property(default)]`; if it was renamed, keep its property with \
             `#[property(rename = \"…\")]`"
        ),
        (Aspect::RequiredInside(property, _), ..) => format!(
            "the property `{property}` is new, and required in its struct or variant: rows that are stored with the other \
             fields of it cannot be read, and `create` refuses it: make the field an `Option`, or give it \
             `#[property(default)]`"
        ),
        (Aspect::Property(property), None, _) => format!(
            "the property `{property}` is new: rows that are stored have none, and are read without it: it is an `Option` or \
             has a `#[property(default)]`"
        ),
        (Aspect::Property(property), Some(_), _) => format!(
            "the property `{property}` is gone: updates keep what is stored in it, and upserts do not; an older program that \
             requires it cannot read rows that this one inserts: make it an `Option` there first"
        ),
        (Aspect::Lifecycle, None, Some(option)) => format!(
            "`{option}` is new: rows in the entity's partition get the time when `tables.backfill` builds its indexes again, \
             and `create` refuses programs without it"
        ),
        (Aspect::Lifecycle, Some(option), _) => format!(
            "`{option}` is gone: entities that others hide would be visible, and `create` refuses it: see `forget_lifecycle`"
        ),
        (Aspect::WriteId, was, _) => {
            let now = if was.is_some() { "is gone" } else { "is new" };
            format!("the property `WriteId` {now}: rows that are stored are read as before")
        }
        _ => return None,
    })
}

/// Returns what another type of a property, `now`, does to stored rows.
fn effect_of_type(effect: &TypeEffect, now: &str) -> String {
    match effect {
        TypeEffect::LosesVariants(lost) => format!(
            "rows that are stored with the variant `{}` are not read, and `create` refuses it: keep the variant, or write \
             `#[property(other)]` on one that takes those that are not known",
            lost.join("`, `")
        ),
        TypeEffect::IsNotRead => {
            "programs with the old type cannot read rows that this one writes, so `create` refuses it: keep the type, convert \
             the rows with `#[table(version = …, from = …)]`, or give the property another name with \
             `#[property(rename = \"…\")]`"
                .to_owned()
        }
        TypeEffect::ReadsAll => "rows that are stored are read as before".to_owned(),
        TypeEffect::ReadsSome => {
            let is_rounded = now == PropertyType::Single.to_string();
            let rounded = if is_rounded { ", or are read rounded" } else { "" };
            format!(
                "rows that are stored with a value that `{now}` does not hold are not read{rounded}: keep the type, or \
                 convert the rows with `#[table(version = …, from = …)]`"
            )
        }
        TypeEffect::ReadsFirstPart => {
            "this program would read the first part of a longer value as the whole, so `create` refuses it: keep \
             `#[property(large)]`"
                .to_owned()
        }
        TypeEffect::ReadsNothing => {
            "no row that is stored with it is read: keep the type, convert the rows with `#[table(version = …, from = …)]`, \
             or give the property another name with `#[property(rename = \"…\")]`"
                .to_owned()
        }
    }
}
