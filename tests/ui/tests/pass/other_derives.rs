//! An entity may have the derives of other libraries beside ours: their attributes are theirs.

use other_derives::{FromRow, Model, Queryable};
use serde::{Deserialize, Serialize};
use table_runtime::{EntityGroup, KeyPart, Projection, Property, TableEntity};

#[derive(TableEntity, Model, FromRow, Queryable, Serialize, Deserialize)]
#[table(name = "Users")]
#[key(partition = team, local = id)]
#[sqlx(rename_all = "camelCase")]
#[diesel(table_name = users)]
#[serde(rename_all = "camelCase")]
pub struct User {
    #[partition_key]
    #[key]
    #[column("team_id")]
    #[sqlx(rename = "team_id")]
    team: String,
    #[row_key]
    #[auto]
    #[diesel(column_name = "user_id")]
    id: UserId,
    #[index(email, unique)]
    #[unique]
    #[serde(rename = "mail")]
    email: String,
    #[property(default)]
    #[default(1)]
    #[update(2)]
    #[version]
    number: u32,
    #[property(json)]
    #[serialize(json)]
    #[deferred]
    #[sqlx(json)]
    tags: Vec<String>,
    #[serde(skip)]
    #[sqlx(skip)]
    #[belongs_to(key = team, references = id)]
    #[document]
    address: Option<Address>,
}

#[derive(KeyPart, Property, FromRow, Serialize, Deserialize)]
#[sqlx(transparent)]
#[serde(transparent)]
pub struct UserId(u32);

#[derive(Property, FromRow, Default)]
pub struct Address {
    #[sqlx(default)]
    city: String,
}

#[derive(Projection, FromRow, Queryable, Serialize)]
#[projection(of = User)]
#[diesel(table_name = users)]
pub struct Mail {
    #[serde(rename = "mail")]
    email: String,
}

#[derive(TableEntity, Model)]
#[table(name = "Users")]
pub struct Login {
    #[partition_key]
    team: String,
    #[row_key]
    id: UserId,
    #[row_key]
    #[has_many]
    #[has_one]
    login: u32,
}

#[derive(EntityGroup, Model, Serialize)]
#[serde(tag = "type")]
pub enum Member {
    #[serde(skip)]
    User(User),
    #[serde(skip)]
    Login(Login),
}
