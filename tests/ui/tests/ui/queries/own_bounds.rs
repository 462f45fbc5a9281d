use std::ops::Bound;

use table_runtime::types::Bounds;

struct Everything;

impl<T> Bounds<T> for Everything {
    fn bounds(self) -> (Bound<T>, Bound<T>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

fn main() {}
