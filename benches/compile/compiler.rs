//! The compiler, called as `cargo` calls it.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::{Work, programs::Program};

/// The compiler, and the libraries that programs use.
#[derive(Debug)]
pub(crate) struct Compiler {
    rustc: PathBuf,
    version: String,
    folder: PathBuf,
    libraries: Vec<(String, PathBuf)>,
}

/// What one call of the compiler costs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    Seconds(f64),
    Instructions(u64),
}

impl Cost {
    #[allow(clippy::cast_precision_loss, reason = "for a ratio")]
    pub(crate) fn value(self) -> f64 {
        match self {
            Self::Seconds(seconds) => seconds,
            Self::Instructions(count) => count as f64,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Seconds(seconds) => format!("{seconds:.2} s"),
            Self::Instructions(_) => format!("{:.2} G", self.value() / 1e9),
        };
        f.pad(&text)
    }
}

/// A message of `cargo build`.
#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    filenames: Option<Vec<PathBuf>>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

impl Compiler {
    /// Builds the libraries that the programs use, with the profile of a user who changed nothing.
    pub(crate) fn new() -> Result<Self> {
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
        // Valgrind counts the compiler's instructions, not those of `rustup`.
        let rustc = Path::new(sysroot.trim()).join("bin").join(format!("rustc{}", env::consts::EXE_SUFFIX));
        let version = output(Command::new(&rustc).arg("--version"))?.trim().to_owned();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile");
        let libraries = build_libraries(&folder.join("libraries"))?;
        Ok(Self { rustc, version, folder, libraries })
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Measures the processor time of a call.
    pub(crate) fn seconds(&self, program: Program, work: Work, structs: usize) -> Result<Cost> {
        let mut compile = self.command(&[&self.rustc.to_string_lossy()], program, work, structs)?;
        let (before, begun) = (time_of_children(), Instant::now());
        output(&mut compile)?;
        Ok(Cost::Seconds(match (before, time_of_children()) {
            (Some(before), Some(after)) => after - before,
            _ => begun.elapsed().as_secs_f64(),
        }))
    }

    /// Counts the instructions of a call, without those of the linker.
    pub(crate) fn instructions(&self, program: Program, work: Work, structs: usize) -> Result<Cost> {
        let rustc = self.rustc.to_string_lossy();
        let valgrind =
            ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", rustc.as_ref()];
        let counted = run(&mut self.command(&valgrind, program, work, structs)?)?;
        let report = String::from_utf8_lossy(&counted.stderr).into_owned();
        let count = report.lines().find_map(|line| line.split_once("refs:")).with_context(|| report.clone())?.1;
        Ok(Cost::Instructions(count.trim().replace(',', "").parse().with_context(|| report.clone())?))
    }

    /// Returns the number of bytes of a program without debug information, and checks that it does its work.
    pub(crate) fn size(&self, program: Program, structs: usize) -> Result<u64> {
        let mut compile = self.command(&[&self.rustc.to_string_lossy()], program, Work::Program, structs)?;
        output(compile.args(["-C", "strip=symbols"]))?;
        let built = self.built(program).join(format!("program{}", env::consts::EXE_SUFFIX));
        let equal = output(&mut Command::new(&built))?;
        ensure!(equal.trim() == structs.to_string(), "{equal:?} of {structs} structs were read as they were written");
        Ok(fs::metadata(&built)?.len())
    }

    /// Returns what the compiler passes to LLVM for a program.
    pub(crate) fn llvm_ir(&self, program: Program, structs: usize) -> Result<String> {
        let mut compile = self.command(&[&self.rustc.to_string_lossy()], program, Work::Program, structs)?;
        output(compile.args(["-C", "codegen-units=1", "-C", "debuginfo=0", "--emit=llvm-ir"]))?;
        Ok(fs::read_to_string(self.built(program).join("program.ll"))?)
    }

    fn built(&self, program: Program) -> PathBuf {
        self.folder.join(program.name())
    }

    /// Returns a call of the compiler, with the options of `cargo`'s profile `dev`.
    fn command(&self, begin: &[&str], program: Program, work: Work, structs: usize) -> Result<Command> {
        let folder = self.built(program);
        fs::create_dir_all(&folder)?;
        write(&folder.join("structs.rs"), &program.structs(structs))?;
        write(&folder.join("main.rs"), &program.main(structs))?;
        let mut command = Command::new(begin[0]);
        command.args(&begin[1..]).current_dir(&folder).args([
            "--edition=2024",
            "-C",
            "debuginfo=2",
            "--cap-lints=allow",
        ]);
        match work {
            Work::Check => command.args(["--crate-name=structs", "--crate-type=lib", "--emit=metadata", "structs.rs"]),
            Work::Library => {
                command.args(["--crate-name=structs", "--crate-type=lib", "--emit=metadata,link", "structs.rs"])
            }
            Work::Program => command.args(["--crate-name=program", "--crate-type=bin", "main.rs"]),
        };
        for (name, path) in &self.libraries {
            command.arg("--extern").arg(format!("{name}={}", path.display()));
            if let Some(folder) = path.parent() {
                command.arg("-L").arg(format!("dependency={}", folder.display()));
            }
        }
        Ok(command)
    }
}

/// Builds the libraries from what this workspace has already downloaded. Returns their names and files.
fn build_libraries(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the package is in a workspace")?;
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"libraries\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nserde = {{ version = \"1\", \
         features = [\"derive\"] }}\nserde_json = \"1\"\ntable-runtime = {{ path = {:?} }}\n",
        workspace.join("table-runtime").display().to_string()
    );
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&folder.join("src/lib.rs"), "")?;
    fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.current_dir(folder).args(["build", "--offline", "--message-format=json"]);
    build.arg("--target-dir").arg(folder.join("target")).stderr(Stdio::inherit());
    let messages = output(&mut build)?;
    let mut libraries = Vec::new();
    for message in messages.lines() {
        let Message { target: Some(target), filenames: Some(files) } = serde_json::from_str(message)? else { continue };
        let library = files.into_iter().find(|file| file.extension().is_some_and(|extension| extension == "rlib"));
        if let Some(library) = library
            && ["serde", "serde_json", "table_runtime"].contains(&target.name.as_str())
        {
            libraries.push((target.name, library));
        }
    }
    ensure!(libraries.len() == 3, "the libraries are not all built: {libraries:?}");
    Ok(libraries)
}

/// Writes a file, unless it has this content already.
fn write(path: &Path, content: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|present| present == content) {
        return Ok(());
    }
    fs::write(path, content).with_context(|| path.display().to_string())
}

/// Runs a command and returns what it wrote to its standard output.
fn output(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8(run(command)?.stdout)?)
}

fn run(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}

/// Returns the processor time of all child processes that have ended, in seconds, where the system reports it.
fn time_of_children() -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, is the second value. The times of children are the 16th and 17th.
    let mut values = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    let user: f64 = values.next()?.parse().ok()?;
    let system: f64 = values.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}
