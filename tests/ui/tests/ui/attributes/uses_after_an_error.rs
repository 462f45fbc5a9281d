//! A declaration with an error: its uses cause no further ones.

use table_runtime::{EntityGroup, KeyPart, Projection, Property, Result, TableEntity, Tables};

#[derive(Clone)]
enum Region {
    Europe,
}

#[derive(KeyPart, Property)]
struct Score(f64);

#[derive(Property)]
struct Address {
    city: String,
    kind: Kind,
}

#[derive(Clone, PartialEq)]
enum Kind {
    Home,
}

/// Two types that are missing a derive.
#[derive(TableEntity)]
struct Shop {
    #[partition_key]
    region: Region,
    #[row_key]
    score: Score,
    #[index(kind, same_partition)]
    kind: Kind,
    address: Address,
}

/// An index that the derive refuses.
#[derive(TableEntity)]
struct User {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    #[index(email, unique(lowercase))]
    email: String,
    logins: u32,
}

/// Without the name of the entity.
#[derive(Projection)]
struct Login {
    email: String,
}

#[derive(EntityGroup)]
enum Account {
    #[master]
    User(User),
    None,
}

#[derive(KeyPart)]
struct Slug(#[row_key(lowercase)] String);

#[derive(TableEntity)]
struct Page {
    #[partition]
    site: String,
    #[row_key]
    slug: Slug,
}

async fn uses(tables: &Tables, user: &User) -> Result<()> {
    let shops = Shop::by_key(Region::Europe).range(..Score(1.0)).all(tables).await?;
    let _ = Shop::key(Region::Europe, Score(1.0)).get(tables).await?.map(|shop| shop.address.city.clone());
    for shop in Shop::by_kind(Region::Europe).eq(Kind::Home).filter(|shop| shop.kind.eq(Kind::Home)).all(tables).await? {
        println!("{}", shop.score.0);
    }
    let homes = Shop::by_key(Region::Europe).filter(|shop| shop.address.kind.eq(Kind::Home)).count(tables).await?;
    tables.patch(Shop::key(Region::Europe, Score(1.0)), |shop| [shop.kind.set(Kind::Home)]).await?;
    println!("{} {homes}", shops.len());

    let found = User::by_email("ada@example.org").get(tables).await?;
    let many = User::by_key("acme").filter(|user| user.logins.ge(1).and(user.email.eq("x"))).page(tables, 10, None).await?;
    tables.modify(User::key("acme", 1), |user| user.logins += 1).await?;
    tables.transaction().insert(user).commit().await?;
    tables.sweep::<User>().await?;
    println!("{} {}", found.is_some(), many.items.len());

    let logins = User::by_key("acme").select::<Login>().all(tables).await?;
    let members = Account::by_key("acme").eq(1).all(tables).await?;
    println!("{} {}", logins.len(), members.len());
    let _ = Page::key("site", "slug").get(tables).await?;
    Ok(())
}

fn main() {}
