//! Azure Table storage, through `azure_data_tables`.
/// The service.
#[derive(Debug)]
pub struct AzureBackend;
/// Builds one.
#[derive(Debug)]
pub struct AzureBuilder;
