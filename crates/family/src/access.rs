// SPDX-License-Identifier: Apache-2.0
//! Out: what a family offers whose targets are called by clients with identities: who may call whom, and what proxies need
//! to enforce it. Not here: deciding; a family does that with `overrule_access`.

use overrule_access::{AccessRule, Caller, Clause, Effect, Enforcement, Request, Ruling};
use overrule_model::ObjectId;
use overrule_source::NodeRef;

/// A client, as a question names it.
#[derive(Debug, Clone, Copy, Default)]
pub enum Client<'a> {
    /// Somebody who shows nothing.
    #[default]
    Nobody,
    /// Somebody with a valid certificate that names nobody.
    Unnamed,
    /// By identity.
    Identity(&'a str),
    /// An object of the input.
    Object(ObjectId),
}

/// An inbound, by places that only its family knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InboundId {
    /// The family.
    pub family: &'static str,
    /// The place of its mesh.
    pub mesh: usize,
    /// The place of its proxy there.
    pub proxy: usize,
    /// Its own place there.
    pub inbound: usize,
}

/// A clause of a policy, and where it is written.
#[derive(Debug, Clone)]
pub struct CitedClause<'a> {
    /// The policy.
    pub object: ObjectId,
    /// Its identity, by which a proxy names it.
    pub identity: String,
    /// The clause.
    pub clause: Clause<'a>,
    /// Its node.
    pub node: NodeRef,
}

/// Who may call whom, from one answer of a family.
pub trait Access<'a> {
    /// Whether an object is a client.
    fn is_client(&self, object: ObjectId) -> bool;

    /// What a client shows of itself.
    fn caller(&self, client: Client<'_>) -> Caller;

    /// The inbounds of an object, or those behind it; of a section, if it is named.
    fn inbounds(&self, object: ObjectId, section: Option<&str>) -> Vec<InboundId>;

    /// The name of an inbound.
    fn name(&self, at: InboundId) -> String;

    /// The object it is of.
    fn object(&self, _: InboundId) -> Option<ObjectId> {
        None
    }

    /// An inbound, to ask about its clients.
    fn inbound(&self, at: InboundId) -> Option<Box<dyn Guarded<'a> + 'a>>;

    /// All clients that are in the input.
    fn clients(&self) -> Vec<ObjectId>;

    /// Permissions that count nowhere because they cannot be read.
    fn refused(&self) -> Vec<ObjectId>;
}

/// An inbound, and everything that decides about its clients.
pub trait Guarded<'a> {
    /// Decides about a client and its request, whose identity is the client's.
    fn decide(&self, caller: &Caller, request: Request<'_>) -> Option<Ruling<CitedClause<'a>>>;

    /// Whether the proxy knows its clients.
    fn enforcement(&self) -> Enforcement;

    /// Whether a deny counts wherever it stands; otherwise the first clause that matches does.
    fn denies_first(&self) -> bool;

    /// Every clause that can decide about somebody, in the order in which they count.
    fn clauses(&self) -> Vec<CitedClause<'a>>;

    /// What the filters of the proxy are made of; `as_shipped`: just as the release in use makes them.
    fn filter_source(&self, as_shipped: bool) -> FilterSource<'a>;
}

/// What the filters of an inbound are made of.
#[derive(Debug, Clone)]
pub struct FilterSource<'a> {
    /// Its mesh.
    pub mesh: &'a str,
    /// The address it listens on.
    pub address: String,
    /// Its port.
    pub port: u16,
    /// Whether it speaks HTTP.
    pub is_http: bool,
    /// Whether the proxy knows its clients.
    pub is_enforced: bool,
    /// Whether there are rules by identity. Sets of clients do not count beside them.
    pub has_rules: bool,
    /// Whether there are sets of clients.
    pub has_client_sets: bool,
    /// Rules, in the order in which they count.
    pub rules: &'a [AccessRule],
    /// Identities of the policies, by [`AccessRule::policy`].
    pub names: Vec<String>,
    /// Sets of clients, the first that contains a client decides.
    pub client_sets: Vec<ClientSet>,
}

/// Clients by their tags, and what is done with them.
#[derive(Debug, Clone)]
pub struct ClientSet {
    /// Tags they have, or do not have.
    pub tags: Vec<ClientTag>,
    /// What is done.
    pub effect: Effect,
}

/// A tag that a client has, or does not have.
#[derive(Debug, Clone)]
pub struct ClientTag {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Whether the client must not have it.
    pub not: bool,
}
