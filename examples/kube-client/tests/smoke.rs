//! Runs the example, waits for its lines, and ends it.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn example(args: &[&str]) -> Command {
    let mut example = Command::new(env!("CARGO_BIN_EXE_kube-client-example"));
    example.args(args);
    example
}

#[cfg(unix)]
#[test]
fn the_informer_follows_what_kube_writes_until_sigterm() {
    let mut example = example(&["--embedded", "--for", "60"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(example.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("embedded API server at "));
    assert!(lines.any(|line| line.starts_with("synced: ")), "it does not sync");
    assert!(lines.any(|line| line.starts_with("+ default/web-3 ")), "the pods are never seen");
    assert!(lines.any(|line| line.starts_with("- default/web-0 ")), "no deletion is seen");

    let killed = Command::new("kill").args(["-TERM", &example.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert!(lines.any(|line| line.ends_with(" pods at the end")), "there is no last line");
    assert!(example.wait().unwrap().success());
}

/// A server of which only the version may be read.
#[cfg(unix)]
fn stingy() -> String {
    use std::io::Write as _;

    const VERSION: &str = r#"{"major":"1","minor":"37","gitVersion":"v1.37.2","gitCommit":"","gitTreeState":"",
        "buildDate":"","goVersion":"","compiler":"","platform":""}"#;
    const DENIED: &str =
        r#"{"kind":"Status","status":"Failure","message":"not yours","reason":"Forbidden","code":403}"#;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let asked = head.next().unwrap_or_default();
            head.find(String::is_empty);
            let (status, body) = match asked.starts_with("GET /version ") {
                true => ("200 OK", VERSION),
                false => ("403 Forbidden", DENIED),
            };
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            )
            .unwrap();
        }
    });
    url
}

#[cfg(unix)]
#[test]
fn a_denied_list_is_told_and_a_signal_ends_the_wait_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    let text = format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: k}}}}]\n\
         clusters: [{{name: k, cluster: {{server: '{}'}}}}]\n",
        stingy()
    );
    std::fs::write(&kubeconfig, text).unwrap();
    let mut example = example(&["--kubeconfig", kubeconfig.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(example.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("warning: cannot list pods") && line.contains("403")));
    let killed = Command::new("kill").args(["-TERM", &example.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert!(example.wait().unwrap().success());
}

#[test]
fn bad_input_is_named() {
    let output = example(&["--kubeconfig", "nowhere/config"]).output().unwrap();
    assert!(!output.status.success());
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("error: ") && err.contains("nowhere/config"), "{err}");
}

/// As behind `| head -1`.
#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_it_in_good_order() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_kube-client-example"))
        .arg("--embedded")
        .stdout(writer)
        .output()
        .unwrap();
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warnings}");
    assert!(!warnings.contains("panicked"), "{warnings}");
}
