//! What the compiler generates for each struct that a program uses.

use std::collections::HashMap;

use anyhow::Result;

use crate::{compiler::Compiler, programs::Program};

/// Number of functions that are printed.
const PRINTED: usize = 60;

/// Functions of one name.
#[derive(Clone, Copy, Debug, Default)]
struct Functions {
    count: usize,
    lines: usize,
}

/// Prints the functions that a program has for each struct, those with the most lines for LLVM first.
pub(crate) fn print(compiler: &Compiler, structs: usize) -> Result<()> {
    for program in [Program::Serde, Program::Ours] {
        let ir = compiler.llvm_ir(program, structs)?;
        let functions = functions(&ir);
        let (count, lines) = functions.values().fold((0, 0), |(count, lines), of| (count + of.count, lines + of.lines));
        println!("{}: {count} functions, {lines} lines of LLVM IR for {structs} structs", program.name());
        println!("{:>10}{:>10}  function", "lines", "copies");
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by(|(left, of_left), (right, of_right)| (of_right.lines, left).cmp(&(of_left.lines, right)));
        for (name, Functions { count, lines }) in functions.into_iter().take(PRINTED) {
            println!("{lines:>10}{count:>10}  {name}");
        }
        println!();
    }
    Ok(())
}

/// Returns the functions that are defined, by their names without the number of the struct.
fn functions(ir: &str) -> HashMap<String, Functions> {
    let mut functions = HashMap::<String, Functions>::new();
    let mut name = None;
    for line in ir.lines() {
        if line.starts_with("define ") {
            let symbol =
                line.split_once('@').and_then(|(_, rest)| rest.split_once('(')).map_or("", |(symbol, _)| symbol);
            // The alternate form leaves out the hash, so that copies of a generic function have one name.
            let defined = without_numbers(&format!("{:#}", rustc_demangle::demangle(symbol.trim_matches('"'))));
            functions.entry(defined.clone()).or_default().count += 1;
            name = Some(defined);
        } else if line == "}" {
            name = None;
        } else if let Some(name) = &name
            && let Some(functions) = functions.get_mut(name)
        {
            functions.lines += 1;
        }
    }
    functions
}

/// Returns the name with `Entity` for `Entity7`, and `use_` for `use_7`.
fn without_numbers(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for part in name.split_inclusive(|character: char| !character.is_ascii_digit()) {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let is_of_struct = text.ends_with("Entity") || text.ends_with("use_");
        text += if is_of_struct { &part[digits..] } else { part };
    }
    text
}
