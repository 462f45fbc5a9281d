//! The launcher of Azurite: it stops its servers and reports what is missing.

use std::{
    env,
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpStream},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use tests::azurite::{self, Azurite};

/// Returns a command that runs one of the ignored tests below in a process of its own.
fn run_ignored(test: &str) -> Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--ignored", "--exact", &format!("azurite_launcher::{test}")]).env_remove("TABLE_TESTS_AZURITE");
    Ok(command)
}

fn is_on() -> bool {
    env::var("TABLE_TESTS_AZURITE").map_or(true, |value| value != "off")
}

fn address(connection_string: &str) -> Result<SocketAddr> {
    let address = connection_string.split("TableEndpoint=http://").nth(1).and_then(|rest| rest.split('/').next());
    Ok(address.context("an address")?.parse()?)
}

fn stops(address: SocketAddr) -> bool {
    let begin = Instant::now();
    while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok() {
        if begin.elapsed() > Duration::from_secs(20) {
            return false;
        }
        sleep(Duration::from_millis(50));
    }
    true
}

#[test]
fn a_dropped_server_stops() -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let server = Azurite::start()?;
    let address = address(&server.connection_string())?;
    TcpStream::connect(address)?;
    drop(server);
    assert!(stops(address));
    Ok(())
}

#[test]
#[ignore = "run by `the_server_of_a_killed_test_program_stops`, and killed"]
fn holds_the_shared_server() -> Result<()> {
    println!("\n{}", azurite::shared()?.context("Azurite")?);
    sleep(Duration::from_mins(1));
    Ok(())
}

#[test]
fn the_server_of_a_killed_test_program_stops() -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let mut program = run_ignored("holds_the_shared_server")?.arg("--nocapture").stdout(Stdio::piped()).spawn()?;
    let output = BufReader::new(program.stdout.take().context("an output")?);
    let line = output.lines().map_while(Result::ok).find(|line| line.contains("TableEndpoint="));
    let address = line.context("a connection string").and_then(|line| address(&line));
    let up = address.as_ref().is_ok_and(|address| TcpStream::connect(address).is_ok());
    program.kill()?;
    program.wait()?;
    assert!(up);
    assert!(stops(address?));
    Ok(())
}

#[test]
#[ignore = "run by the tests below, in other environments"]
fn asks_for_the_shared_server() -> Result<()> {
    if azurite::shared()?.is_some() {
        bail!("there is a server");
    }
    Ok(())
}

#[test]
fn switching_azurite_off_is_reported() -> Result<()> {
    // The harness captures the output of a passing test.
    let mut program = run_ignored("asks_for_the_shared_server")?;
    let program = program.env("TABLE_TESTS_AZURITE", "off").output()?;
    let output = String::from_utf8_lossy(&program.stderr);
    assert!(program.status.success(), "{output}");
    assert!(output.contains("not tested: behaviour on Azurite"), "{output}");
    Ok(())
}

#[test]
fn the_error_without_node_says_what_to_install() -> Result<()> {
    let program = run_ignored("asks_for_the_shared_server")?.arg("--nocapture").env("PATH", "").output()?;
    let output = String::from_utf8_lossy(&program.stderr) + String::from_utf8_lossy(&program.stdout);
    assert!(!program.status.success(), "{output}");
    for part in ["`node` is not found", "https://nodejs.org", "TABLE_TESTS_AZURITE=off"] {
        assert!(output.contains(part), "{output}");
    }
    Ok(())
}
