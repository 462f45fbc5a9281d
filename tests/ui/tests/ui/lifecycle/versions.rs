use std::time::SystemTime;

use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Sessions")]
struct SessionV1 {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Sessions", version = 2, from = SessionV1, expires = until)]
struct Session {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: Option<SystemTime>,
}

impl From<SessionV1> for Session {
    fn from(SessionV1 { user, id }: SessionV1) -> Self {
        Self { user, id, until: None }
    }
}

fn main() {}
