use std::ops::{Bound, Range};

use table_runtime::types::Bounds;

struct Everything;

impl<T> Bounds<T> for Everything {
    fn bounds(self) -> (Bound<T>, Bound<T>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

impl Bounds<Everything> for Range<u32> {
    fn bounds(self) -> (Bound<Everything>, Bound<Everything>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

fn main() {}
