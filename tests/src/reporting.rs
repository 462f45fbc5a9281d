//! Processes of a job that report their progress line by line, and are killed.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

/// Running process that prints the number of processed entities and a cursor after each page, and its result at the end.
/// It is killed when it is dropped.
#[derive(Debug)]
pub struct Reporting(Child);

impl Reporting {
    /// Starts the process.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(Self(command.spawn().context("the process cannot be started")?))
    }

    /// Reads its reports until it has processed this many entities, then kills it, by `SIGKILL` on Unix. Returns its
    /// cursor.
    ///
    /// # Errors
    /// The process ends before, or reports something else.
    pub fn kill_after(mut self, entities: u32) -> Result<String> {
        let output = BufReader::new(self.0.stdout.take().context("no output")?);
        for line in output.lines() {
            let line = line?;
            let (seen, cursor) = line.split_once(' ').context("entities and a cursor")?;
            if seen.parse::<u32>()? >= entities {
                self.0.kill()?;
                self.0.wait()?;
                return Ok(cursor.to_owned());
            }
        }
        bail!("the process ended by itself");
    }

    /// Waits for the end of the process and returns its last line.
    ///
    /// # Errors
    /// The process fails, or prints nothing.
    pub fn last(mut self) -> Result<String> {
        let output = BufReader::new(self.0.stdout.take().context("no output")?);
        let last = output.lines().last().context("the process wrote nothing")??;
        ensure!(self.0.wait()?.success(), "{last}");
        Ok(last)
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
