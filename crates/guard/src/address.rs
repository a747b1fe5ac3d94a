// SPDX-License-Identifier: Apache-2.0
//! In: the address to listen on, and whether there are TLS and authentication. Out: whether that is allowed. Not here:
//! listening.

use std::fmt;
use std::net::SocketAddr;

/// Who can reach an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Programs on this machine.
    Loopback,
    /// Anybody a network leads here.
    Network,
}

impl Exposure {
    /// Who can reach this address. `0.0.0.0` and `::` are every address there is.
    #[must_use]
    pub fn of(address: SocketAddr) -> Self {
        if address.ip().to_canonical().is_loopback() { Self::Loopback } else { Self::Network }
    }
}

/// Why an address must not be listened on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRefused {
    /// The address.
    pub address: SocketAddr,
    /// Whether TLS is missing.
    pub tls: bool,
    /// Whether authentication is missing.
    pub auth: bool,
}

impl fmt::Display for AddressRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = match (self.tls, self.auth) {
            (true, true) => "TLS and authentication are",
            (true, false) => "TLS is",
            (false, _) => "authentication is",
        };
        write!(
            f,
            "refusing to listen on {}: other machines can reach it, and {missing} off; \
             give a certificate and a key and leave authentication on, or listen on 127.0.0.1:{}",
            self.address,
            self.address.port()
        )
    }
}

impl std::error::Error for AddressRefused {}

/// Loopback always; anything else only with TLS *and* authentication.
///
/// # Errors
/// When something is missing; the message says what to do.
pub fn check_address(address: SocketAddr, tls: bool, auth: bool) -> Result<(), AddressRefused> {
    match Exposure::of(address) {
        Exposure::Loopback => Ok(()),
        Exposure::Network if tls && auth => Ok(()),
        Exposure::Network => Err(AddressRefused { address, tls: !tls, auth: !auth }),
    }
}
