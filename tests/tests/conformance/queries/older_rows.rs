//! Filters, projections and patches of rows of older versions: what every version stores in the same way.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use table_runtime::{
    BoxedRows, Error, Projection, Result as TableResult, Stored, TableEntity, error::VersionProblem, row::ValueRef,
};
use tests::stores::Store;

crate::conformance! {
    filters_find_rows_of_every_version
    projections_read_rows_of_every_version
    patches_set_properties_in_rows_of_every_version
    what_an_older_version_stores_otherwise_is_refused_before_a_request
    other_types_and_defaults_are_refused
    a_version_that_nothing_reads_is_an_error_of_its_row
}

/// The first version of a label.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Labels", entity = "Label")]
struct LabelV1 {
    #[partition_key]
    shop: String,
    #[row_key(prefix = "n-")]
    number: u32,
    #[index(color, same_partition, include(text))]
    #[index(paint, copy)]
    #[index(shade)]
    color: String,
    text: String,
    price: u32,
    note: Option<String>,
    size: String,
    mood: Option<String>,
    tone: String,
}

/// The second version, in which the mood is required and the tone is not.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Labels", entity = "Label", version = 2, from = LabelV1)]
struct LabelV2 {
    #[partition_key]
    shop: String,
    #[row_key(prefix = "n-")]
    number: u32,
    #[index(color, same_partition, include(text))]
    #[index(paint, copy)]
    #[index(shade)]
    color: String,
    text: String,
    price: u32,
    note: Option<String>,
    size: String,
    mood: String,
    tone: Option<String>,
}

/// The third version, whose size is a number, and which has a new property.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Labels", entity = "Label", version = 3, from = LabelV2)]
struct Label {
    #[partition_key]
    shop: String,
    #[row_key(prefix = "n-")]
    number: u32,
    #[index(color, same_partition, include(text))]
    #[index(paint, copy)]
    #[index(shade)]
    color: String,
    text: String,
    price: u32,
    note: Option<String>,
    size: u32,
    mood: String,
    tone: Option<String>,
    weight: u32,
}

impl From<LabelV1> for LabelV2 {
    fn from(LabelV1 { shop, number, color, text, price, note, size, mood, tone }: LabelV1) -> Self {
        Self { shop, number, color, text, price, note, size, mood: mood.unwrap_or_default(), tone: Some(tone) }
    }
}

impl From<LabelV2> for Label {
    fn from(LabelV2 { shop, number, color, text, price, note, size, mood, tone }: LabelV2) -> Self {
        Self {
            shop,
            number,
            color,
            text,
            price,
            note,
            size: u32::try_from(size.len()).unwrap_or_default(),
            mood,
            tone,
            weight: 1,
        }
    }
}

fn label_v1(number: u32) -> LabelV1 {
    let (text, color) = (format!("text {number}"), "red".to_owned());
    let note = (number > 1).then(|| "n".to_owned());
    let (size, mood, tone) = ("XL".to_owned(), None, "low".to_owned());
    LabelV1 { shop: "s".to_owned(), number, color, text, price: 10 * number, note, size, mood, tone }
}

/// Writes a label of each version, whose number is its version.
async fn labels(store: &Store) -> Result<()> {
    store.tables.create::<Label>().await?;
    store.tables.insert(&label_v1(1)).await?;
    store.tables.insert(&LabelV2::from(label_v1(2))).await?;
    store.tables.insert(&Label::from(LabelV2::from(label_v1(3)))).await?;
    Ok(())
}

