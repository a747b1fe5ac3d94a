// SPDX-License-Identifier: Apache-2.0
//! The names of a family's rule sets.

/// Gives the rule sets of a family their names, in an enum `Profile` without fields: the default first, that of the
/// released controller last.
#[macro_export]
macro_rules! profiles {
    ($($profile:ident = $name:literal),+ $(,)?) => {
        impl Profile {
            /// All of them, the default first, what is shipped last.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$profile),+];
            /// Their names, in the same order.
            pub const NAMES: &[&str] = &[$($name),+];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$profile => $name),+
                }
            }

            /// The profile of a name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|profile| profile.name() == name)
            }
        }
    };
}
