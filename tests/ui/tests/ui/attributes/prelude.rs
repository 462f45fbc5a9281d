use table_runtime::prelude::*;

fn main() {}
