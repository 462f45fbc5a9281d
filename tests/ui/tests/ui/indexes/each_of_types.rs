use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use table_runtime::TableEntity;

#[derive(Serialize, Deserialize)]
struct Labels {
    all: Vec<String>,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(label, each, same_partition)]
    #[property(json)]
    labels: Labels,
    #[index(name, each)]
    #[property(json)]
    names: BTreeMap<String, u8>,
    #[index(score, each, same_partition)]
    #[property(json)]
    scores: Vec<f64>,
    #[index(nested, each, same_partition)]
    #[property(json)]
    nested: BTreeSet<Vec<String>>,
    #[index(padded, each, pad = 4, same_partition)]
    #[property(json)]
    padded: Vec<String>,
}

#[derive(TableEntity)]
struct Refused {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, each, same_partition)]
    title: String,
}

fn main() {}
