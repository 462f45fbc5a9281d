//! The struct of an entity that the catalog records.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use table_runtime::{
    inventory::{Inventory, LayoutState, RecordedEntity},
    layout::{EventContent, Holds, IndexInfo, LayoutInfo, PartInfo, Scope, StoredField},
    row::ValueRef,
    transfer::TableRow,
};

use super::{
    names::{self, Names},
    properties::{self, OWN},
};

/// A field of the struct.
struct Field {
    ident: String,
    attributes: Vec<String>,
    /// The options of `#[property(…)]`.
    options: Vec<String>,
    rust_type: String,
    is_optional: bool,
    /// A sentence about what is recorded, if the field is not certainly the program's.
    note: Option<String>,
}

/// The fields, which are found by the path that is recorded and by the property.
#[derive(Default)]
struct Fields {
    names: Names,
    all: Vec<Field>,
    by_path: BTreeMap<String, usize>,
    by_property: BTreeMap<String, usize>,
    /// The enums of fields with unit variants.
    enums: Vec<String>,
    /// Properties of key fields that have another name.
    of_keys: Vec<String>,
}

/// Returns the struct of an entity with the enums of its fields, and with what follows from its rows, or a part of them.
pub(super) fn printed(
    inventory: &Inventory,
    entity: &RecordedEntity,
    name: &str,
    rows: &[TableRow],
    is_part: bool,
    types: &mut Names,
) -> Option<String> {
    let primary = entity.primary()?;
    let mut fields = Fields::of_primary_key(primary);
    let optional = entity.optional_properties();
    let version = entity.newest_version();
    let properties: Vec<_> = entity.properties.get(&version).into_iter().flatten().collect();
    let others = properties.iter().map(|(property, _)| property.as_str());
    let paths = paths(entity, others.filter(|property| !fields.has_key_like(property)));
    // Fields that are properties alone and have no property yet. If there are fewer than properties, a key field has one.
    let unknown = entity.fields.iter().filter(|field| !paths.values().any(|path| path == *field)).count();
    for (property, recorded) in &properties {
        let path = paths.get(property.as_str()).map(String::as_str);
        if path.is_none() && unknown == 0 && !entity.fields.is_empty() && !fields.has_key_like(property) {
            fields.of_keys.push((*property).clone());
        } else {
            fields.add_property(property, recorded, path, optional.contains(property.as_str()), types);
        }
    }
    if !is_part {
        fields.infer_enums(inventory, entity, rows, types);
    }
    let indexes = entity.layouts.iter().filter_map(|layout| Some((layout, layout.index.as_ref()?)));
    let on_struct: Vec<_> =
        indexes.filter_map(|(layout, index)| fields.index(entity, primary, layout, index)).collect();

    let mut text =
        format!("/// The entity `{}` of the table `{}`, as the catalog records it.\n", entity.name, primary.table);
    if let Some(place) = &entity.moved {
        let _ = writeln!(text, "// It was moved to {place}.");
    }
    if is_part {
        let _ =
            writeln!(text, "// Only the first {} rows were read for what is not recorded: see `--limit`.", rows.len());
    }
    let options = fields.options(entity, primary, name, rows);
    let _ = writeln!(text, "#[derive(TableEntity, Clone, Debug)]\n#[table({})]", options.join(", "));
    text.extend(on_struct);
    let _ = writeln!(text, "pub struct {name} {{");
    fields.all.iter().for_each(|field| field.print(&mut text));
    for property in &fields.of_keys {
        let _ = writeln!(text, "    // A key field has `#[property(rename = {property:?})]`.");
    }
    let enums = std::mem::take(&mut fields.enums);
    fields.print_others(entity, rows, &mut text);
    text.push_str("}\n");
    text.extend(enums);
    Some(text)
}

