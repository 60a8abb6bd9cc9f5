//! Runs the embedded API server until it is interrupted: `cargo run --example api-server -- [PORT]`.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use informers_testkit::{ApiServer, StartError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let port = std::env::args().nth(1);
    match start(port.as_deref()).await {
        Ok(server) => {
            // The server is of use to others also if nobody reads this.
            let _ = writeln!(std::io::stdout(), "{}", server.kubeconfig());
            std::future::pending().await
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn start(port: Option<&str>) -> Result<ApiServer, Box<dyn Error>> {
    let port = port.unwrap_or("0");
    let port = port
        .parse()
        .map_err(|_| format!("`{port}` is no port; give a number up to 65535, or 0 for any that is free"))?;
    ApiServer::builder().port(port).start().await.map_err(|error| match error {
        StartError::Listen { ref source, .. } => format!("{error}: {source}").into(),
        // This says it all.
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn problem(port: &str) -> String {
        start(Some(port)).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn a_bad_port_and_one_in_use_are_told_in_one_clear_line() {
        for bad in ["65536", "-1", "http", ""] {
            assert_eq!(
                problem(bad).await,
                format!("`{bad}` is no port; give a number up to 65535, or 0 for any that is free")
            );
        }
        let first = start(None).await.unwrap();
        let port = first.port();
        assert_eq!(
            problem(&port.to_string()).await,
            format!(
                "cannot start the API server: port {port} is in use; choose another, or 0 for any that is free"
            )
        );
    }
}
