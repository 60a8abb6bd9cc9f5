//! Starts a real API server for trying things out; `cargo xtask control-plane start` calls it.
#![allow(clippy::print_stdout, reason = "it tells where the kubeconfig is")]

#[cfg(unix)]
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    use anyhow::Context;
    use integration_tests::control_plane::ControlPlane;
    use tokio::signal::unix::{SignalKind, signal};

    let binaries = std::env::var_os("INFORMERS_CONTROL_PLANE_BIN")
        .context("INFORMERS_CONTROL_PLANE_BIN is not set; run `cargo xtask control-plane start`")?;
    let mut terminate = signal(SignalKind::terminate())?;
    let control_plane = ControlPlane::start(binaries.as_ref()).await?;
    if std::env::args().any(|argument| argument == "--full") {
        control_plane.start_controllers().await?;
    }
    println!("export KUBECONFIG={}", control_plane.kubeconfig().display());
    println!("Ctrl-C stops it and removes its folder");
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {
    println!("the built control plane needs a Unix system");
}
