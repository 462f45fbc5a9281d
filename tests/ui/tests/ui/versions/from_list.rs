use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Parcels", entity = "Parcel")]
struct ParcelV1 {
    #[partition_key]
    depot: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Parcels", entity = "Parcel", version = 2, from = [ParcelV1])]
struct Parcel {
    #[partition_key]
    depot: String,
    #[row_key]
    id: u32,
    grams: u32,
}

impl From<ParcelV1> for Parcel {
    fn from(old: ParcelV1) -> Self {
        Self { depot: old.depot, id: old.id, grams: 0 }
    }
}

fn main() {}
