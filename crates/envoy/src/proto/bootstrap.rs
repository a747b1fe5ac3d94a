// SPDX-License-Identifier: Apache-2.0
//! The messages of a bootstrap with one listener. Not here: what goes into them.

use serde::Serialize;

use super::rbac::{HttpRbac, NetworkRbac};
use super::{TypedExtensionConfig, is_false};

/// `envoy.config.bootstrap.v3.Bootstrap`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap<'a> {
    /// Where Envoy tells about itself.
    pub admin: Admin<'a>,
    /// All it serves.
    pub static_resources: StaticResources<'a>,
}

/// `envoy.config.bootstrap.v3.Admin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Admin<'a> {
    /// Where.
    pub address: Address<'a>,
}

/// `envoy.config.core.v3.Address`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Address<'a> {
    /// An IP address and a port.
    pub socket_address: SocketAddress<'a>,
}

/// `envoy.config.core.v3.SocketAddress`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SocketAddress<'a> {
    /// The IP address.
    pub address: &'a str,
    /// The port. Written even if 0 ("any free one"): the field is part of a oneof and required.
    pub port_value: u16,
}

/// `envoy.config.bootstrap.v3.Bootstrap.StaticResources`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StaticResources<'a> {
    /// Where it forwards to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<Cluster<'a>>,
    /// Where it listens.
    pub listeners: Vec<Listener<'a>>,
}

/// `envoy.config.cluster.v3.Cluster` with one fixed address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster<'a> {
    /// How long a connection may take.
    pub connect_timeout: &'static str,
    /// Its addresses.
    pub load_assignment: LoadAssignment<'a>,
    /// Its name.
    pub name: &'static str,
}

/// `envoy.config.endpoint.v3.ClusterLoadAssignment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadAssignment<'a> {
    /// Of which cluster.
    pub cluster_name: &'static str,
    /// By locality.
    pub endpoints: Vec<LocalityLbEndpoints<'a>>,
}

/// `envoy.config.endpoint.v3.LocalityLbEndpoints`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalityLbEndpoints<'a> {
    /// The addresses.
    pub lb_endpoints: Vec<LbEndpoint<'a>>,
}

/// `envoy.config.endpoint.v3.LbEndpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LbEndpoint<'a> {
    /// One of them.
    pub endpoint: Endpoint<'a>,
}

/// `envoy.config.endpoint.v3.Endpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Endpoint<'a> {
    /// Where.
    pub address: Address<'a>,
}

/// `envoy.config.listener.v3.Listener`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listener<'a> {
    /// What is written about connections.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_log: Vec<AccessLog<'a>>,
    /// Where.
    pub address: Address<'a>,
    /// What happens with connections.
    pub filter_chains: Vec<FilterChain<'a>>,
    /// What looks at a connection before a chain is chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listener_filters: Vec<ListenerFilter>,
    /// Its name.
    pub name: &'a str,
    /// `INBOUND`.
    pub traffic_direction: &'static str,
}

/// `envoy.config.listener.v3.ListenerFilter`.
pub type ListenerFilter = TypedExtensionConfig<ListenerFilterConfig>;

/// The configuration of a listener filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type")]
pub enum ListenerFilterConfig {
    /// Reads the server name a client asks for.
    #[serde(
        rename = "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"
    )]
    TlsInspector {},
}

/// `envoy.config.listener.v3.FilterChain`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FilterChain<'a> {
    /// In order.
    pub filters: Vec<TypedExtensionConfig<NetworkFilter<'a>>>,
    /// TLS.
    pub transport_socket: TypedExtensionConfig<DownstreamTls<'a>>,
}

/// The configuration of a network filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type")]
pub enum NetworkFilter<'a> {
    /// Decides.
    #[serde(rename = "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC")]
    Rbac(&'a NetworkRbac<'a>),
    /// HTTP.
    #[serde(
        rename = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    )]
    HttpConnectionManager(Box<HttpConnectionManager<'a>>),
    /// Forwards bytes.
    #[serde(rename = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy")]
    TcpProxy(TcpProxy),
    /// Sends back what it receives.
    #[serde(rename = "type.googleapis.com/envoy.extensions.filters.network.echo.v3.Echo")]
    Echo {},
}

/// `envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TcpProxy {
    /// Where to.
    pub cluster: &'static str,
    /// How much is kept of what the client sends before there is a connection to the upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_early_data_bytes: Option<u32>,
    /// Name of counters.
    pub stat_prefix: &'static str,
    /// When the upstream is dialled; at once if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_connect_mode: Option<&'static str>,
}

/// How a connection manager makes paths comparable. Part of [`HttpConnectionManager`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PathNormalisation {
    /// `//` becomes `/`.
    pub merge_slashes: bool,
    /// `.` and `..` are resolved, needless escapes undone.
    pub normalize_path: bool,
    /// What happens with an escaped slash.
    pub path_with_escaped_slashes_action: &'static str,
}

