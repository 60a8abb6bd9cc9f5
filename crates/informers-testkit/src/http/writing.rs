//! Requests that change something, and their bodies.

use std::time::SystemTime;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use super::output::Output;
use super::path::ResourcePath;
use super::respond::{json_response, to_bytes};
use super::{Body, Exchange};
use crate::Status;
use crate::protobuf;
use crate::request_log::Verb;
use crate::store::{Apply, DeleteOptions, Deleted, Page, Patch, ResourceDef, Target, WriteOptions};

/// The largest body that is read, as kube-apiserver's limit.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

impl Exchange {
    pub(super) async fn create(
        self,
        target: &Target,
        output: &Output,
        body: Incoming,
    ) -> Result<Response<Body>, Status> {
        let options = write_options(self.query.dry_run("CreateOptions")?);
        let value = self.read_object(&target.def, body).await?;
        let stored = self.service.world.write(|store| store.create(target, value, options))?;
        Ok(json_response(StatusCode::CREATED, output.object(&stored)))
    }

    pub(super) async fn update(
        self,
        target: &Target,
        output: &Output,
        body: Incoming,
    ) -> Result<Response<Body>, Status> {
        let options = write_options(self.query.dry_run("UpdateOptions")?);
        let value = self.read_object(&target.def, body).await?;
        let stored = self.service.world.write(|store| store.update(target, value, options))?;
        Ok(json_response(StatusCode::OK, output.object(&stored)))
    }

    pub(super) async fn patch(
        self,
        target: &Target,
        output: &Output,
        body: Incoming,
    ) -> Result<Response<Body>, Status> {
        let options = write_options(self.query.dry_run("PatchOptions")?);
        let bytes = read_body(body).await?;
        if self.content_type() == "application/apply-patch+yaml" {
            let force = matches!(self.query.get("force"), "true" | "1");
            let apply = Apply::parse(&bytes, self.query.get("fieldManager"), force)?;
            let (stored, created) = self.service.world.write(|store| store.apply(target, &apply, options))?;
            let code = if created { StatusCode::CREATED } else { StatusCode::OK };
            return Ok(json_response(code, output.object(&stored)));
        }
        let patch = Patch::parse(self.content_type(), &bytes, &target.def)?;
        let stored = self.service.world.write(|store| store.patch(target, &patch, options))?;
        Ok(json_response(StatusCode::OK, output.object(&stored)))
    }

    pub(super) async fn delete(
        self,
        target: &Target,
        output: &Output,
        body: Incoming,
    ) -> Result<Response<Body>, Status> {
        let options = self.delete_options(body).await?;
        let deleted = self.service.world.write(|store| store.delete(target, &options))?;
        let body = match deleted {
            Deleted::Object(object) => output.object(&object),
            Deleted::Gone(object) => {
                let def = &target.def;
                to_bytes(&Status::deleted(&def.group, &def.plural, object.name(), object.uid()))
            }
        };
        Ok(json_response(StatusCode::OK, body))
    }

    pub(super) async fn delete_collection(
        self,
        path: &ResourcePath,
        target: &Target,
        output: &Output,
        body: Incoming,
    ) -> Result<Response<Body>, Status> {
        let options = self.delete_options(body).await?;
        let selection = self.query.selection(&target.def, &path.namespace, "")?;
        let (items, revision) = self.service.world.write(|store| {
            let items = store.delete_collection(&target.def, &selection, &options)?;
            Ok((items, store.revision()))
        })?;
        let page = Page { items, revision, continue_token: None, remaining: None };
        Ok(json_response(StatusCode::OK, output.list(&page)))
    }

    pub(super) async fn scale(
        self,
        target: &Target,
        verb: Verb,
        body: Incoming,
    ) -> Result<Response<Body>, Status> {
        let world = &self.service.world;
        let stored = match verb {
            Verb::Update => {
                let options = write_options(self.query.dry_run("UpdateOptions")?);
                let scale = self.read_object(&target.def, body).await?;
                world.write(|store| store.update_scale(target, &scale, options))?
            }
            Verb::Patch => {
                let options = write_options(self.query.dry_run("PatchOptions")?);
                // A Scale has no lists that could be merged.
                let patch = match self.content_type() {
                    "application/strategic-merge-patch+json" => "application/merge-patch+json",
                    other => other,
                };
                let patch = Patch::parse(patch, &read_body(body).await?, &target.def)?;
                world.write(|store| store.patch_scale(target, &patch, options))?
            }
            _ => world
                .read(|store| store.get(&target.def, &target.namespace, &target.name))
                .ok_or_else(|| target.def.not_found(&target.name))?,
        };
        Ok(json_response(StatusCode::OK, to_bytes(&target.scale_of(&stored)?)))
    }

    fn content_type(&self) -> &str {
        let text = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        text.split(';').next().unwrap_or_default().trim()
    }

    async fn read_object(&self, def: &ResourceDef, body: Incoming) -> Result<Value, Status> {
        let protobuf = self.content_type() == protobuf::CONTENT_TYPE;
        if !protobuf && !matches!(self.content_type(), "" | "application/json") {
            let problem = "the body of the request was in an unknown format - accepted media types include: application/json";
            return Err(Status::new(415, problem));
        }
        let bytes = read_body(body).await?;
        if protobuf {
            return protobuf::to_json(&bytes);
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            let problem = format!(
                "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse \
                 error: {error}",
                def.kind
            );
            Status::new(400, problem)
        })
    }

    async fn delete_options(&self, body: Incoming) -> Result<DeleteOptions, Status> {
        let bytes = read_body(body).await?;
        // As kube-apiserver: the query counts only where there is no body.
        let in_query = bytes.is_empty();
        let dry_run = in_query && self.query.dry_run("DeleteOptions")?;
        let value: Value = if bytes.is_empty() {
            Value::Null
        } else if self.content_type() == protobuf::CONTENT_TYPE {
            protobuf::to_json(&bytes)?
        } else {
            serde_json::from_slice(&bytes)
                .map_err(|error| Status::new(400, format!("cannot read the DeleteOptions: {error}")))?
        };
        let policy = value["propagationPolicy"].as_str().or_else(|| {
            Some(self.query.get("propagationPolicy")).filter(|policy| in_query && !policy.is_empty())
        });
        if let Some(policy) =
            policy.filter(|policy| !matches!(*policy, "Foreground" | "Background" | "Orphan"))
        {
            let problem = format!(
                "Unsupported value: {policy:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
            );
            let message = format!("DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: {problem}");
            return Err(Status::new(422, message)
                .with_object("meta.k8s.io", "DeleteOptions", "")
                .with_cause("FieldValueNotSupported", problem, "propagationPolicy"));
        }
        let precondition = |field: &str| value["preconditions"][field].as_str().map(str::to_owned);
        Ok(DeleteOptions {
            now: SystemTime::now(),
            uid: precondition("uid"),
            version: precondition("resourceVersion"),
            dry_run: dry_run || value["dryRun"].as_array().is_some_and(|all| !all.is_empty()),
        })
    }
}

fn write_options(dry_run: bool) -> WriteOptions {
    WriteOptions { now: SystemTime::now(), dry_run, keep_status: false }
}

async fn read_body(body: Incoming) -> Result<Bytes, Status> {
    match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Status::new(413, format!("Request entity too large: limit is {BODY_LIMIT}")))
        }
        Err(error) => Err(Status::new(400, format!("cannot read the body of the request: {error}"))),
    }
}
