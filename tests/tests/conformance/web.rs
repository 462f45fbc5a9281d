//! Answers and headers of a web service on `axum`.

use std::sync::Arc;

use anyhow::Result;
use axum::{
    Json, Router,
    body::{self, Body},
    extract::{Path, State},
    http::{Method, Request, StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use table_runtime::{Error, Stored, TableEntity, Tables, axum::IfMatch};
use tests::stores::Store;
use tower::ServiceExt as _;

crate::conformance! {
    an_entity_is_answered_with_its_version
    if_match_is_one_version
    a_page_is_answered_with_its_cursor
    an_error_is_answered_with_its_status
}

#[derive(TableEntity, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[table(name = "Memos")]
struct Memo {
    #[partition_key]
    owner: String,
    #[row_key]
    id: u32,
    text: String,
}

type Answer<T> = table_runtime::Result<T>;

async fn list(State(tables): State<Tables>, Path(owner): Path<String>) -> Answer<impl IntoResponse> {
    Ok(Memo::by_key(&owner).page(&tables, 2, None).await?.with_etags().into_response())
}

async fn add(State(tables): State<Tables>, Json(memo): Json<Memo>) -> Answer<impl IntoResponse> {
    let etag = tables.insert(&memo).await?;
    Ok((StatusCode::CREATED, etag, Json(memo)))
}

async fn read(
    State(tables): State<Tables>,
    Path((owner, id)): Path<(String, u32)>,
) -> axum::response::Result<Stored<Memo>> {
    Ok(Memo::key(&owner, id).get(&tables).await?.ok_or(StatusCode::NOT_FOUND)?)
}

async fn change(State(tables): State<Tables>, IfMatch(seen): IfMatch, Json(memo): Json<Memo>) -> Answer<Stored<Memo>> {
    let mut memo = Stored::new(memo, seen);
    tables.update(&mut memo).await?;
    Ok(memo)
}

/// Sets the text, in the version that the client has seen if it says so.
async fn patch(
    State(tables): State<Tables>,
    Path((owner, id)): Path<(String, u32)>,
    seen: Option<IfMatch>,
    text: String,
) -> Answer<impl IntoResponse> {
    let key = Memo::key(&owner, id);
    let etag = match seen {
        Some(IfMatch(seen)) => tables.patch_if(key, &seen, |memo| memo.text.set(text)).await?,
        None => tables.patch(key, |memo| memo.text.set(text)).await?,
    };
    Ok((StatusCode::NO_CONTENT, etag))
}

/// A service, and the answers that it has given.
struct Client(Router);

struct Answered {
    status: u16,
    etag: Option<String>,
    body: Value,
    error: Option<Arc<Error>>,
}

impl Client {
    async fn new(store: &Store) -> Result<Self> {
        store.tables.create::<Memo>().await?;
        let memos = get(list).post(add);
        let memo = get(read).put(change).patch(patch);
        let service = Router::new().route("/{owner}", memos).route("/{owner}/{id}", memo);
        Ok(Self(service.with_state(store.tables.clone())))
    }

    async fn send(&self, method: Method, path: &str, if_match: &[&str], body: Value) -> Result<Answered> {
        let mut request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
        for header in if_match {
            request = request.header(header::IF_MATCH, *header);
        }
        let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let response = self.0.clone().oneshot(request.body(Body::from(body))?).await?;
        let etag = response.headers().get(header::ETAG).map(|etag| etag.to_str().map(str::to_owned)).transpose()?;
        let (status, error) = (response.status().as_u16(), response.extensions().get::<Arc<Error>>().cloned());
        let body = body::to_bytes(response.into_body(), 1 << 20).await?;
        let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
        Ok(Answered { status, etag, body, error })
    }

    async fn get(&self, path: &str) -> Result<Answered> {
        self.send(Method::GET, path, &[], Value::Null).await
    }

    async fn add(&self, id: u32) -> Result<Answered> {
        self.send(Method::POST, "/ada", &[], memo(id, "new")).await
    }
}

fn memo(id: u32, text: &str) -> Value {
    json!({ "owner": "ada", "id": id, "text": text })
}

async fn an_entity_is_answered_with_its_version(store: &Store) -> Result<()> {
    let client = Client::new(store).await?;
    let added = client.add(1).await?;
    assert_eq!((added.status, &added.body), (201, &memo(1, "new")));
    let stored = Memo::key("ada", 1).get(&store.tables).await?.expect("it was added");
    let version = Stored::etag(&stored).to_string();
    assert_eq!(added.etag.as_ref(), Some(&version));

    let read = client.get("/ada/1").await?;
    assert_eq!((read.status, read.body, read.etag.as_ref()), (200, memo(1, "new"), Some(&version)));
    let missing = client.get("/ada/2").await?;
    assert_eq!((missing.status, missing.etag), (404, None));

    let changed = client.send(Method::PUT, "/ada/1", &[&version], memo(1, "changed")).await?;
    assert_eq!((changed.status, changed.body), (200, memo(1, "changed")));
    assert!(changed.etag.is_some_and(|etag| etag != version));
    Ok(())
}

async fn if_match_is_one_version(store: &Store) -> Result<()> {
    let client = Client::new(store).await?;
    let version = client.add(1).await?.etag.expect("an ETag");
    let put = async |if_match: &[&str]| {
        let answer = client.send(Method::PUT, "/ada/1", if_match, memo(1, "put")).await?;
        anyhow::Ok((answer.status, answer.body["error"].as_str().unwrap_or_default().to_owned()))
    };
    assert_eq!(put(&[]).await?, (428, "If-Match is missing".to_owned()));
    let list = format!("{version}, {version}");
    let malformed: [&[&str]; 6] = [&["*"], &[""], &["7"], &[&list], &[&version, &version], &["\"ä\""]];
    for refused in malformed {
        assert_eq!(put(refused).await?, (400, "If-Match is not an ETag".to_owned()), "{refused:?}");
    }
    assert_eq!(Memo::key("ada", 1).plain().get(&store.tables).await?.expect("it is there").text, "new");
    assert_eq!(put(&[&format!(" {version} ")]).await?.0, 200);
    assert_eq!(put(&[&version]).await?, (412, "it has changed meanwhile".to_owned()));

    // Where it may be missing, it must still be one version.
    let patch = async |if_match: &[&str]| client.send(Method::PATCH, "/ada/1", if_match, json!("patched")).await;
    let patched = patch(&[]).await?;
    assert_eq!((patched.status, patched.body), (204, Value::Null));
    assert_eq!(patch(&["*"]).await?.status, 400);
    assert_eq!(patch(&[&version]).await?.status, 412);
    assert_eq!(patch(&[&patched.etag.expect("an ETag")]).await?.status, 204);
    Ok(())
}

async fn a_page_is_answered_with_its_cursor(store: &Store) -> Result<()> {
    let client = Client::new(store).await?;
    for id in 1..=3 {
        client.add(id).await?;
    }
    let page = client.get("/ada").await?;
    assert_eq!(page.status, 200);
    let expected = Memo::by_key("ada").page(&store.tables, 2, None).await?;
    assert_eq!(page.body, serde_json::to_value(expected.with_etags())?);
    assert_eq!(page.body["entities"][1]["id"], 2);
    assert_eq!(page.body["next"].as_str(), expected.next.as_deref());
    Ok(())
}

async fn an_error_is_answered_with_its_status(store: &Store) -> Result<()> {
    let client = Client::new(store).await?;
    client.add(1).await?;
    let twice = client.add(1).await?;
    assert_eq!((twice.status, twice.body), (409, json!({ "error": "it already exists" })));
    assert!(matches!(twice.error.as_deref(), Some(Error::AlreadyExists(_))), "{:?}", twice.error);
    store.probe.lose();
    let lost = client.send(Method::PATCH, "/ada/1", &[], json!("x")).await?;
    assert_eq!((lost.status, lost.body), (503, json!({ "error": "it is not known whether the change was made" })));
    let missing = client.send(Method::PATCH, "/ada/2", &[], json!("x")).await?;
    assert_eq!((missing.status, missing.body), (404, json!({ "error": "it does not exist" })));
    Ok(())
}
