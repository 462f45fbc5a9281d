//! Characters and lengths of keys that services and URLs have trouble with.

use anyhow::Result;
use tests::stores::Store;

use crate::fixtures::{Name, Word};

crate::conformance! {
    a_key_may_contain_any_character
    keys_may_be_empty
    keys_may_have_the_maximal_length
}

async fn a_key_may_contain_any_character(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    store.tables.create::<Name>().await?;
    let texts = [
        "a'b",
        "''",
        "100%",
        "%41",
        "%2F",
        "a+b",
        "a&b=c",
        "a b",
        " a ",
        "/",
        "\\",
        "#",
        "?",
        "/\\#?%~",
        "~2F",
        "~",
        "!20",
        "\t\n\r\0",
        "\u{7F}\u{80}\u{9F}\u{A0}",
        "é",
        "日本語",
        "😀",
        "\u{FFFF}",
        "\u{200B}",
        "(x)",
        "$top",
        "\"",
        "<>",
        "{}",
        "[]",
        "|",
        "^",
        "`",
        ";:,.",
        "@!*",
    ];
    for text in texts {
        let word = Word { language: text.into(), text: text.into() };
        store.tables.insert(&word).await?;
        assert_eq!(Word::key(text, text).get(&store.tables).await?.as_deref(), Some(&word), "{text:?}");
        assert_eq!(Word::by_key(text).all(&store.tables).await?.len(), 1, "{text:?}");
        assert_eq!(Word::by_key(text).starts_with(text).count(&store.tables).await?, 1, "{text:?}");
        store.tables.upsert(&word).await?;
        let mut stored = Word::by_key(text).first(&store.tables).await?.expect("it was inserted");
        store.tables.update(&mut stored).await?;
        store.tables.delete(&stored).await?;
        assert!(!Word::key(text, text).exists(&store.tables).await?, "{text:?}");

        let name = Name { country: text.into(), last: text.into(), number: -1 };
        store.tables.insert(&name).await?;
        assert_eq!(Name::by_key(text).eq(text).first(&store.tables).await?.as_deref(), Some(&name), "{text:?}");
        assert!(store.tables.remove(Name::key(text, text, -1)).await?, "{text:?}");
    }
    assert_eq!(Word::scan().count(&store.tables).await?, 0);
    Ok(())
}

async fn keys_may_be_empty(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    for (language, text) in [("", ""), ("", "a"), ("a", "")] {
        let word = Word { language: language.into(), text: text.into() };
        store.tables.insert(&word).await?;
        assert_eq!(Word::key(language, text).get(&store.tables).await?.as_deref(), Some(&word));
    }
    assert_eq!(Word::by_key("").count(&store.tables).await?, 2);
    assert_eq!(Word::scan().count(&store.tables).await?, 3);
    assert!(store.tables.remove(Word::key("", "")).await?);
    assert_eq!(Word::scan().count(&store.tables).await?, 2);
    Ok(())
}

async fn keys_may_have_the_maximal_length(store: &Store) -> Result<()> {
    store.tables.create::<Word>().await?;
    for text in ["x".repeat(512), "日".repeat(512), "😀".repeat(256)] {
        let word = Word { language: text.clone(), text: text.clone() };
        store.tables.insert(&word).await?;
        assert_eq!(Word::key(&text, &text).get(&store.tables).await?.as_deref(), Some(&word));
    }
    Ok(())
}
