//! A real etcd and kube-apiserver on loopback ports, one pair for each [`ControlPlane`].

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::admin::{AdminClient, Login};
use crate::provider::Provider;

mod authority;
mod controllers;
mod credentials;
mod guard;
mod ports;
mod process;

pub use authority::Certificate;
use credentials::Credentials;
use guard::Guard;
use process::Server;

/// Ready after two seconds on an idle machine; a loaded one may take long.
const READY_WITHIN: Duration = Duration::from_secs(90);

/// Another program may take a port between the choice and the use.
const ATTEMPTS: usize = 3;

/// Addresses of services that no test uses: they must not be those of a real network here.
const SERVICE_ADDRESSES: &str = "10.0.0.0/24";

/// etcd and kube-apiserver, stopped and removed on drop, and when this process dies.
///
/// TLS is real: a CA of its own signs the API server's certificate, another one those of clients.
#[derive(Debug)]
pub struct ControlPlane {
    binaries: PathBuf,
    credentials: Credentials,
    ports: Ports,
    kubeconfig: PathBuf,
    provider: Provider,
    servers: Mutex<Servers>,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    apiserver: u16,
}

/// In the order in which they must stop: an API server whose etcd is gone holds its port for long.
#[derive(Debug)]
struct Servers {
    /// Controller-manager, scheduler and simulated kubelets, where they were asked for.
    controllers: Vec<Server>,
    apiserver: Option<Server>,
    etcd: Server,
    guard: Guard,
}

impl ControlPlane {
    /// Starts both servers in a new temporary folder and waits until the API server is ready.
    ///
    /// `binaries` is the folder that holds `etcd` and `kube-apiserver`.
    ///
    /// # Errors
    /// When a program is missing or does not become ready; the message ends with its last lines.
    pub async fn start(binaries: &Path) -> Result<Self> {
        for program in ["etcd", "kube-apiserver"] {
            if !binaries.join(program).is_file() {
                bail!(
                    "there is no {program} in {}; run `cargo xtask control-plane build`",
                    binaries.display()
                );
            }
        }
        let mut attempt = 1;
        loop {
            match Self::try_start(binaries).await {
                Err(error)
                    if attempt < ATTEMPTS && format!("{error:#}").contains("address already in use") =>
                {
                    attempt += 1;
                }
                started => return started.context("starting a control plane"),
            }
        }
    }

    async fn try_start(binaries: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("informers-control-plane-").tempdir()?.keep();
        let mut guard = Guard::over(&folder)?;
        let [etcd, etcd_peer, apiserver] = ports::free()?;
        let ports = Ports { etcd, etcd_peer, apiserver };
        let credentials = Credentials::create(&folder)?;
        let etcd = start_etcd(binaries, &folder, ports, &mut guard)?;
        let apiserver = start_apiserver(binaries, &credentials, ports, &mut guard)?;
        let servers =
            Mutex::new(Servers { controllers: Vec::new(), apiserver: Some(apiserver), etcd, guard });
        let this = Self {
            binaries: binaries.to_owned(),
            kubeconfig: folder.join("kubeconfig"),
            provider: Provider::ControlPlane,
            credentials,
            ports,
            servers,
        };
        this.wait_until_ready().await?;
        this.credentials.write_kubeconfig(&this.kubeconfig, &this.address())?;
        Ok(this)
    }

    /// The same, known as a cluster of `provider`.
    #[must_use]
    pub(crate) fn called(mut self, provider: Provider) -> Self {
        self.provider = provider;
        self
    }

    pub(crate) fn provider(&self) -> Provider {
        self.provider
    }

