//! Structs and enums with data: what is written is read, for many types and random values; the properties of a row have the
//! names that its layout has, and those of a projection of one field are among them.

#![allow(unreachable_pub, clippy::large_enum_variant, reason = "the types of one macro use each other")]

use std::{collections::BTreeSet, fmt};

use anyhow::Result;
use table_runtime::{Property, TableEntity, Tables, backend::BackendExt};
use tests::random::{Random, seeds};
use time::Date;

/// A type with random values.
trait Sample: Clone + fmt::Debug + PartialEq {
    fn sample(random: &mut Random) -> Self;
}

macro_rules! samples {
    ($($type:ty: |$random:ident| $value:expr;)*) => {$(
        impl Sample for $type {
            fn sample($random: &mut Random) -> Self {
                $value
            }
        }
    )*};
}

samples! {
    u16: |random| u16::from(random.byte(5));
    i64: |random| i64::from(random.byte(9)) - 4;
    bool: |random| random.chance(50);
    f64: |random| f64::from(random.byte(7)) / 2.0;
    String: |random| "aß_𝒳 ".chars().cycle().skip(random.below(5)).take(random.below(9)).collect();
    Vec<u8>: |random| vec![random.byte(255); random.below(4)];
    Date: |random| Date::from_ordinal_date(2026, 1 + u16::from(random.byte(200))).expect("a day");
    u128: |random| u128::from(random.bits()) << random.below(60);
}

impl<T: Sample> Sample for Option<T> {
    fn sample(random: &mut Random) -> Self {
        random.chance(60).then(|| T::sample(random))
    }
}

/// Checks that random entities are read as they were written.
macro_rules! shapes {
    ($($module:ident: $first:ty, $second:ty;)*) => {
        $(mod $module {
            #![allow(unused_imports)]

            use super::*;

            #[derive(Property, Clone, Debug, PartialEq)]
            pub struct Both {
                pub first: $first,
                pub second: Option<$second>,
                pub number: u16,
            }

            #[derive(Property, Clone, Debug, PartialEq)]
            pub enum Choice {
                Nothing,
                First($first),
                Both { both: Both, second: $second },
                #[property(other)]
                Other(String),
            }

            #[derive(Property, Clone, Debug, PartialEq)]
            #[table(rename_all = "snake_case")]
            pub struct Deep {
                pub choice: Choice,
                #[property(prefix = "X")]
                pub both: Option<Both>,
                pub maybe: Option<Choice>,
                #[property(json)]
                pub list: Vec<u16>,
            }

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Shapes")]
            pub struct Entity {
                #[partition_key]
                #[row_key]
                id: u32,
                #[property(prefix = "")]
                both: Both,
                deep: Deep,
                other: Option<Deep>,
                choice: Choice,
            }

            impl Sample for Both {
                fn sample(random: &mut Random) -> Self {
                    Self { first: Sample::sample(random), second: Sample::sample(random), number: Sample::sample(random) }
                }
            }

            impl Sample for Choice {
                fn sample(random: &mut Random) -> Self {
                    match random.below(4) {
                        0 => Self::Nothing,
                        1 => Self::First(Sample::sample(random)),
                        2 => Self::Both { both: Sample::sample(random), second: Sample::sample(random) },
                        _ => Self::Other(format!("{}!", String::sample(random))),
                    }
                }
            }

            impl Sample for Deep {
                fn sample(random: &mut Random) -> Self {
                    Self {
                        choice: Sample::sample(random),
                        both: Sample::sample(random),
                        maybe: Sample::sample(random),
                        list: vec![1; random.below(3)],
                    }
                }
            }

            pub async fn check(tables: &Tables, backend: &dyn table_runtime::backend::Backend) -> Result<()> {
                let known: BTreeSet<_> = Entity::layout().properties().map(|property| property.name).collect();
                for seed in seeds(20) {
                    let random = &mut Random::new(seed);
                    let entity = Entity {
                        id: 1,
                        both: Sample::sample(random),
                        deep: Sample::sample(random),
                        other: Sample::sample(random),
                        choice: Sample::sample(random),
                    };
                    tables.upsert(&entity).await?;
                    let found = Entity::key(1).get(tables).await?.expect("it was written");
                    assert_eq!(*found, entity, "seed {seed}");
                    let key = "0000000001";
                    let row = backend.get("Shapes", key, key, None).await?.expect("it was written");
                    for (name, _) in &row.properties {
                        assert!(known.contains(name), "seed {seed}: {name} is not in {known:?}");
                    }
                }
                Ok(())
            }
        })*

        #[tokio::test]
        async fn values_of_many_types_are_read_as_they_were_written() -> Result<()> {
            $({
                let backend = std::sync::Arc::new(table_runtime::backend::InMemoryBackend::new()?);
                let tables = Tables::new(std::sync::Arc::clone(&backend));
                tables.create::<$module::Entity>().await?;
                $module::check(&tables, &*backend).await?;
            })*
            Ok(())
        }
    };
}

shapes! {
    numbers: u16, i64;
    texts: String, bool;
    bytes: Vec<u8>, f64;
    dates: Date, u128;
    structs: numbers::Both, texts::Both;
    enums: texts::Choice, numbers::Choice;
    mixed: bytes::Both, dates::Choice;
    choices: dates::Choice, bytes::Both;
    deeper: structs::Choice, u16;
    deepest: mixed::Choice, bool;
}
