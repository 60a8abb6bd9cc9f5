//! Runs the example, waits for its lines, and ends it.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use informers_testkit::ApiServer;
use serde_json::json;

const EXAMPLE: &str = env!("CARGO_BIN_EXE_shared-informer-factory");

#[cfg(unix)]
fn end(example: &Child) {
    let killed = Command::new("kill").args(["-TERM", &example.id().to_string()]).status().unwrap();
    assert!(killed.success());
}

/// Reads lines until all of these were seen in one of them each, and gives them.
fn read_until(lines: &mut impl Iterator<Item = String>, wanted: &[&[&str]]) -> Vec<String> {
    let mut seen = Vec::new();
    let is_there = |seen: &[String], parts: &[&str]| {
        seen.iter().any(|line: &String| parts.iter().all(|part| line.contains(part)))
    };
    for line in lines {
        seen.push(line);
        if wanted.iter().all(|parts| is_there(&seen, parts)) {
            return seen;
        }
    }
    let missing: Vec<_> = wanted.iter().filter(|parts| !is_there(&seen, parts)).collect();
    panic!("it ended before these lines: {missing:?}\n{}", seen.join("\n"));
}

#[cfg(unix)]
#[test]
fn the_main_job_is_shown_until_sigterm() {
    let mut example =
        Command::new(EXAMPLE).args(["--embedded", "--for", "60"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(example.stdout.take().unwrap()).lines().map(Result::unwrap);
    let seen = read_until(
        &mut lines,
        &[
            &["embedded API server at http://127.0.0.1:"],
            &["pods", "added", "informers-demo/web-0", "(first list)"],
            &["deployments", "added", "informers-demo/web"],
            &["widgets", "added", "informers-demo/gear"],
            &["pods", "added", "informers-demo/web-2"],
            &["pods", "updated", "informers-demo/web-2", "node=demo-node-"],
            &["deployments", "updated"],
            &["widgets", "updated"],
            &["pods", "deleted", "informers-demo/web-0"],
            &["index", "look-up", "demo-node-1", "informers-demo/"],
            &["controller", "counted", "web", "wanted="],
            &["controller", "retry", "web", "pods without a node: 1"],
            &["server", "outage"],
            &["pods", "relist", "its version has expired (410)"],
            &["pods", "deleted", "informers-demo/api-0", "(noticed by the relist)"],
        ],
    );
    assert!(seen.len() >= 10);
    end(&example);
    let rest: Vec<_> = lines.collect();
    let summary = rest.iter().position(|line| line.starts_with("summary after ")).expect("no summary");
    let pods = rest[summary..].iter().find(|line| line.starts_with("pods ")).unwrap();
    let numbers: Vec<u64> = pods.split_whitespace().skip(1).map(|number| number.parse().unwrap()).collect();
    let [objects, added, _, deleted, lists, relists] = numbers[..] else { panic!("{pods}") };
    assert_eq!(objects, added - deleted, "{pods}");
    assert_eq!((lists, relists), (2, 1), "{pods}");
    assert!(example.wait().unwrap().success());
}

#[cfg(unix)]
#[tokio::test]
async fn a_kubeconfig_is_followed_without_a_write() {
    let server = ApiServer::start().await.unwrap();
    server.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})).unwrap();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "cart-0", "namespace": "shop", "labels": {"app": "cart"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    });
    server.create(pod).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    server.write_kubeconfig(&kubeconfig).unwrap();
    let before = server.revision();
    let mut example = Command::new(EXAMPLE)
        .args(["--for", "60", "--kubeconfig"])
        .arg(&kubeconfig)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let reading = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(example.stdout.take().unwrap()).lines().map(Result::unwrap);
        read_until(
            &mut lines,
            &[
                &["pods", "added", "shop/cart-0", "app=cart node=n1"],
                &["deployments", "synced", "0 objects"],
                &["widgets", "missing", "--install-crd"],
                &["index", "look-up", "n1", "shop/cart-0"],
            ],
        );
        end(&example);
        assert!(example.wait().unwrap().success());
    });
    reading.await.unwrap();
    assert_eq!(server.revision(), before, "something was written");
}

#[cfg(unix)]
#[tokio::test]
async fn churn_takes_away_what_it_made() {
    let server = ApiServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    server.write_kubeconfig(&kubeconfig).unwrap();
    let mut example = Command::new(EXAMPLE)
        .args(["--churn", "--install-crd", "--for", "60", "--kubeconfig"])
        .arg(&kubeconfig)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let reading = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(example.stdout.take().unwrap()).lines().map(Result::unwrap);
        read_until(
            &mut lines,
            &[
                &["pods", "added", "informers-demo/web-2"],
                &["widgets", "updated", "informers-demo/gear"],
                &["pods", "deleted", "informers-demo/web-0"],
            ],
        );
        // As controllers do where there are some.
        let left_by_controllers = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "kube-root-ca.crt", "namespace": "informers-demo"},
        });
        server.create(left_by_controllers).unwrap();
        end(&example);
        assert!(lines.any(|line| line.starts_with("summary after ")));
        assert!(example.wait().unwrap().success());
        server
    });
    let server = reading.await.unwrap();
    let namespaces = informers::kube::resource_type::<k8s_openapi::api::core::v1::Namespace>();
    assert!(server.get(&namespaces, None, "informers-demo").is_none(), "the namespace is left");
    let pods = informers::kube::resource_type::<k8s_openapi::api::core::v1::Pod>();
    assert!(server.list(&pods, None).is_empty(), "pods are left");
}

#[test]
fn bad_input_is_one_clear_line() {
    let run = |args: &[&str]| {
        let output = Command::new(EXAMPLE).args(args).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let error = run(&["--kubeconfig", "nowhere/config"]);
    assert!(error.starts_with("error: ") && error.contains("nowhere/config"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(run(&["--for", "soon"]).contains("--for"));
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let mut example =
        Command::new(EXAMPLE).args(["--embedded", "--for", "60"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut byte = [0];
    example.stdout.take().unwrap().read_exact(&mut byte).unwrap();
    assert!(example.wait().unwrap().success());
}
