//! The example `orders`, a web service, in memory and on Azurite: requests as a client sends them.

#[path = "../../../examples/examples/orders.rs"]
#[allow(dead_code, reason = "the program has a `main`, and opens its store itself")]
mod example;

use std::time::Duration;

use anyhow::{Context as _, Result};
use reqwest::{Client, Method, Response, StatusCode, header};
use serde_json::{Value, json};
use table_runtime::{Tables, backend::AzureBuilder};
use tests::{
    azurite,
    stores::{Kind, Store},
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle, time::timeout};

use example::{Customer, Line, Order};

/// The running service.
struct Service {
    client: Client,
    address: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<()>>,
}

impl Service {
    async fn start(tables: Tables) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(example::serve(tables, listener, async {
            stopped.await.ok();
        }));
        Ok(Self { client: AzureBuilder::http_client_builder()?.build()?, address, stop, served })
    }

    async fn send(&self, method: Method, path: &str, etag: Option<&str>, body: Option<Value>) -> Result<Response> {
        let mut request = self.client.request(method, format!("{}{path}", self.address));
        if let Some(etag) = etag {
            request = request.header(header::IF_MATCH, etag);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        Ok(request.send().await?)
    }

    async fn post(&self, path: &str, body: Value) -> Result<Response> {
        self.send(Method::POST, path, None, Some(body)).await
    }

    async fn get(&self, path: &str) -> Result<Value> {
        let response = self.send(Method::GET, path, None, None).await?;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        Ok(response.json().await?)
    }

    /// Stops the service, which answers what is under way.
    async fn stop(self) -> Result<()> {
        self.stop.send(()).ok().context("it runs")?;
        drop(self.client);
        timeout(Duration::from_secs(30), self.served).await??
    }
}

fn etag(response: &Response) -> Result<String> {
    Ok(response.headers().get(header::ETAG).context("an ETag")?.to_str()?.to_owned())
}

/// Runs a test in memory and, unless it is off, on Azurite.
fn on_each_store(test: &impl AsyncFn(&Store) -> Result<()>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let azurite = azurite::shared()?.map(|_| Kind::Azurite);
    for kind in [Kind::Memory].into_iter().chain(azurite) {
        let store = kind.open()?;
        runtime.block_on(async {
            let tested = test(&store).await.with_context(|| format!("on {kind:?}"));
            store.clean().await?;
            tested
        })?;
    }
    Ok(())
}

async fn add_customer(service: &Service, tenant: &str, name: &str) -> Result<Value> {
    let body = json!({ "name": name, "email": format!("{name}@x.org") });
    let response = service.post(&format!("/{tenant}/customers"), body).await?;
    assert_eq!(response.status(), StatusCode::CREATED);
    Ok(response.json().await?)
}

#[test]
fn customers_have_a_unique_address_in_each_tenant() -> Result<()> {
    on_each_store(&async |store: &Store| {
        let service = Service::start(store.tables.clone()).await?;
        let ada = add_customer(&service, "acme", "Ada").await?;
        add_customer(&service, "umbrella", "Ada").await?;
        let again = json!({ "name": "Another", "email": "ADA@x.org" });
        let refused = service.post("/acme/customers", again).await?;
        assert_eq!(refused.status(), StatusCode::CONFLICT);
        assert_eq!(refused.json::<Value>().await?, json!({ "error": "`email` is already taken" }));

        for name in ["Alan", "Alonzo", "Barbara"] {
            add_customer(&service, "acme", name).await?;
        }
        let found = service.get("/acme/customers?name=AL").await?;
        let names: Vec<_> = found["entities"].as_array().context("a list")?.iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["Alan", "Alonzo"]);
        let found = service.get("/acme/customers?email=ada@X.org").await?;
        assert_eq!((&found["entities"][0]["id"], found["entities"].as_array().map(Vec::len)), (&ada["id"], Some(1)));

        let first = service.get("/acme/customers?size=3").await?;
        let next = first["next"].as_str().context("a cursor")?;
        let rest = service.get(&format!("/acme/customers?size=3&cursor={next}")).await?;
        assert_eq!((rest["entities"].as_array().map(Vec::len), &rest["next"]), (Some(1), &Value::Null));
        let other = service.send(Method::GET, &format!("/acme/orders?cursor={next}"), None, None).await?;
        assert_eq!(other.status(), StatusCode::BAD_REQUEST);
        service.stop().await
    })
}

#[test]
fn a_change_needs_the_version_that_the_client_has_seen() -> Result<()> {
    on_each_store(&async |store: &Store| {
        let service = Service::start(store.tables.clone()).await?;
        let path = format!(
            "/acme/customers/{}",
            add_customer(&service, "acme", "Ada").await?["id"].as_str().context("an id")?
        );
        let read = service.send(Method::GET, &path, None, None).await?;
        let seen = etag(&read)?;
        let change = |email: &str| Some(json!({ "name": "Ada L.", "email": email }));
        let missing = service.send(Method::PUT, &path, None, change("ada@y.org")).await?;
        assert_eq!(missing.status(), StatusCode::PRECONDITION_REQUIRED);
        let bad = service.send(Method::PUT, &path, Some("*"), change("ada@y.org")).await?;
        assert_eq!(bad.status(), StatusCode::BAD_REQUEST);
        let changed = service.send(Method::PUT, &path, Some(&seen), change("ada@y.org")).await?;
        assert_eq!(changed.status(), StatusCode::OK);
        let now = etag(&changed)?;
        let late = service.send(Method::PUT, &path, Some(&seen), change("ada@z.org")).await?;
        assert_eq!(late.status(), StatusCode::PRECONDITION_FAILED);
        assert_eq!(service.get("/acme/customers?email=ada@y.org").await?["entities"][0]["etag"], now);
        // The old address is free.
        let other = service.post("/acme/customers", json!({ "name": "B", "email": "ada@x.org" })).await?;
        assert_eq!(other.status(), StatusCode::CREATED);
        let gone = service.send(Method::DELETE, &path, None, None).await?;
        assert_eq!(gone.status(), StatusCode::NO_CONTENT);
        assert_eq!(service.send(Method::GET, &path, None, None).await?.status(), StatusCode::NOT_FOUND);
        service.stop().await
    })
}

