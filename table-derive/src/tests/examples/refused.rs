//! What the derives refuse. The snapshot has the messages for each item.

// Attributes: catalog name.

#[derive(TableEntity)]
#[table(entity = "")]
struct Empty { #[partition_key] #[row_key] id: u32 }

#[derive(TableEntity)]
#[table(was = "Same")]
struct Same { #[partition_key] #[row_key] id: u32 }

#[derive(TableEntity)]
#[table(was = "Person", entity = "Person")]
struct Human { #[partition_key] #[row_key] id: u32 }

// Attributes: conflicting encodings.

#[derive(TableEntity)]
struct Post {
    #[partition_key(lowercase, uppercase)] author: String,
    #[row_key(time, reverse_time)] posted: std::time::SystemTime,
    #[row_key(reverse, time)] edited: std::time::SystemTime,
    #[row_key(lowercase, pad = 8)] id: u32,
    #[row_key(raw, first = 3)] title: String,
    #[row_key(scale = 2, lowercase)] price: rust_decimal::Decimal,
    #[row_key(scale = 2, time)] sold: rust_decimal::Decimal,
    #[row_key(scale = 29)] rate: rust_decimal::Decimal,
}

// Attributes: constants.

#[derive(TableEntity)]
#[table(partition = "author", row = "id", prefix = "dev")]
struct Post {
    author: String,
    id: u32,
    #[property(was = "Heading")] title: String,
    #[property(precision = 2)] price: f64,
    #[property(references = "Makers")] maker: u32,
}

#[derive(TableEntity)]
#[table(partition = hash(id, 16), expires = until, after = 3600)]
#[index(joined, same_partition, row(joined: reverse_time))]
#[index(late, same_partition, row(joined, reverse_time))]
#[index(months, same_partition, row(month(joined)))]
#[index(all, partition(), row(joined))]
struct User {
    #[row_key(reverse, name)] id: u32,
    #[index(sku, unique(shop))] sku: String,
    joined: std::time::SystemTime,
    until: std::time::SystemTime,
}

#[derive(TableEntity)]
#[table(version = 2, from = Parcel)]
struct Parcel { #[partition_key] depot: String, #[row_key] id: u32 }

// Attributes: derived partition.

#[derive(TableEntity)]
struct Hashed { #[partition_key(hash = 16)] #[row_key(lowercase)] name: String }

// Attributes: duplicates.

#[derive(TableEntity)]
#[table(name = "Posts", kind)]
#[table(name = "Articles")]
struct Post {
    #[partition_key] #[partition_key(lowercase)] author: String,
    #[row_key(pad = 8, pad = 9)] id: u32,
}

// Attributes: of another place.

#[derive(TableEntity)]
#[table(default, rename_all(serialize = "camelCase"), json)]
struct Post {
    #[partition_key] author: String,
    #[row_key(kind = "post")] id: u32,
    #[property(ts_seconds)] seconds: i64,
    #[property(unique)] title: String,
}

#[derive(TableEntity)]
#[table(partition(tenant, project))]
struct Task { tenant: String, project: String, #[row_key] id: u32 }

#[derive(Property)]
#[property(transparent)]
struct Cents(u32);

#[derive(Property)]
struct Tags(#[property(json)] u32);

#[derive(Property)]
enum State { #[table(rename = "open")] Open, #[table(name = "closed")] Closed }

#[derive(Property)]
#[table(rename_all_fields = "camelCase")]
enum Payment { Invoice(#[property(rename = "InvoiceNumber")] String), Cash }

#[derive(EntityGroup)]
enum Notes { #[table(kind = "Note")] Note(Note), Comment(Comment) }

// Attributes: of other libraries.

#[derive(TableEntity)]
struct Key0 { #[partition_key] author: String, #[row_key(auto)] id: u32 }

#[derive(TableEntity)]
struct Key1 { #[partition_key] author: String, #[row_key(uuid)] id: u32 }

#[derive(TableEntity)]
struct Key2 { #[partition_key] author: String, #[row_key(text)] id: u32 }

#[derive(TableEntity)]
struct Key3 { #[partition_key] author: String, #[row_key(with = "f")] id: u32 }

#[derive(TableEntity)]
struct Key4 { #[partition_key] author: String, #[row_key(map = "f")] id: u32 }

#[derive(TableEntity)]
struct Key5 { #[partition_key] author: String, #[row_key(generated)] id: u32 }

#[derive(TableEntity)]
struct Properties {
    #[partition_key] author: String,
    #[row_key] id: u32,
    #[property(int64)] p0: u32,
    #[property(integer)] p1: u32,
    #[property(max_length = 100)] p2: u32,
    #[property(since = 2)] p3: u32,
    #[property(tag = "kind")] p4: u32,
    #[property(auto_increment)] p5: u32,
    #[property(with = "f")] p6: u32,
    #[property(alias = "Old")] p7: u32,
}

// Attributes: keys that are misspelt.

#[derive(TableEntity)]
#[table(nam = "Posts")]
struct Post { #[partition_key] author: String, #[row_key(padd = 8)] id: u32, title: String }

// Attributes: prefix.

#[derive(TableEntity)]
struct Third {
    #[partition_key] author: String,
    #[row_key(prefix = "id#")] id: u32,
    #[row_key(prefix = "part-")] part: u32,
}

// Attributes: property names.

#[derive(TableEntity)]
#[table(kind, write_id)]
struct Post {
    #[partition_key] #[row_key] id: u32,
    timestamp: u32,
    entity_type: String,
    write_id: String,
    title: String,
    #[property(rename = "Title")] heading: String,
    #[property(rename = "two words")] body: String,
}

#[derive(TableEntity)]
#[table(rename_all = "pascal")]
struct Pascal { #[partition_key] #[row_key] id: u32 }

// Attributes: renamed functions.

#[derive(TableEntity)]
#[table(rename(get = "one", scan = "all rows"))]
struct Post { #[partition_key] author: String, #[row_key] id: u32, likes: u32 }

// Attributes: shapes.

#[derive(TableEntity)]
enum Shape { Circle }

#[derive(TableEntity)]
union Bits { bits: u32 }

#[derive(TableEntity)]
struct Pair(String, u32);

#[derive(TableEntity)]
struct Nothing;

#[derive(TableEntity)]
struct Borrowed<'a> { #[partition_key] author: &'a str, #[row_key] id: u32 }

// Attributes: skip and default.

#[derive(TableEntity)]
struct Options {
    #[partition_key] #[row_key] id: u32,
    #[property(skip, rename = "Cache")] cached: String,
    #[property(json, text)] tags: String,
}

// Attributes: slice.

#[derive(TableEntity)]
#[table(slice = month(att))]
struct Misspelt { #[partition_key] machine: String, #[row_key(time)] at: SystemTime }

#[derive(TableEntity)]
#[table(slice = month(at))]
struct NoKey { #[partition_key] machine: String, #[row_key] number: u32, at: SystemTime }

#[derive(TableEntity)]
#[table(slice = month(at))]
struct Indexed {
    #[partition_key] machine: String,
    #[row_key(time)] at: SystemTime,
    #[index(level, same_partition)] level: u32,
}

// Attributes: table name.

#[derive(TableEntity)]
#[table(name = "tablelayouts")]
#[index(name, table = "TableLayouts")]
struct Layout { #[partition_key] #[row_key] id: u32, name: String }

// Attributes: templates.

#[derive(TableEntity)]
#[table(partition = "{author}")]
struct Post { author: String, #[row_key] id: u32 }

#[derive(TableEntity)]
#[table(row = "{author}-{id}", partition = "all")]
struct Note { author: String, id: u32 }

// Attributes: unknown keys.

#[derive(TableEntity)]
#[table(nam = "Posts", alow_scan)]
struct Post {
    #[partition_key(lowercas)] author: String,
    #[row_key(reverse_tim)] posted: std::time::SystemTime,
    #[property(renam = "Heading")] title: String,
    #[property(lowercase)] slug: String,
    #[property(colour)] body: String,
}

// Attributes: values.

#[derive(TableEntity)]
#[table(name, allow_scan = true, crate = "table_runtime")]
struct Post {
    #[partition_key(first = 0)] author: String,
    #[row_key(pad = "8")] id: u32,
    #[property(rename)] title: String,
    #[property()] body: String,
    #[property = "Url"] url: String,
}

// Groups: shapes.

#[derive(EntityGroup)]
struct Struct { expense: Expense }

#[derive(EntityGroup)]
enum One { Expense(Expense) }

#[derive(EntityGroup)]
enum Fields { Expense(Expense), Two(Expense, Expense), Named { expense: Expense }, None }

#[derive(EntityGroup)]
enum Generic<T> { Expense(Expense), Item(T) }

#[derive(EntityGroup)]
#[table(name = "Expenses")]
enum Named { Expense(Expense), Item(Expense) }

// Indexes: contents.

#[derive(TableEntity)]
#[table(name = "Users")]
struct User {
    #[partition_key] user: String,
    #[row_key] id: u32,
    #[index(name, table = "Names", list)] #[index(names, same_partition, list, unique)] name: String,
    #[index(email, table = "Logins", unique, copy)] email: String,
    #[index(city, copy, include(email))] city: String,
    #[index(street, include(id))] street: String,
    #[index(hash, first = 6, same_partition, unique)] hash: String,
    #[index(raw_hash, raw, same_table)] other_hash: String,
}

#[derive(TableEntity)]
struct Named {
    #[partition_key] user: String,
    #[row_key] id: u32,
    #[index(name, include(emial))] name: String,
    #[index(phone, unique, rename(name = "Name"))] phone: String,
    #[index(email, unique)] email: String,
}

// Indexes: each.

#[derive(TableEntity)]
#[index(inside, partition(author), row(tags(each)))]
#[index(half, partition(each(tags)), row(tags))]
#[index(alone, partition(author), row(each))]
#[index(unknown, partition(author), row(each(tag)))]
#[index(option, partition(author), row(each(tags, lowercas)))]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(each)]
    id: u32,
    #[index(value, each = "tag", same_partition)]
    #[index(many, multi, same_partition)]
    #[property(json)]
    tags: Vec<String>,
    #[index(each, same_partition)]
    #[property(json)]
    others: Vec<String>,
}

// Indexes: each rules.

#[derive(TableEntity)]
#[index(pair, partition(each(tags)), row(each(others, lowercase)))]
#[index(unescaped, partition(author), row(each(tags, raw)))]
#[index(with_title, partition(author), row(each(labels)), include(title))]
#[index(hashed, partition(each(tags, hash = 16)))]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    #[index(listed, each, same_partition, list)]
    #[index(letter, each, first = 1, same_partition, unique)]
    #[property(json)]
    tags: Vec<String>,
    #[property(json)]
    others: Vec<String>,
    #[property(json, large)]
    labels: Vec<String>,
    #[index(absent, each, same_partition)]
    #[property(skip)]
    skipped: Vec<String>,
}

// Indexes: explicit keys.

#[derive(TableEntity)]
#[index(full, partition(name), row(email), same_partition)]
#[index(rows, row(email))]
#[index(folded, lowercase, partition(name))]
struct User {
    #[partition_key] user: String,
    #[row_key] id: u32,
    #[index(name, partition(name), row(email))] name: String,
    email: String,
}

#[derive(TableEntity)]
#[index(spread, partition(name(hash = 4), email))]
struct Spread {
    #[partition_key] user: String,
    #[row_key] id: u32,
    name: String,
    #[index(email, hash = 4)] email: String,
}

// Indexes: hash partitions.

#[derive(TableEntity)]
#[index(city, partition(city(hash = 16)), row(city(lowercase)))]
#[index(mail, partition(mail(hash = 16)), row(mail(lowercase)), unique)]
struct Person {
    #[partition_key] id: u32,
    #[row_key] number: u32,
    city: String,
    #[index(address, hash = 16, lowercase)] mail: String,
}

#[derive(TableEntity)]
struct Member {
    #[partition_key(hash = 16)] id: u32,
    #[row_key] number: u32,
    #[index(name, lowercase, same_partition, unique)] name: String,
}

// Indexes: not a key part.

#[derive(TableEntity)]
struct Player {
    #[partition_key] team: String,
    #[row_key] id: u32,
    #[index(score, same_partition)] score: f64,
    #[index(rating, table = "Ratings")] rating: Option<f64>,
    #[index(again, same_table)] #[property(json)] again: Option<Option<u8>>,
}

// Indexes: of other libraries.

#[derive(TableEntity)]
#[index(best, same_partition, row(-likes))]
#[index(city, same_partition, row(address::city))]
#[index(newest, partition("all"), row(likes))]
#[index(public, same_partition, row(likes), when(is_public, state))]
#[index(town, same_partition, row(each(addresses.city)))]
#[index(domain, same_partition, row(title), map = domain_of)]
struct Post {
    #[partition_key] author: String,
    #[row_key] id: u32,
    likes: u32,
    state: u32,
    address: Address,
    #[property(json)] addresses: Vec<u32>,
    #[index(by_title, same_partition)] title: String,
    #[index(kind, same_partition)] #[index(lowercase)] kind: String,
    #[index(tag, each, same_partition)] tag: String,
}

// Indexes: paths and descending fields.

#[derive(TableEntity)]
#[index(popular, same_partition, row(likes desc))]
#[index(posted, same_partition, row(likes.reverse))]
#[index(shown, same_partition, row(likes), when(!draft))]
#[index(wide, same_partition, row(likes), include(address.city))]
#[index(card, same_partition, row(payment.card.last4))]
#[index(hashed, partition(hash = 16))]
#[index(lower, same_partition, row(lower(title)))]
#[index(address.city, same_partition)]
struct Post {
    #[partition_key] author: String,
    #[row_key] id: u32,
    likes: u32,
    draft: bool,
    title: String,
    address: Address,
    payment: Payment,
    #[index(tag, each(lowercase), same_partition)] #[property(json)] tags: Vec<String>,
}

// Indexes: prefixes.

#[derive(TableEntity)]
#[table(name = "Users")]
struct User {
    #[partition_key] user: String,
    #[row_key] #[index(id, same_table)] id: u32,
    #[index(name, same_partition, prefix = "n-")] #[index(nickname, same_partition, prefix = "n-i-")] name: String,
    #[index(email, table = "Logins", unique)] email: String,
    #[index(phone, table = "Logins", unique)] phone: String,
    #[index(city, table = "Users")] city: String,
}

// Indexes: unique of nothing.

#[derive(TableEntity)]
#[index(name, partition(name), row(tenant, id), unique)]
struct User { #[partition_key] tenant: String, #[row_key] id: u32, name: String }

#[derive(TableEntity)]
#[table(row = "account")]
struct Account { #[partition_key] id: u32, #[index(email, lowercase, unique, same_partition)] email: String }

#[derive(TableEntity)]
struct Post { #[partition_key] #[index(author, same_partition)] author: String, #[row_key] id: u32 }

// Indexes: without each.

#[derive(TableEntity)]
struct Post {
    #[partition_key] author: String,
    #[row_key] id: u32,
    #[index(tag, same_partition)] #[property(json)] tags: Vec<String>,
    #[index(email, unique)] #[property(json)] emails: BTreeSet<String>,
}

// Lifecycle: rules.

#[derive(TableEntity)]
#[table(expires = until, soft_delete = until)]
struct Same { #[partition_key] user: String, #[row_key] id: u32, until: Option<SystemTime> }

#[derive(TableEntity)]
#[table(expires = until)]
struct Key { #[partition_key] user: String, #[row_key] until: SystemTime }

#[derive(TableEntity)]
#[table(soft_delete = deleted)]
struct WithDefault {
    #[partition_key] user: String,
    #[row_key] id: u32,
    #[property(default)] deleted: Option<SystemTime>,
}

#[derive(TableEntity)]
#[table(expires = period.to)]
struct Nested { #[partition_key] user: String, #[row_key] id: u32, period: Period }

#[derive(TableEntity)]
#[table(expires = untill)]
struct Unknown { #[partition_key] user: String, #[row_key] id: u32, until: SystemTime }

// Lifecycle: synonyms.

#[derive(TableEntity)]
#[table(expires)]
struct Token { #[partition_key] user: String, #[row_key] id: u32, until: SystemTime }

// Projections: attributes.

#[derive(Projection)]
#[projection(of = Post)]
struct Headline { #[property(rename = "Title")] title: String, #[projection(rename = "Likes")] likes: u32 }

#[derive(Projection)]
struct OfNone { title: String }

#[derive(Projection)]
#[projection(off = Post)]
struct Misspelt { title: String }

// Projections: refused.

#[derive(Projection)]
#[projection(of = Post)]
struct Title(String);

#[derive(Projection)]
#[projection(of = Post)]
struct Only<T> { title: T }

#[derive(Projection)]
#[projection(of = Post)]
struct Ranked { title: String, #[projection(skip)] rank: u32 }

#[derive(Projection)]
#[projection(of = (Post, Post))]
struct Both { title: String }

// Properties: generic.

#[derive(Property)]
struct Span<T> { from: T, to: T }

#[derive(Property)]
#[property(tag = "kind")]
enum Payment { Card { last4: u16 }, Cash }

// Properties: large attribute.

#[derive(TableEntity)]
struct Order {
    #[partition_key] #[row_key] id: u32,
    #[property(large, text)] note: String,
    #[property(large, scale = 2)] total: u64,
    #[property(large, skip)] body: String,
    #[property(large, prefix = "Text")] text: String,
}

// Properties: scale.

#[derive(TableEntity)]
struct Order {
    #[partition_key] #[row_key] id: u32,
    #[property(scale = 2)] total: f64,
    #[property(scale = 40)] tax: f64,
    #[property(scale = 2, json)] items: Vec<String>,
}

// Spelling: encoding as text.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key("reverse_time")] posted: std::time::SystemTime,
    #[index(title, same_partition)] title: String,
}

// Spelling: encoding in keys as text.

#[derive(TableEntity)]
#[index(newest, partition(title), row(posted("reverse_time")))]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[property] title: String,
}

// Spelling: include as text.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, same_partition, include("posted"))] title: String,
}

// Spelling: index as text.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index("title", same_partition)] title: String,
}

// Spelling: index with equals.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index = "title"] title: String,
}

// Spelling: keys as text.

#[derive(TableEntity)]
#[index(newest, partition("title"), row("posted"))]
#[index(town, same_partition, row("home.town"))]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[property] title: String,
    home: Home,
}

// Spelling: keyword as key of property.

#[derive(TableEntity)]
struct Post {
    #[partition_key] author: String,
    #[row_key] id: u32,
    #[property(type = "Edm.Int64")] likes: u32,
}

// Spelling: number in text.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key("first = 2, lowercase")] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, same_partition)] title: String,
}

// Spelling: options with hyphens.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, same-partition, unique)] title: String,
}

// Spelling: projection of text.

#[derive(Projection)]
#[projection("Post")]
struct Headline { title: String }

// Spelling: property as text.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[property("Headline")] title: String,
}

// Spelling: property flag as text.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[property("json")] title: String,
}

// Spelling: property with equals.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[property = "Headline"] title: String,
}

// Spelling: rename of table.

#[derive(TableEntity)]
#[table(rename = "camelCase")]
struct Post { #[partition_key] author: String, #[row_key] id: u32, likes: u32 }

// Spelling: renames without effect.

#[derive(TableEntity)]
#[table(rename(key = "one", key = "two", scan = "all"))]
struct Post { #[partition_key] author: String, #[row_key] id: u32, likes: u32 }

// Spelling: scope with hyphen.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, same-partition)] title: String,
}

// Spelling: table of index without quotes.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, table = Titles)] title: String,
}

// Spelling: table with colon.

#[derive(TableEntity)]
#[table(name: "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, same_partition)] title: String,
}

// Spelling: table with equals.

#[derive(TableEntity)]
#[table = "Posts"]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, same_partition)] title: String,
}

// Spelling: version as text.

#[derive(TableEntity)]
#[table(version = "2")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, same_partition)] title: String,
}

// Spelling: when as text.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, same_partition, when("title", "is_shown"))] title: String,
}

// Spelling: when with closure.

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[partition_key] author: String,
    #[row_key(reverse_time)] posted: std::time::SystemTime,
    #[index(title, same_partition, when(title, |title: &str| !title.is_empty()))] title: String,
}

// Versions: attributes.

#[derive(TableEntity)]
#[table(version = "2", from = "First")]
struct Quoted { #[partition_key] author: String, #[row_key] id: u32 }

#[derive(TableEntity)]
#[table(version = 2)]
struct Named { #[partition_key] author: String, #[row_key] id: u32, entity_version: u32 }

// Wrappers: names.

#[derive(KeyPart)]
enum Nothing {}

#[derive(KeyPart, Property)]
#[table(rename_all = "snake")]
enum Colour { Red, #[property(renam = "verde")] Green, #[property(rename = "Red")] Blue }

// Wrappers: shapes.

#[derive(KeyPart)]
struct Pair(u32, u32);

#[derive(KeyPart)]
struct Nothing;

#[derive(KeyPart)]
struct Generic<T>(T);

#[derive(Property)]
union Bits { bits: u32 }

// What other libraries have.

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, try_from = PostV1)]
#[table(tenant = "acme", optimistic_lock, renamed_from = "Articles")]
struct Post {
    #[partition_key("all")] author: String,
    #[row_key(format = "{:08}")] id: u32,
    #[partition_key(month)] month: u32,
    #[index(title, starts_with)] title: String,
    #[index(city, nullable)] city: Option<String>,
    #[property(etag)] etag: String,
    #[property(counter)] likes: u32,
    #[property(timestamp)] updated: u64,
}

#[derive(TableEntity)]
#[index(gsi1, pk(city), sk(created))]
struct User { id: u32, email: String, created: u64, city: String }

#[derive(TableEntity)]
struct Shop {
    #[partition_key] city: String,
    #[row_key] number: u32,
    #[index(byOwner, same_partition)] owner: String,
    rank: Rank,
}

#[derive(Property)]
enum State { Open, #[property(other)] Unknown }

#[derive(TableEntity)]
struct Order { customer: String, number: u32, state: State, seller: u32 }

#[derive(TableEntity)]
#[table(version = 3, from = [OrderV1, OrderV2])]
#[index(total, state)]
struct Listed { #[partition_key] customer: String, #[row_key] number: u32, total: u32, state: u32 }

#[derive(TableEntity)]
#[table(version = revision)]
#[index(by_total, pk(total), sk(number))]
struct Counted {
    #[partition_key] customer: String,
    #[row_key] number: u32,
    total: u32,
    #[property(as = i32)] revision: u32,
    etag: table_runtime::ETag,
}

#[derive(TableEntity)]
struct Post { #[partition_key] author: String, #[row_key] id: u32, #[property(ignore)] likes: u32 }

/// Without the name of the entity.
#[derive(Projection)]
struct Login { email: String }

#[derive(EntityGroup)]
enum Account { User(User), None }

#[derive(KeyPart)]
struct Slug(#[row_key(lowercase)] String);

#[derive(TableEntity)]
struct Refused {
    #[partition_key] author: String,
    #[row_key] id: u32,
    #[index(title, each, same_partition)] title: String,
}

#[derive(TableEntity)]
struct Player {
    #[partition_key] team: String,
    #[row_key] id: Option<u32>,
    #[index(name, same_partition)] name: Option<String>,
}

#[derive(TableEntity)]
#[index(free, level, occupied, same_partition)]
struct Space { #[partition_key] garage: String, #[row_key] id: u32, level: u32, occupied: bool }

#[derive(TableEntity)]
struct Task {
    #[partition_key] list: String,
    #[row_key] due: Option<u64>,
    #[index(title, same_partition, fields(title, due))] title: String,
}

#[derive(EntityGroup)]
enum Order { Head { #[partition_key] customer: String, }, Line { #[partition_key] customer: String, } }

#[derive(TableEntity)]
#[index(skill, each(skills), same_partition)]
struct Worker { #[partition_key] tenant: String, #[row_key] id: u32, #[property(json)] skills: Vec<String> }

#[derive(TableEntity)]
#[index(city, partition(address_city))]
struct Customer {
    #[partition_key] tenant: String,
    #[row_key] id: u32,
    address: Address,
    #[index(rating, same_partition)] rating: Option<f64>,
}

#[derive(TableEntity)]
struct User {
    #[partition_key] team: String,
    #[row_key] id: u32,
    #[index(last_name, same_partition)] first_name: String,
    #[index(name, first_name, last_name)] last_name: String,
}

#[derive(Projection, TableEntity)]
#[table(name = "Posts")]
#[projection(of = Post)]
struct Headline { #[row_key] id: u32, title: String }

#[derive(Projection)]
#[projection(of = Customer)]
struct Text { #[projection(path = "address.city")] city: String }

#[derive(TableEntity)]
struct Both {
    #[partition_key] #[row_key] id: u32,
    #[property(prefix = "A", rename = "B")] address: Address,
    #[property(flatten)] other: Address,
}

#[derive(Property)]
struct Pair(u32, String);

#[derive(Property)]
enum Payment { Card(u16, String), Cash }

#[derive(Property)]
struct Nothing { #[property(skip)] nothing: u32 }

#[derive(Property)]
struct Keyed { #[row_key] id: u32, #[index(name)] name: String }

#[derive(Property)]
enum Variants { None, One(u32), #[property(rename = "One")] Two(u32), #[property(other)] Unit }

#[derive(Property)]
enum Commas { #[property(rename = "a, b")] A(u32) }
