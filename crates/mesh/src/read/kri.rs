// SPDX-License-Identifier: Apache-2.0
//! In: the text of a Kuma resource identifier, or the metadata of a resource. Out: the identifier, its text, and the
//! name under which a control plane stores the resource. Not here: looking resources up.
//!
//! `kri_<short name>_<mesh>_<zone>_<namespace>_<display name>_<section>`, absent parts empty. A name with an underscore
//! does not survive the way through text: Kuma writes it as it is, and reads the parts shifted.

use crate::kinds::{KindName, KindScope, ResourceKind};
use crate::labels::{self, LabelMap};
use crate::names::{ControlPlane, Mode, hashed_name};
use crate::quote::quoted;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// What a resource, or a section of one, is called in every zone.
///
/// Equality is by part. The order is that of the texts (identifiers with the same text: by part), which is the order of
/// keys in Kuma's answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Kri {
    /// The type, such as `MeshTimeout`.
    pub kind: KindName,
    /// The mesh; empty for kinds of global scope.
    pub mesh: String,
    /// The zone it was created in; empty on a global control plane.
    pub zone: String,
    /// The Kubernetes namespace it was created in; empty on Universal.
    pub namespace: String,
    /// The display name.
    pub name: String,
    /// A port, an inbound, a listener; empty for the whole resource.
    pub section: String,
}

/// Why a text is not an identifier. Prints as Kuma says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    /// The text has fewer than seven parts.
    Parts(String),
    /// The text has enough parts, and the first is not `kri`.
    Prefix(String),
    /// No kind has this short name.
    ShortName(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parts(text) => write!(f, "invalid identifier string: {}", quoted(text)),
            Self::Prefix(text) => write!(f, "identifier must start with 'kri': {}", quoted(text)),
            Self::ShortName(short) => {
                write!(f, "unknown short name of resource type: {}", quoted(short))
            }
        }
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Kri {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

impl Kri {
    /// Reads an identifier. Like Kuma, takes everything after the sixth underscore as the section, without the
    /// underscores in it.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parts = text.split('_');
        let mut next = || parts.next().ok_or_else(|| ParseError::Parts(text.into()));
        let [prefix, short, mesh, zone, namespace, name, section] =
            [next()?, next()?, next()?, next()?, next()?, next()?, next()?];
        if prefix != "kri" {
            return Err(ParseError::Prefix(text.into()));
        }
        let kind =
            ResourceKind::by_short(short).ok_or_else(|| ParseError::ShortName(short.into()))?;
        Ok(Self {
            kind: KindName::Known(kind),
            mesh: mesh.into(),
            zone: zone.into(),
            namespace: namespace.into(),
            name: name.into(),
            section: std::iter::once(section).chain(parts).collect(),
        })
    }

    /// The identifier of a whole resource. An overview is identified as what it is an overview of.
    pub fn from_meta(kind: &KindName, mesh: &str, name: &str, labels: &LabelMap) -> Self {
        let viewed = kind.as_str().strip_suffix("Overview").map(KindName::of_resource);
        let kind = viewed.unwrap_or_else(|| kind.clone());
        let is_global = kind.known().is_some_and(|kind| kind.scope == KindScope::Global);
        Self {
            kind,
            mesh: if is_global { String::new() } else { mesh.into() },
            zone: labels::zone(labels).unwrap_or_default().into(),
            namespace: labels::namespace(labels).unwrap_or_default().into(),
            name: labels::display_name(name, labels).into(),
            section: String::new(),
        }
    }

    /// The same resource, another section.
    #[must_use]
    pub fn with_section(&self, section: impl Into<String>) -> Self {
        Self { section: section.into(), ..self.clone() }
    }

    /// The whole resource.
    #[must_use]
    pub fn without_section(&self) -> Self {
        self.with_section("")
    }

    /// The name under which `plane` stores the resource: the one it was given if it was created there, and the one
    /// sync gave it otherwise.
    pub fn core_name(&self, plane: &ControlPlane<'_>) -> String {
        if self.is_local(plane) { self.local_name(plane) } else { self.synced_name(plane) }
    }

    fn is_local(&self, plane: &ControlPlane<'_>) -> bool {
        match plane.mode {
            Mode::Global => self.zone.is_empty(),
            Mode::Zone => self.zone == plane.zone,
        }
    }

    fn local_name(&self, plane: &ControlPlane<'_>) -> String {
        let has_namespace = self.kind.known().is_none_or(|kind| !kind.is_cluster_scoped);
        if !plane.kubernetes || !has_namespace {
            return self.name.clone();
        }
        let own = self.namespace.as_str();
        format!("{}.{}", self.name, if own.is_empty() { plane.system_namespace } else { own })
    }

    fn synced_name(&self, plane: &ControlPlane<'_>) -> String {
        let hashed = hashed_name(&self.mesh, &self.name, &[&self.zone, &self.namespace]);
        if plane.kubernetes { format!("{hashed}.{}", plane.system_namespace) } else { hashed }
    }

    /// The parts after the first, or nothing for a kind without a short name.
    fn parts(&self) -> Option<[&str; 6]> {
        let short = self.kind.known()?.short?;
        Some([short, &self.mesh, &self.zone, &self.namespace, &self.name, &self.section])
    }

    fn fields(&self) -> [&str; 6] {
        [self.kind.as_str(), &self.mesh, &self.zone, &self.namespace, &self.name, &self.section]
    }

    /// How the texts compare. Of the same kind the parts tell it, without a look at the table.
    fn cmp_text(&self, other: &Self) -> Ordering {
        if self.kind == other.kind {
            return bytes(&self.fields()).cmp(bytes(&other.fields()));
        }
        let (own, others) = (self.parts(), other.parts());
        own.iter().flat_map(bytes).cmp(others.iter().flat_map(bytes))
    }
}

