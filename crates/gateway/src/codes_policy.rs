// SPDX-License-Identifier: Apache-2.0
//! Codes of findings about policies and their kinds: OV1300 to OV1399.

overrule_source::codes! {
    /// A target reference names nothing that exists.
    TARGET_NOT_FOUND = "OV1301", Error, World, "policy target does not exist";
    /// A `sectionName` names no section of its target.
    SECTION_NOT_FOUND = "OV1302", Error, World, "policy section does not exist";
    /// The kind of the target is not allowed for this policy kind.
    TARGET_KIND_NOT_ALLOWED = "OV1303", Error, Batch, "policy cannot target this kind";
    /// A target in another namespace without permission.
    CROSS_NAMESPACE = "OV1304", Error, World, "policy may not target another namespace";
    /// A selector that selects nothing.
    SELECTOR_MATCHES_NOTHING = "OV1305", Warning, World, "target selector matches nothing";
    /// A policy without any target.
    NO_TARGET = "OV1306", Error, Document, "policy has no target";
    /// Two policies of a kind that does not merge have one target.
    CONFLICT = "OV1307", Error, World, "policy conflicts with an older one";
    /// Two policies of one kind have one target.
    SEVERAL_ON_ONE_TARGET = "OV1308", Note, World, "several policies on one target";
    /// The order of two policies rests on a creation time nobody knows.
    UNKNOWN_CREATION_TIME = "OV1309", Warning, World, "unknown creation time decides";
    /// A policy that names more than one strategy.
    TWO_STRATEGIES = "OV1310", Error, Document, "policy names more than one strategy";
    /// A policy that names a strategy that does not exist.
    UNKNOWN_STRATEGY = "OV1311", Error, Document, "unknown merge strategy";
    /// A kind with rules of its own.
    FOREIGN_KIND = "OV1312", Warning, World, "policy kind is not resolved";
    /// An object that looks like a policy of an unknown kind.
    UNKNOWN_KIND = "OV1313", Warning, World, "unknown policy kind";
    /// A kind whose rules are guessed.
    ASSUMED_KIND = "OV1314", Note, World, "policy kind resolved by assumption";
    /// A policy that landed where nothing passes.
    INERT = "OV1315", Warning, World, "policy has no effect";
    /// A policy of which nothing is in force anywhere.
    SHADOWED_EVERYWHERE = "OV1316", Warning, World, "policy is shadowed everywhere";
    /// A descriptor that cannot be used.
    BAD_DESCRIPTOR = "OV1317", Error, Batch, "policy kind descriptor is invalid";
    /// Two references of a policy name the same target.
    DUPLICATE_TARGET = "OV1318", Warning, Document, "policy names a target twice";
    /// A policy without content.
    EMPTY_POLICY = "OV1319", Warning, Document, "policy is empty";
    /// A discovery label with a value GEP-713 does not know.
    BAD_POLICY_LABEL = "OV1320", Warning, World, "unknown policy class";
    /// An override that lost to a policy ranked below it.
    OVERRIDE_UNDONE = "OV1321", Warning, World, "override is undone further down";
    /// A policy that must exist does not.
    REQUIREMENT_NOT_MET = "OV1322", Error, World, "required policy is missing";
    /// A requirement that cannot be read.
    BAD_REQUIREMENT = "OV1323", Error, Batch, "requirement is invalid";
    /// A requirement that no path fits.
    EMPTY_REQUIREMENT = "OV1324", Warning, World, "requirement applies to no path";
}