/// Returns the paths of the fields that are stored as these properties, as far as they are recorded.
fn paths<'p>(entity: &RecordedEntity, properties: impl Iterator<Item = &'p str>) -> BTreeMap<&'p str, String> {
    let indexes = || entity.layouts.iter().filter_map(|layout| layout.index.as_ref().map(|index| (layout, index)));
    let path = |property: &str| {
        let parts = indexes().flat_map(|(layout, _)| layout.parts());
        let by_part = parts.filter(|part| part.property.as_deref() == Some(property)).map(|part| &part.field);
        let included = indexes().flat_map(|(_, index)| &*index.included).filter(|included| included.name == property);
        let named = entity.fields.iter().filter(|field| is_same_name(field, property));
        let recorded = by_part.chain(included.map(|included| &included.field)).map(|field| &**field);
        recorded.chain(named.map(String::as_str)).next().map(str::to_owned)
    };
    let (mut known, mut others) = (BTreeMap::new(), Vec::new());
    for property in properties {
        match path(property) {
            Some(path) => drop(known.insert(property, path)),
            None => others.push(property),
        }
    }
    // The only field that is left has the only property that is left.
    let mut fields = entity.fields.iter().filter(|field| !known.values().any(|known| known == *field));
    if let ([property], Some(field), None) = (others.as_slice(), fields.next(), fields.next()) {
        let field = field.clone();
        known.insert(property, field);
    }
    known
}

/// Checks whether the names are equal in one of the styles of properties.
fn is_same_name(field: &str, property: &str) -> bool {
    let letters = |name: &str| name.chars().filter(|letter| !matches!(letter, '_' | '-')).collect::<String>();
    letters(field).eq_ignore_ascii_case(&letters(property))
}

impl Fields {
    /// Returns the fields of the primary key. The derive takes the parts of each key in the order of the fields.
    fn of_primary_key(primary: &LayoutInfo) -> Self {
        let mut fields = Self::default();
        let (partition, row) = (&primary.partition, &primary.row);
        let in_row = |part: &PartInfo| row.iter().any(|other| other.field == part.field);
        let first = partition.iter().take_while(|part| !in_row(part)).count();
        for part in &partition[..first] {
            fields.key_field(part);
        }
        for part in row.iter() {
            let before = partition.iter().position(|other| other.field == part.field).unwrap_or_default();
            for part in partition[..before].iter().chain([part]) {
                fields.key_field(part);
            }
        }
        for (attribute, (prefix, parts)) in ["partition_key", "row_key"].into_iter().zip(primary.keys()) {
            for (at, part) in parts.iter().enumerate() {
                let mut options: Vec<_> = encoding(part).into_iter().map(str::to_owned).collect();
                if at == 0 && !prefix.is_empty() {
                    options.push(format!("prefix = {prefix:?}"));
                }
                let options = if options.is_empty() { String::new() } else { format!("({})", options.join(", ")) };
                let field = fields.key_field(part);
                fields.all[field].attributes.push(format!("#[{attribute}{options}]"));
            }
        }
        fields
    }

    /// Returns the position of the field of a key part.
    fn key_field(&mut self, part: &PartInfo) -> usize {
        if let Some(known) = self.by_path.get(&*part.field) {
            return *known;
        }
        let (rust_type, is_exact) = type_of_kind(&part.kind);
        let note = (!is_exact).then(|| "Recorded as an enum in a key; write the program's, with `KeyPart`".to_owned());
        let field = Field {
            ident: self.names.of_path(&part.field),
            attributes: Vec::new(),
            options: Vec::new(),
            rust_type: rust_type.to_owned(),
            is_optional: false,
            note,
        };
        self.by_path.insert(part.field.to_string(), self.all.len());
        self.all.push(field);
        self.all.len() - 1
    }

    /// Checks whether the property has the name of a key field.
    fn has_key_like(&self, property: &str) -> bool {
        self.by_path.keys().any(|field| is_same_name(field, property))
    }

