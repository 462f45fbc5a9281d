use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(partition(tenant, project))]
struct Task {
    tenant: String,
    project: String,
    #[row_key]
    id: u32,
}

fn main() {}
