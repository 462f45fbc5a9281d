use table_runtime::KeyPart;

#[derive(KeyPart)]
struct Degrees(f64);

fn main() {}
