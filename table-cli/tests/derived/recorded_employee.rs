use std::time::SystemTime;

use table_runtime::TableEntity;

/// The entity `Employee` of the table `Employees`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Employees")]
// An index with a function of the program: #[index(number, partition(number(hash = 4)), row(number), when(number, Employee::is_numbered))]
pub struct Employee {
    #[partition_key]
    pub department: String,
    #[row_key(pad = 8, prefix = "id-")]
    pub id: u32,
    #[index(town, uppercase, same_table, prefix = "in-", include(last_name))]
    pub city: String,
    #[index(email, lowercase, table = "Logins", unique)]
    pub email: Option<String>,
    #[index(newest, reverse_time, same_partition, copy)]
    pub joined: SystemTime,
    #[index(last_name, same_partition)]
    #[index(namesakes, lowercase, same_partition, list)]
    pub last_name: String,
    pub number: i64,
}
