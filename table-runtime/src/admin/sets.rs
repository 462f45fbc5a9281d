//! Setup and jobs of all entities of a set.

use table_model::{EntitySet, TableEntity, unstable::entity::VisitEntities};
use table_store::{Result, backend::BoxFuture};

use crate::{
    admin::{
        create::Create,
        jobs::{Repaired, Swept, Verified},
    },
    client::tables::Tables,
    write::index::Schema,
};

/// The entities of a set, in their order.
#[derive(Default)]
struct Schemas(Vec<Schema>);

impl VisitEntities for Schemas {
    fn entity<E: TableEntity>(&mut self) {
        self.0.push(Schema::of::<E>());
    }
}

impl Schemas {
    fn of<S: EntitySet>() -> Vec<Schema> {
        let mut schemas = Self::default();
        S::visit(&mut schemas);
        schemas.0
    }
}

/// Results of a job over the entities of a set: for each, its name in the catalog and the result, in the order of the set.
pub type OfEntities<T> = Vec<(&'static str, T)>;

impl Tables {
    /// Creates the tables of all entities of a set, as [`create`](Self::create) does one after the other. Await it.
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Customer { #[partition_key] tenant: String, #[row_key] id: u32 }
    /// # #[derive(TableEntity)]
    /// # struct Order { #[partition_key] tenant: String, #[row_key] id: u32 }
    /// /// The entities of the program.
    /// type Shop = (Customer, Order);
    ///
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// tables.create_all::<Shop>().await?;
    /// for (entity, verified) in tables.verify_all::<Shop>().await? {
    ///     println!("{entity}: {} findings", verified.findings.len());
    /// }
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of [`create`](Self::create). The entities before the one that is refused are created.
    pub fn create_all<S: EntitySet>(&self) -> Create {
        self.create_schemas(Schemas::of::<S>())
    }

    /// [Verifies](Self::verify) all entities of a set, one after the other, and returns the result of each, with its name.
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify); the first one ends it.
    pub fn verify_all<S: EntitySet>(&self) -> BoxFuture<'static, Result<OfEntities<Verified>>> {
        self.each(Schemas::of::<S>(), |tables, schema| tables.verify_schema(schema).into_future())
    }

    /// [Repairs](Self::repair) all entities of a set, one after the other, and returns the result of each, with its name.
    ///
    /// # Errors
    /// Those of [`repair`](Self::repair); the first one ends it.
    pub fn repair_all<S: EntitySet>(&self) -> BoxFuture<'static, Result<OfEntities<Repaired>>> {
        self.each(Schemas::of::<S>(), |tables, schema| tables.repair_schema(schema).into_future())
    }

    /// [Sweeps](Self::sweep) those entities of a set that can expire, one after the other, and returns the result of each,
    /// with its name. It leaves bins as they are: [`deleted_before`](crate::jobs::Job::deleted_before) empties that of one
    /// entity.
    ///
    /// # Errors
    /// Those of [`sweep`](Self::sweep); the first one ends it.
    pub fn sweep_all<S: EntitySet>(&self) -> BoxFuture<'static, Result<OfEntities<Swept>>> {
        let mut schemas = Schemas::of::<S>();
        schemas.retain(|schema| schema.lifecycle.expires.is_some());
        self.each(schemas, |tables, schema| tables.sweep_schema::<()>(schema).into_future())
    }

    fn each<T: Send + 'static>(
        &self,
        schemas: Vec<Schema>,
        run: fn(&Self, Schema) -> BoxFuture<'static, Result<T>>,
    ) -> BoxFuture<'static, Result<OfEntities<T>>> {
        let tables = self.clone();
        Box::pin(async move {
            let mut results = Vec::new();
            for schema in schemas {
                results.push((schema.entity, run(&tables, schema).await?));
            }
            Ok(results)
        })
    }
}
