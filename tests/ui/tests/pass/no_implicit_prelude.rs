//! Generated code without the prelude and without the crate's own name.

#![allow(dead_code)]
#![no_implicit_prelude]

extern crate table_runtime as runtime;

mod renamed {
    pub(crate) use crate::no_implicit_prelude::runtime::*;
}

/// Items that generated code would use if its paths were not absolute.
#[allow(dead_code, non_camel_case_types)]
mod shadows {
    pub(crate) struct Option;
    pub(crate) struct Result;
    pub(crate) struct Some;
    pub(crate) struct Send;
    pub(crate) mod core {}
    pub(crate) mod std {}
    pub(crate) mod table_runtime {}
    pub(crate) type usize = ();
    pub(crate) type str = ();
    pub(crate) type bool = ();
    pub(crate) type char = ();
}
#[allow(unused_imports)]
use shadows::*;

#[derive(renamed::TableEntity)]
#[table(crate = crate::no_implicit_prelude::renamed, kind, write_id, allow_scan, separator = "_", version = 3, skip_newer, deny_unknown)]
struct Post<T> {
    #[partition_key(first = 1)]
    #[row_key]
    author: ::std::string::String,
    #[row_key(reverse)]
    id: u32,
    #[property(text)]
    text: ::std::option::Option<u64>,
    #[property(json, default)]
    json: ::std::vec::Vec<u8>,
    #[property(skip)]
    skipped: u8,
    value: T,
}

/// Entity with rows for elements.
#[derive(renamed::TableEntity)]
#[table(crate = crate::no_implicit_prelude::renamed)]
#[index(copied, partition(id), row(each(names, lowercase)), copy)]
struct Tagged {
    #[partition_key]
    id: u32,
    #[row_key]
    row: u8,
    #[index(name, each, unique)]
    #[property(json)]
    names: ::std::vec::Vec<::std::string::String>,
    #[index(byte, each, same_partition, include(row_text))]
    bytes: ::std::vec::Vec<u8>,
    row_text: ::std::string::String,
}

/// Entity with one table for each day.
#[derive(renamed::TableEntity)]
#[table(crate = crate::no_implicit_prelude::renamed, slice = day(at))]
struct Sliced {
    #[partition_key]
    slice: u32,
    #[row_key(time)]
    at: ::std::time::SystemTime,
}

/// Later version of it.
#[derive(renamed::TableEntity)]
#[table(crate = crate::no_implicit_prelude::renamed, name = "Sliced", slice = day(at), version = 2, from = Sliced)]
struct Later {
    #[partition_key]
    slice: u32,
    #[row_key(time)]
    at: ::std::time::SystemTime,
}

impl ::core::convert::From<Sliced> for Later {
    fn from(sliced: Sliced) -> Self {
        Self { slice: sliced.slice, at: sliced.at }
    }
}

/// Entity whose fields have the names of variables in generated code.
#[derive(renamed::TableEntity)]
#[table(crate = crate::no_implicit_prelude::renamed)]
#[index(all, partition(query(first = 1)), row(query, part), unique, rename(layout = "Layout"))]
struct Indexed<T> {
    #[partition_key]
    layout: ::std::string::String,
    #[row_key(raw)]
    keys: ::std::string::String,
    #[index(value, same_table, include(part))]
    #[index(properties, reverse, same_partition, copy, when(value, part, crate::no_implicit_prelude::judge))]
    value: u32,
    #[index(part, same_partition, unique)]
    part: ::std::option::Option<T>,
    #[index(r#type, lowercase, same_partition, list)]
    query: ::std::string::String,
}

fn judge<T>(_: &u32, _: &::std::option::Option<T>) -> ::core::primitive::bool {
    true
}

#[derive(renamed::Projection)]
#[projection(of = Post::<f64>, crate = crate::no_implicit_prelude::renamed)]
struct Projected {
    id: u32,
    value: f64,
}

#[derive(renamed::KeyPart, renamed::Property)]
#[table(crate = crate::no_implicit_prelude::renamed)]
struct Id(u32);

#[derive(renamed::KeyPart, renamed::Property)]
#[table(crate = crate::no_implicit_prelude::renamed)]
enum Kind {
    Some,
    None,
    Ok,
    Err,
}

pub(crate) fn main() {
    let _ = (Post::<::std::string::String>::key("a", 1), Post::<f64>::by_key(), Id(1));
    let _ = (Indexed::<u32>::by_value(1), Indexed::<u32>::by_properties("a"), Indexed::<Id>::by_type("a"));
    let _ = (Indexed::<::std::string::String>::by_part("a").eq("b"), Indexed::<u32>::by_all().eq("abc").eq(5));
    let _ = Post::<f64>::key("a", 1).select::<Projected>();
    let _ = [Kind::Some, Kind::None, Kind::Ok, Kind::Err];
}
