//! The factory over our client, keyed by types.

use std::fmt;
use std::ops::Deref;

use informers_client::Client;
use informers_core::Source;
use informers_shared::FactoryBuilder;

/// One shared informer for each resource, whoever asks: the front door of this crate.
///
/// It derefs to [`informers_shared::Factory`], which has everything that is not about types known at compile
/// time: `informer_for(resource)`, `start`, `synced`, `shutdown`. The source is our [`Client`] unless another
/// one is given, such as a `kube::Client` by the feature `kube-client`.
///
/// ```no_run
/// use informers::prelude::*;
/// use k8s_openapi::api::core::v1::Pod;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let factory = Factory::new(Client::from_env().await?);
/// let pods = factory.informer::<Pod>()?;
/// factory.start()?;
/// pods.synced().await?;
/// println!("{} pods", pods.store().len());
/// # Ok(()) }
/// ```
pub struct Factory<S = Client> {
    shared: informers_shared::Factory<S>,
}

impl<S: Source> Factory<S> {
    /// A factory with default settings: all namespaces, no resync.
    #[must_use]
    pub fn new(source: S) -> Self {
        Self::from(informers_shared::Factory::new(source))
    }

    /// Settings for a factory.
    ///
    /// ```
    /// # use informers::prelude::*;
    /// # fn f(client: Client) {
    /// let factory = Factory::builder(client).namespaces(["shop", "bank"]).build();
    /// # }
    /// ```
    pub fn builder(source: S) -> FactoryBuilder<S, Self> {
        informers_shared::Factory::builder(source).build_as()
    }
}

#[cfg(feature = "kube")]
mod typed {
    use informers_core::Source;
    use informers_kube::{StaticScope, kube_core};
    use informers_shared::{Error, InformerOptions, SharedInformer};
    use serde::de::DeserializeOwned;

    use super::Factory;

    impl<S: Source> Factory<S> {
        /// The informer of a type of k8s-openapi, or with `#[derive(CustomResource)]`.
        ///
        /// # Errors
        /// If the source cannot serve it, or the factory was shut down.
        #[track_caller]
        pub fn informer<K>(&self) -> Result<SharedInformer<K>, Error>
        where
            K: kube_core::Resource<DynamicType = (), Scope: StaticScope>
                + Clone
                + DeserializeOwned
                + Send
                + Sync
                + 'static,
        {
            self.shared.informer_for(&informers_kube::resource::<K>())
        }

        /// The same with options of its own: other scopes, a resync period, or a name that sets it apart.
        ///
        /// # Errors
        /// As [`informer`](Self::informer); and if the informer was given another resync period before.
        #[track_caller]
        pub fn informer_with<K>(&self, options: InformerOptions) -> Result<SharedInformer<K>, Error>
        where
            K: kube_core::Resource<DynamicType = (), Scope: StaticScope>
                + Clone
                + DeserializeOwned
                + Send
                + Sync
                + 'static,
        {
            self.shared.informer_for_with(&informers_kube::resource::<K>(), options)
        }
    }
}

impl<S> From<informers_shared::Factory<S>> for Factory<S> {
    fn from(shared: informers_shared::Factory<S>) -> Self {
        Self { shared }
    }
}

impl<S> Deref for Factory<S> {
    type Target = informers_shared::Factory<S>;

    fn deref(&self) -> &informers_shared::Factory<S> {
        &self.shared
    }
}

impl<S> Clone for Factory<S> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<S> fmt::Debug for Factory<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