    /// Adds a property: that of a key field, or a field of its own.
    fn add_property(
        &mut self,
        property: &str,
        recorded: &str,
        path: Option<&str>,
        is_optional: bool,
        types: &mut Names,
    ) {
        if OWN.iter().any(|(own, _)| *own == property) {
            return;
        }
        let of_key = |(field, _): &(&String, &usize)| match path {
            Some(path) => path == field.as_str(),
            None => is_same_name(field, property),
        };
        if let Some((_, at)) = self.by_path.iter().find(of_key) {
            let (at, field) = (*at, &mut self.all[*at]);
            let rename = if names::pascal(&field.ident) == property {
                String::new()
            } else {
                format!("(rename = {property:?})")
            };
            field.attributes.push(format!("#[property{rename}]"));
            self.by_property.insert(property.to_owned(), at);
            return;
        }
        let (rust_type, option, is_exact) = type_of_property(recorded);
        let (ident, is_default) = match path {
            Some(path) if !path.contains('.') => {
                let ident = self.names.of_path(path);
                let is_default = names::pascal(&ident) == property;
                (ident, is_default)
            }
            _ => self.names.field(property),
        };
        let mut options: Vec<_> = option.map(str::to_owned).into_iter().collect();
        if !is_default {
            options.push(format!("rename = {property:?}"));
        }
        let mut rust_type = rust_type.to_owned();
        let mut note = (!is_exact).then(|| format!("Recorded as {recorded}"));
        if let Some(variants) = recorded.strip_prefix(VARIANTS) {
            rust_type = types.unused_type(&names::type_name(&names::pascal(&ident)));
            self.enums.push(enum_of(&rust_type, "The recorded variants", variants.split(", ")));
            note = None;
        }
        self.by_property.insert(property.to_owned(), self.all.len());
        if let Some(path) = path {
            self.by_path.entry(path.to_owned()).or_insert(self.all.len());
        }
        self.all.push(Field { ident, attributes: Vec::new(), options, rust_type, is_optional, note });
    }

    /// Makes fields enums whose variants are parts of keys, but not recorded: those of the variants that the rows have.
    fn infer_enums(&mut self, inventory: &Inventory, entity: &RecordedEntity, rows: &[TableRow], types: &mut Names) {
        let parts = entity.layouts.iter().flat_map(LayoutInfo::parts);
        for part in parts.filter(|part| part.kind == "name" && !part.each) {
            let Some(at) = self.position(part) else { continue };
            let variant = |row: &TableRow| {
                if let Some(property) = part.property.as_deref() {
                    return row.properties.get(property).map(ValueRef::to_text);
                }
                let found = inventory.identify_keys(&row.table, &row.partition_key, &row.row_key)?;
                let mut values = found.partition.into_iter().chain(found.row);
                values.find(|value| value.field == part.field && value.is_whole).map(|value| value.value)
            };
            let variants: BTreeSet<_> = rows.iter().filter_map(variant).collect();
            let field = &mut self.all[at];
            if field.rust_type != "String" || variants.is_empty() {
                continue;
            }
            field.rust_type = types.unused_type(&names::type_name(&names::pascal(&field.ident)));
            field.note = None;
            let title = "The variants in the rows; the program's enum may have more";
            self.enums.push(enum_of(&field.rust_type, title, variants.iter().map(String::as_str)));
        }
    }

    /// Adds the attribute of an index to its only field, or returns it. It is a comment if it needs a function of the program.
    fn index(
        &mut self,
        entity: &RecordedEntity,
        primary: &LayoutInfo,
        layout: &LayoutInfo,
        index: &IndexInfo,
    ) -> Option<String> {
        let is_same_partition = index.scope == Scope::SamePartition;
        let appended = match (index.unique || index.holds == Holds::List, is_same_partition) {
            (true, _) => 0,
            (false, true) => primary.row.len(),
            (false, false) => primary.partition.len() + primary.row.len(),
        };
        let own = layout.row.len().saturating_sub(appended);
        let mut options = vec![names::with_raw(&layout.name)];
        let partition = if is_same_partition { &[][..] } else { &layout.partition[..] };
        let row = &layout.row[..own];
        let on_field = match (partition, row) {
            ([part], []) | ([], [part]) => self.on_field(&layout.name, part),
            _ => None,
        };
        if on_field.is_some() {
            let part = partition.iter().chain(row).next();
            let each = part.filter(|part| part.each).map(|_| "each");
            options.extend(each.into_iter().chain(part.and_then(encoding)).map(str::to_owned));
        } else {
            for (key, parts) in [("partition", partition), ("row", row)] {
                let parts: Vec<_> = parts.iter().map(|part| self.part(part)).collect();
                if !parts.is_empty() {
                    options.push(format!("{key}({})", parts.join(", ")));
                }
            }
        }
        options.extend(place_and_content(primary, layout, index));
        options.extend(self.included(entity, layout, index));
        options.extend(self.renames(index));
        let mut before = match entity.state(&layout.name) {
            LayoutState::Ready | LayoutState::Building => "",
            LayoutState::Leaving | LayoutState::Gone => "// It is being dropped: ",
        };
        if let Some(when) = &index.when {
            let fields: Vec<_> = when.fields.iter().map(|field| self.ident(&field.field)).collect();
            options.push(format!("when({}, {})", fields.join(", "), when.path));
            before = "// An index with a function of the program: ";
        }
        let attribute = format!("{before}#[index({})]", options.join(", "));
        match on_field {
            Some(field) => {
                self.all[field].attributes.push(attribute);
                None
            }
            None => Some(attribute + "\n"),
        }
    }

