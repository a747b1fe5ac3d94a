// SPDX-License-Identifier: Apache-2.0
//! In: a projection, addresses and the files of certificates. Out: a bootstrap that Envoy runs as it is: one inbound
//! with mTLS. Not here: the filters, starting Envoy.

use crate::filters::{Projection, Protocol};
use crate::names::stat_name;
use crate::proto::TypedExtensionConfig;
use crate::proto::bootstrap::{
    AccessLogConfig, Address, Admin, Bootstrap, CertValidator, Cluster, CommonTlsContext,
    DataSource, DirectResponse, DownstreamTls, Endpoint, FilterChain, HeaderValue,
    HeaderValueOption, HttpConnectionManager, HttpFilter, LbEndpoint, Listener, LoadAssignment,
    LocalReplyConfig, LocalityLbEndpoints, NetworkFilter, Route, RouteAction, RouteConfiguration,
    RouteMatch, SocketAddress, StaticResources, SubstitutionFormatString, TcpProxy, TlsCertificate,
    TrustDomain, ValidationContext, VirtualHost,
};
use crate::proto::rbac::{Rbac, RbacFilter};

/// The cluster behind the inbound.
const UPSTREAM: &str = "upstream";

/// Room for what a client sends before the upstream is dialled.
const EARLY_BYTES: u32 = 64 * 1024;

/// Response header that names the policy which allowed, with [`EnvoyInbound::tell`].
pub const POLICY_HEADER: &str = "x-overrule-policy";

/// An address and a port; port 0 is any free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPort<'a> {
    /// The IP address.
    pub address: &'a str,
    /// The port.
    pub port: u16,
}

/// Files for TLS, as Envoy will find them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsFiles<'a> {
    /// The certificate of the inbound.
    pub certificate: &'a str,
    /// Its key.
    pub key: &'a str,
    /// Whose clients are believed.
    pub trust: Trust<'a>,
}

/// Whom an inbound believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'a> {
    /// Every certificate of the authorities in this file. With the authorities of several trust domains in it, each
    /// can issue identities of all.
    Bundle(&'a str),
    /// For each trust domain the authorities in its own file.
    Domains(&'a [(&'a str, &'a str)]),
}

/// What is behind an inbound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream<'a> {
    /// Nothing: Envoy answers itself, HTTP with 200, TCP with what it gets.
    Envoy,
    /// A server.
    Server(HostPort<'a>),
    /// A server that is dialled only when the client has sent something and was let pass: a denied client cannot
    /// reach it. Protocols in which the server speaks first do not work then. HTTP is always so. From
    /// [`Version::LATE_CONNECT`](crate::Version::LATE_CONNECT) on.
    ServerOnData(HostPort<'a>),
}

/// All there is to know.
#[derive(Debug, Clone, Copy)]
pub struct EnvoyInbound<'a> {
    /// The name of the listener.
    pub name: &'a str,
    /// Where it listens.
    pub listen: HostPort<'a>,
    /// Where Envoy tells about itself.
    pub admin: HostPort<'a>,
    /// Certificates.
    pub tls: TlsFiles<'a>,
    /// What is behind it.
    pub upstream: Upstream<'a>,
    /// Whether answers tell which policy decided: for trying out, not for strangers. HTTP: [`POLICY_HEADER`] if
    /// allowed, in the body if denied. TCP: a line on standard output for each connection.
    pub tell: bool,
}

/// The bootstrap for an inbound with these filters.
pub fn bootstrap<'a>(inbound: &EnvoyInbound<'a>, projection: &'a Projection<'a>) -> Bootstrap<'a> {
    let is_http = projection.protocol == Protocol::Http;
    let filters = if is_http { http(inbound, projection) } else { tcp(inbound, projection) };
    let chain = FilterChain { filters, transport_socket: tls(&inbound.tls, is_http) };
    let listener = Listener {
        access_log: if inbound.tell && !is_http { vec![connections()] } else { Vec::new() },
        address: address(inbound.listen),
        filter_chains: vec![chain],
        listener_filters: projection.listener_filters.clone(),
        name: inbound.name,
        traffic_direction: "INBOUND",
    };
    let clusters = match inbound.upstream {
        Upstream::Envoy => Vec::new(),
        Upstream::Server(at) | Upstream::ServerOnData(at) => vec![cluster(at)],
    };
    Bootstrap {
        admin: Admin { address: address(inbound.admin) },
        static_resources: StaticResources { clusters, listeners: vec![listener] },
    }
}

fn address(at: HostPort<'_>) -> Address<'_> {
    Address { socket_address: SocketAddress { address: at.address, port_value: at.port } }
}

fn cluster(at: HostPort<'_>) -> Cluster<'_> {
    let endpoint = LbEndpoint { endpoint: Endpoint { address: address(at) } };
    Cluster {
        connect_timeout: "1s",
        load_assignment: LoadAssignment {
            cluster_name: UPSTREAM,
            endpoints: vec![LocalityLbEndpoints { lb_endpoints: vec![endpoint] }],
        },
        name: UPSTREAM,
    }
}

fn tcp<'a>(
    inbound: &EnvoyInbound<'a>,
    projection: &'a Projection<'a>,
) -> Vec<TypedExtensionConfig<NetworkFilter<'a>>> {
    let rbac = |filter: &'a RbacFilter<'a>| match &filter.typed_config {
        Rbac::Network(rbac) => Some(TypedExtensionConfig {
            name: filter.name,
            typed_config: NetworkFilter::Rbac(rbac),
        }),
        Rbac::Http(_) => None,
    };
    let proxy = |late: bool| {
        NetworkFilter::TcpProxy(TcpProxy {
            cluster: UPSTREAM,
            max_early_data_bytes: late.then_some(EARLY_BYTES),
            stat_prefix: "tcp",
            upstream_connect_mode: late.then_some("ON_DOWNSTREAM_DATA"),
        })
    };
    let (name, typed_config) = match inbound.upstream {
        Upstream::Envoy => ("envoy.filters.network.echo", NetworkFilter::Echo {}),
        Upstream::Server(_) => ("envoy.filters.network.tcp_proxy", proxy(false)),
        Upstream::ServerOnData(_) => ("envoy.filters.network.tcp_proxy", proxy(true)),
    };
    let mut filters: Vec<_> = projection.filters.iter().filter_map(rbac).collect();
    filters.push(TypedExtensionConfig { name, typed_config });
    filters
}

