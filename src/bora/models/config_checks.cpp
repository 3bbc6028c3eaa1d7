// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/config_checks.h"

#include <fmt/core.h>

namespace bora::models {
namespace {

// "4 or 6": the divisors of `whole` on either side of `wanted`.
std::string nearest_divisors(std::int64_t whole, std::int64_t wanted) {
  std::int64_t below = 0, above = 0;
  for (std::int64_t d = 1; d <= whole; ++d) {
    if (whole % d != 0) continue;
    if (d <= wanted) below = d;
    if (d > wanted && above == 0) above = d;
  }
  if (below == 0) return std::to_string(above);
  return above == 0 ? std::to_string(below) : fmt::format("{} or {}", below, above);
}

}  // namespace

void check_heads(Binder& b, std::int64_t hidden_dim, std::int64_t num_heads, std::int64_t num_kv_heads,
                 std::optional<std::int64_t> head_dim, bool rotary) {
  if (!b.reading()) return;
  if (hidden_dim <= 0) b.problem("hidden_dim", "must be positive");
  if (num_heads <= 0) b.problem("num_heads", "must be positive");
  if (num_kv_heads <= 0) b.problem("num_kv_heads", "must be positive");
  if (hidden_dim <= 0 || num_heads <= 0 || num_kv_heads <= 0) return;
  if (num_heads % num_kv_heads != 0) {
    b.problem("num_kv_heads", fmt::format("must divide {} = {}; nearest: {}", b.path("num_heads"), num_heads,
                                          nearest_divisors(num_heads, num_kv_heads)));
  }
  if (!head_dim && hidden_dim % num_heads != 0) {
    b.problem("num_heads", fmt::format("must divide {} = {}; nearest: {}", b.path("hidden_dim"), hidden_dim,
                                       nearest_divisors(hidden_dim, num_heads)));
    return;
  }
  auto size = head_dim.value_or(hidden_dim / num_heads);
  if (rotary && size % 2 != 0)
    b.problem(head_dim ? "head_dim" : "num_heads",
              fmt::format("head_dim = {} must be even for rotary embeddings", size));
}

void ignore_accelerator_keys(Binder& b) {
  constexpr std::string_view kWhy = "Bora chooses its attention kernels itself";
  b.ignored("flash_attention_block_size", kWhy);
  b.ignored("use_flash_attention", kWhy);
  b.ignored("attn_backend", kWhy);
  b.ignored("upcast_attn", "attention scores are always fp32");
  b.ignored("scan_layers", "blocks are always stacked");
  b.ignored("cross_entropy_block_size", "the head is always computed in chunks");
  b.ignored("gradient_checkpointing_block_size", "use gradient_checkpointing: <n>");
  b.ignored("reference_checkpoint", "give --model or initialize_from_hf");
  b.ignored("tokenizer", "the tokenizer comes from data.tokenizer");
}

std::string renamed(std::string_view path,
                    const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  std::string out(path);
  for (const auto& [from, to] : pairs) {
    auto at = out.find(from);
    if (at != std::string::npos) out.replace(at, from.size(), to);
  }
  return out;
}

}  // namespace bora::models
