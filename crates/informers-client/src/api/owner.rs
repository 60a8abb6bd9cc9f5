//! Which object owns which.

use informers_core::{Entry, ResourceType};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A reference from an object to its owner (`metadata.ownerReferences`): the object is deleted after its owner.
///
/// Owner and object must be in the same namespace, unless the owner is cluster-scoped.
///
/// ```
/// use informers_client::OwnerReference;
/// use serde_json::json;
///
/// let owner = OwnerReference::new("example.com/v1", "Widget", "w", "u-w").controller();
/// let mut part = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "w-settings" } });
/// owner.set_on(&mut part)?;
/// assert_eq!(OwnerReference::controller_of(&part), Some(owner));
///
/// let other = OwnerReference::new("example.com/v1", "Widget", "x", "u-x").controller();
/// assert_eq!(other.set_on(&mut part).unwrap_err().to_string(), "it is controlled by Widget w already");
/// # Ok::<(), informers_client::ControlledByAnother>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OwnerReference {
    /// Group and version of the owner.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid: another object of that name is no owner.
    pub uid: String,
    /// Whether it is the one that manages the object; of those there is at most one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub controller: bool,
    /// Whether the owner stays until the object is gone when it is deleted in the foreground.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub block_owner_deletion: bool,
}

/// An object has a controller already, and is to get another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is controlled by {} {} already", .0.kind, .0.name)]
pub struct ControlledByAnother(pub OwnerReference);

impl OwnerReference {
    /// To this owner, which does not control.
    pub fn new(
        api_version: impl Into<String>,
        kind: impl Into<String>,
        name: impl Into<String>,
        uid: impl Into<String>,
    ) -> Self {
        Self {
            api_version: api_version.into(),
            kind: kind.into(),
            name: name.into(),
            uid: uid.into(),
            controller: false,
            block_owner_deletion: false,
        }
    }

    /// To this object.
    pub fn of<T>(owner: &Entry<T>, resource_type: &ResourceType) -> Self {
        let (api_version, kind) = (resource_type.api_version(), resource_type.kind());
        Self::new(api_version, kind, owner.key().name(), owner.uid().to_string())
    }

    /// As the one that manages the object, which stays until the object is gone.
    #[must_use]
    pub fn controller(mut self) -> Self {
        self.controller = true;
        self.block_owner_deletion = true;
        self
    }

    /// Puts the reference into an object; one to the same owner is replaced. JSON that is no object stays as it is.
    ///
    /// # Errors
    /// If both this owner and another are controllers; the object is left as it was.
    pub fn set_on(&self, object: &mut Value) -> Result<(), ControlledByAnother> {
        if self.controller
            && let Some(other) = Self::controller_of(object)
            && other.uid != self.uid
        {
            return Err(ControlledByAnother(other));
        }
        if let Some(list) = metadata_list(object, "ownerReferences") {
            list.retain(|known| known["uid"] != self.uid.as_str());
            list.push(json!(self));
        }
        Ok(())
    }

    /// Takes the reference to this owner out of an object, and says whether there was one. The owner is known by its
    /// uid.
    ///
    /// ```
    /// use informers_client::OwnerReference;
    /// use serde_json::json;
    ///
    /// let owner = OwnerReference::new("example.com/v1", "Widget", "w", "u-w");
    /// let mut part = json!({ "metadata": { "ownerReferences": [owner] } });
    /// assert!(owner.remove_from(&mut part));
    /// assert!(!owner.remove_from(&mut part), "the object has no owner any more");
    /// ```
    pub fn remove_from(&self, object: &mut Value) -> bool {
        let list = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        let Some(list) = list else { return false };
        let before = list.len();
        list.retain(|known| known["uid"] != self.uid.as_str());
        list.len() < before
    }

    /// The owner that manages an object.
    #[must_use]
    pub fn controller_of(object: &Value) -> Option<Self> {
        let references = object["metadata"]["ownerReferences"].as_array()?;
        let mut references = references.iter().filter_map(|known| Self::deserialize(known).ok());
        references.find(|known| known.controller)
    }
}

/// A list in an object's metadata, made if it is not there; none if this is no object.
pub(super) fn metadata_list<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Vec<Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| json!({}));
    let list = metadata.as_object_mut()?.entry(field).or_insert_with(|| json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_put_once_beside_others() {
        let mut object = json!({ "metadata": { "ownerReferences": [
            { "apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u-n" },
            { "apiVersion": "v1", "kind": "Old", "name": "w", "uid": "u-w" },
        ] } });
        let owner = OwnerReference::new("v1", "Widget", "w", "u-w").controller();
        for _ in 0..2 {
            owner.set_on(&mut object).unwrap();
        }
        assert_eq!(
            object["metadata"]["ownerReferences"],
            json!([
                { "apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u-n" },
                { "apiVersion": "v1", "kind": "Widget", "name": "w", "uid": "u-w",
                  "controller": true, "blockOwnerDeletion": true },
            ])
        );
        let before = object.clone();
        assert!(OwnerReference::new("v1", "Widget", "x", "u-x").controller().set_on(&mut object).is_err());
        assert_eq!(object, before);
        OwnerReference::new("v1", "Widget", "x", "u-x").set_on(&mut object).unwrap();
        assert_eq!(OwnerReference::controller_of(&object).unwrap().name, "w");
        assert!(owner.remove_from(&mut object));
        assert_eq!(OwnerReference::controller_of(&object), None);
        let names = object["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!(names.iter().map(|known| &known["name"]).collect::<Vec<_>>(), ["n", "x"]);
        for mut odd in [json!(null), json!({}), json!({ "metadata": { "ownerReferences": null } })] {
            assert!(!owner.remove_from(&mut odd));
        }
    }
}
