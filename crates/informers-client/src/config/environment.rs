//! The process's environment, or one made up by a test.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub(crate) enum Environment {
    Process,
    #[cfg_attr(not(test), allow(dead_code, reason = "tests make up their surroundings"))]
    Fixed {
        variables: BTreeMap<String, OsString>,
        service_account: PathBuf,
    },
}

impl Environment {
    pub(crate) fn var_os(&self, name: &str) -> Option<OsString> {
        let value = match self {
            Self::Process => std::env::var_os(name),
            Self::Fixed { variables, .. } => variables.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    pub(crate) fn var(&self, name: &str) -> Option<String> {
        self.var_os(name).and_then(|value| value.into_string().ok())
    }

    /// The folder that Kubernetes mounts into every pod.
    pub(crate) fn service_account(&self) -> PathBuf {
        match self {
            Self::Process => PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount"),
            Self::Fixed { service_account, .. } => service_account.clone(),
        }
    }
}
