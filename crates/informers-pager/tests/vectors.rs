//! Replays what client-go's own pager did.
//!
//! The traces come from the folder in `INFORMERS_VECTORS`, else from the workspace's neighbour, else from the
//! few that are committed here.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use informers_core::{
    Entry, Error, ErrorKind, Item, ListParams, ListPart, ListStart, ListStream, ListTrailer, ListWatch,
    ObjectKey, VersionMatch, WatchParams, WatchStream,
};
use informers_pager::{Pager, PagerError, Parity};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

#[derive(Deserialize)]
struct Operation {
    op: String,
    pager: Settings,
    options: Map<String, Value>,
    responses: Vec<Response>,
    #[serde(default)]
    cancel_before: bool,
    cancel_in_request: Option<usize>,
    fail_at_item: Option<usize>,
    cancel_at_item: Option<usize>,
    out: Value,
}

#[derive(Deserialize)]
struct Settings {
    page_size: u32,
    full_list_if_expired: bool,
    page_buffer_size: i64,
}

#[derive(Clone, Deserialize)]
struct Response {
    error: Option<String>,
    #[serde(default)]
    items: Vec<String>,
    #[serde(default)]
    rv: String,
    #[serde(default, rename = "continue")]
    token: String,
    remaining: Option<u64>,
}

const ERRORS: [(&str, ErrorKind); 9] = [
    ("expired", ErrorKind::Expired),
    ("expired-wrapped", ErrorKind::Expired),
    ("gone", ErrorKind::Gone),
    ("internal", ErrorKind::Internal),
    ("timeout", ErrorKind::Timeout),
    ("too-many-requests", ErrorKind::TooManyRequests),
    ("forbidden", ErrorKind::Forbidden),
    ("plain", ErrorKind::Other),
    ("script-ended", ErrorKind::Other),
];

/// Answers the n-th request with the n-th response.
struct Script {
    responses: Vec<Response>,
    /// The selectors, which belong to the list-watch and so go out with every request.
    selectors: Map<String, Value>,
    cancel_in_request: Option<usize>,
    cancel: CancellationToken,
    requests: Mutex<Vec<Value>>,
}

impl Script {
    fn record(&self, params: &ListParams) -> usize {
        let mut request = self.selectors.clone();
        if params.limit > 0 {
            request.insert("limit".into(), params.limit.into());
        }
        let fields = [
            ("continue", params.continue_token().unwrap_or_default().to_owned()),
            ("resource_version", params.version().to_string()),
            ("resource_version_match", params.version_match().map_or("", VersionMatch::as_str).to_owned()),
        ];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            request.insert(name.into(), value.into());
        }
        let mut requests = self.requests.lock().unwrap();
        requests.push(request.into());
        requests.len() - 1
    }
}

#[async_trait::async_trait]
impl ListWatch<()> for Script {
    async fn list(&self, params: ListParams) -> Result<ListStream<()>, Error> {
        let number = self.record(&params);
        if self.cancel_in_request == Some(number) {
            self.cancel.cancel();
        }
        let failed = |name: &str| {
            let (_, kind) = ERRORS.iter().find(|(known, _)| *known == name).expect("a known error");
            Error::new(*kind, "list pods").with_message(name)
        };
        let Some(response) = self.responses.get(number) else { return Err(failed("script-ended")) };
        if let Some(name) = &response.error {
            return Err(failed(name));
        }
        let mut trailer = ListTrailer::new(response.rv.as_str().into()).with_continue(&response.token);
        trailer.remaining = response.remaining;
        let item = |name: &String| Item::from(Entry::keyed(ObjectKey::cluster(name), ()));
        let batches = response.items.chunks(2).map(|batch| ListPart::Items(batch.iter().map(item).collect()));
        let parts: Vec<_> = batches.chain([ListPart::Trailer(trailer)]).map(Ok).collect();
        Ok(Box::pin(futures_util::stream::iter(parts)))
    }

    async fn watch(&self, _: WatchParams) -> Result<WatchStream<()>, Error> {
        Err(Error::new(ErrorKind::Other, "watch pods"))
    }

    fn description(&self) -> String {
        "pods".into()
    }
}

fn text<'a>(options: &'a Map<String, Value>, name: &str) -> &'a str {
    options.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn params(options: &Map<String, Value>) -> ListParams {
    let version = text(options, "resource_version").into();
    let version_match = match text(options, "resource_version_match") {
        "" => None,
        "Exact" => Some(VersionMatch::Exact),
        "NotOlderThan" => Some(VersionMatch::NotOlderThan),
        other => panic!("unknown match rule {other}"),
    };
    let start = match text(options, "continue") {
        "" => ListStart::Version { version, version_match },
        token => ListStart::ContinueAt { token: token.to_owned(), version, version_match },
    };
    let limit = options.get("limit").and_then(Value::as_u64).unwrap_or(0);
    ListParams { start, limit: limit.try_into().unwrap() }
}

