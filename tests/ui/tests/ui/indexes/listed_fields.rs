use table_runtime::{EntityGroup, Property, Result, TableEntity, Tables};

#[derive(TableEntity)]
#[index(free, level, occupied, same_partition)]
struct Space {
    #[partition_key]
    garage: String,
    #[row_key]
    id: u32,
    level: u32,
    occupied: bool,
}

#[derive(TableEntity)]
struct Task {
    #[partition_key]
    list: String,
    #[row_key]
    due: Option<u64>,
    #[index(title, same_partition, fields(title, due))]
    title: String,
}

#[derive(EntityGroup)]
enum Order {
    Head {
        #[partition_key]
        customer: String,
    },
    Line {
        #[partition_key]
        customer: String,
    },
}

#[derive(Property, PartialEq)]
enum Status {
    Open,
    Done,
}

#[derive(Clone)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
struct Job {
    #[partition_key]
    queue: String,
    #[row_key]
    id: u32,
    #[property(default)]
    status: Status,
    #[index(tag, same_partition)]
    tag: String,
    address: Address,
}

async fn run(tables: &Tables, wanted: &[String]) -> Result<()> {
    Job::by_tag("mail").eq(wanted).all(tables).await?;
    Job::by_tag().eq("new").all(tables).await?;
    Job::by_key("mail").filter(|job| job.address.city.eq("Bonn")).all(tables).await?;
    Ok(())
}

fn main() {}
