//! What holds for a cluster: what overrides its entry, the entry, what it falls back on.

use serde_json::Value;

use super::Field;
use crate::ClientError;
use crate::config::{ClusterSettings, Overrides, Pem};

/// Text, and where it stands, for errors.
pub(super) struct Placed {
    pub(super) text: String,
    pub(super) place: String,
}

pub(super) struct Cluster<'a> {
    entry: Field<'a>,
    over: &'a ClusterSettings,
    under: &'a ClusterSettings,
}

impl<'a> Cluster<'a> {
    pub(super) fn new(entry: Field<'a>, overrides: &'a Overrides) -> Self {
        Self { entry, over: &overrides.cluster_settings, under: &overrides.cluster_defaults }
    }

    pub(super) fn place(&self) -> String {
        self.entry.place()
    }

    fn text(
        &self,
        name: &str,
        of: impl Fn(&'a ClusterSettings) -> Option<&'a str>,
    ) -> Result<Option<Placed>, ClientError> {
        let said = |text: &str, who: &str| Placed { text: text.to_owned(), place: format!("{who}: {name}") };
        if let Some(text) = of(self.over) {
            return Ok(Some(said(text, "overrides")));
        }
        if let Some(text) = self.entry.string(name)? {
            return Ok(Some(Placed { text, place: self.entry.get_or_empty(name).place() }));
        }
        Ok(of(self.under).map(|text| said(text, "cluster defaults")))
    }

    pub(super) fn server(&self) -> Result<Placed, ClientError> {
        let server = self.text("server", |settings| settings.server.as_deref())?;
        server.ok_or_else(|| self.entry.get_or_empty("server").error("the cluster has no server"))
    }

    pub(super) fn tls_server_name(&self) -> Result<Option<String>, ClientError> {
        // The entry's name belongs to the entry's server.
        if self.over.server.is_some() {
            return Ok(self.over.tls_server_name.clone());
        }
        let name = self.text("tls-server-name", |settings| settings.tls_server_name.as_deref())?;
        Ok(name.map(|name| name.text))
    }

    pub(super) fn proxy_url(&self) -> Result<Option<Placed>, ClientError> {
        self.text("proxy-url", |settings| settings.proxy_url.as_ref().map(|url| url.expose()))
    }

    pub(super) fn disable_compression(&self) -> Result<bool, ClientError> {
        Ok(self.over.disable_compression
            || self.entry.bool("disable-compression")?
            || self.under.disable_compression)
    }

    /// The certificate authority, and whether any certificate is accepted: not both.
    pub(super) fn trust(&self) -> Result<(Option<Pem>, bool), ClientError> {
        if self.over.insecure && self.over.ca.is_some() {
            let problem = "excludes a certificate authority; remove one of the two";
            return Err(ClientError::configuration("overrides: insecure-skip-tls-verify", problem));
        }
        // One of the two in the overrides outdoes both in the entry.
        if self.over.insecure || self.over.ca.is_some() {
            return Ok((self.over.ca.clone(), self.over.insecure));
        }
        let ca = pem(&self.entry, "certificate-authority-data", "certificate-authority")?;
        let insecure = self.entry.bool("insecure-skip-tls-verify")?;
        if insecure && ca.is_some() {
            let problem = "excludes a certificate authority; remove one of the two";
            return Err(self.entry.get_or_empty("insecure-skip-tls-verify").error(problem));
        }
        if insecure || ca.is_some() {
            return Ok((ca, insecure));
        }
        Ok((self.under.ca.clone(), self.under.insecure && self.under.ca.is_none()))
    }

    /// What a plugin is told of the cluster, in the names of its own contract.
    pub(super) fn info_for_plugin(&self) -> Result<Value, ClientError> {
        use base64::Engine as _;
        let mut info = serde_json::Map::new();
        let mut put = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                info.insert(name.to_owned(), value.into());
            }
        };
        put("server", Some(self.server()?.text));
        put("tls-server-name", self.tls_server_name()?);
        put("proxy-url", self.proxy_url()?.map(|url| url.text));
        let (ca, insecure) = self.trust()?;
        let ca = match ca {
            None => None,
            Some(Pem::Data(data)) => Some(data),
            Some(Pem::File(path)) => Some(std::fs::read(&path).map_err(|error| {
                let problem = format!("{} cannot be read", path.display());
                self.entry.get_or_empty("certificate-authority").error(problem).because(error)
            })?),
        };
        put("certificate-authority-data", ca.map(|ca| base64::engine::general_purpose::STANDARD.encode(ca)));
        if insecure {
            info.insert("insecure-skip-tls-verify".to_owned(), true.into());
        }
        if self.disable_compression()? {
            info.insert("disable-compression".to_owned(), true.into());
        }
        for extension in self.entry.list("extensions")? {
            if extension.string("name")?.as_deref() == Some("client.authentication.k8s.io/exec")
                && let Some(config) = extension.get("extension")
            {
                info.insert("config".to_owned(), config.value().clone());
            }
        }
        Ok(info.into())
    }
}

/// Inline data beats a path.
pub(super) fn pem(field: &Field<'_>, data: &str, path: &str) -> Result<Option<Pem>, ClientError> {
    if let Some(data) = field.base64(data)? {
        return Ok(Some(Pem::Data(data)));
    }
    Ok(field.path(path)?.map(Pem::File))
}
