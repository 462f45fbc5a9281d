use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, Clone)]
#[table(name = "Accounts")]
#[index(richest, partition(user), row(reverse(balance)), copy)]
struct Account {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, lowercase, same_partition)]
    name: String,
    #[index(email, lowercase, unique)]
    email: Option<String>,
    balance: i64,
    nick: Option<String>,
    open: bool,
}

async fn run(tables: Tables) -> Result<()> {
    tables.create::<Account>().await?;
    let account = Account {
        user: "Marcus".into(),
        id: 1,
        name: "Savings".into(),
        email: None,
        balance: 0,
        nick: None,
        open: true,
    };
    tables.insert(&account).await?;
    let login = Account::by_email("marcus@example.com").get(&tables).await?;
    println!("{}", login.expect("it is there").balance);
    let travel = Account::by_name("Marcus").starts_with("tra").all(&tables).await?;
    println!("{}", travel.len());
    Ok(())
}

fn main() {}
