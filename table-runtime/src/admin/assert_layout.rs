//! `assert_layout!`: compares the layouts of entities with those that files hold.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write,
    fs, io,
    path::Path,
};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use table_store::{
    PropertyType,
    unstable::{Reads, cannot_read, lost_variants, reads, reads_first_part},
};

use crate::model::layout::{
    ComparedFields, Layout, LayoutChange, LayoutInfo, PropertyInfo, are_siblings, is_in_key, leaves,
};

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
    /// Returns the fields that are stored as properties alone, and not in the primary key.
    fn fields(&self) -> BTreeSet<String> {
        let primary = self.primary();
        let fields = self.properties.iter().map(|property| property.field.clone());
        fields.filter(|field| !is_in_key(primary.as_ref(), field)).collect()
    }

    fn primary(&self) -> Option<LayoutInfo> {
        let (primary, _) = LayoutInfo::read(self.layouts.first()?.clone())?;
        Some(primary).filter(|primary| primary.index.is_none())
    }

    /// Reads a layout as the catalog records it; `None` if it is damaged.
    fn read(&self, layout: &Value) -> Option<LayoutInfo> {
        let property_of = |field: &str| {
            let property = self.properties.iter().find(|property| property.field == field)?;
            Some(property.name.clone().into())
        };
        let (layout, _) = LayoutInfo::read(layout.clone()).filter(|(_, is_known)| *is_known)?;
        Some(layout.recorded(self.primary().as_ref(), property_of))
    }

    /// Returns the options of the lifecycle, such as `expires = At`.
    fn options(&self) -> impl Iterator<Item = String> {
        let set = self.lifecycle.iter().filter_map(|(option, property)| Some((option, property.as_ref()?)));
        set.map(|(option, property)| format!("{option} = {property}"))
    }
}

/// Reads a value; the default if it is damaged.
fn unless_damaged<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

/// Returns the differences from a recorded layout, each with its effect on stored rows.
fn changes(layout: &Layout, stored: &Described) -> Vec<String> {
    let mut changes = changes_of_layouts(layout, stored);
    changes.extend(changes_of_properties(layout, stored));
    let (own, stored_options): (Vec<_>, Vec<_>) = (layout.lifecycle.options().collect(), stored.options().collect());
    for option in own.iter().filter(|option| !stored_options.contains(option)) {
        changes.push(format!(
            "`{option}` is new: rows in the entity's partition get the time when `tables.backfill` builds its indexes again, \
             and `create` refuses programs without it"
        ));
    }
    for option in stored_options.iter().filter(|option| !own.contains(option)) {
        changes.push(format!(
            "`{option}` is gone: entities that others hide would be visible, and `create` refuses it: see `forget_lifecycle`"
        ));
    }
    if stored.write_id != layout.write_id {
        let now = if layout.write_id { "is new" } else { "is gone" };
        changes.push(format!("the property `WriteId` {now}: rows that are stored are read as before"));
    }
    changes
}

/// Returns the changes of the primary key and of the indexes.
fn changes_of_layouts(layout: &Layout, stored: &Described) -> Vec<String> {
    let stored_fields = stored.fields();
    let (fields, entity) = (ComparedFields { present: layout, stored: &stored_fields }, layout.entity);
    let mut changes = Vec::new();
    for info in layout.layouts {
        let name = &*info.name;
        let Some(was) = stored.layouts.iter().find(|was| was["name"] == *name) else {
            changes.push(format!(
                "the index `{name}` is new: rows that are stored have none in it until `tables.backfill::<{entity}>\
                 (\"{name}\")` has run"
            ));
            continue;
        };
        let differs = stored.read(was).map_or_else(|| vec![LayoutChange::UNKNOWN], |was| fields.changes(&was, info));
        let differs: Vec<_> = differs.iter().map(ToString::to_string).collect();
        let differs = differs.join("; ");
        if differs.is_empty() {
            continue;
        }
        if info.index.is_none() {
            changes.push(format!(
                "the primary key has changed: {differs}; rows that are stored are not found by it, and `create` refuses \
                 it: keep it, or move the rows with `tables.migrate::<Old, {entity}>()`"
            ));
        } else {
            changes.push(format!(
                "the index `{name}` has changed: {differs}; its rows that are stored are not found, and `create` refuses \
                 it: give it another name, then run `tables.backfill` for that and `tables.drop_index::<{entity}>\
                 (\"{name}\")`"
            ));
        }
    }
    for was in &stored.layouts {
        let name = was["name"].as_str().unwrap_or_default();
        if layout.layouts.iter().all(|info| info.name != name) {
            changes.push(format!(
                "the index `{name}` is gone: no write keeps its rows, and `create` refuses that while the index is ready: \
                 run `tables.drop_index::<{entity}>(\"{name}\")`"
            ));
        }
    }
    changes
}

