use table_runtime::ParseETagError;

fn main() {}
