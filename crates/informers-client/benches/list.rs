//! A large list over loopback HTTP/1.1: how fast its objects come out of the stream.
//!
//! `cargo bench -p informers-client`, or with a number of objects: `-- 100000`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a program that measures")]

use std::time::Instant;

use futures_util::StreamExt as _;
use informers_client::{Client, Config, Limits};
use informers_core::{
    JsonDecoder, ListParams, ListPart, Resource, ResourceScope, ResourceType, Scope, Source as _,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[derive(serde::Deserialize)]
struct Slim {
    #[allow(dead_code, reason = "read to be paid for")]
    spec: SlimSpec,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimSpec {
    #[allow(dead_code, reason = "read to be paid for")]
    node_name: Option<String>,
}

/// About as large as a pod of a real cluster.
fn pod(number: usize) -> String {
    let managed: String = (0..40)
        .map(|at| format!(r#""f:field{at}":{{".":{{}},"f:value{at}":{{"f:name":{{}},"f:ready":{{}}}}}},"#))
        .collect();
    let env: String =
        (0..30).map(|at| format!(r#"{{"name":"VARIABLE_{at}","value":"value number {at}"}},"#)).collect();
    format!(
        r#"{{"metadata":{{"name":"pod-{number}","namespace":"ns-{}","uid":"0190a5a2-7a3c-7d4e-9f00-{number:012x}","resourceVersion":"{number}","labels":{{"app":"web"}},"managedFields":[{{"manager":"kubelet","fieldsV1":{{{managed}"f:x":{{}}}}}}]}},"spec":{{"nodeName":"node-{}","containers":[{{"name":"c","image":"registry.example/web:1","env":[{env}{{"name":"LAST"}}]}}]}},"status":{{"phase":"Running"}}}}"#,
        number % 50,
        number % 500
    )
}

fn serve(body: bytes::Bytes) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                while stream.read(&mut request).await.is_ok_and(|count| count > 0) {
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                    stream.write_all(head.as_bytes()).await.unwrap();
                    if stream.write_all(&body).await.is_err() {
                        break;
                    }
                }
            }
        });
    });
    url
}

async fn read<T: serde::de::DeserializeOwned + Send + Sync + 'static>(url: &str, decoders: usize) -> usize {
    let limits = Limits { decoders, ..Limits::default() };
    let client = Client::new(Config::for_url(url).unwrap().with_limits(limits)).unwrap();
    let kind = ResourceType::new("", "v1", "Pod", "pods", ResourceScope::Namespaced);
    let pods: Resource<T> = Resource::new(kind, JsonDecoder::new());
    let collection = client.list_watch(&pods, &Scope::all()).unwrap();
    let mut list = collection.list(ListParams::first("0".into())).await.unwrap();
    let mut items = Vec::new();
    while let Some(part) = list.next().await {
        if let ListPart::Items(part) = part.unwrap() {
            items.extend(part);
        }
    }
    items.len()
}

fn measure(what: &str, bytes: usize, pods: usize, run: impl Fn() -> usize) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        assert_eq!(run(), pods);
        best = best.min(start.elapsed().as_secs_f64());
    }
    let megabytes = bytes as f64 / 1e6;
    println!("{what:<34} {:>8.0} pods/s {:>7.0} MB/s", pods as f64 / best, megabytes / best);
}

fn main() {
    let count = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(20_000);
    let items: Vec<_> = (0..count).map(pod).collect();
    let body = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{}]}}"#,
        items.join(",")
    );
    let bytes = body.len();
    println!("{count} objects of {} bytes, best of 5", bytes / count);
    let url = serve(body.into());
    let many = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for decoders in [1, 2, 4] {
        measure(&format!("slim, {decoders} decoders"), bytes, count, || {
            many.block_on(read::<Slim>(&url, decoders))
        });
        measure(&format!("whole (Value), {decoders} decoders"), bytes, count, || {
            many.block_on(read::<serde_json::Value>(&url, decoders))
        });
    }
    measure("slim, one-threaded runtime", bytes, count, || one.block_on(read::<Slim>(&url, 2)));
}