    /// A kubeconfig with the contexts `admin` (current, a token), `certificate` (a client
    /// certificate with the same rights), `stranger` (known, may do nothing) and `unknown` (a
    /// token that the server does not know).
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// `host:port` of the API server.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.ports.apiserver)
    }

    /// The CA certificate of the API server, a PEM text.
    #[must_use]
    pub fn authority_pem(&self) -> String {
        self.credentials.serving_authority()
    }

    /// A certificate by which a client is `user`, a member of `groups`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn client_certificate(&self, user: &str, groups: &[&str]) -> Result<Certificate> {
        self.credentials.client_certificate(user, groups)
    }

    /// Has another CA sign another certificate for the API server, which must have been killed; from its next
    /// start on it serves that one. The kubeconfig follows; [`admin`](Self::admin) clients from before do not.
    ///
    /// # Errors
    /// When the API server runs, or the certificate cannot be made.
    pub fn change_serving_certificate(&self) -> Result<()> {
        if self.lock().apiserver.is_some() {
            bail!("the API server runs");
        }
        self.credentials.change_serving_certificate()?;
        self.credentials.write_kubeconfig(&self.kubeconfig, &self.address())
    }

    /// A client that may do everything.
    ///
    /// # Panics
    /// Never: the certificate is of our own making.
    #[must_use]
    pub fn admin(&self) -> AdminClient {
        self.client().expect("the CA's certificate can be read")
    }

    fn client(&self) -> Result<AdminClient> {
        let login = Login::Token(self.credentials.admin_token().to_owned());
        AdminClient::secure(self.address(), self.authority_pem().as_bytes(), login)
    }

    /// Compacts etcd at its present revision. What the API server has in its watch cache stays.
    ///
    /// # Errors
    /// When etcd does not answer as it should.
    pub async fn compact_etcd(&self) -> Result<()> {
        let etcd = AdminClient::plain(format!("127.0.0.1:{}", self.ports.etcd));
        let key = STANDARD.encode("any");
        let range = etcd.create("/v3/kv/range", &json!({ "key": key })).await?.ok()?;
        let revision = range["header"]["revision"].as_str().context("etcd told no revision")?;
        let request = json!({ "revision": revision, "physical": true });
        etcd.create("/v3/kv/compaction", &request).await?.ok().context("compacting etcd")?;
        Ok(())
    }

    /// Kills the API server at once, as a crash does.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill_apiserver(&self) -> Result<()> {
        let mut servers = self.lock();
        let mut server = servers.apiserver.take().context("the API server does not run")?;
        servers.guard.forget(server.id())?;
        server.kill()
    }

    /// Starts a killed API server at its old port and waits until it is ready.
    ///
    /// # Errors
    /// When it runs, or does not become ready.
    pub async fn restart_apiserver(&self) -> Result<()> {
        {
            let mut servers = self.lock();
            if servers.apiserver.is_some() {
                bail!("the API server runs already");
            }
            let server = start_apiserver(&self.binaries, &self.credentials, self.ports, &mut servers.guard)?;
            servers.apiserver = Some(server);
        }
        self.wait_until_ready().await
    }

    /// Stalls the API server: its connections stay open, nothing moves.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pause_apiserver(&self) -> Result<()> {
        self.lock().apiserver.as_ref().context("the API server does not run")?.pause()
    }

    /// Lets a stalled API server go on.
    ///
    /// # Errors
    /// When it does not run.
    pub fn resume_apiserver(&self) -> Result<()> {
        self.lock().apiserver.as_ref().context("the API server does not run")?.resume()
    }

    /// Whether a folder holds what [`start_controllers`](Self::start_controllers) needs.
    #[must_use]
    pub fn has_controllers(binaries: &Path) -> bool {
        controllers::PROGRAMS.iter().all(|program| binaries.join(program).is_file())
    }

    /// Starts controller-manager and scheduler, and simulated nodes on which pods run at once.
    ///
    /// # Errors
    /// When a program is missing, or the nodes cannot be made.
    pub async fn start_controllers(&self) -> Result<()> {
        {
            let mut servers = self.lock();
            if !servers.controllers.is_empty() {
                bail!("the controllers run already");
            }
            let servers = &mut *servers;
            servers.controllers = controllers::start(
                &self.binaries,
                &self.kubeconfig,
                self.credentials.folder(),
                &mut servers.guard,
            )?;
        }
        controllers::make_nodes(&self.client()?).await
    }

    /// Whether namespaces are emptied and pods run.
    #[must_use]
    pub fn runs_controllers(&self) -> bool {
        !self.lock().controllers.is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Servers> {
        self.servers.lock().expect("no user of the servers panics while it holds them")
    }

    async fn wait_until_ready(&self) -> Result<()> {
        let admin = self.client()?;
        let deadline = Instant::now() + READY_WITHIN;
        while let Err(error) = is_ready(&admin).await {
            self.wait_a_little(deadline, error).await?;
        }
        Ok(())
    }

    /// The pause between two questions; an error when a server has ended or patience has.
    async fn wait_a_little(&self, deadline: Instant, not_yet: anyhow::Error) -> Result<()> {
        self.check_that_both_run()?;
        if Instant::now() > deadline {
            let lines = self.lock().apiserver.as_ref().map(Server::last_lines).unwrap_or_default();
            let waited = READY_WITHIN.as_secs();
            return Err(not_yet.context(format!("the API server is not ready after {waited} s:\n{lines}")));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(())
    }

    fn check_that_both_run(&self) -> Result<()> {
        let mut servers = self.lock();
        if servers.etcd.has_ended()? {
            bail!("etcd has ended:\n{}", servers.etcd.last_lines());
        }
        let apiserver = servers.apiserver.as_mut().context("the API server was killed meanwhile")?;
        if apiserver.has_ended()? {
            bail!("the API server has ended:\n{}", apiserver.last_lines());
        }
        Ok(())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        let Ok(servers) = self.servers.get_mut() else { return };
        // The guard kills what is left and removes the folder, so errors here change nothing.
        for controller in &mut servers.controllers {
            let _gone = controller.kill();
        }
        if let Some(apiserver) = servers.apiserver.as_mut() {
            let _gone = apiserver.kill();
        }
        let _gone = servers.etcd.kill();
    }
}

async fn is_ready(admin: &AdminClient) -> Result<()> {
    admin.get("/readyz").await?.ok()?;
    // It is made in the background after start, and every test needs it.
    admin.get("/api/v1/namespaces/default").await?.ok()?;
    Ok(())
}

fn start_etcd(binaries: &Path, folder: &Path, ports: Ports, guard: &mut Guard) -> Result<Server> {
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let arguments = [
        format!("--data-dir={}", folder.join("etcd").display()),
        // Nothing here must survive a power cut.
        "--unsafe-no-fsync".into(),
        format!("--listen-client-urls={}", url(ports.etcd)),
        format!("--advertise-client-urls={}", url(ports.etcd)),
        format!("--listen-peer-urls={}", url(ports.etcd_peer)),
        format!("--initial-advertise-peer-urls={}", url(ports.etcd_peer)),
        format!("--initial-cluster=default={}", url(ports.etcd_peer)),
    ];
    Server::start(&binaries.join("etcd"), &arguments, &folder.join("etcd.log"), guard)
}

fn start_apiserver(
    binaries: &Path,
    credentials: &Credentials,
    ports: Ports,
    guard: &mut Guard,
) -> Result<Server> {
    let folder = credentials.folder();
    let file = |name: &str| folder.join(name).display().to_string();
    let arguments = [
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        // Tests compact when they mean to.
        "--etcd-compaction-interval=0".into(),
        format!("--tls-cert-file={}", file(credentials::SERVING_CERTIFICATE)),
        format!("--tls-private-key-file={}", file(credentials::SERVING_KEY)),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        // It refuses to publish a loopback address, and nobody looks for one.
        "--endpoint-reconciler-type=none".into(),
        format!("--secure-port={}", ports.apiserver),
        format!("--service-cluster-ip-range={SERVICE_ADDRESSES}"),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--service-account-key-file={}", file(credentials::SERVICE_ACCOUNT_PUBLIC)),
        format!("--service-account-signing-key-file={}", file(credentials::SERVICE_ACCOUNT_PRIVATE)),
        format!("--token-auth-file={}", file(credentials::TOKENS)),
        format!("--client-ca-file={}", file(credentials::CLIENT_AUTHORITY)),
        "--authorization-mode=RBAC".into(),
        // No controller makes the accounts that this plugin waits for.
        "--disable-admission-plugins=ServiceAccount".into(),
        "--allow-privileged=true".into(),
    ];
    Server::start(&binaries.join("kube-apiserver"), &arguments, &folder.join("apiserver.log"), guard)
}
