// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/unicode/oniguruma/tree.h"

namespace bora {

/// Rewrites the inside of every look-behind into alternatives of one length each, as PCRE2 needs it. What has
/// no greatest length is refused, except where the look-behind begins: there its least length is enough.
void fix_look_behinds(OnigNode& node, const OnigRefusal& refuse);

/// Refuses a look-ahead at the beginning that (?m:.*) or (?m:.+) follows: Oniguruma then takes the beginning of
/// the text alone for a place where a match may begin.
void refuse_early_looks(const OnigNode& tree, const OnigRefusal& refuse);

}  // namespace bora
