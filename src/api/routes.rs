//! The routes, and the role that each needs.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Json, Path, Query, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Extension, Router};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::access::{Access, By, Peer, Role};
use super::problem::Refusal;
use super::rates::{Limit, Rates};
use super::schema::{HostsQuery, Order};
use super::service::{App, BODY_TIMEOUT, BROKEN_OFF, Service, json};
use super::{backup, live, page, seeds, work};

/// Maximum size of an order's body.
const BODY_BYTES: usize = 1 << 20;
const OPENAPI: &str = include_str!("openapi.json");

pub(super) fn router(service: Arc<dyn Service>, is_loopback: bool) -> Router {
    let app = App {
        service,
        is_loopback,
        followers: Arc::new(Semaphore::new(live::CLIENTS)),
        rates: Arc::new(Rates::new()),
        backups: Arc::new(Semaphore::new(1)),
        uploads: Arc::default(),
    };
    let work = Router::new()
        .route("/leases", post(work::lease))
        .route("/leases/{lease}", delete(work::release))
        .route("/leases/{lease}/renew", post(work::renew))
        .route("/pages", post(work::pages).layer(DefaultBodyLimit::disable()))
        .route_layer(from_fn_with_state(app.clone(), let_client_in));
    let api = Router::new()
        .route("/status", get(status))
        .route("/history", get(history))
        .route("/events", get(live::events))
        .route("/hosts", get(hosts))
        .route("/hosts/{host}", get(host))
        .route("/url", get(why))
        .route("/orders", get(orders).post(order).layer(DefaultBodyLimit::max(BODY_BYTES)))
        .route("/clients", get(work::clients))
        .route("/reload", post(reload))
        .route("/seeds", post(add_seeds).layer(DefaultBodyLimit::disable()))
        .route("/backup", post(backup::stream))
        .route_layer(from_fn_with_state(app.clone(), let_in))
        .nest("/work", work)
        // The description of the API is public.
        .route("/openapi.json", get(openapi));
    Router::new()
        .route("/metrics", get(metrics))
        .route("/", get(page::html))
        .route("/page.css", get(page::style))
        .route("/page.js", get(page::script))
        .route_layer(from_fn_with_state(app.clone(), allow_reading))
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .nest("/api/v1", api)
        .fallback(elsewhere)
        .method_not_allowed_fallback(no_such_method)
        .with_state(app)
}

/// Checks access before the body is read: reading needs the role read, changes need the role operate.
async fn let_in(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let role = if request.method().is_safe() { Role::Read } else { Role::Operate };
    let checked = Access(&app.service.config()).check(&peer, app.is_loopback, request.headers(), role);
    let by = app.let_ask(&peer, checked, &app.rates.asking)?;
    request.extensions_mut().insert(By(by));
    Ok(next.run(request).await)
}

/// Requests that need no token are still refused to pages of other websites.
async fn allow_reading(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let config = app.service.config();
    let (access, headers) = (Access(&config), request.headers());
    if access.may_read(app.is_loopback, request.uri().path(), headers)? {
        let checked = access.check(&peer, app.is_loopback, headers, Role::Read);
        app.let_ask(&peer, checked, &app.rates.asking)?;
    }
    Ok(next.run(request).await)
}

/// The same for remote workers, which have tokens of their own.
async fn let_client_in(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let checked = Access(&app.service.config()).client(request.headers());
    let client = app.let_ask(&peer, checked, &app.rates.working)?;
    request.extensions_mut().insert(By(client));
    Ok(next.run(request).await)
}

impl App {
    /// Applies the rate limits; refused requests have a lower one. After too many wrong tokens from an address even a
    /// right one must wait, because otherwise the answer would reveal it.
    fn let_ask(&self, peer: &Peer, checked: Result<String, Refusal>, limit: &Limit) -> Result<String, Refusal> {
        let Peer::Network(address) = peer else { return checked };
        let address = address.ip().to_string();
        match checked {
            Ok(by) => {
                self.rates.refused.check(&address)?;
                limit.take(&by)?;
                Ok(by)
            }
            Err(refusal) => {
                self.rates.refused.take(&address)?;
                Err(refusal)
            }
        }
    }
}