    /// Returns the position of the field on which the index of a single part is written; `None` if another field has its name.
    fn on_field(&mut self, name: &str, part: &PartInfo) -> Option<usize> {
        let at = self.position(part)?;
        self.make_elements(at, part);
        (self.all[at].ident == name || self.all.iter().all(|field| field.ident != name)).then_some(at)
    }

    /// Returns the position of the field of an index's part.
    fn position(&self, part: &PartInfo) -> Option<usize> {
        let by_property = part.property.as_ref().and_then(|property| self.by_property.get(&**property));
        by_property.or_else(|| self.by_path.get(&*part.field)).copied()
    }

    /// Makes a field whose elements are parts a `Vec`.
    fn make_elements(&mut self, field: usize, part: &PartInfo) {
        let field = &mut self.all[field];
        if part.each && field.rust_type == "String" {
            let (element, is_exact) = type_of_kind(&part.kind);
            field.rust_type = format!("Vec<{element}>");
            field.options.insert(0, "json".to_owned());
            if is_exact {
                field.note = None;
            }
        }
    }

    /// Returns `include(…)`, without what the derive adds by itself: the times that hide the entity, and the elements.
    fn included(&self, entity: &RecordedEntity, layout: &LayoutInfo, index: &IndexInfo) -> Option<String> {
        let is_time = |name: &str| {
            let times = [&entity.expires, &entity.soft_delete];
            index.scope == Scope::SamePartition && times.iter().any(|time| time.as_deref() == Some(name))
        };
        let is_elements = |name: &str| layout.parts().any(|part| part.each && part.property.as_deref() == Some(name));
        let named = || index.included.iter().filter(|included| !is_time(&included.name));
        let others: Vec<_> = named().filter(|included| !is_elements(&included.name)).collect();
        // The elements are there only if the attribute names a field.
        let named = if others.is_empty() { named().collect() } else { others };
        let ident =
            |included: &StoredField| self.ident_of(&included.name).unwrap_or_else(|| self.ident(&included.field));
        let fields: Vec<_> = named.into_iter().map(ident).collect();
        (index.holds == Holds::Include && !fields.is_empty()).then(|| format!("include({})", fields.join(", ")))
    }

    /// Returns `rename(…)` for the properties of the pointer that do not have their usual names.
    fn renames(&self, index: &IndexInfo) -> Option<String> {
        let usual = |field: &str| format!("IndexedEntity{}", names::pascal(field));
        let others = index.pointer.iter().filter(|pointer| pointer.name != usual(&pointer.field));
        let renames: Vec<_> =
            others.map(|pointer| format!("{} = {:?}", self.ident(&pointer.field), pointer.name)).collect();
        (!renames.is_empty()).then(|| format!("rename({})", renames.join(", ")))
    }

    /// Returns a part of an index's key.
    fn part(&mut self, part: &PartInfo) -> String {
        let ident = match self.position(part) {
            None => part.field.to_string(),
            Some(at) => {
                self.make_elements(at, part);
                self.all[at].ident.clone()
            }
        };
        let encoding = encoding(part);
        if part.each {
            let inside = [Some(ident.as_str()), encoding].into_iter().flatten();
            return format!("each({})", inside.collect::<Vec<_>>().join(", "));
        }
        encoding.map_or_else(|| ident.clone(), |encoding| format!("{ident}({encoding})"))
    }

