//! The programs that tests start as processes of their own, and kill: `program NAME ARGUMENTS`.

mod deployed;
mod filler;
mod loader;
mod mover;
mod reader;
mod relayer;

use std::env;

use anyhow::{Context, Result, bail};

/// Arguments of a program.
struct Arguments(env::Args);

impl Arguments {
    /// Returns the next argument.
    fn next(&mut self, what: &'static str) -> Result<String> {
        self.0.next().context(what)
    }

    /// Returns the next argument, if there is one.
    fn optional(&mut self) -> Option<String> {
        self.0.next()
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = Arguments(env::args());
    arguments.next("the path of this program")?;
    match &*arguments.next("the name of a program")? {
        "deployed" => deployed::run(arguments).await,
        "filler" => filler::run(arguments).await,
        "loader" => loader::run(arguments).await,
        "mover" => mover::run(arguments).await,
        "reader" => reader::run(arguments).await,
        "relayer" => relayer::run(arguments).await,
        name => bail!("there is no program `{name}`"),
    }
}
