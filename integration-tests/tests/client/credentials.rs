//! Tokens and certificates that are replaced while an informer uses them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use informers::client::{Credentials, Tls};
use informers::prelude::*;
use informers::shared::ReflectorStatus;
use integration_tests::admin::{AdminClient, Login};
use integration_tests::control_plane::{Certificate, ControlPlane};
use integration_tests::follower::Follower;
use integration_tests::gate::Gate;
use integration_tests::harness::eventually;
use integration_tests::load::Load;
use integration_tests::provider::Cluster;
use integration_tests::world::World;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::rights::Right;

integration_tests::control_plane_tests! {
    a_token_that_rotates;
    a_client_certificate_that_rotates;
    a_server_certificate_by_another_authority: own;
}

/// Puts a text in the place of a file's, as kubelets and agents do it: nobody sees half of it.
fn replace(file: &Path, text: &str) -> Result<()> {
    let new = file.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(&new, file).with_context(|| format!("replacing {}", file.display()))
}

fn status(follower: &Follower<ConfigMap>) -> ReflectorStatus {
    follower.informer.status().reflectors[0].1.clone()
}

fn follow(world: &World, client: Client) -> Result<Follower<ConfigMap>> {
    Follower::of_config_maps(Factory::new(client).informer_with::<ConfigMap>(world.options())?)
}

/// Cuts the connection, so that the informer has to show what it is.
async fn show_again(gate: &Gate, follower: &Follower<ConfigMap>) -> Result<()> {
    let before = status(follower).watches;
    gate.close().await?;
    gate.open().await?;
    eventually("another watch is asked for", || async {
        let now = status(follower);
        Ok((now.watches <= before).then(|| format!("{now:?}")))
    })
    .await
}

/// Waits until the informer is held up by something of which its reason tells `word`.
async fn held_up(follower: &Follower<ConfigMap>, word: &str) -> Result<()> {
    eventually("the informer says what is wrong", || async {
        let phase = status(follower).phase;
        let text = phase.reason().map(|reason| format!("{:#}", anyhow::Error::from(reason.clone())));
        let named = text.as_ref().is_some_and(|text| text.to_lowercase().contains(word));
        Ok((!named).then(|| format!("{phase:?}: {text:?}")))
    })
    .await
}

async fn watching(follower: &Follower<ConfigMap>) -> Result<()> {
    eventually("the informer watches", || async {
        let phase = status(follower).phase;
        Ok((!phase.is_watching()).then(|| format!("{phase:?}")))
    })
    .await
}

/// A ServiceAccount, whose tokens live as long as the Secrets that they are bound to.
struct Account<'a> {
    control_plane: &'a ControlPlane,
    world: &'a World,
}

impl<'a> Account<'a> {
    const NAME: &'static str = "reader";

    async fn make(control_plane: &'a ControlPlane, world: &'a World) -> Result<Self> {
        let accounts = world.collection("/api/v1", "serviceaccounts");
        let _tokens_live_as_long = world.collection("/api/v1", "secrets");
        world.admin.create(&accounts.path, &json!({"metadata": {"name": Self::NAME}})).await?.ok()?;
        let user = format!("system:serviceaccount:{}:{}", world.namespace, Self::NAME);
        let subject = json!({"kind": "ServiceAccount", "name": Self::NAME, "namespace": world.namespace});
        Right::of(world, Self::NAME, &user, subject).await?.give().await?;
        Ok(Self { control_plane, world })
    }

    fn path(&self, of: &str) -> String {
        format!("/api/v1/namespaces/{}/{of}", self.world.namespace)
    }

    async fn token(&self, secret: &str) -> Result<String> {
        let admin = &self.world.admin;
        let made = admin.create(&self.path("secrets"), &json!({"metadata": {"name": secret}})).await?.ok()?;
        let bound = json!({
            "apiVersion": "v1", "kind": "Secret", "name": secret, "uid": made["metadata"]["uid"],
        });
        let request = json!({"spec": {"expirationSeconds": 3600, "boundObjectRef": bound}});
        let path = self.path(&format!("serviceaccounts/{}/token", Self::NAME));
        let answer = admin.create(&path, &request).await?.ok()?;
        Ok(answer["status"]["token"].as_str().context("no token")?.to_owned())
    }

    /// Deletes what a token is bound to, and waits until the server, which remembers good tokens for a while,
    /// takes it no more.
    async fn invalidate(&self, secret: &str, token: &str) -> Result<()> {
        self.world.admin.delete(&self.path(&format!("secrets/{secret}"))).await?.ok()?;
        let (address, authority) = (self.control_plane.address(), self.control_plane.authority_pem());
        let holder = AdminClient::secure(address, authority.as_bytes(), Login::Token(token.to_owned()))?;
        eventually("the old token is taken no more", || async {
            let status = holder.get(&self.path("configmaps")).await?.status;
            Ok((status != 401).then(|| status.to_string()))
        })
        .await
    }
}