    /// Returns the name of the field at a recorded path.
    fn ident(&self, path: &str) -> String {
        self.by_path.get(path).map_or_else(|| path.to_owned(), |at| self.all[*at].ident.clone())
    }

    /// Returns the name of the field that is stored as the property.
    fn ident_of(&self, property: &str) -> Option<String> {
        self.by_property.get(property).map(|at| self.all[*at].ident.clone())
    }

    /// Returns the options of `#[table(…)]`.
    fn options(&self, entity: &RecordedEntity, primary: &LayoutInfo, name: &str, rows: &[TableRow]) -> Vec<String> {
        let mut options = vec![format!("name = {:?}", primary.table)];
        match &entity.kind {
            Some(kind) => options.push(format!("kind = {kind:?}")),
            None if entity.name != name => options.push(format!("entity = {:?}", entity.name)),
            None => {}
        }
        let keys = ["partition", "row"].into_iter().zip(primary.keys());
        for (option, (prefix, _)) in keys.filter(|(_, (_, parts))| parts.is_empty()) {
            options.push(format!("{option} = {prefix:?}"));
        }
        if let Some(separator) = primary.separator {
            options.push(format!("separator = {:?}", separator.to_string()));
        }
        if let Some(slice) = &primary.slice {
            options.push(format!("slice = {}({})", slice.unit, self.ident(&slice.field)));
        }
        for (option, property) in [("expires", &entity.expires), ("soft_delete", &entity.soft_delete)] {
            if let Some(field) = property.as_deref().and_then(|property| self.ident_of(property)) {
                options.push(format!("{option} = {field}"));
            }
        }
        match entity.events {
            Some(EventContent::Copy) => options.push("events(copy)".to_owned()),
            Some(_) => options.push("events".to_owned()),
            None => {}
        }
        if rows.iter().any(|row| row.properties.get("WriteId").is_some()) {
            options.push("write_id".to_owned());
        }
        if entity.newest_version() > 1 {
            options.push(format!("version = {}", entity.newest_version()));
        }
        options
    }

    /// Appends fields for properties that are not recorded: those of other programs.
    fn print_others(mut self, entity: &RecordedEntity, rows: &[TableRow], text: &mut String) {
        let is_known = |name: &str| entity.properties.values().any(|properties| properties.contains_key(name));
        // `Body_2` and `Body_Parts` continue `Body`.
        let continues = |name: &str| {
            let end = name.rsplit_once('_').filter(|(_, end)| *end == "Parts" || end.parse::<u32>().is_ok());
            end.is_some_and(|(name, _)| is_known(name))
        };
        for column in
            properties::columns(rows).iter().filter(|column| !is_known(&column.name) && !continues(&column.name))
        {
            let rows = if column.count == 1 { "1 row".to_owned() } else { format!("{} rows", column.count) };
            let _ = writeln!(text, "    // Not recorded; inferred from {rows}.");
            column.print(&mut self.names, usize::MAX, text);
        }
    }
}

impl Field {
    fn print(&self, text: &mut String) {
        if let Some(note) = &self.note {
            let _ = writeln!(text, "    /// {note}.");
        }
        if !self.options.is_empty() {
            let _ = writeln!(text, "    #[property({})]", self.options.join(", "));
        }
        for attribute in &self.attributes {
            let _ = writeln!(text, "    {attribute}");
        }
        let (ident, rust_type) = (&self.ident, &self.rust_type);
        let _ = if self.is_optional {
            writeln!(text, "    pub {ident}: Option<{rust_type}>,")
        } else {
            writeln!(text, "    pub {ident}: {rust_type},")
        };
    }
}

