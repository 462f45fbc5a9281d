//! Constructors that users of other libraries expect, and those of missing features: see
//! [`hints`](table_store::unstable::hints).

#[cfg(not(feature = "azure"))]
use crate::model::hints::FeatureAzure;
#[cfg(not(feature = "embedded"))]
use crate::model::hints::FeatureEmbedded;
use crate::{
    client::tables::Tables,
    model::hints::{Connect, missing},
};

#[cfg(not(feature = "azure"))]
impl Tables {
    missing! { static FeatureAzure: connect(_) }
}

#[cfg(not(feature = "embedded"))]
impl Tables {
    missing! { static FeatureEmbedded: open(_), open_read_only(_), in_memory() }
}

impl Tables {
    missing! {
        static Connect:
            from_connection_string(_), emulator(), azurite(), development(), from_env(), memory(), builder()
    }
}