async fn a_token_that_rotates(control_plane: Arc<ControlPlane>) -> Result<()> {
    let cluster: Arc<dyn Cluster> = Arc::clone(&control_plane) as _;
    let world = World::new(&cluster, "token").await?;
    let account = Account::make(&control_plane, &world).await?;
    let (first, second) = (account.token("first").await?, account.token("second").await?);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("token");
    replace(&file, &first)?;
    let gate = Gate::before(control_plane.address()).await?;
    let config = Config::for_url(&format!("https://{}", gate.address()))?
        .with_tls(Tls::new().with_ca_pem(control_plane.authority_pem()))
        .with_credentials(Credentials::TokenFile(file.clone()));
    let follower = follow(&world, Client::new(config)?)?.start().await?;
    let lists = status(&follower).lists;
    let load = Load::start(&world, 20, 18);

    // As it should be: the new token is there before the old one ends.
    replace(&file, &second)?;
    account.invalidate("first", &first).await?;
    show_again(&gate, &follower).await?;
    watching(&follower).await?;
    let error = status(&follower).last_error;
    ensure!(
        !error.as_ref().is_some_and(|error| error.is_unauthorized()),
        "the refusal was not met: {error:?}"
    );

    // The new token comes late: its holder is refused meanwhile, keeps what it has, and says why.
    account.invalidate("second", &second).await?;
    show_again(&gate, &follower).await?;
    held_up(&follower, "unauthorized").await?;
    ensure!(status(&follower).synced && !follower.stored().is_empty(), "{:?}", status(&follower));
    replace(&file, &account.token("third").await?)?;
    watching(&follower).await?;

    load.end().await?;
    follower.converges(&world.truth()).await?;
    ensure!(status(&follower).lists == lists, "a token costs no list: {:?}", status(&follower));
    follower.stop().await;
    Ok(())
}

/// A client certificate and its key as files.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn within(folder: &Path) -> Self {
        Self { certificate: folder.join("client.crt"), key: folder.join("client.key") }
    }

    fn put(&self, Certificate { certificate, key }: &Certificate) -> Result<()> {
        replace(&self.certificate, certificate)?;
        replace(&self.key, key)
    }
}

/// What the server takes a client for.
async fn user_of(client: &Client) -> Result<String> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string();
    let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(Bytes::from(review))?;
    let answer: Value = serde_json::from_slice(client.raw(request).await?.body())?;
    Ok(answer["status"]["userInfo"]["username"].as_str().context("no user")?.to_owned())
}

async fn a_client_certificate_that_rotates(control_plane: Arc<ControlPlane>) -> Result<()> {
    let cluster: Arc<dyn Cluster> = Arc::clone(&control_plane) as _;
    let world = World::new(&cluster, "certificate").await?;
    let (first, second) = (Right::of_user(&world, "first").await?, Right::of_user(&world, "second").await?);
    first.give().await?;
    second.give().await?;
    let folder = tempfile::tempdir()?;
    let files = Files::within(folder.path());
    files.put(&control_plane.client_certificate("first", &[])?)?;
    let gate = Gate::before(control_plane.address()).await?;
    let tls = Tls::new()
        .with_ca_pem(control_plane.authority_pem())
        .with_client_certificate_files(&files.certificate, &files.key);
    let client = Client::new(Config::for_url(&format!("https://{}", gate.address()))?.with_tls(tls))?;
    let follower = follow(&world, client.clone())?.start().await?;
    ensure!(user_of(&client).await? == "first");
    let lists = status(&follower).lists;
    let load = Load::start(&world, 20, 19);

    // Half of a rotation is no reason to fail.
    let next = control_plane.client_certificate("second", &[])?;
    replace(&files.certificate, &next.certificate)?;
    show_again(&gate, &follower).await?;
    watching(&follower).await?;
    ensure!(user_of(&client).await? == "first");

    replace(&files.key, &next.key)?;
    // Only the new certificate's user may still read.
    first.take().await?;
    show_again(&gate, &follower).await?;
    watching(&follower).await?;
    ensure!(user_of(&client).await? == "second");

    load.end().await?;
    follower.converges(&world.truth()).await?;
    ensure!(status(&follower).lists == lists, "a certificate costs no list: {:?}", status(&follower));
    follower.stop().await;
    Ok(())
}

async fn a_server_certificate_by_another_authority(control_plane: Arc<ControlPlane>) -> Result<()> {
    let cluster: Arc<dyn Cluster> = Arc::clone(&control_plane) as _;
    let mut world = World::new(&cluster, "authority").await?;
    world.create("a", "web", 1).await?;
    let folder = tempfile::tempdir()?;
    let (authorities, files) = (folder.path().join("ca.crt"), Files::within(folder.path()));
    replace(&authorities, &control_plane.authority_pem())?;
    files.put(&control_plane.client_certificate("admin", &["system:masters"])?)?;
    let tls =
        Tls::new().with_ca_file(&authorities).with_client_certificate_files(&files.certificate, &files.key);
    let client =
        Client::new(Config::for_url(&format!("https://{}", control_plane.address()))?.with_tls(tls))?;
    let follower = follow(&world, client)?.start().await?;
    let stored = follower.stored();

    control_plane.kill_apiserver()?;
    control_plane.change_serving_certificate()?;
    control_plane.restart_apiserver().await?;
    // Nobody trusts a server only because it is where the old one was.
    held_up(&follower, "certificate").await?;
    world.admin = control_plane.admin();
    world.create("b", "web", 2).await?;
    ensure!(follower.stored() == stored, "what was read stays, and nothing is read from a stranger");
    replace(&authorities, &control_plane.authority_pem())?;
    watching(&follower).await?;
    follower.converges(&world.truth()).await?;
    follower.stop().await;
    Ok(())
}
