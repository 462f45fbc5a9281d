use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Old")]
struct TabledV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "New", version = 2, from = TabledV1)]
struct Tabled {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl From<TabledV1> for Tabled {
    fn from(_: TabledV1) -> Self {
        unimplemented!()
    }
}

#[derive(TableEntity)]
#[table(name = "Posts", kind)]
struct KindedV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", kind, version = 2, from = KindedV1)]
struct Kinded {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl From<KindedV1> for Kinded {
    fn from(_: KindedV1) -> Self {
        unimplemented!()
    }
}

#[derive(TableEntity)]
#[table(name = "Posts")]
struct KeyedV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, from = KeyedV1)]
struct Keyed {
    #[partition_key]
    author: String,
    #[row_key]
    id: u64,
}

impl From<KeyedV1> for Keyed {
    fn from(_: KeyedV1) -> Self {
        unimplemented!()
    }
}

#[derive(TableEntity)]
#[table(name = "Posts")]
struct PrefixedV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, from = PrefixedV1)]
struct Prefixed {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, same_partition)]
    title: String,
}

impl From<PrefixedV1> for Prefixed {
    fn from(_: PrefixedV1) -> Self {
        unimplemented!()
    }
}

#[derive(TableEntity)]
#[table(name = "Posts")]
struct SeparatedV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", separator = "_", version = 2, from = SeparatedV1)]
struct Separated {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl From<SeparatedV1> for Separated {
    fn from(_: SeparatedV1) -> Self {
        unimplemented!()
    }
}

#[derive(TableEntity)]
#[table(name = "Log", slice = month(at))]
struct SlicedV1 {
    #[partition_key]
    author: String,
    #[row_key(time)]
    at: std::time::SystemTime,
}

#[derive(TableEntity)]
#[table(name = "Log", slice = day(at), version = 2, from = SlicedV1)]
struct Sliced {
    #[partition_key]
    author: String,
    #[row_key(time)]
    at: std::time::SystemTime,
}

impl From<SlicedV1> for Sliced {
    fn from(_: SlicedV1) -> Self {
        unimplemented!()
    }
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2)]
struct SameV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, from = SameV1)]
struct Same {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl From<SameV1> for Same {
    fn from(_: SameV1) -> Self {
        unimplemented!()
    }
}

#[derive(TableEntity)]
#[table(name = "Posts")]
struct NamedV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    entity_version: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, from = NamedV1)]
struct Named {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl From<NamedV1> for Named {
    fn from(_: NamedV1) -> Self {
        unimplemented!()
    }
}

fn main() {}
