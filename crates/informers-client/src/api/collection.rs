//! Requests for many objects at once.

use http::Method;
use informers_core::{FieldSelector, LabelSelector};

use super::{Api, DeleteOptions};
use crate::ClientError;
use crate::encode::Query;

impl<T: Send + Sync + 'static> Api<T> {
    /// Deletes the objects that both selectors choose, in one request; with finalizers or a grace period they are gone
    /// later. Selectors that are empty choose everything: of a namespaced resource, all in the namespace of this.
    ///
    /// The options hold for each object: a precondition that does not hold for one of them ends the request, and what was
    /// deleted before that stays deleted. So does what was deleted before a time limit of the server.
    ///
    /// # Errors
    /// If the server does not know a field of the selector, a precondition does not hold
    /// ([`is_conflict`](ClientError::is_conflict)), or the request fails. That nothing is chosen is none.
    ///
    /// ```no_run
    /// # async fn example(widgets: informers_client::Api<()>) -> Result<(), Box<dyn std::error::Error>> {
    /// use informers_client::DeleteOptions;
    /// use informers_core::FieldSelector;
    ///
    /// let of_web = "app=web".parse()?;
    /// widgets.delete_collection(&of_web, &FieldSelector::default(), &DeleteOptions::new()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete_collection(
        &self,
        labels: &LabelSelector,
        fields: &FieldSelector,
        options: &DeleteOptions,
    ) -> Result<(), ClientError> {
        let mut query = Query::default();
        query.put("labelSelector", labels.as_written());
        query.put("fieldSelector", &fields.to_string());
        let mut call = self.call(Method::DELETE, "delete all", None, "", &query)?;
        self.set_body(&mut call, &options.body(self.dry_run))?;
        self.client.call_for_head(&call).await
    }
}
