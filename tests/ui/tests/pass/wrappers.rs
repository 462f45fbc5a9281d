//! Newtypes and unit enums, as key parts and as properties.

use table_runtime::{Guid, KeyPart, Property, TableEntity, Tables};

#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
struct ExpenseId(Guid);

#[derive(KeyPart, Property, Clone, Debug, PartialEq)]
struct Email(String);

#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
#[table(rename_all = "kebab-case")]
enum Kind {
    EmailAddress,
    #[property(rename = "tel")]
    Phone,
}

#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
enum One {
    Only,
}

#[derive(Property)]
struct Score(Option<f64>);

#[derive(TableEntity)]
struct Login {
    #[partition_key(lowercase)]
    email: Email,
    #[row_key]
    kind: Kind,
    #[row_key]
    id: ExpenseId,
    owner: Email,
    other: Option<ExpenseId>,
    was: Kind,
    one: One,
    score: Score,
}

#[allow(dead_code)]
async fn queries(tables: &Tables, email: &Email, id: ExpenseId) -> table_runtime::Result<()> {
    Login::key(email, Kind::Phone, id).get(tables).await?;
    Login::by_key(email).eq(Kind::EmailAddress).eq(id).get(tables).await?;
    Login::by_key(email).filter(|login| login.was.eq(Kind::Phone).and(login.owner.eq(email))).all(tables).await?;
    Login::by_key(email).filter(|login| login.other.eq(id)).all(tables).await?;
    Ok(())
}

pub(crate) fn main() {
    assert_eq!(
        Login::key(&Email("A@b.c".into()), Kind::Phone, ExpenseId(Guid::default())).explain().partition_key(),
        Some("a@b.c")
    );
    assert_eq!(Kind::from_key("tel".into()), Ok(Kind::Phone));
    assert_eq!(Kind::from_key("email-address".into()), Ok(Kind::EmailAddress));
    assert!(Kind::from_key("Phone".into()).is_err());
    for kind in [Kind::EmailAddress, Kind::Phone] {
        assert_eq!(Kind::from_value(Property::to_value(&kind, &mut String::new()).unwrap()), Ok(kind));
    }
    assert_eq!(One::from_value(Property::to_value(&One::Only, &mut String::new()).unwrap()), Ok(One::Only));
    assert_eq!(Kind::expected(), "one of `email-address`, `tel`");
}