/// Returns the options of an index that say where its rows are and what they hold, except `include`.
fn place_and_content(primary: &LayoutInfo, layout: &LayoutInfo, index: &IndexInfo) -> Vec<String> {
    let mut options = Vec::new();
    let is_own_table = layout.table.eq_ignore_ascii_case(&primary.table);
    let default_table = format!("{}By{}", primary.table, names::pascal(&layout.name));
    match (index.scope == Scope::SamePartition, is_own_table) {
        (true, _) => options.push("same_partition".to_owned()),
        (false, true) => options.push("same_table".to_owned()),
        (false, false) if layout.table.eq_ignore_ascii_case(&default_table) => {}
        (false, false) => options.push(format!("table = {:?}", layout.table)),
    }
    let default_prefix = if is_own_table { format!("{}-", layout.name) } else { String::new() };
    if layout.row_prefix != default_prefix {
        options.push(format!("prefix = {:?}", layout.row_prefix));
    }
    if index.unique {
        options.push("unique".to_owned());
    }
    match index.holds {
        Holds::Copy => options.push("copy".to_owned()),
        Holds::List => options.push("list".to_owned()),
        Holds::Include | Holds::Pointer => {}
    }
    options
}

/// Beginning of the recorded type of an enum's variants.
const VARIANTS: &str = "Edm.String of a variant: ";

/// Returns the enum with these variants.
fn enum_of<'a>(name: &str, title: &str, variants: impl Iterator<Item = &'a str>) -> String {
    let derives = "#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq, Eq)]";
    let mut text = format!("\n/// {title}.\n{derives}\npub enum {name} {{\n");
    let mut names = Names::default();
    for variant in variants {
        let ident = names.unused_type(&names::type_name(variant));
        if ident != variant {
            let _ = writeln!(text, "    #[property(rename = {variant:?})]");
        }
        let _ = writeln!(text, "    {ident},");
    }
    text + "}\n"
}

/// Returns the encoding as the attribute states it.
fn encoding(part: &PartInfo) -> Option<&str> {
    Some(&*part.encoding).filter(|encoding| *encoding != "plain")
}

/// Returns the type of a field whose key part has this kind, and true if it is the only one.
fn type_of_kind(kind: &str) -> (&str, bool) {
    match kind {
        "text" => ("String", true),
        "character" => ("char", true),
        "guid" => ("Guid", true),
        "time" => ("SystemTime", true),
        "date" => ("time::Date", true),
        "decimal" => ("rust_decimal::Decimal", true),
        "bool" => ("bool", true),
        integer if integer.starts_with(['i', 'u']) => (integer, true),
        _ => ("String", false),
    }
}

/// Returns the type of a field whose property has this recorded type, the option of `#[property]` that it needs, and true if
/// it is stored in the same form.
fn type_of_property(recorded: &str) -> (&'static str, Option<&'static str>, bool) {
    let (rust_type, option) = match recorded {
        "Edm.String" => ("String", None),
        "Edm.String in parts" => ("String", Some("large")),
        "Edm.Binary" => ("Vec<u8>", None),
        "Edm.Binary in parts" => ("Vec<u8>", Some("large")),
        "Edm.Boolean" => ("bool", None),
        "Edm.Int32 in 0..=255" => ("u8", None),
        "Edm.Int32 in -128..=127" => ("i8", None),
        "Edm.Int32 in 0..=65535" => ("u16", None),
        "Edm.Int32 in -32768..=32767" => ("i16", None),
        "Edm.Int32" => ("i32", None),
        "Edm.Int64 in 0..=4294967295" => ("u32", None),
        "Edm.Int64" => ("i64", None),
        "Edm.Int64 of ticks" => ("std::time::Duration", None),
        "Edm.Double" => ("f64", None),
        "Edm.Double in the range of `f32`" => ("f32", None),
        "Edm.Guid" => ("Guid", None),
        "Edm.DateTime" => ("SystemTime", None),
        "Edm.String of a `u64`" => ("u64", None),
        "Edm.String of a `u128`" => ("u128", None),
        "Edm.String of an `i128`" => ("i128", None),
        "Edm.String of an IP address" => ("std::net::IpAddr", None),
        "Edm.String of JSON in parts" => return ("String", Some("large"), false),
        other => {
            let widest = [("Edm.Int32", "i32"), ("Edm.Int64", "i64"), ("Edm.Double", "f64"), ("Edm.Binary", "Vec<u8>")];
            let found = widest.into_iter().find(|(edm_type, _)| other.starts_with(edm_type));
            return (found.map_or("String", |(_, rust_type)| rust_type), None, false);
        }
    };
    (rust_type, option, true)
}