fn name_of<E>(error: &PagerError<E>) -> String {
    match error {
        PagerError::Request { source, .. } => source.message().to_owned(),
        PagerError::Canceled { .. } => "canceled".to_owned(),
        PagerError::Callback(_) => "callback".to_owned(),
        _ => panic!("an unknown error"),
    }
}

fn keys(items: &[Item<()>]) -> Vec<&str> {
    items.iter().map(|item| item.key().expect("a key").as_str()).collect()
}

async fn perform(operation: &Operation) -> Value {
    let cancel = CancellationToken::new();
    let selectors = operation.options.iter().filter(|(name, _)| name.ends_with("_selector"));
    let script = Arc::new(Script {
        responses: operation.responses.clone(),
        selectors: selectors.map(|(name, value)| (name.clone(), value.clone())).collect(),
        cancel_in_request: operation.cancel_in_request,
        cancel: cancel.clone(),
        requests: Mutex::default(),
    });
    let list_watch: Arc<dyn ListWatch<()>> = script.clone();
    let params = params(&operation.options);
    let each = operation.op.starts_with("each_list_item");
    // Here the type is what refuses a negative size; a list does not use it.
    let Ok(buffer) = usize::try_from(operation.pager.page_buffer_size).or(if each { Err(()) } else { Ok(0) })
    else {
        return json!({"requests": [], "items": [], "err": "negative-page-buffer-size"});
    };
    let pager = Pager::new()
        .page_size(operation.pager.page_size)
        .full_list_if_expired(operation.pager.full_list_if_expired)
        .page_buffer_size(buffer)
        .parity(Parity::client_go_0_37());
    if operation.cancel_before {
        cancel.cancel();
    }
    let mut out = Map::new();
    if each {
        let taken = Mutex::new(Vec::new());
        let outcome = pager
            .each_item(&list_watch, params, &cancel, async |item| {
                // Lets the pager read ahead as far as it will.
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                let at = taken.lock().unwrap().len();
                if operation.fail_at_item == Some(at) {
                    return Err("callback");
                }
                taken.lock().unwrap().push(item);
                if operation.cancel_at_item == Some(at) {
                    cancel.cancel();
                    tokio::task::yield_now().await;
                }
                Ok(())
            })
            .await;
        out.insert("items".into(), keys(&taken.into_inner().unwrap()).into());
        if let Err(error) = outcome {
            out.insert("err".into(), name_of(&error).into());
        }
    } else {
        let paginated = match pager.list(&list_watch, params, &cancel).await {
            Ok(list) => {
                let mut result = Map::new();
                result.insert("as_served".into(), (list.pages == 1).into());
                result.insert("items".into(), keys(&list.items).into());
                result.insert("rv".into(), list.version.to_string().into());
                if let Some(token) = list.continue_token {
                    result.insert("continue".into(), token.into());
                }
                if let Some(remaining) = list.remaining {
                    result.insert("remaining".into(), remaining.into());
                }
                out.insert("result".into(), result.into());
                list.paginated
            }
            Err(error) => {
                out.insert("err".into(), name_of(&error).into());
                match error {
                    PagerError::Request { paginated, .. } | PagerError::Canceled { paginated, .. } => {
                        paginated
                    }
                    _ => false,
                }
            }
        };
        out.insert("paginated".into(), paginated.into());
    }
    out.insert("requests".into(), std::mem::take(&mut *script.requests.lock().unwrap()).into());
    out.into()
}

fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder with the traces, and how many there must be; none: that set is not ours to count.
fn traces() -> (PathBuf, Option<usize>) {
    if let Some(folder) = std::env::var_os("INFORMERS_VECTORS") {
        return (PathBuf::from(folder).join("pager"), None);
    }
    let public = workspace().join("../shared/oracle/vectors/public/pager");
    if public.is_dir() {
        return (public, Some(200));
    }
    (PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/pager"), Some(12))
}

#[tokio::test(flavor = "current_thread")]
async fn vectors_of_client_go_are_replayed() {
    let (folder, expected) = traces();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let mut operations = 0;
    for file in &files {
        let trace = std::fs::read_to_string(file).unwrap();
        let mut lines = trace.lines();
        let header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        assert_eq!(header["component"], "pager", "{}", file.display());
        for (number, line) in lines.enumerate() {
            let operation: Operation = serde_json::from_str(line).unwrap();
            let got = perform(&operation).await;
            assert_eq!(got, operation.out, "{} line {}: {line}", file.display(), number + 2);
            operations += 1;
        }
    }
    assert!(operations > 0);
    if let Some(expected) = expected {
        assert_eq!(files.len(), expected, "another number of traces than is committed");
    }
    let report = format!("vectors pager: replayed {}, skipped 0 of {}\n", files.len(), files.len());
    let target = workspace().join("target");
    std::fs::create_dir_all(&target).unwrap();
    let mut log =
        std::fs::OpenOptions::new().create(true).append(true).open(target.join("vectors.txt")).unwrap();
    log.write_all(report.as_bytes()).unwrap();
}
