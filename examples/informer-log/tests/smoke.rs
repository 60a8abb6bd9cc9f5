//! Runs the program against the embedded API server and reads its lines.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use informers_testkit::ApiServer;
use serde_json::{Value, json};

fn pod(name: &str, payload: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": {"scenario.test/payload": payload}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

fn start(server: &ApiServer, folder: &tempfile::TempDir, more: &[&str]) -> Child {
    let kubeconfig = folder.path().join("config");
    server.write_kubeconfig(&kubeconfig).unwrap();
    Command::new(env!("CARGO_BIN_EXE_informer-log"))
        .args(["--resource", "pods", "--namespace", "default", "--deadline", "60", "--kubeconfig"])
        .arg(&kubeconfig)
        .args(more)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[cfg(unix)]
async fn the_life_of_a_pod_is_told(more: &'static [&'static str]) {
    let server = ApiServer::start().await.unwrap();
    server.create(pod("a", "hello")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut program = start(&server, &folder, more);
    let pods = informers::kube::resource_type::<k8s_openapi::api::core::v1::Pod>();

    let reading = tokio::task::spawn_blocking(move || {
        let lines = BufReader::new(program.stdout.take().unwrap()).lines();
        let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let mut next = |kind: &str| {
            let line = lines.find(|line| line["type"] != "synced").unwrap();
            assert_eq!(line["type"], kind, "{line}");
            line
        };
        let added = next("add");
        assert_eq!((&added["key"], &added["isInInitialList"]), (&json!("default/a"), &json!(true)));
        server.patch(&pods, Some("default"), "a", json!({"metadata": {"labels": {"x": "y"}}})).unwrap();
        let updated = next("update");
        assert_eq!(updated["oldResourceVersion"], added["newResourceVersion"]);
        server.create(pod("b", "world")).unwrap();
        let second = next("add");
        assert_eq!(second["isInInitialList"], false);
        server.delete(&pods, Some("default"), "a").unwrap();
        // The server marks it for deletion first.
        next("update");
        let deleted = next("delete");
        assert_eq!((&deleted["key"], &deleted["tombstone"]), (&json!("default/a"), &json!(false)));

        Command::new("kill").args(["-TERM", &program.id().to_string()]).status().unwrap();
        let last = next("final");
        assert_eq!(last["store"], json!({"default/b": second["newResourceVersion"]}));
        // printf world | sha256sum
        let digest = "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7";
        assert_eq!(last["digests"], json!({"default/b": digest}));
        assert!(program.wait().unwrap().success());
    });
    reading.await.unwrap();
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_and_a_watch_are_told() {
    the_life_of_a_pod_is_told(&[]).await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streaming_list_is_told() {
    the_life_of_a_pod_is_told(&["--watch-list", "true"]).await;
}

#[test]
fn bad_input_is_named() {
    let run = |kubeconfig: &str, resource: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_informer-log"))
            .args([
                "--kubeconfig",
                kubeconfig,
                "--resource",
                resource,
                "--namespace",
                "all",
                "--deadline",
                "1",
            ])
            .output()
            .unwrap();
        assert!(!output.status.success());
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run("nowhere/config", "pods").contains("nowhere/config"));
    assert!(run("nowhere/config", "gadgets").contains("--resource"));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_is_told_on_standard_error() {
    // The token is not sent without TLS.
    let server = ApiServer::builder().token("let-me-in").start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    server.write_kubeconfig(&kubeconfig).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_informer-log"))
        .args(["--resource", "pods", "--namespace", "default", "--deadline", "60", "--kubeconfig"])
        .arg(&kubeconfig)
        .env_remove("RUST_LOG")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = tokio::task::spawn_blocking(move || {
        let lines = BufReader::new(program.stderr.take().unwrap()).lines();
        let told = lines.map(Result::unwrap).find(|line| line.contains("cannot list pods"));
        program.kill().unwrap();
        program.wait().unwrap();
        told
    });
    assert!(told.await.unwrap().is_some_and(|line| line.contains("401")));
}
