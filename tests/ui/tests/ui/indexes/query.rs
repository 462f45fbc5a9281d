use table_runtime::TableEntity;

#[derive(TableEntity)]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(age, same_partition)]
    age: Option<u8>,
    #[index(email, lowercase, unique)]
    email: String,
}

fn main() {
    let _ = User::by_age(5);
    let _ = User::by_age("Marcus").eq("five");
    let _ = User::by_age("Marcus").eq(5).eq(7).eq(8);
    let _ = User::by_email("a@b.c").eq("x");
    let _ = User::by_age("Marcus").filter(|user| user.age.eq(5)).eq(5);
}
