// SPDX-License-Identifier: Apache-2.0
//! In: tokens, certificates, addresses, connections and requests of strangers. Out: who is asking, what they may do, and
//! a listener they cannot hurt. Not here: where tokens are kept, what is asked, how answers look.
//!
//! ```text
//!  grants     roles in scopes, and the question "may this one read that?"
//!  token      minting, hashing and recognising bearer tokens
//!  secret     text that is never printed, and where it is read from
//!  certificate   what a client certificate says, and whom it stands for
//!  principal  who is asking, and how we know
//!  doors      all ways in together
//!
//!  limits     every bound, with its default
//!  address    which addresses may be listened on
//!  host       the Host and Origin of a request (DNS rebinding)
//!  forwarded  where a request began, as trusted proxies say
//!  trace      the trace that a request belongs to
//!  tls        certificates that are reloaded while serving
//!  shares     how much of something is taken, and by whom
//!  peers      connections per address and caller;  failures: failed logins per address
//!  place      what a request takes while it is worked on: a place, and room for its body
//!  pulse      what a connection is doing, and when that is enough
//!  body       answers that notice a peer who does not read
//!  listen     accepting, serving, draining
//!  gate       what every request passes: host, identity, size, room, time
//! ```

pub mod address;
pub mod body;
pub mod certificate;
mod clock;
pub mod doors;
mod failures;
mod forwarded;
pub mod gate;
mod grants;
mod host;
mod limits;
mod listen;
mod peers;
mod place;
mod principal;
mod pulse;
mod secret;
mod shares;
mod tls;
mod token;
mod trace;

pub use address::{Exposure, check_address};
pub use certificate::{CertificateRule, Certificates, ClientCertificate};
pub use clock::now;
pub use doors::{Authenticator, Doors};
pub use forwarded::{Network, NetworkError, TrustedProxies};
pub use gate::{Answerer, GateLayer, GateRefusal, GateSettings, RequestId};
pub use grants::{Grant, GrantError, GrantScope, Grants, Protected, Role};
pub use host::{HostNames, HostRefused, host_and_origin};
pub use limits::ListenerLimits;
pub use listen::{Peer, Report, serve};
pub use place::{NoRoom, RequestPlace};
pub use principal::{CallerId, Denied, How, Principal};
pub use secret::{Secret, SecretError, SecretSource, read_secret};
pub use shares::{Full, Share, Shares, fair_part};
pub use tls::{Acceptor, ClientCerts, Tls, TlsError};
pub use token::{HashError, Minted, Token, TokenHash, TokenRecord, Tokens};
pub use trace::TraceParent;
