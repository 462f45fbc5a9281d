//! A fake of the tables by a trait.

use table_runtime::{Result, Tables};

async fn sign_up(tables: &impl Tables) -> Result<()> {
    let _ = tables;
    Ok(())
}

fn main() {}
