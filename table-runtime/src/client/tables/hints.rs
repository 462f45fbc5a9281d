//! Constructors that users of other libraries expect, and those of missing features: see [`hints`](crate::hints).

#[cfg(not(feature = "azure"))]
use crate::model::hints::FeatureAzure;
#[cfg(not(feature = "embedded"))]
use crate::model::hints::FeatureEmbedded;
use crate::{
    client::tables::Tables,
    model::hints::{Connect, TableStorage},
};
use table_store::Result;

/// Defines constructors that cannot be called.
macro_rules! missing_constructor {
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
    missing_constructor! {
        FeatureAzure: connect(&str);
    }
}

#[cfg(not(feature = "embedded"))]
impl Tables {
    missing_constructor! {
        FeatureEmbedded: open(impl AsRef<std::path::Path>);
        FeatureEmbedded: open_read_only(impl AsRef<std::path::Path>);
        FeatureEmbedded: in_memory();
    }
}

impl Tables {
    missing_constructor! {
        Connect: from_connection_string(&str);
        Connect: emulator();
        Connect: azurite();
        Connect: development();
        Connect: from_env();
        Connect: memory();
    }
}
