// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Small things that configurations of models share; models themselves share nothing.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/config.h"

namespace bora::models {

/// Reports heads that do not divide, with the nearest valid choices.
void check_heads(Binder& b, std::int64_t hidden_dim, std::int64_t num_heads, std::int64_t num_kv_heads,
                 std::optional<std::int64_t> head_dim, bool rotary);

/// Levanter's keys that choose among accelerator kernels.
void ignore_accelerator_keys(Binder& b);

/// `path` with each pair's first text replaced by its second, once.
std::string renamed(std::string_view path,
                    const std::vector<std::pair<std::string_view, std::string_view>>& pairs);

}  // namespace bora::models
