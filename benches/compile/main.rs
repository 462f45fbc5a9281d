//! The cost of compiling programs that use the derives, compared with serde's.
//!
//! `cargo bench -p benches --bench compile`. It writes libraries and programs with the same structs, once with
//! `TableEntity` and once with `Serialize` and `Deserialize`. `rustc` compiles both in turns, with the options of
//! `cargo`, so that every slowdown affects both. A time is the processor time of the compiler and the linker.
//!
//! - `-- 20` compiles 20 structs instead of 100.
//! - `-- instructions 10` counts the compiler's instructions with Valgrind, of each work once.
//! - `-- functions 20` prints what the compiler generates for each struct, by function.

mod compiler;
mod functions;
mod programs;

use anyhow::{Context, Result, bail};

use self::{
    compiler::{Compiler, Cost},
    programs::Program,
};

/// Number of structs unless the command line has another.
const STRUCTS: usize = 100;
const ROUNDS: usize = 5;

/// Work whose cost is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// `cargo check` of the structs.
    Check,
    /// `cargo build` of the structs.
    Library,
    /// `cargo build` of a program that contains the structs and uses each of them.
    Program,
}

impl Work {
    const ALL: [Self; 3] = [Self::Check, Self::Library, Self::Program];

    const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Library => "library",
            Self::Program => "program",
        }
    }
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Time,
    Instructions,
    Functions,
}

fn main() -> Result<()> {
    let (mut mode, mut structs) = (Mode::Time, STRUCTS);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--bench" => {}
            "instructions" => mode = Mode::Instructions,
            "functions" => mode = Mode::Functions,
            number => structs = number.parse().with_context(|| format!("{number:?} is no number of structs"))?,
        }
    }
    if structs == 0 {
        bail!("there is nothing to compare without structs");
    }
    let compiler = Compiler::new()?;
    match mode {
        Mode::Functions => functions::print(&compiler, structs),
        Mode::Time => compare(&compiler, structs, ROUNDS, Compiler::seconds),
        Mode::Instructions => compare(&compiler, structs, 1, Compiler::instructions),
    }
}

/// Prints the costs of both programs and their ratios.
fn compare(
    compiler: &Compiler,
    structs: usize,
    rounds: usize,
    measure: fn(&Compiler, Program, Work, usize) -> Result<Cost>,
) -> Result<()> {
    println!("{structs} structs, {}", compiler.version());
    println!("{:<28}{:>16}{:>16}{:>8}", "", "table-runtime", "serde", "ratio");
    for work in Work::ALL {
        let mut costs = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (program, costs) in [Program::Ours, Program::Serde].into_iter().zip(&mut costs) {
                costs.push(measure(compiler, program, work, structs)?);
            }
        }
        let [ours, serde] = costs.map(median);
        println!("{:<28}{ours:>16}{serde:>16}{:>7.2}x", work.name(), ours.value() / serde.value());
    }
    // What all structs share, the library of the store among it, is in the program with half of them as well.
    let half = structs / 2;
    let mut sizes = [(0.0, 0.0); 2];
    for (program, sizes) in [Program::Ours, Program::Serde].into_iter().zip(&mut sizes) {
        let [whole, less] = [structs, half].map(|structs| compiler.size(program, structs).map(kilobytes));
        let whole = whole?;
        *sizes = (whole, (whole - less?) / f64::from(u32::try_from(structs - half)?));
    }
    let [(ours, ours_each), (serde, serde_each)] = sizes;
    println!("{:<28}{ours:>13.0} KB{serde:>13.0} KB{:>7.2}x", "size of the program", ours / serde);
    println!("{:<28}{ours_each:>13.1} KB{serde_each:>13.1} KB{:>7.2}x", "size for each struct", ours_each / serde_each);
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "sizes are small")]
fn kilobytes(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by(|left, right| left.value().total_cmp(&right.value()));
    costs.swap_remove(costs.len() / 2)
}
