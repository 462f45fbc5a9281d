//! Generic entities. Bounds are inferred as serde infers them: each field's type needs what the field's use needs.

#![allow(dead_code)]

use std::{marker::PhantomData, time::SystemTime};

use serde::{Serialize, de::DeserializeOwned};
use table_runtime::{KeyPart, Property, Stored, TableEntity, Tables};

#[derive(TableEntity)]
#[table(name = "Items")]
pub struct Item<K, V = String, const N: usize = 3>
where
    K: Ord,
{
    #[partition_key]
    pub owner: K,
    #[row_key(time)]
    pub at: SystemTime,
    #[row_key]
    pub key: K,
    pub value: V,
    pub more: Option<V>,
    #[property(json)]
    pub list: Vec<V>,
    #[property(skip)]
    pub size: Sized<N>,
    #[property(skip)]
    pub marker: PhantomData<(K, V)>,
}

#[derive(Default)]
pub struct Sized<const N: usize>;

#[allow(dead_code)]
async fn queries<K, V>(tables: &Tables, item: &Item<K, V>) -> table_runtime::Result<()>
where
    K: Ord + Send + Sync + 'static,
    V: Property + Serialize + DeserializeOwned + Send + Sync + 'static,
    Item<K, V>: TableEntity,
{
    tables.insert(item).await?;
    Ok(())
}

#[allow(dead_code)]
async fn concrete(tables: &Tables) -> table_runtime::Result<()> {
    Item::<String>::by_key("Marcus").eq(SystemTime::UNIX_EPOCH).eq("x").get(tables).await?;
    Item::<u32, bool>::by_key(1).filter(|item| item.value.eq(true)).all(tables).await?;
    Ok(())
}

#[derive(TableEntity)]
struct Keyed<K: KeyPart> {
    #[partition_key]
    #[row_key]
    key: K,
}

#[derive(TableEntity)]
#[table(partition = "all", row = "one")]
struct Nothing<T: Default> {
    #[property(skip)]
    value: T,
}

/// Entity with indexed parameters, each of which can be an `Option`.
#[derive(TableEntity)]
#[index(both, partition(value(hash = 4)), row(value, more))]
struct Indexed<K, V, W = i64, P = bool> {
    #[partition_key]
    partition: P,
    #[row_key]
    #[index(keyed, table = "Keys")]
    #[index(again, same_partition, unique)]
    key: K,
    #[index(value, same_partition, unique)]
    #[index(text, same_table, include(more))]
    value: V,
    #[index(more, same_partition, copy, when(value, key, is_shown))]
    more: Option<W>,
}

/// Entity with rows for elements that are a parameter, and of a collection that is one.
#[derive(TableEntity)]
#[index(label, partition(id), row(each(labels, lowercase)), include(id_text))]
struct Tagged<T, L> {
    #[partition_key]
    id: u32,
    #[row_key]
    row: u8,
    #[index(tag, each, same_partition, copy)]
    #[property(json)]
    tags: Vec<T>,
    #[property(json)]
    labels: L,
    id_text: String,
}

fn is_shown<K, V>(_: &V, _: &K) -> bool {
    true
}

pub(crate) fn main() {
    let _ = Indexed::<u32, Option<String>>::by_value(true).eq("x");
    let _ = Indexed::<String, i64>::by_more(false).range(1..).take(1);
    let _ = Indexed::<u32, u32>::by_text(5).eq(true).eq(1);
    let _ = Tagged::<u16, [String; 2]>::by_tag(1).range(3..);
    let _ = Tagged::<String, Option<Vec<String>>>::by_label(1).starts_with("x");
    let _ = Keyed::<u32>::key(1);
    let _ = Nothing::<f32>::key();
    assert_eq!(<Item<u32, bool>>::INFO.properties().count(), 3);
    // The entity alone, also of one with parameters.
    let _: fn(Stored<Keyed<u32>>) -> Keyed<u32> = Stored::into;
    let _: fn(Stored<Tagged<u16, [String; 2]>>) -> Tagged<u16, [String; 2]> = Tagged::from;
}
