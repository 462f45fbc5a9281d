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
#[projection(of = crate::projections::Item<V>)]
struct Anything<
    V: table_runtime::KeyPart + Property<Presence: table_runtime::property::Present> + Send + Sync + 'static,
> where
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

/// Projection that borrows from the rows, with a name of a lifetime that generated code may use too.
#[derive(Projection, Clone, Debug, PartialEq)]
#[projection(of = Item<String>)]
pub struct Lent<'row> {
    pub number: u32,
    pub(crate) value: Option<std::borrow::Cow<'row, str>>,
    more: Vec<u8>,
    r#type: Option<&'row str>,
}

#[derive(Projection)]
#[projection(of = Item<V>)]
struct Typed<'a, V>
where
    V: table_runtime::KeyPart + Property<Presence: table_runtime::property::Present> + Send + Sync + 'static,
    table_runtime::key::Plain: table_runtime::key::Encode<V::Kind>,
{
    value: Option<V>,
    r#type: Option<&'a str>,
}

#[allow(dead_code)]
async fn borrowed(tables: &Tables) -> Result<usize> {
    let (mut length, mut kept) = (0, None);
    let each = |lent: Lent<'_>| {
        length += lent.r#type.map_or(0, str::len) + lent.value.as_deref().map_or(0, str::len);
        kept = Some(lent.more);
    };
    Item::<String>::by_key().select::<Lent<'_>>().for_each(tables, each).await?;
    // The type of the closure's argument follows from the projection.
    Item::<String>::by_key().select::<Lent<'_>>().for_each(tables, |lent| length += lent.more.len()).await?;
    Item::<u32>::by_key()
        .select::<Typed<'_, u32>>()
        .for_each(tables, |typed| drop((typed.value, typed.r#type.map(str::to_owned))))
        .await?;
    Item::<String>::by_key().for_each(tables, |item| drop(table_runtime::Stored::into_inner(item))).await?;
    Item::<String>::by_key().select::<Numbered>().for_each(tables, |numbered| drop(numbered.value)).await?;
    Ok(length + kept.map_or(0, |kept: Vec<u8>| kept.len()))
}

/// The future can be sent to another thread, and its projection need not be borrowed from there.
#[allow(dead_code)]
fn sent(tables: &Tables) -> impl Future<Output = Result<()>> + Send {
    Item::<String>::by_key().select::<Lent<'_>>().for_each(tables, |_| ())
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
