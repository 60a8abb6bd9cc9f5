//! A REST client for Kubernetes lists and watches: kubeconfig, in-cluster, typed requests.
//!
//! Public surface (bodies follow in the next commits):
//!
//! ```text
//! // config
//! pub struct Config { .. }                                  // Clone, Debug (secrets redacted)
//! impl Config {
//!     pub fn for_url(url: &str) -> Result<Config, ClientError>;            // no credentials, system roots
//!     pub fn from_kubeconfig_file(path: impl AsRef<Path>, context: Option<&str>) -> Result<Config, ClientError>;
//!     pub fn from_kubeconfig(kubeconfig: &Kubeconfig, context: Option<&str>) -> Result<Config, ClientError>;
//!     pub fn from_env() -> Result<Config, ClientError>;                    // $KUBECONFIG, ~/.kube/config, in-cluster
//!     pub fn in_cluster() -> Result<Config, ClientError>;
//!     pub fn with_tls(self, Tls) / with_credentials(self, Credentials) / with_namespace(self, &str) / with_user_agent / with_impersonation
//!          / with_gzip(self, Gzip) / with_timeouts(self, Timeouts) / with_limits(self, Limits) / with_server(self, url) -> Result<Self, _>
//!     pub fn server(&self) -> &Uri; pub fn namespace(&self) -> &str; ..
//! }
//! pub enum Credentials { None, Token(Secret), TokenFile(PathBuf), Basic { .. }, Exec(ExecPlugin) }
//! pub struct Tls { .. }          // CA, client certificate, insecure, server name
//! pub struct Kubeconfig;         // read(path), read_all(paths), default_paths()
//!
//! // client
//! pub struct Client;                                        // Clone, Debug; impl informers_core::Source
//! impl Client {
//!     pub fn new(config: Config) -> Result<Client, ClientError>;
//!     pub async fn from_env() -> Result<Client, ClientError>;
//!     pub fn config(&self) -> &Config;
//!     pub fn default_namespace(&self) -> &str;
//!     pub async fn server_version(&self) -> Result<ServerVersion, ClientError>;
//!     pub async fn raw(&self, request: RawRequest) -> Result<Bytes, ClientError>;      // any path
//!     pub async fn discover(&self, name: &str) -> Result<ResourceType, ClientError>;   // "pods", "widgets.example.com", "deployments.v1.apps"
//!     pub fn api<T>(&self, resource: &Resource<T>, namespace: Option<&str>) -> Api<T>;
//! }
//!
//! // api
//! pub struct Api<T>;                                        // Clone, Debug
//! impl<T> Api<T> {
//!     pub async fn get(&self, name: &str) -> Result<Entry<T>, ClientError>;
//!     pub async fn create(&self, object: &impl Serialize) -> Result<Entry<T>, ClientError>;
//!     pub async fn update(&self, name: &str, object: &impl Serialize) -> Result<Entry<T>, ClientError>;
//!     pub async fn patch(&self, name: &str, patch: &Patch) -> Result<Entry<T>, ClientError>;
//!     pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<(), ClientError>;
//!     pub async fn list_all(&self) -> Result<Vec<Item<T>>, ClientError>;
//!     pub async fn update_status / patch_status / get_subresource / ..
//! }
//! pub enum Patch { Merge(Value), Json(Value), Strategic(Value), Apply { object: Value, field_manager: String, force: bool } }
//! pub struct DeleteOptions;      // Default; propagation, grace period, preconditions
//!
//! // error
//! #[non_exhaustive] pub enum ClientError { .. }
//! impl ClientError { status() -> Option<&Status>; is_not_found/is_conflict/is_already_exists/is_forbidden/is_unauthorized/..; retry_after() }
//! impl From<ClientError> for informers_core::Error
//! ```
