//! Projections of private fields, of key fields and of generic entities, and generic projections.

#![deny(warnings)]

use table_runtime::{Projection, Property, Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(partition = "all")]
pub struct Item<V> {
    #[row_key]
    number: u32,
    #[index(both, same_partition, include(more))]
    value: Option<V>,
    #[property(json)]
    more: Vec<u8>,
    #[deprecated]
    r#type: Option<String>,
}

/// Projection of a concrete type of the entity.
#[derive(Projection, Clone, Debug, PartialEq)]
#[projection(of = Item<String>)]
pub struct Numbered {
    pub number: u32,
    pub(crate) value: Option<String>,
}

#[derive(Projection)]
#[projection(of = crate::Item<V>)]
struct Anything<V: table_runtime::KeyPart + Property<Presence: table_runtime::property::Present> + Send + Sync + 'static>
where
    table_runtime::key::Plain: table_runtime::key::Encode<V::Kind>,
{
    more: Vec<u8>,
    value: Option<V>,
    r#type: Option<String>,
}

macro_rules! rest {
    ($name:ident, $of:ty) => {
        #[derive(Projection)]
        #[projection(of = $of)]
        struct $name {
            more: Vec<u8>,
        }
    };
}

rest!(Rest, Item<String>);

mod inner {
    #[derive(table_runtime::Projection)]
    #[projection(of = super::Item::<u32>, crate = ::table_runtime)]
    pub(super) struct Typed {
        pub(super) r#type: Option<String>,
    }
}

#[allow(dead_code)]
async fn queries(tables: &Tables) -> Result<()> {
    let _: Vec<Numbered> = Item::<String>::by_key().select::<Numbered>().all(tables).await?;
    let _: Option<Anything<u32>> = Item::<u32>::key(1).select::<Anything<u32>>().get(tables).await?;
    let found = Item::<u32>::by_both().eq(5).select::<Anything<u32>>().first(tables).await?;
    let _ = found.map(|found| (found.more, found.value, found.r#type));
    let _ = Item::<String>::by_key().select::<Rest>().first(tables).await?.map(|rest| rest.more);
    let _ = Item::<u32>::by_key().select::<inner::Typed>().first(tables).await?.map(|typed| typed.r#type);
    Ok(())
}

fn main() {}
