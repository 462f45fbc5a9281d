//! Constructors of features that are not enabled: see [`hints`](crate::hints).

#[cfg(not(feature = "azure"))]
use crate::model::hints::FeatureAzure;
#[cfg(not(feature = "embedded"))]
use crate::model::hints::FeatureEmbedded;
#[cfg(not(all(feature = "embedded", feature = "azure")))]
use crate::{client::tables::Tables, model::hints::TableStorage};
#[cfg(not(all(feature = "embedded", feature = "azure")))]
use table_store::Result;

/// Defines constructors whose feature is not enabled.
#[cfg(not(all(feature = "embedded", feature = "azure")))]
macro_rules! missing_feature {
    ($($hint:ident: $name:ident($($argument:ty)?);)*) => {$(
        #[doc(hidden)]
        pub fn $name($(_: $argument)?) -> Result<Self>
        where
            for<'never> TableStorage: $hint,
        {
            unreachable!("no type implements the hint")
        }
    )*};
}

#[cfg(not(feature = "azure"))]
impl Tables {
    missing_feature! {
        FeatureAzure: connect(&str);
    }
}

#[cfg(not(feature = "embedded"))]
impl Tables {
    missing_feature! {
        FeatureEmbedded: open(impl AsRef<std::path::Path>);
        FeatureEmbedded: open_read_only(impl AsRef<std::path::Path>);
        FeatureEmbedded: in_memory();
    }
}
