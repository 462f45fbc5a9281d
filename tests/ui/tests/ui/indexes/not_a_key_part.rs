use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Player {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    #[index(score, same_partition)]
    score: f64,
    #[index(rating, table = "Ratings")]
    rating: Option<f64>,
    #[index(again, same_table)]
    #[property(json)]
    again: Option<Option<u8>>,
}

fn main() {}
