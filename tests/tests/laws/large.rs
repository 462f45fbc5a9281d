//! Values in parts: whatever their length, they are read as they were written.

#![allow(clippy::cast_possible_truncation, reason = "the numbers are below 256")]

use proptest::prelude::*;
use table_runtime::{TableEntity, Tables, backend::InMemoryBackend};

#[derive(TableEntity, Clone, Debug, Default, PartialEq)]
#[table(name = "Novels", partition = "all")]
struct Novel {
    #[row_key]
    id: u32,
    #[property(large)]
    body: String,
    #[property(large)]
    cover: Option<Vec<u8>>,
    #[property(large, json)]
    words: Vec<String>,
}

/// Returns lengths near those at which a value gets one more part, and the greatest.
fn length() -> impl Strategy<Value = usize> {
    let near = |edge: usize| edge.saturating_sub(3)..edge + 3;
    prop_oneof![
        2 => 0_usize..10,
        3 => near(32 * 1024),
        3 => (1_usize..4).prop_flat_map(move |parts| near(parts * 30_000)),
        2 => 30_000_usize..100_000,
    ]
}

/// Returns a text of so many UTF-16 units, or of one more. Its characters have one or two units.
fn text() -> impl Strategy<Value = String> {
    let characters = prop::sample::select(vec!["a", "é", "世", "🦀", "a🦀", "\0\u{FFFF}"]);
    (length(), 0_usize..3, characters).prop_map(|(length, shift, characters)| {
        let (mut text, mut units) = ("-".repeat(shift.min(length)), shift.min(length));
        for character in characters.chars().cycle() {
            if units >= length {
                break;
            }
            text.push(character);
            units += character.len_utf16();
        }
        text
    })
}

tests::depth::laws! {
    64;

    fn what_is_written_is_read(
        body in text(),
        cover in prop::option::of(length().prop_map(|length| (0..2 * length).map(|at| (at % 253) as u8).collect())),
        words in prop::collection::vec(text(), 0..2),
        patched in text(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let tables = Tables::new(InMemoryBackend::new().expect("memory"));
            tables.create::<Novel>().await.expect("a new store");
            let mut novel = Novel { id: 1, body, cover, words };
            tables.insert(&novel).await.expect("it fits");
            let read = Novel::key(1).get(&tables).await.expect("it was written").expect("it was written");
            prop_assert!(*read == novel);
            tables.patch(Novel::key(1), |columns| [columns.body.set(&patched)]).await.expect("it fits");
            novel.body = patched;
            let mut read = Novel::key(1).get(&tables).await.expect("it was written").expect("it was written");
            prop_assert!(*read == novel);
            tables.update(&mut read).await.expect("it fits");
            let read = Novel::key(1).get(&tables).await.expect("it was written").expect("it was written");
            prop_assert!(*read == novel);
            Ok(())
        })?;
    }
}
