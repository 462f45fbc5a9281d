use table_runtime::{EntityGroup, TableEntity};

macro_rules! entities {
    ($($name:ident $table:meta { $($fields:tt)* })*) => {$(
        #[derive(TableEntity)]
        #[$table]
        struct $name { $($fields)* }
    )*};
}

entities! {
    Expense table(name = "Expenses") { #[partition_key] user: String, #[row_key] id: u32 }
    OtherTable table(name = "Items") { #[partition_key] user: String, #[row_key] expense: u32, #[row_key] id: u32 }
    OtherPartition table(name = "Expenses") { #[partition_key(lowercase)] user: String, #[row_key] expense: u32, #[row_key] id: u32 }
    OtherType table(name = "Expenses") { #[partition_key] user: String, #[row_key] expense: i32, #[row_key] id: u32 }
    OtherEncoding table(name = "Expenses") { #[partition_key] user: String, #[row_key(reverse)] expense: u32, #[row_key] id: u32 }
    Prefixed table(name = "Expenses") { #[partition_key] user: String, #[row_key(prefix = "x-")] expense: u32, #[row_key] id: u32 }
    Kinded table(name = "Expenses", kind) { #[partition_key] user: String, #[row_key] expense: u32, #[row_key] id: u32 }
    Twin table(name = "Expenses") { #[partition_key] user: String, #[row_key] id: u32 }
    Noted table(name = "Expenses") { #[partition_key] user: String, #[row_key] expense: u32, #[row_key] note: String }
    Deeper table(name = "Expenses") { #[partition_key] user: String, #[row_key] expense: u32, #[row_key] item: u32, #[row_key] id: u32 }
    Text table(name = "Expenses") { #[partition_key] user: String, #[row_key] id: String }
    OfText table(name = "Expenses") { #[partition_key] user: String, #[row_key] text: String, #[row_key] id: u32 }
    Constant table(name = "Expenses", row = "details") { #[partition_key] user: String }
    Indexed table(name = "Expenses") { #[partition_key] user: String, #[row_key] id: u32, #[index(name, same_partition)] name: String }
    Sliced table(name = "Expenses", slice = month(at)) { #[partition_key] user: String, #[row_key(time)] at: std::time::SystemTime }
    InSlices table(name = "Expenses", slice = month(at)) { #[partition_key] user: String, #[row_key(time)] at: std::time::SystemTime, #[row_key] id: u32 }
    Hashed table(name = "Expenses") { #[partition_key(hash = 4)] #[row_key] id: u32 }
    HashedItem table(name = "Expenses") { #[partition_key(hash = 4)] #[row_key] expense: u32, #[row_key] id: u32 }
    Titled table(name = "Expenses") { #[partition_key] user: String, #[row_key(prefix = "id-")] id: u32, #[index(title, same_partition)] title: String }
    TitledItem table(name = "Expenses") { #[partition_key] user: String, #[row_key(prefix = "id-")] expense: u32, #[row_key] id: u32, #[index(title, same_table)] title: String }
    Mailed table(name = "Expenses") { #[partition_key] user: String, #[row_key] id: u32, #[index(mail, table = "Mails")] mail: String }
    MailedItem table(name = "Expenses") { #[partition_key] user: String, #[row_key] expense: u32, #[row_key] id: u32, #[index(to, table = "Mails", prefix = "to-")] to: String }
    Same table(name = "Expenses", kind = "Kinded") { #[partition_key] user: String, #[row_key] id: u32 }
}

macro_rules! groups {
    ($($name:ident: $($variant:ident)*;)*) => {$(
        #[derive(EntityGroup)]
        enum $name { $($variant($variant)),* }
    )*};
}

groups! {
    Tables: Expense OtherTable;
    Partitions: Expense OtherPartition;
    Types: Expense OtherType;
    Encodings: Expense OtherEncoding;
    Prefixes: Expense Prefixed;
    Kinds: Expense Kinded;
    Shapes: Expense Twin;
    MoreShapes: Expense Noted Deeper;
    Texts: Text OfText;
    Indexes: Constant Indexed;
    Slices: Sliced InSlices;
    Hashes: Hashed HashedItem;
    IndexesOfOneName: Titled TitledItem;
    IndexesInOneTable: Mailed MailedItem;
    SameKinds: Kinded Same;
    OneKind: Same Kinded;
}

#[derive(EntityGroup)]
enum NotAnEntity {
    Expense(Expense),
    Text(String),
}

fn main() {}