/// Returns the changes of the properties that the struct's fields have.
fn changes_of_properties(layout: &Layout, stored: &Described) -> Vec<String> {
    let mut changes = Vec::new();
    for leaf in leaves(layout.fields) {
        let (property, name) = (leaf.property, leaf.property.name);
        match stored.properties.iter().find(|was| was.name == name) {
            Some(was) => changes.extend(change_of_type(&property, was.edm.as_deref())),
            None if leaf.is_required() => changes.push(format!(
                "the property `{name}` is new, and required: rows that are stored have none, and `create` refuses it: make \
                 the field an `Option`, or give it `#[property(default)]`; if it was renamed, keep its property with \
                 `#[property(rename = \"…\")]`"
            )),
            None if leaf.required_in().is_some() && stored.properties.iter().any(|was| are_siblings(&was.field, property.field)) => changes.push(format!(
                "the property `{name}` is new, and required in its struct or variant: rows that are stored with the other \
                 fields of it cannot be read, and `create` refuses it: make the field an `Option`, \
                 or give it `#[property(default)]`"
            )),
            None => changes.push(format!(
                "the property `{name}` is new: rows that are stored have none, and are read without it: it is an \
                 `Option` or has a `#[property(default)]`"
            )),
        }
    }
    for name in stored.properties.iter().map(|was| &*was.name) {
        if layout.properties().all(|property| property.name != name) {
            changes.push(format!(
                "the property `{name}` is gone: updates keep what is stored in it, and upserts do not; an older program \
                 that requires it cannot read rows that this one inserts: make it an `Option` there first"
            ));
        }
    }
    changes
}

/// Returns the change of a property's type with its effect on stored rows; `None` if the type is the same, or if the
/// file has none.
fn change_of_type(property: &PropertyInfo, was: Option<&str>) -> Option<String> {
    let (name, now, was) = (property.name, property.edm?.to_string(), was?);
    // Releases before those that record JSON recorded it as any text.
    let is_json = property.edm == Some(PropertyType::Json) && was == PropertyType::String.edm();
    if now == was || is_json {
        return None;
    }
    let lost = lost_variants(&now, was).join("`, `");
    let effect = match reads(&now, was) {
        _ if !lost.is_empty() => format!(
            "rows that are stored with the variant `{lost}` are not read, and `create` refuses it: keep the variant, or write \
             `#[property(other)]` on one that takes those that are not known"
        ),
        Reads::All | Reads::Some if cannot_read(was, &now) => {
            "programs with the old type cannot read rows that this one writes, so `create` refuses it: keep the type, convert \
             the rows with `#[table(version = …, from = …)]`, or give the property another name with \
             `#[property(rename = \"…\")]`"
                .to_owned()
        }
        Reads::All => "rows that are stored are read as before".to_owned(),
        Reads::Some => {
            let rounded = if property.edm == Some(PropertyType::Single) { ", or are read rounded" } else { "" };
            format!(
                "rows that are stored with a value that `{now}` does not hold are not read{rounded}: keep the type, or \
                 convert the rows with `#[table(version = …, from = …)]`"
            )
        }
        Reads::Nothing if reads_first_part(&now, was) => {
            "this program would read the first part of a longer value as the whole, so `create` refuses it: keep \
             `#[property(large)]`"
                .to_owned()
        }
        Reads::Nothing => {
            "no row that is stored with it is read: keep the type, convert the rows with `#[table(version = \
                           …, from = …)]`, or give the property another name with `#[property(rename = \"…\")]`"
                .to_owned()
        }
    };
    Some(format!("the property `{name}` was `{was}` and is `{now}`: {effect}"))
}