async fn filters_find_rows_of_every_version(store: &Store) -> Result<()> {
    let tables = &store.tables;
    labels(store).await?;
    let numbers = async |query: BoxedRows<_>| {
        let found: Vec<Stored<Label>> = query.all(tables).await?;
        assert!(found.iter().all(|label| label.weight == 1 && label.size == 2));
        anyhow::Ok(found.iter().map(|label| label.number).collect::<Vec<_>>())
    };
    let labels = || Label::by_key("s");
    assert_eq!(numbers(labels().filter(|label| label.price.ge(20)).boxed()).await?, [2, 3]);
    assert_eq!(numbers(labels().filter(|label| label.price.lt(20)).boxed()).await?, [1]);
    assert_eq!(numbers(labels().filter(|label| label.note.eq("n")).boxed()).await?, [2, 3]);
    assert_eq!(numbers(labels().filter(|label| label.text.eq("text 1").or(label.price.eq(30))).boxed()).await?, [1, 3]);
    // The filter is evaluated on the entities that the index rows point to.
    assert_eq!(numbers(Label::by_color("s").filter(|label| label.price.le(10)).boxed()).await?, [1]);
    assert_eq!(numbers(Label::by_shade("red").filter(|label| label.price.ge(20)).boxed()).await?, [2, 3]);
    let copies = Label::by_paint("red").filter(|label| label.price.ge(20)).all(tables).await?;
    assert_eq!(copies.iter().map(|copy| (copy.number, copy.size)).collect::<Vec<_>>(), [(2, 2), (3, 2)]);
    assert_eq!(labels().filter(|label| label.price.ge(20)).count(tables).await?, 2);
    assert_eq!(labels().filter(|label| label.price.ge(20)).delete_all(tables).await?.written, 2);
    Ok(())
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Label)]
struct Priced {
    number: u32,
    text: String,
    price: u32,
    note: Option<String>,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Label)]
struct Texts<'a> {
    text: &'a str,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Label)]
struct Text {
    number: u32,
    text: String,
}

