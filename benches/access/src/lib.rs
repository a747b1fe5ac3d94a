// SPDX-License-Identifier: Apache-2.0
//! In: nothing. Out: nothing. Only the benchmark beside it is of use.
