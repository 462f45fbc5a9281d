use table_runtime::{Result, TableEntity, Tables};

#[derive(Clone, Debug)]
enum State {
    Open,
    Done,
}

#[derive(TableEntity)]
struct Task {
    #[partition_key]
    list: String,
    #[row_key]
    id: u32,
    #[index(state, same_partition)]
    state: State,
    #[index(email, same_partition, unique)]
    email: String,
}

async fn run(tables: &Tables) -> Result<()> {
    Task::by_state("home").eq(State::Open).all(tables).await?;
    Task::by_email("mail").get(tables).await?;
    Ok(())
}

fn main() {}
