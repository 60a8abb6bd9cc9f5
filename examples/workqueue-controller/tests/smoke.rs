//! Runs the controller, waits for its lines, and ends it.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use informers_testkit::ApiServer;
use serde_json::json;

#[cfg(unix)]
#[test]
fn pods_are_synced_retried_and_missed() {
    let mut example = Command::new(env!("CARGO_BIN_EXE_workqueue-controller"))
        .args(["--embedded", "--workers", "2", "--for", "60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(example.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    for line in lines {
        let line = line.unwrap();
        if line == "stopping the pod controller" {
            break;
        }
        seen.push(line);
        let saw = |part: &str| seen.iter().any(|line| line.contains(part));
        if saw("retry 5 of 5") && saw("for Pod web-2 ") && saw("Pod default/web-0 does not exist anymore") {
            Command::new("kill").args(["-TERM", &example.id().to_string()]).status().unwrap();
        }
    }
    let text = seen.join("\n");
    assert!(seen[0].starts_with("embedded API server at "), "{text}");
    assert!(text.contains("Pod default/mypod does not exist anymore"), "{text}");
    assert!(text.contains("Sync/Add/Update for Pod web-0 "), "{text}");
    for retry in 1..=5 {
        assert!(text.contains(&format!(
            "Pod default/broken failed: it was told to fail for this name; retry {retry}"
        )));
    }
    let output = example.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert_eq!(warnings.matches("pod default/broken is given up after 5 retries").count(), 1, "{warnings}");
}

#[tokio::test]
async fn a_kubeconfig_and_a_namespace_are_heeded() {
    let server = ApiServer::start().await.unwrap();
    for namespace in ["shop", "bank"] {
        server
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
            .unwrap();
        server
            .create(json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{namespace}-0"), "namespace": namespace},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }))
            .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    server.write_kubeconfig(&kubeconfig).unwrap();
    let mut example = Command::new(env!("CARGO_BIN_EXE_workqueue-controller"))
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .args(["--namespace", "shop", "--for", "60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let reading = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(example.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find(|line| line.starts_with("Sync/Add/Update")).unwrap();
        example.kill().unwrap();
        example.wait().unwrap();
        line
    });
    assert!(reading.await.unwrap().starts_with("Sync/Add/Update for Pod shop-0 "));
}

#[test]
fn bad_input_is_named() {
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_workqueue-controller")).args(args).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run(&["--workers", "0"]).contains("--workers"));
    let error = run(&["--kubeconfig", "nowhere/config"]);
    assert!(error.contains("nowhere/config") && error.lines().count() == 1, "{error}");
    let error = run(&["--master", "ftp://example.com"]);
    assert!(error.contains("--master") && error.contains("ftp://example.com"), "{error}");
    let error = run(&["--master", "http://127.0.0.1:1", "--context", "prod"]);
    assert!(
        error.contains("--context") && error.lines().count() == 1,
        "a context is not passed over: {error}"
    );
}

/// As behind `| head -1`.
#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_it_in_good_order() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_workqueue-controller"))
        .arg("--embedded")
        .stdout(writer)
        .output()
        .unwrap();
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warnings}");
    assert!(!warnings.contains("panicked"), "{warnings}");
}
