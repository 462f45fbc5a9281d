//! Functions of layouts for the crates above.

use std::borrow::Cow;

use table_store::{
    Result, RowRef,
    error::{KeyError, KeyProblem},
};

use super::{
    const_str::same_names,
    info::{Holds, IndexInfo, LayoutInfo, PropertyInfo, Scope},
    slice::{self, SliceInfo, is_table_of},
    stored::{has_property_in, part_name},
    time_part::TimePart,
};

/// Functions of a layout that programs do not see, because this trait is hidden.
pub trait LayoutExt {
    /// Returns the error of a key part of this layout.
    fn key_error(&'static self, field: &'static str, problem: KeyProblem) -> Box<KeyError>;
    /// Returns the table of the row with these keys.
    fn table_of(&'static self, partition_key: &str, row_key: &str) -> Result<Cow<'static, str>>;
    /// Checks whether the table is the layout's, or a slice of any unit.
    fn has_table_of_any_unit(&self, table: &str) -> bool;
    /// Returns the field whose elements have a row each, if the layout is that of an index with `each`.
    fn each(&self) -> Option<&str>;
    /// Checks whether each row of the index holds all elements of the field that has a row for each.
    fn holds_elements(&self) -> bool;
    /// Checks whether the keys of the index hold a field whole, which is stored as one property.
    fn gives(&self, field: &PropertyInfo) -> bool;
    /// Checks whether the rows have the property of the entity.
    fn holds(&self, name: &str) -> bool;
    /// Checks whether the layout is that of an index with its rows in the entity's own partition.
    fn is_same_partition(&self) -> bool;
    /// Checks whether the layout is that of an index whose rows are copies of the entity.
    fn is_copy(&self) -> bool;
    /// Checks whether the index has a row for each value with the row keys of its entities.
    fn is_list(&self) -> bool;
    /// Checks whether the layout is that of an index whose rows point to entities, which are read after them.
    fn is_lookup(&self) -> bool;
    /// Checks whether the layout is that of an index whose rows are written in separate steps before the entity is
    /// committed.
    fn is_before_commit(&self) -> bool;
}

impl LayoutExt for LayoutInfo {
    #[cold]
    fn key_error(&'static self, field: &'static str, problem: KeyProblem) -> Box<KeyError> {
        Box::new(KeyError::new(self.table.to_string(), None, &self.name, field, problem))
    }

    #[inline]
    fn table_of(&'static self, partition_key: &str, row_key: &str) -> Result<Cow<'static, str>> {
        match &self.slice {
            None => Ok(Cow::Borrowed(&self.table)),
            Some(slice) => slice_of(self, slice, (partition_key, row_key)).map(Cow::Owned),
        }
    }

    #[inline]
    fn has_table_of_any_unit(&self, table: &str) -> bool {
        is_table_of(table, &self.table, self.is_sliced())
    }

    fn each(&self) -> Option<&str> {
        self.parts().find(|part| part.each).map(|part| &*part.field)
    }

    fn holds_elements(&self) -> bool {
        let Some((index, path)) = self.index.as_ref().zip(self.each()) else { return false };
        let field = path.split_once('.').map_or(path, |(field, _)| field);
        match index.holds {
            Holds::Copy => true,
            Holds::Include => index.included.iter().any(|included| included.field == field),
            Holds::Pointer | Holds::List => false,
        }
    }

    fn gives(&self, field: &PropertyInfo) -> bool {
        let values = self.index.as_ref().map_or([].as_slice(), |index| index.values);
        let is_single = field.parts.len() < 2;
        is_single && values.iter().any(|(_, value)| same_names((*value).into(), part_name(field.name, field.parts)))
    }

    #[inline]
    fn holds(&self, name: &str) -> bool {
        match &self.index {
            None | Some(IndexInfo { holds: Holds::Copy, .. }) => true,
            Some(index) => includes(index, name),
        }
    }

    #[inline]
    fn is_same_partition(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.scope == Scope::SamePartition)
    }

    #[inline]
    fn is_copy(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.holds == Holds::Copy)
    }

    #[inline]
    fn is_list(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.holds == Holds::List)
    }

    #[inline]
    fn is_lookup(&self) -> bool {
        self.index.is_some() && !self.is_copy()
    }

    #[inline]
    fn is_before_commit(&self) -> bool {
        self.is_lookup() && !self.is_same_partition()
    }
}

/// Returns the slice that has the row with these keys.
fn slice_of(layout: &'static LayoutInfo, slice: &'static SliceInfo, keys: (&str, &str)) -> Result<String> {
    match TimePart::time_of(slice, layout, keys) {
        Some(time) => Ok(slice::at(slice, &layout.table, time).table),
        None => Err(layout.key_error(&slice.field, KeyProblem::malformed("a time", keys.1)).into()),
    }
}

/// Returns the error of a key, with the row that has it.
#[cold]
pub fn of_row(mut error: Box<KeyError>, table: &str, row: &RowRef<'_>) -> table_store::Error {
    error.row = Some(row.id(table));
    error.into()
}

/// Checks whether the rows of the index include the property.
pub fn includes(index: &IndexInfo, name: &str) -> bool {
    index.included.iter().any(|field| has_property_in(&field.name, field.parts, name))
}
