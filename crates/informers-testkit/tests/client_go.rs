//! client-go's shared informer against the embedded server: whatever happens, it ends with what the server has.
//!
//! Its program is built with Go, which takes a while and needs Go's module cache or a proxy; so this runs in
//! CI and where `INFORMERS_TEST_CLIENT_GO` is set.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure here fails the test")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use informers_core::{ResourceScope, ResourceType};
use informers_testkit::{ApiServer, Verb};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// client-go waits up to half a minute before it tries again.
const PATIENCE: Duration = Duration::from_secs(180);

fn config_maps() -> ResourceType {
    ResourceType::new("", "v1", "ConfigMap", "configmaps", ResourceScope::Namespaced)
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "0"}})
}

/// Builds the program, once; none if it is not wanted here or there is no Go.
async fn informer() -> Option<&'static Path> {
    static PROGRAM: OnceCell<Option<PathBuf>> = OnceCell::const_new();
    PROGRAM
        .get_or_init(|| async {
            let wanted = std::env::var("CI").is_ok_and(|value| value == "true")
                || std::env::var_os("INFORMERS_TEST_CLIENT_GO").is_some();
            if !wanted {
                eprintln!("skipped: neither CI=true nor INFORMERS_TEST_CLIENT_GO is set");
                return None;
            }
            let go =
                Command::new("go").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().await;
            if !go.is_ok_and(|status| status.success()) {
                eprintln!("skipped: no go");
                return None;
            }
            let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("client-go-informer");
            let built = Command::new("go")
                .args(["build", "-mod=readonly", "-trimpath", "-o"])
                .arg(&program)
                .arg(".")
                .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client-go"))
                .status()
                .await
                .unwrap();
            assert!(built.success(), "the Go program must build");
            Some(program)
        })
        .await
        .as_deref()
}

fn change(server: &ApiServer, random: &mut fastrand::Rng, count: usize) {
    for _ in 0..count {
        let name = format!("c{}", random.u32(..700));
        match server.get(&config_maps(), Some("default"), &name) {
            None => server.create(config_map(&name)).map(drop),
            Some(_) if random.u8(..4) == 0 => server.delete(&config_maps(), Some("default"), &name).map(drop),
            Some(_) => {
                let patch = json!({"data": {"k": random.u32(..).to_string()}});
                server.patch(&config_maps(), Some("default"), &name, patch).map(drop)
            }
        }
        .unwrap();
    }
}

async fn ends_equal(watch_list: bool) {
    const SEED: u64 = 7;
    let Some(program) = informer().await else { return };
    let server = ApiServer::start().await.unwrap();
    let mut random = fastrand::Rng::with_seed(SEED);
    for number in 0..600 {
        server.create(config_map(&format!("c{number}"))).unwrap();
    }
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = home.path().join("kubeconfig");
    server.write_kubeconfig(&kubeconfig).unwrap();
    let mut child = Command::new(program)
        .arg("-kubeconfig")
        .arg(&kubeconfig)
        .env("HOME", home.path())
        .env("KUBE_FEATURE_WatchListClient", watch_list.to_string())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = async || {
        let line = timeout(PATIENCE, lines.next_line()).await.expect("the informer goes on");
        line.unwrap().expect("the informer writes a line")
    };
    assert_eq!(line().await, "synced");

    change(&server, &mut random, 500);
    server.close_watches();
    change(&server, &mut random, 500);
    server.drop_connections();
    change(&server, &mut random, 500);
    // Away for a while, and the past is forgotten meanwhile.
    server.stop_listening().await;
    change(&server, &mut random, 500);
    server.compact();
    server.start_listening().await.unwrap();
    change(&server, &mut random, 500);
    server.create(config_map("end")).unwrap();

    let told: Value = serde_json::from_str(&line().await).unwrap();
    let wanted: BTreeMap<String, Value> = server
        .list(&config_maps(), None)
        .iter()
        .map(|object| {
            let metadata = &object["metadata"];
            let key = format!("default/{}", metadata["name"].as_str().unwrap());
            (key, metadata["resourceVersion"].clone())
        })
        .collect();
    let wanted = serde_json::to_value(wanted).unwrap();
    assert_eq!(told["wrong"], Value::Null, "seed {SEED}");
    assert!(told["store"] == wanted, "seed {SEED}: the store is {} instead of {wanted}", told["store"]);
    assert!(
        told["replayed"] == wanted,
        "seed {SEED}: the handler knows {} instead of {wanted}",
        told["replayed"]
    );
    assert!(timeout(PATIENCE, child.wait()).await.expect("the informer ends").unwrap().success());

    let requests = server.requests();
    let streaming = requests
        .iter()
        .filter(|request| request.query_parameter("sendInitialEvents").as_deref() == Some("true"))
        .count();
    let lists = requests.iter().filter(|request| request.verb() == Some(Verb::List)).count();
    assert_eq!(
        (streaming > 0, lists > 0),
        (watch_list, !watch_list),
        "{streaming} streaming lists, {lists} lists"
    );
}

#[tokio::test]
async fn with_streaming_lists() {
    ends_equal(true).await;
}

#[tokio::test]
async fn with_lists() {
    ends_equal(false).await;
}
