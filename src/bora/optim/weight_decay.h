// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/optim/config.h"

namespace bora::optim {

/// Which parameters decay. By default all but norms, embeddings and biases (Parameter::role). With
/// weight_decay_modules: those whose path, or kind and name
/// ("Linear.weight"), the expression matches from its start, or contains one of the listed parts. Config where the
/// expression, one of its alternatives outside of groups, or one of the parts, selects none of them.
std::vector<bool> weight_decay_mask(const OptimizerConfig& config,
                                    std::span<const core::Parameter> parameters);

/// What weight_decay_modules makes decay, as the first lines of a run say it: "attn, mlp: 12 of 21 arrays". Parts of
/// layers where they decay whole in all of them, else what is in them. Nothing where the key is not given.
std::string describe_decay(const OptimizerConfig& config, std::span<const core::Parameter> parameters);

/// Why `pattern` is no regular expression (ECMAScript syntax), or nothing.
std::optional<std::string> regex_problem(const std::string& pattern);

}  // namespace bora::optim
