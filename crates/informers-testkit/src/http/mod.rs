//! From HTTP requests to the store and back.

mod discovery;
pub(crate) mod encode;
pub(crate) mod path;
pub(crate) mod query;
mod watch_body;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use self::encode::{Encoder, Form};
use self::path::{ResourcePath, Route};
use self::query::Query;
use self::watch_body::watch_body;
use crate::Status;
use crate::World;
use crate::fault::Fault;
use crate::request_log::{RequestRecord, Verb};
use crate::server::Connection;
use crate::store::{
    DeleteOptions, Deleted, Patch, ResourceDef, Target, WriteOptions, get_version, too_large,
};
use crate::world::Watching;

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The largest body that is read, as kube-apiserver's limit.
const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// What answers the requests of all connections.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) world: World,
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<Arc<str>>,
}

impl Service {
    /// Answers one request.
    pub(crate) async fn serve(
        self,
        connection: Arc<Connection>,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Infallible> {
        let (parts, body) = request.into_parts();
        let route = Route::parse(parts.uri.path());
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let verb = verb(&parts.method, &route, &query);
        let resource = match &route {
            Route::Resource(path) => path.clone(),
            _ => ResourcePath::default(),
        };
        let record = RequestRecord::new(&parts, verb, &resource);
        let faults = self.world.note_request(record);

        let mut frames_left = None;
        for fault in faults {
            match fault {
                Fault::Status(status) => return Ok(failure(&status)),
                Fault::Delay(time) => tokio::time::sleep(time).await,
                Fault::CutAfter(frames) => frames_left = Some(frames),
                Fault::DropConnection => {
                    connection.drop_now();
                    std::future::pending::<()>().await;
                }
            }
        }
        let exchange =
            Exchange { service: self, method: parts.method, headers: parts.headers, query, frames_left };
        Ok(exchange.answer(route, verb, body).await.unwrap_or_else(|status| failure(&status)))
    }
}

fn verb(method: &Method, route: &Route, query: &Query) -> Option<Verb> {
    let Route::Resource(path) = route else { return None };
    let collection = path.name.is_empty();
    Some(match *method {
        Method::GET | Method::HEAD if query.is_watch() => Verb::Watch,
        Method::GET | Method::HEAD if collection => Verb::List,
        Method::GET | Method::HEAD => Verb::Get,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if collection => Verb::DeleteCollection,
        Method::DELETE => Verb::Delete,
        _ => return None,
    })
}

struct Exchange {
    service: Service,
    method: Method,
    headers: HeaderMap,
    query: Query,
    frames_left: Option<usize>,
}

impl Exchange {
    async fn answer(
        self,
        route: Route,
        verb: Option<Verb>,
        body: Incoming,
    ) -> Result<Response<Body>, Status> {
        if !matches!(route, Route::Health) {
            self.authenticate()?;
        }
        let path = match route {
            Route::Resource(path) => path,
            other => return self.about_the_server(&other),
        };
        if !self.service.world.read(|store| store.has_group(&path.group)) {
            return Ok(text_response(StatusCode::NOT_FOUND, "404 page not found\n"));
        }
        let (def, verb) = self.resolve(&path, verb)?;
        let form = Form::negotiate(&self.headers)?;
        let encoder = Encoder::new(Arc::clone(&def), &path.version, form);
        let target = Target {
            version: path.version.clone(),
            namespace: path.namespace.clone(),
            name: path.name.clone(),
            status: path.subresource == "status",
            def: Arc::clone(&def),
        };
        if path.subresource == "scale" {
            return self.scale(&target, verb, body).await;
        }
        match verb {
            Verb::Get => self.get(&target, &encoder),
            Verb::List => self.list(&def, &path, &encoder),
            Verb::Watch => self.watch(&def, &path, encoder),
            Verb::Create => {
                let dry_run = self.query.dry_run("CreateOptions")?;
                let value = self.read_object(&def, body).await?;
                let stored =
                    self.service.world.write(|store| store.create(&target, value, write_options(dry_run)))?;
                Ok(json_response(StatusCode::CREATED, encoder.object(&stored)))
            }
            Verb::Update => {
                let dry_run = self.query.dry_run("UpdateOptions")?;
                let value = self.read_object(&def, body).await?;
                let stored =
                    self.service.world.write(|store| store.update(&target, value, write_options(dry_run)))?;
                Ok(json_response(StatusCode::OK, encoder.object(&stored)))
            }
            Verb::Patch => {
                let dry_run = self.query.dry_run("PatchOptions")?;
                let content_type = self.content_type().to_owned();
                let patch = Patch::parse(&content_type, &read_body(body).await?, def.custom)?;
                let stored =
                    self.service.world.write(|store| store.patch(&target, &patch, write_options(dry_run)))?;
                Ok(json_response(StatusCode::OK, encoder.object(&stored)))
            }
            Verb::Delete => {
                let options = self.delete_options(body).await?;
                let deleted = self.service.world.write(|store| store.delete(&target, &options))?;
                Ok(json_response(
                    StatusCode::OK,
                    match deleted {
                        Deleted::Object(object) => encoder.object(&object),
                        Deleted::Gone(object) => {
                            to_bytes(&Status::deleted(&def.group, &def.plural, object.name(), object.uid()))
                        }
                    },
                ))
            }
            Verb::DeleteCollection => {
                let options = self.delete_options(body).await?;
                let selection = self.query.selection(&def, &path.namespace, "")?;
                let (items, revision) = self.service.world.write(|store| {
                    let items = store.delete_collection(&def, &selection, &options)?;
                    Ok((items, store.revision()))
                })?;
                let page = crate::store::Page { items, revision, continue_token: None, remaining: None };
                Ok(json_response(StatusCode::OK, encoder.list(&page)))
            }
        }
    }