#[test]
fn orders_are_whole_and_come_newest_first() -> Result<()> {
    on_each_store(&async |store: &Store| {
        let service = Service::start(store.tables.clone()).await?;
        let customer = add_customer(&service, "acme", "Ada").await?["id"].clone();
        let lines = |count: usize| {
            json!(
                (0..count)
                    .map(|at| json!({ "article": format!("a{at}"), "quantity": 2, "cents": 50 }))
                    .collect::<Vec<_>>()
            )
        };
        let mut numbers = Vec::new();
        for count in 1..=5 {
            let response = service.post("/acme/orders", json!({ "customer": customer, "lines": lines(count) })).await?;
            assert_eq!(response.status(), StatusCode::CREATED);
            numbers.push(response.json::<Value>().await?["number"].clone());
        }
        let unknown = json!({ "customer": "00000000-0000-0000-0000-000000000000", "lines": [] });
        assert_eq!(service.post("/acme/orders", unknown).await?.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let vast = json!([{ "article": "a", "quantity": 3, "cents": i64::MAX / 2 }]);
        let refused = service.post("/acme/orders", json!({ "customer": customer, "lines": vast })).await?;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
        // An order is too large for a transaction, and nothing of it is written.
        let large = service.post("/acme/orders", json!({ "customer": customer, "lines": lines(100) })).await?;
        assert_eq!(large.status(), StatusCode::BAD_REQUEST);

        numbers.reverse();
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let page = service.get(&format!("/acme/orders?size=2{next}")).await?;
            found.extend(page["entities"].as_array().context("a list")?.iter().map(|order| order["number"].clone()));
            let Some(cursor) = page["next"].as_str() else { break };
            next = format!("&cursor={cursor}");
        }
        assert_eq!(found, numbers);

        let path = format!("/acme/orders/{}", numbers[0]);
        let read = service.send(Method::GET, &path, None, None).await?;
        let seen = etag(&read)?;
        let order: Value = read.json().await?;
        assert_eq!((&order["cents"], order["lines"].as_array().map(Vec::len)), (&json!(500), Some(5)));
        let pay = format!("{path}/pay");
        assert_eq!(service.send(Method::POST, &pay, Some(&seen), None).await?.status(), StatusCode::NO_CONTENT);
        assert_eq!(
            service.send(Method::POST, &pay, Some(&seen), None).await?.status(),
            StatusCode::PRECONDITION_FAILED
        );
        assert_eq!(service.get(&path).await?["is_paid"], true);

        let export = service.send(Method::GET, "/acme/orders/export", None, None).await?.text().await?;
        let exported: Vec<Value> = export.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        assert_eq!(exported.iter().map(|order| order["number"].clone()).collect::<Vec<_>>(), numbers);
        service.stop().await
    })
}

#[test]
fn a_file_is_imported_and_a_tenant_deleted() -> Result<()> {
    on_each_store(&async |store: &Store| {
        let service = Service::start(store.tables.clone()).await?;
        add_customer(&service, "acme", "Ada").await?;
        let lines = (0..120).map(|at| format!("N{at},n{at}@x.org")).collect::<Vec<_>>().join("\n");
        let file = format!("name,email\n{lines}\nonly a name\nTwice,n5@x.org\n");
        let url = format!("{}/acme/customers/import", service.address);
        let imported: Value = service.client.post(url).body(file).send().await?.json().await?;
        assert_eq!(imported["written"], 120);
        let failures = json!([
            { "line": 122, "error": "the input is not valid" },
            { "line": 123, "error": "`email` is already taken" },
        ]);
        assert_eq!(imported["failures"], failures);

        let other = add_customer(&service, "umbrella", "Ada").await?["id"].clone();
        let customer = service.get("/acme/customers?email=n7@x.org").await?["entities"][0]["id"].clone();
        for (tenant, customer) in [("acme", customer), ("umbrella", other)] {
            let lines = json!([{ "article": "a", "quantity": 1, "cents": 1 }]);
            let order = json!({ "customer": customer, "lines": lines });
            assert_eq!(service.post(&format!("/{tenant}/orders"), order).await?.status(), StatusCode::CREATED);
        }
        let deleted = service.send(Method::DELETE, "/acme", None, None).await?;
        assert_eq!(deleted.json::<Value>().await?, json!({ "customers": 121, "orders": 1, "lines": 1 }));
        let tables = &store.tables;
        assert_eq!(Customer::by_key("acme").count(tables).await?, 0);
        assert_eq!(
            (Order::by_key("umbrella").count(tables).await?, Line::by_key("umbrella").count(tables).await?),
            (1, 1)
        );
        // No index row is left, and the repair that runs in the background has nothing to do.
        assert_eq!(tables.verify::<Customer>().await?.findings, []);
        service.stop().await
    })
}