/// `envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpConnectionManager<'a> {
    /// In order, the router last.
    pub http_filters: Vec<TypedExtensionConfig<HttpFilter<'a>>>,
    /// What answers of Envoy itself look like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_reply_config: Option<LocalReplyConfig>,
    // The three fields of [`PathNormalisation`], here in their alphabetical places.
    /// See [`PathNormalisation::merge_slashes`].
    #[serde(skip_serializing_if = "is_false")]
    pub merge_slashes: bool,
    /// See [`PathNormalisation::normalize_path`].
    #[serde(skip_serializing_if = "is_false")]
    pub normalize_path: bool,
    /// See [`PathNormalisation::path_with_escaped_slashes_action`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_with_escaped_slashes_action: Option<&'static str>,
    /// Where requests go.
    pub route_config: RouteConfiguration<'a>,
    /// Name of counters.
    pub stat_prefix: String,
}

/// The configuration of an HTTP filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type")]
pub enum HttpFilter<'a> {
    /// Decides.
    #[serde(rename = "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC")]
    Rbac(&'a HttpRbac<'a>),
    /// Forwards.
    #[serde(rename = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router")]
    Router {},
}

/// `LocalReplyConfig`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalReplyConfig {
    /// The body.
    pub body_format: SubstitutionFormatString,
}

/// `envoy.config.core.v3.SubstitutionFormatString`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubstitutionFormatString {
    /// The text with its placeholders.
    pub text_format_source: DataSource<'static>,
}

/// `envoy.config.core.v3.DataSource`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DataSource<'a> {
    /// A file.
    Filename(&'a str),
    /// Written here.
    InlineString(&'a str),
}

/// `envoy.config.route.v3.RouteConfiguration`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteConfiguration<'a> {
    /// By host.
    pub virtual_hosts: Vec<VirtualHost<'a>>,
}

/// `envoy.config.route.v3.VirtualHost`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VirtualHost<'a> {
    /// For which hosts.
    pub domains: [&'static str; 1],
    /// Its name.
    pub name: &'static str,
    /// What answers say about the decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_headers_to_add: Vec<HeaderValueOption>,
    /// In order.
    pub routes: Vec<Route<'a>>,
}

/// `envoy.config.core.v3.HeaderValueOption`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeaderValueOption {
    /// The header.
    pub header: HeaderValue,
}

/// `envoy.config.core.v3.HeaderValue`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeaderValue {
    /// Its name.
    pub key: &'static str,
    /// Its value, with placeholders.
    pub value: &'static str,
}

/// `envoy.config.route.v3.Route` for every path: exactly one of the two actions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Route<'a> {
    /// Envoy answers itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct_response: Option<DirectResponse<'a>>,
    /// Which requests.
    pub r#match: RouteMatch,
    /// Envoy forwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<RouteAction>,
}

/// `envoy.config.route.v3.RouteMatch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteMatch {
    /// How the path begins.
    pub prefix: &'static str,
}

/// `envoy.config.route.v3.DirectResponseAction`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DirectResponse<'a> {
    /// The body.
    pub body: DataSource<'a>,
    /// The status.
    pub status: u16,
}

/// `envoy.config.route.v3.RouteAction`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteAction {
    /// Where to.
    pub cluster: &'static str,
}

/// The configuration of TLS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type")]
pub enum DownstreamTls<'a> {
    /// `DownstreamTlsContext`.
    #[serde(
        rename = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
    )]
    #[serde(rename_all = "camelCase")]
    Context {
        /// Certificates and trust.
        common_tls_context: CommonTlsContext<'a>,
        /// Whether a client must show a certificate.
        require_client_certificate: bool,
    },
}

/// `CommonTlsContext`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommonTlsContext<'a> {
    /// Which protocols are offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alpn_protocols: Vec<&'static str>,
    /// What we show.
    pub tls_certificates: [TlsCertificate<'a>; 1],
    /// Whom we believe.
    pub validation_context: ValidationContext<'a>,
}

/// `TlsCertificate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TlsCertificate<'a> {
    /// The certificate.
    pub certificate_chain: DataSource<'a>,
    /// Its key.
    pub private_key: DataSource<'a>,
}

/// `CertificateValidationContext`: one of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidationContext<'a> {
    /// Each trust domain by its own authorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_validator_config: Option<TypedExtensionConfig<CertValidator<'a>>>,
    /// Any certificate of these authorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_ca: Option<DataSource<'a>>,
}

/// The configuration of a certificate validator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type")]
pub enum CertValidator<'a> {
    /// `SPIFFECertValidatorConfig`.
    #[serde(
        rename = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig"
    )]
    #[serde(rename_all = "camelCase")]
    Spiffe {
        /// By trust domain.
        trust_domains: Vec<TrustDomain<'a>>,
    },
}

/// `SPIFFECertValidatorConfig.TrustDomain`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustDomain<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its authorities.
    pub trust_bundle: DataSource<'a>,
}

/// `envoy.config.accesslog.v3.AccessLog`.
pub type AccessLog<'a> = TypedExtensionConfig<AccessLogConfig<'a>>;

/// The configuration of an access log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type")]
pub enum AccessLogConfig<'a> {
    /// Into a file.
    #[serde(rename = "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog")]
    #[serde(rename_all = "camelCase")]
    File {
        /// What is written.
        log_format: SubstitutionFormatString,
        /// Where to.
        path: &'a str,
    },
}
