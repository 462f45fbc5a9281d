//! All forms of an index, and the types of their queries.

#![deny(missing_docs)]

use std::time::SystemTime;

use table_runtime::{
    Copied, KeyPart, Point, Property, Query, Rows, TableEntity, cost,
    types::{Done, Lookup},
};

/// Newtype, which is indexed like its field.
#[derive(KeyPart, Property, Clone, Debug, PartialEq)]
pub struct Email(String);

/// Entity with indexes in all scopes.
#[derive(TableEntity)]
#[table(name = "Employees")]
#[index(last_name, same_partition)]
#[index(desk, partition(office, floor(pad = 2)), row(desk), table = "Desks", unique)]
#[index(name, row(last_name(lowercase), first_name), same_partition, prefix = "full-")]
#[index(initial, partition(last_name(first = 1, uppercase)), row(last_name(uppercase)))]
#[index(spread, partition(joined(hash = 8)), row(joined(reverse_time)), copy)]
#[index(shuffled, partition(email(hash = 8)), row(joined(reverse_time)))]
pub struct Employee {
    /// Name of the department.
    #[partition_key]
    pub department: String,
    /// Number of the employee.
    #[row_key(pad = 8)]
    pub id: u32,
    /// Address, which some employees do not have.
    #[index(email, lowercase, table = "Logins", unique, rename(department = "Department"))]
    #[index(addressed, same_table)]
    pub email: Option<Email>,
    /// Last name.
    #[index(book, first = 3, lowercase, same_partition, list)]
    #[index(surname, same_partition, unique, copy)]
    pub last_name: String,
    /// First name.
    pub first_name: String,
    /// Date of the first working day.
    #[index(joined, time, same_partition, include(first_name, last_name))]
    #[index(newest, reverse_time, same_partition, copy, when(remote, left, is_there))]
    pub joined: SystemTime,
    /// City of the office.
    #[index(office, copy)]
    pub office: String,
    /// Languages that the employee speaks.
    #[index(language, each, same_partition, include(office))]
    #[index(speaks, each, lowercase, table = "Languages")]
    #[property(json)]
    pub languages: std::collections::BTreeSet<String>,
    floor: u8,
    desk: Option<i16>,
    remote: bool,
    left: Option<SystemTime>,
}

fn is_there(remote: &bool, left: &Option<SystemTime>) -> bool {
    !remote && left.is_none()
}

/// Returns point queries of unique indexes, which read the pointer and the entity.
pub fn found() -> [Point<Employee, Lookup>; 2] {
    let email = Email("a@b.c".to_owned());
    [Employee::by_desk("Bern", 2).eq(7), Employee::by_email(&email)]
}

/// Returns a query of copies, whose type is not that of the entity.
pub fn copied() -> Point<Copied<Employee>, Lookup> {
    Employee::by_surname("Sales").eq("Smith")
}

/// Requires a cost class.
fn costs<C>(_: impl Query<Cost = C>) {}

pub(crate) fn main() {
    costs::<cost::Lookups>(Employee::by_last_name("Sales").range("A".."F"));
    costs::<cost::Lookups>(Employee::by_last_name("Sales").eq("Smith").range(10..));
    costs::<cost::Lookups>(Employee::by_name("Sales").eq("smith").starts_with("A"));
    costs::<cost::Lookups>(Employee::by_book("Sales").eq("Smith"));
    costs::<cost::Lookups>(Employee::by_joined("Sales").range(SystemTime::UNIX_EPOCH..));
    costs::<cost::Range>(Employee::by_newest("Sales").take(5));
    costs::<cost::Range>(Employee::by_office("Bern").starts_with("Sal"));
    costs::<cost::Lookups>(Employee::by_addressed(&Email("a@b.c".to_owned())).eq("Sales").eq(1));
    costs::<cost::Lookups>(Employee::by_initial().starts_with("Smi"));
    costs::<cost::Lookups>(Employee::by_initial().eq("Smith").eq("Sales"));
    costs::<cost::Range>(Employee::by_spread().eq(SystemTime::UNIX_EPOCH));
    let _: Rows<Employee, Done, cost::FanOut<8>> = Employee::by_shuffled().range(SystemTime::UNIX_EPOCH..);
    let _: Rows<Employee, Done, cost::Lookups> = Employee::by_last_name("Sales").starts_with("S");
    let _: Rows<Copied<Employee>, Done> = Employee::by_newest("Sales").range(SystemTime::UNIX_EPOCH..);
    let _ = (found(), copied());
    assert_eq!(Employee::INFO.layouts.len(), 16);
    assert_eq!(Employee::INFO.layouts[0].row_prefix, "id-");
}