async fn elsewhere() -> Refusal {
    Refusal::NotFound("here are /metrics, /healthz, /readyz, and the API, described by /api/v1/openapi.json".to_owned())
}

async fn no_such_method(method: Method) -> Refusal {
    Refusal::NoSuchMethod(format!("{method} means nothing here: /api/v1/openapi.json says what does"))
}

async fn metrics(State(app): State<App>) -> Response {
    let text = app.on(|service| Ok(service.metrics())).await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn alive(State(app): State<App>) -> Response {
    match app.on(|service| Ok(service.alive())).await.unwrap_or_else(|refusal| Err(refusal.to_string())) {
        Ok(()) => "alive\n".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response(),
    }
}

async fn ready(State(app): State<App>) -> Response {
    let ready = app.on(|service| Ok(service.ready())).await;
    let (code, lines) = match ready.unwrap_or_else(|refusal| Err(vec![refusal.to_string()])) {
        Ok(notes) => (StatusCode::OK, ["ready".to_owned()].into_iter().chain(notes).collect::<Vec<_>>()),
        Err(reasons) => (StatusCode::SERVICE_UNAVAILABLE, reasons),
    };
    (code, lines.join("\n") + "\n").into_response()
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn status(State(app): State<App>) -> Result<Response, Refusal> {
    app.answer(|service| service.status()).await
}

async fn history(State(app): State<App>) -> Result<Response, Refusal> {
    app.answer(|service| Ok(service.history())).await
}

async fn hosts(State(app): State<App>, query: Result<Query<HostsQuery>, QueryRejection>) -> Result<Response, Refusal> {
    let Query(query) = query.map_err(|error| Refusal::Bad(error.body_text()))?;
    app.answer(move |service| service.hosts(&query)).await
}

async fn host(State(app): State<App>, Path(host): Path<String>) -> Result<Response, Refusal> {
    app.answer(move |service| service.host(&host)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlQuery {
    url: String,
    #[serde(default)]
    delivered: bool,
}

async fn why(State(app): State<App>, query: Result<Query<UrlQuery>, QueryRejection>) -> Result<Response, Refusal> {
    let Query(UrlQuery { url, delivered }) = query.map_err(|error| Refusal::Bad(error.body_text()))?;
    app.answer(move |service| service.why(&url, delivered)).await
}

async fn orders(State(app): State<App>) -> Result<Response, Refusal> {
    app.answer(|service| service.orders()).await
}

async fn order(
    State(app): State<App>,
    Extension(By(by)): Extension<By>,
    request: Request,
) -> Result<Response, Refusal> {
    let order =
        timeout(BODY_TIMEOUT, <Json<Order> as axum::extract::FromRequest<App>>::from_request(request, &app)).await;
    let Json(order) = order.map_err(|_| Refusal::Bad(BROKEN_OFF.to_owned()))?.map_err(refused_body)?;
    app.answer(move |service| service.order(order, &by)).await
}

fn refused_body(error: JsonRejection) -> Refusal {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooMuch(format!("an order has {BODY_BYTES} bytes at most")),
        _ => Refusal::Bad(error.body_text()),
    }
}

async fn reload(State(app): State<App>, Extension(By(by)): Extension<By>) -> Result<Response, Refusal> {
    app.answer(move |service| service.reload(&by)).await
}

async fn add_seeds(
    State(app): State<App>,
    Extension(By(by)): Extension<By>,
    request: Request,
) -> Result<Response, Refusal> {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    // A form of another website can send text/plain, but not this type.
    let is_list = content_type.is_some_and(|it| it.split(';').next().unwrap_or_default().trim() == "text/uri-list");
    if !is_list {
        let detail = "seeds come as Content-Type: text/uri-list, one URL a line (RFC 2483); # begins a comment";
        return Err(Refusal::Bad(detail.to_owned()));
    }
    seeds::take(&app, request.into_body(), by).await.map(json)
}