async fn projections_read_rows_of_every_version(store: &Store) -> Result<()> {
    let tables = &store.tables;
    labels(store).await?;
    let priced = |number| {
        let LabelV1 { text, price, note, .. } = label_v1(number);
        Priced { number, text, price, note }
    };
    let all = [priced(1), priced(2), priced(3)];
    assert_eq!(Label::by_key("s").select::<Priced>().all(tables).await?, all);
    assert_eq!(Label::by_color("s").select::<Priced>().all(tables).await?, all);
    assert_eq!(Label::by_shade("red").select::<Priced>().all(tables).await?, all);
    assert_eq!(Label::by_paint("red").select::<Priced>().all(tables).await?, all);
    assert_eq!(Label::by_key("s").filter(|label| label.price.ge(30)).select::<Priced>().all(tables).await?, all[2..]);
    assert_eq!(Label::key("s", 1).select::<Priced>().get(tables).await?.as_ref(), all.first());
    // Index rows that hold the text have no version.
    let texts = Label::by_color("s").select::<Text>().all(tables).await?;
    assert_eq!(texts, [1, 2, 3].map(|number| Text { number, text: format!("text {number}") }));
    let mut texts = Vec::new();
    let each = |Texts { text }: Texts<'_>| texts.push(text.to_owned());
    Label::by_key("s").select::<Texts<'_>>().for_each(tables, each).await?;
    assert_eq!(texts, ["text 1", "text 2", "text 3"]);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Prices", entity = "Price")]
struct PriceV1 {
    #[partition_key]
    shop: String,
    #[row_key]
    number: u32,
    cents: u32,
    note: Option<String>,
    tone: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Prices", entity = "Price", version = 2, from = PriceV1)]
struct Price {
    #[partition_key]
    shop: String,
    #[row_key]
    number: u32,
    cents: u32,
    note: Option<String>,
    tone: Option<String>,
    weight: u32,
}

impl From<PriceV1> for Price {
    fn from(PriceV1 { shop, number, cents, note, tone }: PriceV1) -> Self {
        Self { shop, number, cents, note, tone: Some(tone), weight: 9 }
    }
}

async fn patches_set_properties_in_rows_of_every_version(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Price>().await?;
    let first = PriceV1 { shop: "s".to_owned(), number: 1, cents: 5, note: None, tone: "low".to_owned() };
    tables.insert(&first).await?;
    tables.insert(&Price { number: 2, ..first.clone().into() }).await?;
    for number in [1, 2] {
        tables.patch(Price::key("s", number), |price| price.cents.set(77)).await?;
        tables.transaction().patch(Price::key("s", number), |price| price.note.set("in")).commit().await?;
        let price = Price::key("s", number).get(tables).await?.expect("the price");
        assert_eq!((price.cents, price.note.as_deref(), price.weight), (77, Some("in"), 9));
        let etag = Stored::etag(&price).clone();
        tables.patch_if(Price::key("s", number), &etag, |price| price.note.set("out")).await?;
    }
    // The row has kept its version, and the older struct reads it.
    let rows = store.rows("Prices").await?;
    let versions: Vec<_> = rows.iter().map(|row| row.properties.get("EntityVersion")).collect();
    assert_eq!(versions, [None, Some(ValueRef::Int32(2))]);
    let read = PriceV1::key("s", 1).get(tables).await?.expect("the price");
    assert_eq!(*read, PriceV1 { cents: 77, note: Some("out".to_owned()), ..first });

    store.probe.requests();
    let key = || Price::key("s", 2);
    let no_weight = "rows of version 1 have no property `Weight`: write `modify`";
    refuses(tables.patch(key(), |price| [price.cents.set(1), price.weight.set(1)]).await, no_weight);
    refuses(tables.transaction().patch(key(), |price| price.weight.set(1)).commit().await, no_weight);
    // An `Option` is another type.
    let tone = "rows of version 1 store `Tone` as Edm.String, unlike those of version 2, which store it as an optional Edm.String";
    refuses(tables.patch(key(), |price| price.tone.set("high")).await, tone);
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

#[derive(Projection, Debug)]
#[projection(of = Label)]
#[allow(dead_code)]
struct Weighed {
    text: String,
    weight: u32,
}

#[derive(Projection, Debug)]
#[projection(of = LabelV2)]
#[allow(dead_code)]
struct Moods {
    mood: String,
}

#[derive(Projection, Debug)]
#[projection(of = LabelV2)]
#[allow(dead_code)]
struct Tones {
    tone: Option<String>,
}

/// Checks that the result is an error of the query that contains this text.
#[track_caller]
fn refuses<T: std::fmt::Debug>(result: TableResult<T>, text: &str) {
    match result {
        Err(Error::Query(error)) => assert!(error.to_string().contains(text), "{error}"),
        other => panic!("{other:?} instead of {text}"),
    }
}

async fn what_an_older_version_stores_otherwise_is_refused_before_a_request(store: &Store) -> Result<()> {
    let tables = &store.tables;
    labels(store).await?;
    store.probe.requests();
    let (labels, key) = (|| Label::by_key("s"), || Label::key("s", 3));
    let no_weight = "rows of version 2 have no property `Weight`";
    refuses(labels().filter(|label| label.weight.ge(1)).all(tables).await, no_weight);
    refuses(labels().filter(|label| label.price.ge(1).and(label.weight.ge(1))).count(tables).await, no_weight);
    refuses(labels().select::<Weighed>().first(tables).await, no_weight);
    refuses(key().select::<Weighed>().get(tables).await, no_weight);
    refuses(Label::by_shade("red").select_unchecked::<Weighed>().all(tables).await, no_weight);
    refuses(labels().select::<Weighed>().page(tables, 1, None).await, no_weight);
    let size = "rows of version 2 store `Size` as Edm.String, unlike those of version 3, which store it as Edm.Int64";
    refuses(labels().filter(|label| label.size.ge(1)).all(tables).await, size);
    let mood = "rows of version 1 store `Mood` as an optional Edm.String, unlike those of version 3, which store it as Edm.String";
    refuses(labels().filter(|label| label.mood.eq("")).all(tables).await, mood);
    refuses(LabelV2::by_key("s").select::<Moods>().all(tables).await, "rows of version 1 store `Mood`");
    refuses(LabelV2::by_key("s").select::<Tones>().all(tables).await, "rows of version 1 store `Tone`");
    assert_eq!(store.probe.requests(), 0);
    // The error says what to do instead.
    let filtered = labels().filter(|label| label.weight.ge(1)).all(tables).await;
    refuses(filtered, "read the entities, which converts them, and filter what was read");
    Ok(())
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
struct ColorsV1 {
    front: String,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
struct Colors {
    #[serde(default)]
    back: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Shapes", entity = "Shape")]
struct ShapeV1 {
    #[partition_key]
    shop: String,
    #[row_key]
    number: u32,
    #[property(json)]
    colors: ColorsV1,
    #[property(json)]
    tags: Vec<String>,
    #[property(text)]
    address: std::net::Ipv4Addr,
    rating: Option<u32>,
    #[property(default)]
    stars: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Shapes", entity = "Shape", version = 2, from = ShapeV1)]
struct Shape {
    #[partition_key]
    shop: String,
    #[row_key]
    number: u32,
    #[property(json)]
    colors: Colors,
    #[property(json)]
    tags: Vec<String>,
    #[property(text)]
    address: std::net::IpAddr,
    #[property(default)]
    rating: u32,
    #[property(default)]
    stars: u32,
}

impl From<ShapeV1> for Shape {
    fn from(ShapeV1 { shop, number, colors, tags, address, rating, stars }: ShapeV1) -> Self {
        let (colors, address) = (Colors { back: colors.front }, address.into());
        Self { shop, number, colors, tags, address, rating: rating.unwrap_or(5), stars }
    }
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Shape)]
struct Tagged {
    tags: Vec<String>,
    stars: u32,
}

#[derive(Projection, Debug)]
#[projection(of = Shape)]
#[allow(dead_code)]
struct Rated {
    rating: u32,
}

async fn other_types_and_defaults_are_refused(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Shape>().await?;
    let (colors, tags) = (ColorsV1 { front: "red".into() }, vec!["new".to_owned()]);
    let address = std::net::Ipv4Addr::LOCALHOST;
    tables.insert(&ShapeV1 { shop: "s".into(), number: 1, colors, tags, address, rating: None, stars: 0 }).await?;
    let shapes = || Shape::by_key("s");
    let read = Shape::key("s", 1).get(tables).await?.expect("the shape");
    assert_eq!((read.rating, read.colors.back.as_str()), (5, "red"));
    assert_eq!(shapes().select::<Tagged>().all(tables).await?, [Tagged { tags: vec!["new".into()], stars: 0 }]);
    tables.patch(Shape::key("s", 1), |shape| shape.tags.set(vec![])).await?;

    store.probe.requests();
    // A default that a conversion does not use.
    refuses(shapes().select::<Rated>().all(tables).await, "rows of version 1 without `Rating` have another default");
    refuses(shapes().filter(|shape| shape.rating.ge(1)).all(tables).await, "have another default");
    // JSON and texts of other types.
    let json = "ColorsV1`, unlike those of version 2, which store it as";
    refuses(tables.patch(Shape::key("s", 1), |shape| shape.colors.set(Colors::default())).await, json);
    let text = "as Edm.String of a `core::net::ip_addr::Ipv4Addr`, unlike those of version 2";
    refuses(tables.patch(Shape::key("s", 1), |shape| shape.address.set(std::net::IpAddr::from(address))).await, text);
    assert_eq!(store.probe.requests(), 0);
    Ok(())
}

/// A version that reads only the first one, not the second.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Labels", entity = "Label", version = 3, from = LabelV1)]
struct Leaping {
    #[partition_key]
    shop: String,
    #[row_key(prefix = "n-")]
    number: u32,
    text: String,
}

impl From<LabelV1> for Leaping {
    fn from(LabelV1 { shop, number, text, .. }: LabelV1) -> Self {
        Self { shop, number, text }
    }
}

#[derive(Projection, Debug)]
#[projection(of = Leaping)]
struct LeapingText {
    text: String,
}

async fn a_version_that_nothing_reads_is_an_error_of_its_row(store: &Store) -> Result<()> {
    let tables = &store.tables;
    labels(store).await?;
    let error = Leaping::by_key("s").select::<LeapingText>().all(tables).await.expect_err("version 2 is not read");
    let Error::Version(error) = error else { panic!("{error}") };
    assert_eq!((error.found, error.known, &error.problem), (2, 3, &VersionProblem::Older));
    let mut errors = 0;
    let found = Leaping::by_key("s").select::<LeapingText>().skip_unreadable(|_| errors += 1).all(tables).await?;
    assert_eq!(found.iter().map(|found| found.text.as_str()).collect::<Vec<_>>(), ["text 1", "text 3"]);
    assert_eq!(errors, 1);
    Ok(())
}
