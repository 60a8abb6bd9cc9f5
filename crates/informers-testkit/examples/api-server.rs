//! Runs the embedded API server until it is interrupted: `cargo run --example api-server -- [PORT]`.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use informers_testkit::ApiServer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).map(|text| text.parse()).transpose()?.unwrap_or(0);
    let server = ApiServer::builder().port(port).start().await?;
    println!("{}", server.kubeconfig());
    std::future::pending::<()>().await;
    Ok(())
}
