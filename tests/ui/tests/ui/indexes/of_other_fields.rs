use table_runtime::{KeyPart, TableEntity, Tables};

#[derive(KeyPart, Clone)]
enum State {
    Open,
    Done,
}

#[derive(TableEntity)]
struct User {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    #[index(last_name, same_partition)]
    first_name: String,
    #[index(name, first_name, last_name)]
    last_name: String,
}

struct Sku(String);

impl KeyPart for Sku {
    fn to_key(&self) -> String {
        self.0.clone()
    }
}

#[derive(TableEntity)]
struct Task {
    #[partition_key]
    list: String,
    #[row_key]
    id: u32,
    state: State,
}

async fn run(tables: &Tables) {
    let _ = Task::by_key("home").filter(|task| task.state.eq(State::Open)).all(tables).await;
}

fn main() {}
