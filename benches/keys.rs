//! Benchmarks of keys, compared with hand-written code that fills a buffer on the stack, and with `format!`.
//!
//! Run with `cargo bench -p benches --bench keys`. All benchmarks write the same row keys of the
//! same entities, and return both keys as texts, as a query or a write needs them. The benchmarks count allocations.

#![allow(clippy::wildcard_imports, reason = "a module for each key")]

use divan::{AllocProfiler, Bencher, black_box};
use table_runtime::TableEntity;
use time::OffsetDateTime;
use uuid::Uuid;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Number of inputs, large enough that the branch predictor cannot learn them.
const INPUTS: usize = 256;

/// Evaluates `$body` with the next of `$inputs` at each call.
macro_rules! each {
    ($bencher:expr, $inputs:expr, |$input:ident| $body:expr) => {{
        let inputs: Vec<_> = $inputs;
        let mut at = 0;
        $bencher.bench_local(|| {
            at = (at + 1) % INPUTS;
            let $input = black_box(&inputs[at]);
            $body
        });
    }};
}

/// A buffer on the stack.
struct Stack {
    bytes: [u8; 128],
    len: usize,
}

impl Stack {
    fn new() -> Self {
        Self { bytes: [0; 128], len: 0 }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn text(&self) -> String {
        String::from_utf8(self.as_bytes().to_vec()).unwrap()
    }
}

/// Returns the digits of a 64-bit number, two at a time from a table, as hand-written code does.
#[inline]
fn digits(mut number: u64) -> [u8; 19] {
    const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940\
        414243444546474849505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394\
        9596979899";
    let mut digits = [b'0'; 19];
    let mut at = 19;
    while at > 1 {
        at -= 2;
        let pair = (number % 100) as usize * 2;
        number /= 100;
        digits[at] = PAIRS[pair];
        digits[at + 1] = PAIRS[pair + 1];
    }
    digits[0] = b'0' + (number % 10) as u8;
    digits
}

#[inline]
fn reversed_ticks(time: OffsetDateTime) -> u64 {
    let seconds = (time.unix_timestamp() + 62_135_596_800).unsigned_abs();
    3_155_378_975_999_999_999 - seconds * 10_000_000 - u64::from(time.nanosecond() / 100)
}

fn times() -> Vec<OffsetDateTime> {
    let time = |n: usize| {
        let nanoseconds = 1_275_004_800_000_000_000 + n as i128 * 86_461_234_567_891;
        OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).unwrap()
    };
    (0..INPUTS).map(time).collect()
}

/// Keys such as `2521272959999999999`.
mod reverse_time {
    use super::*;

    #[derive(TableEntity)]
    #[table(partition = "p")]
    struct Post {
        #[row_key(reverse_time)]
        posted: OffsetDateTime,
    }

    fn posts() -> Vec<Post> {
        times().into_iter().map(|posted| Post { posted }).collect()
    }

    #[divan::bench]
    fn ours(bencher: Bencher<'_, '_>) {
        each!(bencher, posts(), |post| Post::key(post.posted));
    }

    #[divan::bench]
    fn by_hand(bencher: Bencher<'_, '_>) {
        each!(bencher, posts(), |post| {
            let mut row = Stack::new();
            row.push(&digits(reversed_ticks(post.posted)));
            ("p".to_owned(), row.text())
        });
    }

    #[divan::bench]
    fn format(bencher: Bencher<'_, '_>) {
        each!(bencher, posts(), |post| ("p".to_owned(), format!("{:019}", reversed_ticks(post.posted))));
    }
}

/// Keys such as `ord-0634106016000000000_00000000-0000-4000-8000-000000000000`.
mod composite {
    use super::*;

    #[derive(TableEntity)]
    #[table(partition = "p")]
    struct Order {
        #[row_key(time, prefix = "ord-")]
        at: OffsetDateTime,
        #[row_key]
        id: Uuid,
    }

    fn orders() -> Vec<Order> {
        let order =
            |(n, at): (usize, _)| Order { at, id: Uuid::from_u128(n as u128 * 0x9E37_79B9_7F4A_7C15_F39C_C060) };
        times().into_iter().enumerate().map(order).collect()
    }

    #[inline]
    fn write(order: &Order, row: &mut Stack) {
        row.push(b"ord-");
        row.push(&digits(3_155_378_975_999_999_999 - reversed_ticks(order.at)));
        row.push(b"_");
        order.id.hyphenated().encode_lower(&mut row.bytes[row.len..]);
        row.len += 36;
    }

    #[divan::bench]
    fn ours(bencher: Bencher<'_, '_>) {
        each!(bencher, orders(), |order| Order::key(order.at, order.id));
    }

    #[divan::bench]
    fn by_hand(bencher: Bencher<'_, '_>) {
        each!(bencher, orders(), |order| {
            let mut row = Stack::new();
            write(order, &mut row);
            ("p".to_owned(), row.text())
        });
    }

    #[divan::bench]
    fn format(bencher: Bencher<'_, '_>) {
        each!(bencher, orders(), |order| {
            let ticks = 3_155_378_975_999_999_999 - reversed_ticks(order.at);
            ("p".to_owned(), format!("ord-{ticks:019}_{}", order.id))
        });
    }
}

/// Keys in lower case, of names with about 16 characters.
mod lowercase {
    use super::*;

    #[derive(TableEntity)]
    #[table(partition = "p")]
    struct Employee {
        #[row_key(lowercase)]
        name: String,
    }

    fn employees() -> Vec<Employee> {
        let (first, last) = (["Anna", "Bertram", "Chris", "Dorothea"], ["McAllister", "O'Brien", "Jones", "Van Dyke"]);
        let name = |n: usize| format!("{} {}{}", first[n % 4], last[n / 4 % 4], n % 10);
        (0..INPUTS).map(|n| Employee { name: name(n) }).collect()
    }

    #[inline]
    fn write(name: &str, row: &mut Stack) {
        for character in name.chars() {
            if character.is_ascii() {
                row.push(&[character.to_ascii_lowercase() as u8]);
            } else {
                character.to_lowercase().for_each(|lower| row.push(lower.encode_utf8(&mut [0; 4]).as_bytes()));
            }
        }
    }

    #[divan::bench]
    fn ours(bencher: Bencher<'_, '_>) {
        each!(bencher, employees(), |employee| Employee::key(&employee.name));
    }

    #[divan::bench]
    fn by_hand(bencher: Bencher<'_, '_>) {
        each!(bencher, employees(), |employee| {
            let mut row = Stack::new();
            write(&employee.name, &mut row);
            ("p".to_owned(), row.text())
        });
    }

    #[divan::bench]
    fn format(bencher: Bencher<'_, '_>) {
        each!(bencher, employees(), |employee| ("p".to_owned(), employee.name.to_lowercase()));
    }
}
