pub mod of_options {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Options`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Options", partition = "a")]
pub struct OptionRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_strings {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Strings`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Strings", partition = "a")]
pub struct StringRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_vecs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Vecs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Vecs", partition = "a")]
pub struct VecRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_guids {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Guids`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Guids", partition = "a")]
pub struct GuidRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_tableentities {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `TableEntities`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "TableEntities", partition = "a")]
pub struct TableEntityRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_tableentity {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `TableEntity`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "TableEntity", partition = "a")]
pub struct TableEntityRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_systemtimes {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `SystemTimes`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "SystemTimes", partition = "a")]
pub struct SystemTimeRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_results {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Results`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Results", partition = "a")]
pub struct Result {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_boxes {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Boxes`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Boxes", partition = "a")]
pub struct Boxe {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_somes {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Somes`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Somes", partition = "a")]
pub struct Some {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_nones {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Nones`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Nones", partition = "a")]
pub struct None {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_oks {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Oks`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Oks", partition = "a")]
pub struct Ok {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_errs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Errs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Errs", partition = "a")]
pub struct Err {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_clones {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Clones`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Clones", partition = "a")]
pub struct Clone {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_debugs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Debugs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Debugs", partition = "a")]
pub struct Debug {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_copies {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Copies`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Copies", partition = "a")]
pub struct Copy {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_defaults {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Defaults`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Defaults", partition = "a")]
pub struct Default {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_sends {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Sends`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Sends", partition = "a")]
pub struct Send {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_syncs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Syncs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Syncs", partition = "a")]
pub struct Sync {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_sizeds {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Sizeds`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Sizeds", partition = "a")]
pub struct Sized {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_drops {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Drops`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Drops", partition = "a")]
pub struct Drop {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_fns {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Fns`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Fns", partition = "a")]
pub struct FnRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_iterators {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Iterators`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Iterators", partition = "a")]
pub struct Iterator {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_froms {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Froms`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Froms", partition = "a")]
pub struct From {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_intos {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Intos`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Intos", partition = "a")]
pub struct Into {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_asrefs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `AsRefs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "AsRefs", partition = "a")]
pub struct AsRef {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_tostrings {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `ToStrings`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "ToStrings", partition = "a")]
pub struct ToString {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_partialeqs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `PartialEqs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "PartialEqs", partition = "a")]
pub struct PartialEq {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_eqs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Eqs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Eqs", partition = "a")]
pub struct Eq {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_ords {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Ords`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Ords", partition = "a")]
pub struct Ord {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_hashes {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Hashes`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Hashes", partition = "a")]
pub struct Hashe {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_strs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Strs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Strs", partition = "a")]
pub struct Str {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_cows {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Cows`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Cows", partition = "a")]
pub struct Cow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_arcs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Arcs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Arcs", partition = "a")]
pub struct Arc {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_futures {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Futures`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Futures", partition = "a")]
pub struct Future {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_streams {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Streams`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Streams", partition = "a")]
pub struct Stream {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_ticks {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Ticks`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Ticks", partition = "a")]
pub struct Tick {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_values {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Values`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Values", partition = "a")]
pub struct Value {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_properties {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Properties`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Properties", partition = "a")]
pub struct PropertyRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_etags {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `ETags`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "ETags", partition = "a")]
pub struct ETag {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_stored {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Stored`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Stored", partition = "a")]
pub struct Stored {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_rows {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Rows`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Rows", partition = "a")]
pub struct Row {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_points {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Points`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Points", partition = "a")]
pub struct Point {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_keys {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Keys`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Keys", partition = "a")]
pub struct Key {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_columns {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Columns`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Columns", partition = "a")]
pub struct Column {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_queries {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Queries`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Queries", partition = "a")]
pub struct Query {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_filters {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Filters`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Filters", partition = "a")]
pub struct Filter {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_errors {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Errors`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Errors", partition = "a")]
pub struct Error {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_infos {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Infos`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Infos", partition = "a")]
pub struct Info {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_layouts {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Layouts`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Layouts", partition = "a")]
pub struct Layout {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_selfs {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Selfs`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Selfs", partition = "a")]
pub struct SelfRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_self {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Self`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Self", partition = "a")]
pub struct SelfRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_types {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Types`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Types", partition = "a")]
pub struct TypeRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_matches {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Matches`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Matches", partition = "a")]
pub struct Matche {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_statics {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Statics`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Statics", partition = "a")]
pub struct StaticRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_crates {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Crates`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Crates", partition = "a")]
pub struct CrateRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_supers {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Supers`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Supers", partition = "a")]
pub struct SuperRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_traits {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Traits`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Traits", partition = "a")]
pub struct TraitRow {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_statuses {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Statuses`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Statuses", partition = "a")]
pub struct Statuse {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_news {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `News`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "News", partition = "a")]
pub struct New {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_data {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Data`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Data", partition = "a")]
pub struct Data {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_category {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Category`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Category", partition = "a")]
pub struct Category {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_categories {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Categories`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Categories", partition = "a")]
pub struct Category {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_a1b {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `a1b`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "a1b", partition = "a")]
pub struct A1b {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_upper {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `UPPER`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "UPPER", partition = "a")]
pub struct Upper {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_lower {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `lower`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "lower", partition = "a")]
pub struct Lower {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
pub mod of_log202611 {
use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Log202611`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Log202611", partition = "a")]
pub struct Log202611 {
    #[row_key]
    pub row: String,
    pub text: Option<String>,
    pub bytes: Option<Vec<u8>>,
    pub id: Option<Guid>,
    pub at: Option<SystemTime>,
}
}
