//! Every form of an index.

#![deny(missing_docs)]

use std::time::SystemTime;

use table_runtime::{KeyPart, Property, TableEntity};

/// A newtype is indexed as its field is.
#[derive(KeyPart, Property, Clone, Debug, PartialEq)]
pub struct Email(String);

/// By every scope and kind.
#[derive(TableEntity)]
#[table(name = "Employees")]
#[index(last_name, same_partition)]
#[index(desk, partition(office, floor(pad = 2)), row(desk), table = "Desks")]
#[index(name, row(last_name(lowercase), first_name), same_partition, prefix = "full-")]
#[index(initial, partition(last_name(first = 1, uppercase)), row(last_name(uppercase)))]
#[index(spread, partition(joined(hash = 8)), row(joined(reverse_time)))]
#[index(shuffled, partition(email(hash = 8)), row(joined(reverse_time)), copy)]
pub struct Employee {
    /// Where.
    #[partition_key]
    pub department: String,
    /// Who.
    #[row_key(pad = 8)]
    pub id: u32,
    /// Some have none.
    #[index(email, lowercase, table = "Logins", unique, rename(department = "Department"))]
    #[index(domain, same_table)]
    pub email: Option<Email>,
    /// For phone books.
    #[index(book, lowercase, same_partition, list)]
    pub last_name: String,
    /// What friends say.
    pub first_name: String,
    /// Since when.
    #[index(joined, time, same_partition, include(first_name, last_name))]
    #[index(newest, reverse_time, same_partition, copy, when(remote, left, is_there))]
    pub joined: SystemTime,
    /// In the city.
    #[index(office, copy)]
    pub office: String,
    floor: u8,
    desk: Option<i16>,
    remote: bool,
    left: Option<SystemTime>,
}

fn is_there(remote: &bool, left: &Option<SystemTime>) -> bool {
    !remote && left.is_none()
}

fn main() {}
