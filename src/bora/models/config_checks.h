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
#include "bora/base/json.h"
#include "bora/nn/remat_policy.h"

namespace bora::models {

/// Tokens of a sequence: one to read and one to predict, at least.
inline constexpr Range kSequence = from_to(2, 0x7FFFFFFF);
/// A probability, for dropout.
inline constexpr Range kDropout{.least = 0, .most = 1, .below = true};

/// Reports heads that do not divide, with the nearest valid choices, and heads that are too wide together.
void check_heads(Binder& b, std::int64_t hidden_dim, std::int64_t num_heads, std::int64_t num_kv_heads,
                 std::optional<std::int64_t> head_dim, bool rotary);

/// Reports `key` if the width that it makes with `other`, their product, is no size (kSize).
void check_width(Binder& b, std::string_view key, std::int64_t value, std::string_view other,
                 std::int64_t other_value);

/// What a type calls the sizes that its parameters grow with.
struct SizeKeys {
  std::string_view width = "hidden_dim", layers = "num_layers";
};

/// Reports a model of so many parameters that their bytes are no 64-bit number. `parameters`: all but what
/// the vocabulary has.
void check_parameters(Binder& b, std::int64_t hidden_dim, std::int64_t num_layers, double parameters,
                      const SizeKeys& keys = {});
/// The same once the vocabulary is known: Config error.
void require_countable(double parameters, std::int64_t vocab_size, std::int64_t hidden_dim,
                       const SizeKeys& keys = {});

/// Corruption with all of them; they are of the file `name`.
void require_none(std::vector<ConfigProblem> problems, std::string_view name);

/// For a model that another program described: what bind() of `config` would complain of, with the keys that
/// the file `name` has for them. Corruption.
template <class Config>
void require_values(Config config, const KeyNames& keys, std::string_view name) {
  Config fresh;
  require_none(value_problems(config, fresh, keys), name);
}

/// A config.json with what transformers takes for the keys that it leaves out: hf_defaults() of a family's Config,
/// which names those alone whose default is another one there.
template <class Config>
Json with_hf_defaults(Json json) {
  if constexpr (requires { Config::hf_defaults(); }) {
    auto whole = Config::hf_defaults();
    whole.update(json);
    return whole;
  } else {
    return json;
  }
}

/// A config.json of a type for which transformers takes some keys under a second name, too: each under its first.
/// Corruption where one has both and they differ.
Json under_first_names(Json json, const KeyNames& first_and_second, std::string_view name);
/// A config.json that says one thing under two keys, and not the same: Corruption. Null agrees with everything.
void require_agreement(std::string_view key, const Json& value, std::string_view other, const Json& its,
                       std::string_view name);

/// What a config.json says otherwise than `fixed`, in which models of a type have no choice: Unsupported.
/// Absent and null keys pass.
void require_fixed(const Json& json, const Json& fixed, std::string_view name);

/// Levanter's keys that choose among accelerator kernels.
void ignore_accelerator_keys(Binder& b);

/// A key in which models of this type have no choice: read, not used, and a problem where it is not `only`.
void bind_fixed(Binder& b, std::string_view key, std::string_view only);

/// Values that attention keeps for each position of a training pass where its probabilities are dropped with
/// probability `p`, about: two matrices for each layer that is not computed again, three while one is computed.
double values_of_dropped_attention(double p, std::int64_t heads, std::int64_t layers, std::int64_t keys,
                                   const nn::RematPolicy& policy);

/// The function that config.json calls so, as configurations of models spell it: transformers has some under several
/// names.
std::string plain_activation(const std::string& hf);

/// `path` with each pair's first text replaced by its second, once.
std::string renamed(std::string_view path,
                    const std::vector<std::pair<std::string_view, std::string_view>>& pairs);

}  // namespace bora::models
