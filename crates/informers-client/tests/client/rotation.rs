//! Certificates that change while a watch is open.

use std::time::Duration;

use futures_util::StreamExt as _;
use informers_client::{Client, Timeouts, Tls};
use informers_core::{Scope, Source as _, WatchParams};

use crate::server::{Answer, Options, Server, event, widget, widgets};
use crate::tls::{Authority, server_tls};

#[tokio::test]
async fn a_watch_is_ended_in_time_when_the_client_certificate_changes() {
    for protocol in ["h2", "http/1.1"] {
        let authority = Authority::new();
        let tls = Some(server_tls(&authority.issue("127.0.0.1"), Some(&authority), &[protocol]));
        let (opened, mut bodies) = tokio::sync::mpsc::unbounded_channel();
        let server = Server::start_with(Options { tls, max_streams: 100 }, move |_| {
            let (answer, body) = Answer::stream();
            body.send(event("ADDED", &widget("a", 1, "")));
            opened.send(body).unwrap();
            answer
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("crt"), folder.path().join("key")];
        let write = || {
            let issued = authority.issue("bob");
            std::fs::write(&paths[0], issued.certificate).unwrap();
            std::fs::write(&paths[1], issued.key).unwrap();
        };
        write();
        let tls =
            Tls::new().with_ca_pem(authority.pem.clone()).with_client_certificate_files(&paths[0], &paths[1]);
        let timeouts = Timeouts { idle_connection: Duration::from_millis(100), ..Timeouts::default() };
        let client = Client::new(server.config().with_tls(tls).with_timeouts(timeouts)).unwrap();
        let widgets = client.list_watch(&widgets(), &Scope::all()).unwrap();
        let params = || WatchParams::from_version("0".into(), Duration::from_secs(300));

        let mut old = widgets.watch(params()).await.unwrap();
        old.next().await.unwrap().unwrap();
        let body = bodies.recv().await.unwrap();
        // With the same certificate it goes on, over several looks at the files.
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            body.send(event("MODIFIED", &widget("a", 2, "")));
            assert_eq!(old.next().await.unwrap().unwrap().len(), 1, "{protocol}");
        }
        write();
        let ended = tokio::time::timeout(Duration::from_secs(30), old.next()).await.unwrap();
        assert!(ended.is_none(), "{protocol}: it is no error, {ended:?}");
        body.closed().await;
        let mut new = widgets.watch(params()).await.unwrap();
        new.next().await.unwrap().unwrap();
    }
}
