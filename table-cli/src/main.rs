//! The command `tables`: looks into a store, and moves its rows, without the entities' types.

mod arguments;
mod copy;
mod csv;
mod cursor;
mod derive;
mod dump;
mod dumped;
mod events;
mod export;
mod failure;
mod import;
mod input;
mod list;
mod options;
mod progress;
mod rows;
mod show;
mod store;
mod sweep;
mod verify;

use std::{io, process::ExitCode};

use clap::{CommandFactory, FromArgMatches};

use arguments::{Arguments, Command, Events};
use failure::Failure;

fn main() -> ExitCode {
    let matches = match Arguments::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Failure::from(error).report(),
    };
    match runtime.block_on(run(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Reports an error of the arguments in one line. Prints the help or the version if it was asked for.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nobody is left to whom a failure could be reported.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // The first paragraph is the error, and the others repeat the usage.
    let text = error.render().to_string();
    let lines = text.split("\n\n").next().unwrap_or_default().lines().map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    // The error quotes an argument, or a part of one, which need not be the store's.
    if store::holds_setting(&line) {
        return Failure::input(
            "a connection string is given where none is expected; give the store with --store; see `tables --help`",
        )
        .report();
    }
    Failure::input(format!("{}; see `tables --help`", line.trim_start_matches("error: ").trim_end_matches([':', '.'])))
        .report()
}

async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { store, command } = arguments;
    let mut out = io::stdout().lock();
    match command {
        Command::List { rows } => list::list(&store.open_read_only()?, rows, &mut out).await,
        Command::Show(show) => show::show(&store.open_read_only()?, &show, &mut out).await,
        Command::Get { table, partition, row } => {
            show::get(&store.open_read_only()?, &table, &partition, &row, &mut out).await
        }
        Command::Count(rows) => show::count(&store.open_read_only()?, &rows, &mut out).await,
        Command::Export(export) => export::export(&store.open_read_only()?, &export, &mut out).await,
        Command::Import(import) => import::import(&store.open()?, &import).await,
        Command::Copy(copy) => copy::copy(&store, &copy).await,
        Command::Dump(dump) => dump::dump(&store.open_read_only()?, &dump).await,
        Command::Load(load) => dump::load(&store, &load).await,
        Command::Derive(derive) => derive::derive(&store.open_read_only()?, &derive, &mut out).await,
        Command::Open { file } => store.repair(file.as_deref()),
        Command::Compact => store.compact(&mut out),
        Command::Sweep(sweep) => {
            let store = if sweep.writing.dry_run { store.open_read_only()? } else { store.open()? };
            sweep::sweep(&store, &sweep, &mut out).await
        }
        Command::Events(events) => {
            let store = if matches!(events, Events::List { .. }) { store.open_read_only()? } else { store.open()? };
            events::events(&store, &events, &mut out).await
        }
        Command::Verify(verify) => verify::verify(&store.open_read_only()?, &verify, &mut out).await,
    }
}
