// SPDX-License-Identifier: Apache-2.0
//! `/v1/tokens`: making, listing, rotating and revoking tokens. Not here: checking them (`overrule_guard`).

use std::sync::Arc;

use http::StatusCode;
use overrule_guard::{Grants, Token};
use overrule_store::TokenRow;

use super::write::author;
use super::writing;
use crate::call::{Call, Reply};
use crate::clock;
use crate::problem::Problem;
use crate::shapes::{API_VERSION, NewToken, TokenItem, TokenList, TokenRequest};
use crate::table::{BodySpec, Endpoint, EndpointAccess, Media, ResponseSpec, Verb};
use crate::work::WorkClass;

const NEW: &[ResponseSpec] =
    &[ResponseSpec { status: 201, media: Media::Json("NewToken"), about: "the token, shown once" }];

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        id: "listTokens",
        method: Verb::Get,
        path: "/v1/tokens",
        about: "All tokens, without their secrets.",
        access: EndpointAccess::Admin,
        query: &[],
        body: BodySpec::None,
        answers: &[ResponseSpec { status: 200, media: Media::Json("TokenList"), about: "all" }],
        errors: &[],
        run: |call| Box::pin(list(call)),
    },
    Endpoint {
        id: "makeToken",
        method: Verb::Post,
        path: "/v1/tokens",
        about: "Makes a token. It is in the answer and nowhere else.",
        access: EndpointAccess::Admin,
        query: &[],
        body: BodySpec::Json("TokenRequest"),
        answers: NEW,
        errors: &[415],
        run: |call| Box::pin(make(call)),
    },
    Endpoint {
        id: "rotateToken",
        method: Verb::Post,
        path: "/v1/tokens/{id}/rotate",
        about: "Makes a token with the same name, grants and end, and revokes the old one.",
        access: EndpointAccess::Admin,
        query: &[],
        body: BodySpec::None,
        answers: NEW,
        errors: &[404],
        run: |call| Box::pin(rotate(call)),
    },
    Endpoint {
        id: "revokeToken",
        method: Verb::Delete,
        path: "/v1/tokens/{id}",
        about: "Revokes a token: it is refused from now on, on every instance.",
        access: EndpointAccess::Admin,
        query: &[],
        body: BodySpec::None,
        answers: &[ResponseSpec { status: 204, media: Media::None, about: "it is revoked" }],
        errors: &[404],
        run: |call| Box::pin(revoke(call)),
    },
];

fn item(row: &TokenRow) -> TokenItem {
    TokenItem {
        id: row.id.clone(),
        name: row.name.clone(),
        grants: serde_json::from_str(&row.grants).unwrap_or_default(),
        created: row.created.to_string(),
        expires: row.expires.map(|t| t.to_string()),
        revoked: row.revoked.map(|t| t.to_string()),
    }
}

async fn rows(call: &Call) -> Result<Vec<TokenRow>, Problem> {
    let store = Arc::clone(&call.app.store);
    call.stored(WorkClass::Store, move || store.tokens()).await
}

async fn list(call: Call) -> Result<Reply, Problem> {
    let items = rows(&call).await?.iter().map(item).collect();
    Ok(Reply::fine(&TokenList { api_version: API_VERSION, kind: "TokenList", items }))
}

async fn make(call: Call) -> Result<Reply, Problem> {
    let wrong = |e: serde_json::Error| Problem::bad(format!("bad request: {e}"));
    let asked: TokenRequest = serde_json::from_slice(&call.body).map_err(wrong)?;
    // Names are read in logs and lists: none may change how the rest of the line is read.
    let readable = overrule::view::escape::terminal(&asked.name) == asked.name;
    if asked.name.trim().is_empty() || asked.name.chars().count() > 200 || !readable {
        let why =
            "must have 1 to 200 characters, none of them a control, a direction mark or invisible";
        return Err(Problem::bad(format!("bad request: name {why}")).cause("name", why));
    }
    let wrong = |grant: &String| grant.trim().is_empty() || grant.contains(',');
    if asked.grants.is_empty() || asked.grants.len() > 100 || asked.grants.iter().any(wrong) {
        let why = "must be 1 to 100 grants, one in each text";
        return Err(Problem::bad(format!("bad request: grants {why}")).cause("grants", why));
    }
    let grants: Grants =
        asked.grants.join(",").parse().map_err(|e: overrule_guard::GrantError| {
            Problem::bad(format!("bad request: {e}")).cause("grants", e.to_string())
        })?;
    let expires = match asked.expires.as_deref().map(str::parse::<jiff::Timestamp>) {
        None => None,
        Some(Ok(time)) if time > clock::now() => Some(time),
        Some(_) => {
            let why = "must be a time to come, such as 2027-01-31T09:00:00Z";
            return Err(Problem::bad(format!("bad request: expires {why}")).cause("expires", why));
        }
    };
    new(&call, asked.name, &grants, expires).await
}

async fn new(
    call: &Call,
    name: String,
    grants: &Grants,
    expires: Option<jiff::Timestamp>,
) -> Result<Reply, Problem> {
    let (row, token) = mint(name, grants, expires)?;
    let stored = row.clone();
    writing(call, move |store, by| store.put_token(by, &stored)).await?;
    call.app.refresh_tokens().await;
    call.app.audit(call.place.clone(), author(call), "make token", &row.id, "done");
    let made = NewToken { api_version: API_VERSION, kind: "NewToken", item: item(&row), token };
    Ok(Reply::json(StatusCode::CREATED, &made).with("cache-control", "no-store"))
}

/// A new token: what is kept, and what is shown.
pub fn mint(
    name: String,
    grants: &Grants,
    expires: Option<jiff::Timestamp>,
) -> Result<(TokenRow, String), Problem> {
    let made = Token::mint().map_err(|e| Problem::unavailable(e.to_string()))?;
    let row = TokenRow {
        id: made.id,
        name,
        hash: made.hash.to_string().into_bytes(),
        grants: serde_json::to_string(grants).unwrap_or_default(),
        created: clock::now(),
        expires,
        revoked: None,
    };
    Ok((row, made.plain.expose().to_owned()))
}

async fn find(call: &Call) -> Result<TokenRow, Problem> {
    let id = call.part("id");
    let mut all = rows(call).await?.into_iter();
    all.find(|row| row.id == id && row.revoked.is_none())
        .ok_or_else(|| Problem::not_found(format!("no token `{id}` is in use")))
}

async fn rotate(call: Call) -> Result<Reply, Problem> {
    let old = find(&call).await?;
    let grants: Grants = serde_json::from_str(&old.grants).map_err(|e| {
        Problem::new(StatusCode::CONFLICT, "Conflict", format!("token {}: {e}", old.id))
    })?;
    let reply = new(&call, old.name.clone(), &grants, old.expires).await?;
    end(&call, &old.id).await?;
    Ok(reply)
}

async fn revoke(call: Call) -> Result<Reply, Problem> {
    let old = find(&call).await?;
    end(&call, &old.id).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn end(call: &Call, id: &str) -> Result<(), Problem> {
    let (owned, at) = (id.to_owned(), clock::now());
    writing(call, move |store, by| store.revoke_token(by, &owned, at)).await?;
    call.app.refresh_tokens().await;
    call.app.audit(call.place.clone(), author(call), "revoke token", id, "done");
    Ok(())
}
