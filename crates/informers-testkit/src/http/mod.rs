//! From HTTP requests to the store and back.

mod accept;
mod aggregated;
mod discovery;
pub(crate) mod encode;
mod openapi;
mod output;
pub(crate) mod path;
pub(crate) mod query;
mod respond;
mod table_encode;
mod watch_body;
mod writing;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;

use self::accept::{Accepted, aggregated_discovery, wants_protobuf};
use self::aggregated::aggregated;
use self::output::Output;
use self::path::{ResourcePath, Route};
use self::query::Query;
use self::respond::{failure, json_response, respond, text_response, to_bytes};
use self::watch_body::watch_body;
use crate::Status;
use crate::World;
use crate::fault::Fault;
use crate::request_log::{RequestRecord, Verb};
use crate::server::Connection;
use crate::store::{ResourceDef, Target, get_version, too_large};
use crate::world::Watching;

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

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
        let accepted = Accepted::negotiate(&self.headers, self.query.get("includeObject"))?;
        let output = Output::new(Arc::clone(&def), &path.version, accepted);
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
            Verb::Get => self.get(&target, &output),
            Verb::List => self.list(&def, &path, &output),
            Verb::Watch => self.watch(&def, &path, output),
            Verb::Create => self.create(&target, &output, body).await,
            Verb::Update => self.update(&target, &output, body).await,
            Verb::Patch => self.patch(&target, &output, body).await,
            Verb::Delete => self.delete(&target, &output, body).await,
            Verb::DeleteCollection => self.delete_collection(&path, &target, &output, body).await,
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
        if let (Some(version), Route::CoreVersions | Route::Groups) =
            (aggregated_discovery(&self.headers), route)
        {
            let core = *route == Route::CoreVersions;
            let value = self.service.world.read(|store| aggregated(store, version, core));
            let content_type = match version {
                "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
            };
            return Ok(respond(StatusCode::OK, content_type, to_bytes(&value)));
        }
        let value = match route {
            Route::Health => return Ok(text_response(StatusCode::OK, "ok")),
            Route::Version => Some(discovery::version()),
            Route::OpenApiV2 if wants_protobuf(&self.headers) => {
                let content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
                return Ok(respond(StatusCode::OK, content_type, openapi::version_2_protobuf().into()));
            }
            Route::OpenApiV2 => Some(openapi::version_2()),
            Route::OpenApiV3 => Some(self.service.world.read(openapi::index)),
            Route::OpenApiDocument { group, version } => {
                self.service.world.read(|store| openapi::document(store, group, version))
            }
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

    fn get(&self, target: &Target, output: &Output) -> Result<Response<Body>, Status> {
        let version = get_version(self.query.get("resourceVersion"))?;
        self.service.world.read(|store| {
            if let Some(version) = version.filter(|&version| version > store.revision()) {
                return Err(too_large(version, store.revision()));
            }
            let found = store.get(&target.def, &target.namespace, &target.name);
            let object = found.ok_or_else(|| target.def.not_found(&target.name))?;
            Ok(json_response(StatusCode::OK, output.object(&object)))
        })
    }

    fn list(
        &self,
        def: &ResourceDef,
        path: &ResourcePath,
        output: &Output,
    ) -> Result<Response<Body>, Status> {
        let selection = self.query.selection(def, &path.namespace, "")?;
        let options = self.query.list_options(selection)?;
        let page = self.service.world.read(|store| store.list(def, &options))?;
        let body = output.list(&page);
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

    fn watch(self, def: &ResourceDef, path: &ResourcePath, output: Output) -> Result<Response<Body>, Status> {
        let selection = self.query.selection(def, &path.namespace, &path.name)?;
        let options = self.query.watch_options(selection)?;
        let watching = Watching::open(self.service.world, def, &options, self.frames_left)?;
        let mut response = Response::new(watch_body(watching, output));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(response)
    }
}
