// SPDX-License-Identifier: Apache-2.0
//! In: the mesh, name, zone and namespace of a resource. Out: the name it is stored under after it went from one
//! control plane to another. Not here: identifiers (`kri`), labels.

/// What a control plane is in charge of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// All zones.
    Global,
    /// One zone, alone or below a global control plane.
    #[default]
    Zone,
}

/// The control plane on which a resource is looked up or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ControlPlane<'a> {
    /// What it is in charge of.
    pub mode: Mode,
    /// The name of its zone; empty on a global control plane.
    pub zone: &'a str,
    /// It keeps its resources in Kubernetes; otherwise it is Universal.
    pub kubernetes: bool,
    /// The namespace it runs in.
    pub system_namespace: &'a str,
}

/// What is left of a name so that a hyphen and the hash still fit the 253 bytes Kubernetes allows.
const LONGEST_STEM: usize = 253 - 1 - 16;

/// Kubernetes' letters for generated names: no vowels and nothing that looks like another, so that no words appear.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The name of a resource after sync: its name, shortened, and a hash of everything that tells it apart. `values` are
/// the zone and the namespace, as far as there are any; an empty value changes nothing, because the parts are hashed
/// without a separator.
pub fn hashed_name(mesh: &str, name: &str, values: &[&str]) -> String {
    let parts = [mesh, name].into_iter().chain(values.iter().copied());
    let hash = fnv1a_64(parts.flat_map(str::bytes));
    let letters: String = format!("{hash:016x}").bytes().map(letter).collect();
    format!("{}-{letters}", stem(name))
}

/// The name up to the limit, in bytes. A name that Kuma accepts is ASCII; in others no character is cut in half.
fn stem(name: &str) -> &str {
    name.get(..name.floor_char_boundary(LONGEST_STEM)).unwrap_or(name)
}

fn letter(digit: u8) -> char {
    let at = usize::from(digit) % ALPHABET.len();
    ALPHABET.get(at).copied().map_or('b', char::from)
}

fn fnv1a_64(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::{fnv1a_64, hashed_name};

    #[test]
    fn fnv_is_the_published_one() {
        assert_eq!(fnv1a_64("".bytes()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a_64("a".bytes()), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_64("foobar".bytes()), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn parts_are_hashed_without_separator() {
        assert_eq!(hashed_name("m", "n", &["z", "s"]), hashed_name("m", "n", &["zs"]));
        assert_eq!(hashed_name("m", "n", &["", "s"]), hashed_name("m", "n", &["s"]));
        assert_ne!(hashed_name("m", "n", &["z"]), hashed_name("m", "n", &[]));
    }

    #[test]
    fn a_long_name_is_cut_but_hashed_whole() {
        let long = "a".repeat(236);
        let longer = "a".repeat(237);
        let (of_long, of_longer) = (hashed_name("m", &long, &[]), hashed_name("m", &longer, &[]));
        assert_eq!((of_long.len(), of_longer.len()), (253, 253));
        assert_eq!(of_long.get(..237), of_longer.get(..237));
        assert_ne!(of_long, of_longer);
        let accents = "é".repeat(200) + "e";
        assert!(hashed_name("m", &accents, &[]).len() <= 253);
        let odd = format!("e{accents}");
        assert!(hashed_name("m", &odd, &[]).starts_with("eé"));
    }
}