    fn authenticate(&self) -> Result<(), Status> {
        let Some(token) = &self.service.token else {
            return Ok(());
        };
        let given = self.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if given.strip_prefix("Bearer ").is_some_and(|given| given.trim() == &**token) {
            return Ok(());
        }
        Err(Status::new(401, "Unauthorized"))
    }

    /// The resource of a path, if the method is one that it has there.
    fn resolve(&self, path: &ResourcePath, verb: Option<Verb>) -> Result<(Arc<ResourceDef>, Verb), Status> {
        let not_allowed = || {
            Status::new(405, "the server does not allow this method on the requested resource").with_details()
        };
        let not_found =
            || Status::new(404, "the server could not find the requested resource").with_details();
        let def = self
            .service
            .world
            .read(|store| store.resource(&path.group, &path.version, &path.plural))
            .ok_or_else(not_found)?;
        if !path.namespace.is_empty() && !def.is_namespaced() {
            return Err(not_found());
        }
        if def.is_namespaced() && path.namespace.is_empty() && !path.name.is_empty() {
            return Err(not_found());
        }
        match path.subresource.as_str() {
            "" => {}
            "status" | "scale"
                if def.version(&path.version).is_some_and(|version| match path.subresource.as_str() {
                    "status" => version.status,
                    _ => version.scale.is_some(),
                }) =>
            {
                if !matches!(verb, Some(Verb::Get | Verb::Update | Verb::Patch)) {
                    return Err(not_allowed());
                }
            }
            _ if def.custom => return Err(def.not_found(&path.name)),
            _ => return Err(not_found()),
        }
        let verb = verb.ok_or_else(not_allowed)?;
        let collection = path.name.is_empty();
        let namespaces = def.group.is_empty() && def.plural == "namespaces";
        let allowed = match verb {
            Verb::Create => collection && (!def.is_namespaced() || !path.namespace.is_empty()),
            Verb::Update | Verb::Patch => !collection,
            Verb::DeleteCollection => !namespaces && (!def.is_namespaced() || !path.namespace.is_empty()),
            Verb::Get | Verb::List | Verb::Watch | Verb::Delete => true,
        };
        if allowed { Ok((def, verb)) } else { Err(not_allowed()) }
    }

    fn about_the_server(&self, route: &Route) -> Result<Response<Body>, Status> {
        if self.method != Method::GET && self.method != Method::HEAD {
            return Err(Status::new(405, "the server does not allow this method on the requested resource")
                .with_details());
        }
        let value = match route {
            Route::Health => return Ok(text_response(StatusCode::OK, "ok")),
            Route::Version => Some(discovery::version()),
            Route::CoreVersions => Some(discovery::core_versions(&self.service.address.to_string())),
            Route::Groups => Some(self.service.world.read(discovery::groups)),
            Route::Group(group) => self.service.world.read(|store| discovery::group(store, group)),
            Route::Resources { group, version } => {
                self.service.world.read(|store| discovery::resources(store, group, version))
            }
            Route::Resource(_) | Route::Unknown => None,
        };
        Ok(match value {
            Some(value) => json_response(StatusCode::OK, to_bytes(&value)),
            None => text_response(StatusCode::NOT_FOUND, "404 page not found\n"),
        })
    }

