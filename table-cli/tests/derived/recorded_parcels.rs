use table_runtime::TableEntity;

/// The entity `Parcel` of the table `Parcels`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Parcels", separator = "_")]
pub struct Parcel {
    #[partition_key(raw)]
    pub zone: String,
    #[row_key(raw, prefix = "p-")]
    pub code: String,
    #[index(name, first = 3, lowercase, same_partition)]
    pub name: String,
    #[property(rename = "bytes")]
    pub size: i32,
}
