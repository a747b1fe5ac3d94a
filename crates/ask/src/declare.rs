// SPDX-License-Identifier: Apache-2.0
//! The notation for tables of parameters: each row is a field of a type and a [`Parameter`](crate::Parameter). Not
//! here: the tables.

/// A documentation comment as help: no space before it, no full stop behind it.
pub const fn sentence(doc: &'static str) -> &'static str {
    let doc = doc.trim_ascii();
    match doc.as_bytes() {
        [rest @ .., b'.'] => utf8(rest),
        _ => doc,
    }
}

/// The name of a parameter, of a field; the word for a variant.
pub const fn kebab<const N: usize>(name: &str) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(name.as_bytes());
    bytes.make_ascii_lowercase();
    let mut rest = bytes.as_mut_slice();
    while let Some((first, more)) = rest.split_first_mut() {
        if *first == b'_' {
            *first = b'-';
        }
        rest = more;
    }
    bytes
}

/// Bytes of a text as a text.
pub const fn utf8(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

/// The variant that a word stands for.
pub fn word<T: Copy>(given: &[String], words: &[&str], variants: &[T]) -> Result<T, String> {
    let text = given.first().map_or("", String::as_str);
    let found = words.iter().zip(variants).find(|(word, _)| **word == text);
    found.map(|(_, variant)| *variant).ok_or_else(|| {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        format!("unknown variant `{text}`, expected one of {}", words.join(", "))
    })
}

/// Declares a type and the table of its parameters. The comment of a field is its help, the name of a field with
/// hyphens its name, and its type says what it takes. What else there is to say about the
/// [`Parameter`](crate::Parameter) follows in braces. Fields behind `beside` are not parameters.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        $name:ident {$(
            $(#[doc = $help:literal])+
            $(#[serde($($serde:tt)*)])?
            $field:ident: $type:ty = {$($key:ident: $value:expr),* $(,)?};
        )*}
        $(beside {$(
            $(#[$beside_attribute:meta])*
            $beside:ident: $beside_type:ty,
        )*})?
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $(
                $(#[doc = $help])+
                $(#[serde($($serde)*)])?
                pub $field: $type,
            )*
            $($(
                $(#[$beside_attribute])*
                pub $beside: $beside_type,
            )*)?
        }

        impl $crate::Parameters for $name {
            const TABLE: &'static [$crate::Parameter] = &[$(
                $crate::Parameter {
                    $($key: $value,)*
                    ..$crate::Parameter::new(
                        {
                            const NAME: [u8; stringify!($field).len()] =
                                $crate::declare::kebab(stringify!($field));
                            $crate::declare::utf8(&NAME)
                        },
                        $crate::declare::sentence(concat!($($help),+)),
                        <$type as $crate::Argument>::TAKES,
                        <$type as $crate::Argument>::REQUIRED,
                    )
                },
            )*];

            fn read(arguments: &$crate::Arguments) -> Result<Self, $crate::AskError> {
                let mut table = <Self as $crate::Parameters>::TABLE.iter();
                Ok(Self {
                    $($field: arguments.next(&mut table)?,)*
                    $($($beside: Default::default(),)*)?
                })
            }

            fn texts(&self) -> Vec<Vec<String>> {
                vec![$($crate::Argument::texts(&self.$field)),*]
            }

            fn or(self, other: Self) -> Self {
                Self {
                    $($field: $crate::Argument::or(self.$field, other.$field),)*
                    $($($beside: self.$beside,)*)?
                }
            }
        }
    };
}

/// Declares a type that is one of several words. The comment of a variant is the help for its word, which is its name
/// in lower case.
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $name:ident {$(
            $(#[doc = $help:literal])+
            $variant:ident,
        )*}
    ) => {
        $(#[$attribute])*
        pub enum $name {$(
            $(#[doc = $help])+
            $variant,
        )*}

        impl $name {
            /// The words.
            pub const WORDS: &'static [&'static str] = &[$({
                const WORD: [u8; stringify!($variant).len()] =
                    $crate::declare::kebab(stringify!($variant));
                $crate::declare::utf8(&WORD)
            }),*];
        }

        impl $crate::Argument for $name {
            const TAKES: $crate::Takes = $crate::Takes::Choice {
                words: Self::WORDS,
                help: &[$($crate::declare::sentence(concat!($($help),+))),*],
                or: None,
            };

            fn read(text: &[String]) -> Result<Self, String> {
                let variants = [$(Self::$variant),*];
                $crate::declare::word(text, Self::WORDS, &variants)
            }

            fn texts(&self) -> Vec<String> {
                let word = Self::WORDS.get(*self as usize);
                word.map(|word| (*word).to_owned()).into_iter().collect()
            }
        }
    };
}
