//! The path of a `when` comes from another macro, with the name of its crate.

use table_runtime::TableEntity;

macro_rules! entity {
    ($name:ident) => {
        #[derive(TableEntity)]
        #[allow(dead_code)]
        struct $name {
            #[partition_key]
            author: String,
            #[row_key]
            id: u32,
            #[index(likes, same_partition, when(likes, $crate::paths_from_macros::is_liked))]
            likes: u32,
        }
    };
}

const fn is_liked(likes: &u32) -> bool {
    *likes > 0
}

entity!(Post);

pub(crate) fn main() {
    assert_eq!(Post::key("Marcus", 1).explain().row_key(), Some("id-0000000001"));
}
