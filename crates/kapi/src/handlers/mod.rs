//! One file per verb.

mod create;
mod delete;
mod disruption;
mod get;
mod list;
mod log;
mod parts;
mod patch;
mod review;
mod scale;
mod token;
mod update;
pub(crate) mod watch;

pub(crate) use scale::{scale_of, set_scale};

use http::Method;

use crate::call::{Answer, Call};
use crate::status::Status;
use crate::write::Aspect;

/// Does what a request on a resource asks for.
pub(crate) async fn handle(method: &Method, verb: &str, call: &mut Call) -> Result<Answer, Status> {
    if !call.target.subresource.is_empty() {
        return subresource(method, call).await;
    }
    let collection = call.target.name.is_empty();
    if (verb == "create" && !collection) || (matches!(verb, "update" | "patch") && collection) {
        return Err(not_allowed());
    }
    if verb == "create"
        && let Some(reviewed) = review::answer(call)
    {
        return reviewed;
    }
    if verb == "create" && call.served.is("", "Binding") {
        return parts::bind_by_name(call).await;
    }
    if !call.served.has_verb(verb) || (matches!(verb, "create" | "deletecollection") && needs_namespace(call)) {
        return Err(not_allowed());
    }
    match verb {
        "get" => get::get(call),
        "list" => list::list(call),
        "watch" => watch::watch(call),
        "create" => create::create(call).await,
        "update" => update::update(call, Aspect::Main).await,
        "patch" => patch::patch(call, Aspect::Main).await,
        "delete" => delete::delete(call).await,
        "deletecollection" => delete::delete_collection(call).await,
        _ => Err(not_allowed()),
    }
}

/// Objects of namespaced kinds are made in a namespace, not across all.
fn needs_namespace(call: &Call) -> bool {
    call.served.resource.namespaced && call.target.namespace.is_empty()
}

async fn subresource(method: &Method, call: &mut Call) -> Result<Answer, Status> {
    let name = call.target.subresource.clone();
    if !call.served.has_subresource(&name) {
        return Err(match call.served.custom {
            Some(_) => Status::not_found(call.served.named(), &call.target.name),
            None => Status::no_such_path(),
        });
    }
    match (name.as_str(), method.as_str()) {
        ("status", "GET") => get::get(call),
        ("status", "PUT") => update::update(call, Aspect::Status).await,
        ("status", "PATCH") => patch::patch(call, Aspect::Status).await,
        ("scale", "GET") => scale::get(call),
        ("scale", "PUT") => scale::update(call).await,
        ("scale", "PATCH") => scale::patch(call).await,
        ("token", "POST") => token::create(call).await,
        ("log", "GET") => log::read(call),
        ("binding", "POST") => parts::bind(call).await,
        ("eviction", "POST") => parts::evict(call).await,
        ("finalize", "PUT") => parts::finalize(call).await,
        ("approval", "GET") => get::get(call),
        ("approval", "PUT") => parts::approve(call).await,
        ("approval", "PATCH") => parts::approve_by_patch(call).await,
        ("ephemeralcontainers" | "resize", "GET") => get::get(call),
        ("ephemeralcontainers", "PUT") => update::update(call, Aspect::Part("ephemeralcontainers")).await,
        ("ephemeralcontainers", "PATCH") => patch::patch(call, Aspect::Part("ephemeralcontainers")).await,
        ("resize", "PUT") => update::update(call, Aspect::Part("resize")).await,
        ("resize", "PATCH") => patch::patch(call, Aspect::Part("resize")).await,
        _ => Err(not_allowed()),
    }
}

fn not_allowed() -> Status {
    Status::method_refused()
}
