//! Starts a real API server for trying things out; `cargo xtask control-plane start` calls it.
#![allow(clippy::print_stdout, reason = "it tells where the kubeconfig is")]

#[cfg(unix)]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    use std::sync::Arc;

    use anyhow::Context;
    use integration_tests::control_plane::ControlPlane;
    use tokio::signal::unix::{SignalKind, signal};
    use tokio::sync::Notify;

    let binaries = std::env::var_os("INFORMERS_CONTROL_PLANE_BIN")
        .context("INFORMERS_CONTROL_PLANE_BIN is not set; run `cargo xtask control-plane start`")?;
    let mut terminate = signal(SignalKind::terminate())?;
    let control_plane = ControlPlane::start(binaries.as_ref()).await?;
    let asked = |option| std::env::args().any(|argument| argument == option);
    if asked("--full") {
        control_plane.start_controllers().await?;
    }
    let input_ended = Arc::new(Notify::new());
    if asked("--until-input-ends") {
        // For a parent process, whose end, whatever it is, ends this one too. A thread, since a runtime
        // waits for its reads of standard input.
        let ended = Arc::clone(&input_ended);
        std::thread::spawn(move || {
            let read = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            ended.notify_one();
            read
        });
    }
    println!("export KUBECONFIG={}", control_plane.kubeconfig().display());
    println!("Ctrl-C stops it and removes its folder");
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
        () = input_ended.notified() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {
    println!("the built control plane needs a Unix system");
}
