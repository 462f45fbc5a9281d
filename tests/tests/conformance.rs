//! The conformance suite: what the documentation promises, on every backend.
//!
//! Each case is written once and run in memory, on disk, on Azurite, and on the live account of
//! `AZURE_TABLES_CONNECTION_STRING` where it is set.

#[path = "conformance/entities.rs"]
mod entities;
#[path = "conformance/filters.rs"]
mod filters;
#[path = "conformance/keys.rs"]
mod keys;
#[path = "conformance/pages.rs"]
mod pages;
#[path = "conformance/points.rs"]
mod points;
#[path = "conformance/properties.rs"]
mod properties;
#[path = "conformance/ranges.rs"]
mod ranges;
#[path = "conformance/requests.rs"]
mod requests;
#[path = "conformance/writes.rs"]
mod writes;

/// Makes a test of each case for each backend.
macro_rules! conformance {
    ($($case:ident)*) => {$(
        mod $case {
            crate::conformance!(@on memory Memory $case);
            crate::conformance!(@on disk Disk $case);
            crate::conformance!(@on azurite Azurite $case);
            crate::conformance!(@on live Live $case);
        }
    )*};
    (@on $name:ident $kind:ident $case:ident) => {
        #[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            let Some(store) = tests::stores::Kind::$kind.open()? else { return Ok(()) };
            let result = super::$case(&store).await;
            store.clean().await?;
            result
        }
    };
}

pub(crate) use conformance;