fn http<'a>(
    inbound: &EnvoyInbound<'a>,
    projection: &'a Projection<'a>,
) -> Vec<TypedExtensionConfig<NetworkFilter<'a>>> {
    let rbac = |filter: &'a RbacFilter<'a>| match &filter.typed_config {
        Rbac::Http(rbac) => {
            Some(TypedExtensionConfig { name: filter.name, typed_config: HttpFilter::Rbac(rbac) })
        }
        Rbac::Network(_) => None,
    };
    let mut http_filters: Vec<_> = projection.filters.iter().filter_map(rbac).collect();
    http_filters.push(TypedExtensionConfig {
        name: "envoy.filters.http.router",
        typed_config: HttpFilter::Router {},
    });
    let paths = projection.connection_manager;
    let manager = HttpConnectionManager {
        http_filters,
        local_reply_config: inbound
            .tell
            .then(|| LocalReplyConfig { body_format: text("%RESPONSE_CODE_DETAILS%\n") }),
        merge_slashes: paths.is_some_and(|paths| paths.merge_slashes),
        normalize_path: paths.is_some_and(|paths| paths.normalize_path),
        path_with_escaped_slashes_action: paths.map(|paths| paths.path_with_escaped_slashes_action),
        route_config: RouteConfiguration { virtual_hosts: vec![host(inbound)] },
        stat_prefix: stat_name(inbound.name),
    };
    vec![TypedExtensionConfig {
        name: "envoy.filters.network.http_connection_manager",
        typed_config: NetworkFilter::HttpConnectionManager(Box::new(manager)),
    }]
}

fn host<'a>(inbound: &EnvoyInbound<'a>) -> VirtualHost<'a> {
    let own = inbound.upstream == Upstream::Envoy;
    let route = Route {
        direct_response: own
            .then_some(DirectResponse { body: DataSource::InlineString("ok\n"), status: 200 }),
        r#match: RouteMatch { prefix: "/" },
        route: (!own).then_some(RouteAction { cluster: UPSTREAM }),
    };
    let policy = HeaderValue {
        key: POLICY_HEADER,
        value: "%DYNAMIC_METADATA(envoy.filters.http.rbac:enforced_effective_policy_id)%",
    };
    VirtualHost {
        domains: ["*"],
        name: "all",
        response_headers_to_add: inbound
            .tell
            .then_some(HeaderValueOption { header: policy })
            .into_iter()
            .collect(),
        routes: vec![route],
    }
}

fn tls<'a>(tls: &TlsFiles<'a>, is_http: bool) -> TypedExtensionConfig<DownstreamTls<'a>> {
    let validation_context = match tls.trust {
        Trust::Bundle(file) => ValidationContext {
            custom_validator_config: None,
            trusted_ca: Some(DataSource::Filename(file)),
        },
        Trust::Domains(domains) => ValidationContext {
            custom_validator_config: Some(TypedExtensionConfig {
                name: "envoy.tls.cert_validator.spiffe",
                typed_config: CertValidator::Spiffe {
                    trust_domains: domains.iter().map(|domain| trust_domain(*domain)).collect(),
                },
            }),
            trusted_ca: None,
        },
    };
    let certificate = TlsCertificate {
        certificate_chain: DataSource::Filename(tls.certificate),
        private_key: DataSource::Filename(tls.key),
    };
    TypedExtensionConfig {
        name: "envoy.transport_sockets.tls",
        typed_config: DownstreamTls::Context {
            common_tls_context: CommonTlsContext {
                alpn_protocols: if is_http { vec!["h2", "http/1.1"] } else { Vec::new() },
                tls_certificates: [certificate],
                validation_context,
            },
            require_client_certificate: true,
        },
    }
}

fn trust_domain<'a>((name, bundle): (&'a str, &'a str)) -> TrustDomain<'a> {
    TrustDomain { name, trust_bundle: DataSource::Filename(bundle) }
}

fn connections<'a>() -> TypedExtensionConfig<AccessLogConfig<'a>> {
    TypedExtensionConfig {
        name: "envoy.access_loggers.file",
        typed_config: AccessLogConfig::File {
            log_format: text(
                "%DOWNSTREAM_PEER_URI_SAN% %CONNECTION_TERMINATION_DETAILS% \
                 %DYNAMIC_METADATA(envoy.filters.network.rbac)%\n",
            ),
            path: "/dev/stdout",
        },
    }
}

fn text(format: &'static str) -> SubstitutionFormatString {
    SubstitutionFormatString { text_format_source: DataSource::InlineString(format) }
}
