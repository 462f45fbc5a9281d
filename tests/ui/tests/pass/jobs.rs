//! The closure of a job may borrow what it changes.

use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(expires = until)]
pub struct Session {
    #[partition_key]
    pub user: String,
    #[row_key]
    pub token: String,
    #[index(device, same_partition)]
    pub device: String,
    pub until: std::time::SystemTime,
}

#[derive(TableEntity)]
#[table(name = "Logins")]
pub struct Login {
    #[partition_key]
    pub user: String,
    #[row_key]
    pub token: String,
}

impl From<Session> for Login {
    fn from(session: Session) -> Self {
        Self { user: session.user, token: session.token }
    }
}

pub async fn run(tables: &Tables) -> Result<usize> {
    let (mut pages, mut entities) = (0, 0);
    drop(tables.verify::<Session>().progress(|_| pages += 1).await?);
    tables.repair::<Session>().progress(|_| pages += 1).await?;
    tables.backfill::<Session>("device").progress(|_| pages += 1).await?;
    tables.sweep::<Session>().progress(|progress| entities = progress.removed).await?;
    tables.migrate::<Session, Login>().progress(|_| pages += 1).await?;
    tables.drop_moved::<Session>().progress(|_| pages += 1).await?;
    tables.drop_index::<Session>("device").progress(|_| pages += 1).await?;
    Ok(pages + entities)
}

/// All options of each job.
pub async fn options(tables: &Tables, cursor: &str) -> Result<()> {
    let verify = tables.verify::<Session>().side_by_side(4).resume_from(cursor)?.memory(1 << 20).partitions("a".."b");
    drop(verify.await?);
    drop(tables.verify::<Session>().sample(10).seed(1).side_by_side(4).partitions("a"..).await?);
    let repair = tables.repair::<Session>().side_by_side(4).resume_from(cursor)?.memory(1 << 20);
    repair.partitions(String::from("a")..).await?;
    let backfill = tables.backfill::<Session>("device").side_by_side(4).resume_from(cursor)?.memory(1 << 20);
    backfill.dry_run().await?;
    let sweep = tables.sweep::<Session>().side_by_side(4).resume_from(cursor)?.dry_run().partitions(..="b");
    sweep.shard(0, 3).await?;
    tables.migrate::<Session, Login>().side_by_side(4).resume_from(cursor)?.memory(1 << 20).copy_only().await?;
    tables.drop_moved::<Session>().side_by_side(4).await?;
    let mut read = 0;
    let delete = tables.delete_all((Session::by_key("a"), Login::by_key("a"))).side_by_side(4).dry_run();
    delete.progress(|progress| read = progress.read).await?;
    Session::by_key("a").delete_all(tables).dry_run().await?;
    tables.drop_index::<Session>("device").side_by_side(4).await?;
    Ok(())
}

/// A job without a closure, or with one that owns what it needs, is a task.
pub fn task(tables: Tables) -> Box<dyn Future<Output = Result<()>> + Send> {
    Box::new(async move {
        tables.repair::<Session>().progress(|progress| println!("{progress:?}")).await?;
        Ok(())
    })
}
