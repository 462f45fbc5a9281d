//! Proxies that the environment names, in a process of their own.

use std::process::Stdio;

use anyhow::{Context, Result};
use tests::scripted::{Answer, Scripted};
use tokio::process::Command;

use crate::protocol::ROW;

#[tokio::test]
async fn a_proxy_of_the_environment_is_used_except_for_the_hosts_that_need_none() -> Result<()> {
    let (proxy, service) = (Scripted::start().await?, Scripted::start().await?);
    let address = format!("http://{}", proxy.address());
    let row = || Answer::new(200).json(ROW);
    for (variables, is_proxied) in [
        (vec![("HTTP_PROXY", &*address)], true),
        (vec![("http_proxy", &*address)], true),
        (vec![("ALL_PROXY", &*address)], true),
        (vec![("HTTPS_PROXY", &*address)], false),
        (vec![("HTTP_PROXY", &*address), ("NO_PROXY", "127.0.0.1")], false),
        (vec![("HTTP_PROXY", &*address), ("NO_PROXY", "localhost,127.0.0.0/8")], false),
        (vec![("HTTP_PROXY", &*address), ("NO_PROXY", "localhost")], true),
        (vec![], false),
    ] {
        for server in [&proxy, &service] {
            server.clear();
            server.then(row());
        }
        let connection_string = format!("AccountName=acc;AccountKey=c2VjcmV0;TableEndpoint={}", service.endpoint());
        let mut command = Command::new(env!("CARGO_BIN_EXE_program"));
        for name in
            ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"]
        {
            command.env_remove(name);
        }
        let read = command
            .args(["reader", &connection_string, "Posts", "p", "r"])
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("the program")?;
        assert_eq!(String::from_utf8(read.stdout)?, "true\n", "{variables:?}: {:?}", String::from_utf8(read.stderr));
        assert_eq!((proxy.left(), service.left()), if is_proxied { (0, 1) } else { (1, 0) }, "{variables:?}");
        if is_proxied {
            let requests = proxy.requests();
            let target = &requests.last().context("a request")?.target;
            assert!(target.starts_with(&service.endpoint()), "{target}");
        }
    }
    Ok(())
}
