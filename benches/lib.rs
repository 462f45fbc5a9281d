//! Benchmarks: see the `[[bench]]` targets in `Cargo.toml`.