/// Nothing for a kind that has no identifiers, as in Kuma's answers.
impl fmt::Display for Kri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parts) = self.parts() else { return Ok(()) };
        f.write_str("kri")?;
        parts.iter().try_for_each(|part| write!(f, "_{part}"))
    }
}

impl Ord for Kri {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cmp_text(other).then_with(|| self.fields().cmp(&other.fields()))
    }
}

/// The bytes of parts with their underscores.
fn bytes<'a>(parts: &'a [&'a str; 6]) -> impl Iterator<Item = u8> {
    parts.iter().flat_map(|part| std::iter::once(b'_').chain(part.bytes()))
}

impl PartialOrd for Kri {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::{Kri, ParseError};
    use crate::kinds::{KINDS, KindName};
    use crate::labels::{DISPLAY_NAME, LabelMap, NAMESPACE, ZONE};
    use crate::names::{ControlPlane, Mode};
    use proptest::prelude::*;
    use proptest::sample::select;

    fn text(text: &str) -> Kri {
        Kri::parse(text).unwrap()
    }

    #[test]
    fn the_checks_have_an_order() {
        let error = |text: &str| Kri::parse(text).unwrap_err();
        assert_eq!(error("abc_nope_"), ParseError::Parts("abc_nope_".into()));
        assert_eq!(error("abc_nope_____"), ParseError::Prefix("abc_nope_____".into()));
        assert_eq!(error("kri_nope_____"), ParseError::ShortName("nope".into()));
        assert_eq!(error("kri_mt____").to_string(), r#"invalid identifier string: "kri_mt____""#);
        assert_eq!(error("\"").to_string(), r#"invalid identifier string: "\"""#);
        // In 2.13 zones have no short name yet.
        assert_eq!(error("kri_z____east_"), ParseError::ShortName("z".into()));
    }

    #[test]
    fn an_underscore_in_a_name_shifts_the_parts_as_it_does_in_kuma() {
        let kri = Kri {
            kind: KindName::of_resource("MeshService"),
            mesh: "m".into(),
            name: "a_b".into(),
            section: "c_d".into(),
            ..Kri::default()
        };
        assert_eq!(kri.to_string(), "kri_msvc_m___a_b_c_d");
        let read = text(&kri.to_string());
        assert_eq!((read.name.as_str(), read.section.as_str()), ("a", "bcd"));
        let mesh = Kri { mesh: "my_mesh".into(), name: "a".into(), ..text("kri_mt_____") };
        assert_eq!(text(&mesh.to_string()).zone, "mesh");
    }

    #[test]
    fn metadata_gives_the_display_name_and_the_labels() {
        let labels = LabelMap::from_iter(
            [(DISPLAY_NAME, "slow"), (ZONE, "east"), (NAMESPACE, "shop")]
                .map(|(k, v)| (k.to_owned(), v.to_owned())),
        );
        let kri = |kind: &str, mesh: &str| {
            Kri::from_meta(&KindName::of_resource(kind), mesh, "slow.shop", &labels)
        };
        assert_eq!(kri("MeshRetry", "m").to_string(), "kri_mr_m_east_shop_slow_");
        assert_eq!(kri("DataplaneOverview", "m").kind.as_str(), "Dataplane");
        assert_eq!(kri("HostnameGenerator", "m").to_string(), "kri_hg__east_shop_slow_");
        assert_eq!(kri("Timeout", "m").to_string(), "");
        assert_eq!(Kri::default().to_string(), "");
    }

    #[test]
    fn kinds_without_a_namespace_keep_their_name_on_kubernetes() {
        let plane = ControlPlane {
            mode: Mode::Global,
            zone: "",
            kubernetes: true,
            system_namespace: "kuma-system",
        };
        assert_eq!(text("kri_m____m1_").core_name(&plane), "m1");
        assert_eq!(text("kri_hg____local_").core_name(&plane), "local.kuma-system");
    }

    #[test]
    fn kinds_without_a_text_come_first_and_are_still_told_apart() {
        let kri = |kind: &str, name: &str| Kri {
            kind: KindName::of_resource(kind),
            name: name.into(),
            ..Kri::default()
        };
        let sorted = [
            kri("Foo", "a.b"),
            kri("Foo", "a"),
            kri("Timeout", "a"),
            kri("Dataplane", "z"),
            kri("Mesh", "a-b"),
            kri("Mesh", "a"),
            kri("MeshTimeout", "a"),
        ];
        assert!(sorted.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn sections_come_and_go() {
        let whole = text("kri_dp_m_east__web_");
        assert_eq!(whole.with_section("http").to_string(), "kri_dp_m_east__web_http");
        assert_eq!(whole.with_section("http").without_section(), whole);
    }

    /// A part of a legal identifier: labels of lower case letters, digits and inner hyphens, between dots.
    fn part() -> impl Strategy<Value = String> {
        "[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,3}[a-z0-9])?){0,2}"
    }

    fn legal() -> impl Strategy<Value = Kri> {
        let kinds: Vec<&str> = KINDS.iter().filter(|k| k.short.is_some()).map(|k| k.name).collect();
        let maybe = || prop_oneof![Just(String::new()), part()];
        (select(kinds), maybe(), maybe(), maybe(), part(), maybe()).prop_map(
            |(kind, mesh, zone, namespace, name, section)| Kri {
                kind: KindName::of_resource(kind),
                mesh,
                zone,
                namespace,
                name,
                section,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn legal_identifiers_survive_text(kri in legal()) {
            prop_assert_eq!(Kri::parse(&kri.to_string()), Ok(kri));
        }

        #[test]
        fn the_order_is_that_of_the_texts(a in legal(), b in legal()) {
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(kri_(m|dp|mt)|kri|x)?(_?[a-z_\"é-]{0,3}){0,9}") {
            if let Ok(kri) = Kri::parse(&text) {
                prop_assert!(text.starts_with(&kri.without_section().to_string()));
                prop_assert!(!kri.section.contains('_'));
            }
        }
    }
}