    fn get(&self, target: &Target, encoder: &Encoder) -> Result<Response<Body>, Status> {
        let version = get_version(self.query.get("resourceVersion"))?;
        self.service.world.read(|store| {
            if let Some(version) = version.filter(|&version| version > store.revision()) {
                return Err(too_large(version, store.revision()));
            }
            let found = store.get(&target.def, &target.namespace, &target.name);
            let object = found.ok_or_else(|| target.def.not_found(&target.name))?;
            Ok(json_response(StatusCode::OK, encoder.object(&object)))
        })
    }

    async fn scale(self, target: &Target, verb: Verb, body: Incoming) -> Result<Response<Body>, Status> {
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
                let patch = Patch::parse(patch, &read_body(body).await?, target.def.custom)?;
                world.write(|store| store.patch_scale(target, &patch, options))?
            }
            _ => world
                .read(|store| store.get(&target.def, &target.namespace, &target.name))
                .ok_or_else(|| target.def.not_found(&target.name))?,
        };
        Ok(json_response(StatusCode::OK, to_bytes(&target.scale_of(&stored)?)))
    }

    fn list(
        &self,
        def: &ResourceDef,
        path: &ResourcePath,
        encoder: &Encoder,
    ) -> Result<Response<Body>, Status> {
        let selection = self.query.selection(def, &path.namespace, "")?;
        let options = self.query.list_options(selection)?;
        let page = self.service.world.read(|store| store.list(def, &options))?;
        let body = encoder.list(&page);
        #[cfg(feature = "gzip")]
        if let Some(response) = self.compressed(&body) {
            return Ok(response);
        }
        Ok(json_response(StatusCode::OK, body))
    }

    /// The answer in gzip, if it is worth it and the client takes it.
    #[cfg(feature = "gzip")]
    fn compressed(&self, body: &Bytes) -> Option<Response<Body>> {
        use std::io::Write as _;

        use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};

        const WORTH_IT: usize = 128 * 1024;
        let accepted = self.headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let gzip = accepted
            .flat_map(|value| value.split(','))
            .any(|coding| coding.split(';').next().is_some_and(|name| name.trim() == "gzip"));
        if body.len() < WORTH_IT || !gzip {
            return None;
        }
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(body).ok()?;
        let mut response = json_response(StatusCode::OK, encoder.finish().ok()?.into());
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Some(response)
    }

    fn watch(
        self,
        def: &ResourceDef,
        path: &ResourcePath,
        encoder: Encoder,
    ) -> Result<Response<Body>, Status> {
        let selection = self.query.selection(def, &path.namespace, &path.name)?;
        let options = self.query.watch_options(selection)?;
        let watching = Watching::open(self.service.world, def, &options, self.frames_left)?;
        let mut response = Response::new(watch_body(watching, encoder));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(response)
    }

    fn content_type(&self) -> &str {
        let text = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        text.split(';').next().unwrap_or_default().trim()
    }

    async fn read_object(&self, def: &ResourceDef, body: Incoming) -> Result<Value, Status> {
        if !matches!(self.content_type(), "" | "application/json") {
            let problem = "the body of the request was in an unknown format - accepted media types include: application/json";
            return Err(Status::new(415, problem));
        }
        let bytes = read_body(body).await?;
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
        let dry_run = self.query.dry_run("DeleteOptions")?;
        let bytes = read_body(body).await?;
        let value: Value = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes)
                .map_err(|error| Status::new(400, format!("cannot read the DeleteOptions: {error}")))?
        };
        let policy = value["propagationPolicy"]
            .as_str()
            .or_else(|| Some(self.query.get("propagationPolicy")).filter(|policy| !policy.is_empty()));
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

fn to_bytes(value: &Value) -> Bytes {
    value.to_string().into()
}

fn respond(code: StatusCode, content_type: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(body).boxed_unsync());
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn json_response(code: StatusCode, body: Bytes) -> Response<Body> {
    respond(code, "application/json", body)
}

fn text_response(code: StatusCode, text: &'static str) -> Response<Body> {
    respond(code, "text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()))
}

fn failure(status: &Status) -> Response<Body> {
    let code = StatusCode::from_u16(status.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(code, status.to_bytes().into());
    if let Some(seconds) = status.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
