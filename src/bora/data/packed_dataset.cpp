// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/packed_dataset.h"

#include <algorithm>

#include "bora/base/error.h"

namespace bora::data {

PackedDataset::PackedDataset(std::shared_ptr<const store::TokenCache> cache, const PackRules& pack,
                             const TokenRules& rules)
    : cache_(std::move(cache)), pack_(pack), rules_(rules) {
  if (pack.seq_len < 2) {
    fail(ErrorKind::InvalidArgument, "dataset: sequences of {} tokens; a prediction needs at least 2",
         pack.seq_len);
  }
  GreedyPacker packer(pack);
  std::int64_t begin = 0;
  for (std::int64_t d = 0; d < cache_->num_documents(); ++d) {
    const std::int64_t end = cache_->document_end(d);
    packer.add(end - begin);
    begin = end;
  }
  packs_ = packer.finish();
  overlong_ = packer.overlong();
  lost_tokens_ = packer.lost_tokens();
}

std::pair<std::int64_t, std::int64_t> PackedDataset::kept(std::int64_t d) const {
  const std::int64_t begin = cache_->document_begin(d), end = cache_->document_end(d);
  if (end - begin <= pack_.seq_len) return {begin, end};
  if (pack_.overlong == Overlong::Drop) return {begin, begin};
  if (pack_.overlong == Overlong::Right) return {end - pack_.seq_len, end};
  return {begin, begin + pack_.seq_len};
}

std::int32_t PackedDataset::read(std::int64_t index, const Row& row) const {
  check(index, row);
  std::fill(row.tokens.begin(), row.tokens.end(), 0);
  std::fill(row.segments.begin(), row.segments.end(), -1);
  std::fill(row.loss_weights.begin(), row.loss_weights.end(), 0.0F);
  const Pack pack = packs_[static_cast<std::size_t>(index)];
  std::size_t at = 0;
  std::int32_t segment = 0;
  for (std::int64_t d = pack.begin; d < pack.end; ++d) {
    const auto [begin, end] = kept(d);
    const auto n = static_cast<std::size_t>(end - begin);
    if (n == 0) continue;
    const auto tokens = row.tokens.subspan(at, n);
    const auto weights = row.loss_weights.subspan(at, n);
    cache_->tokens(begin, tokens);
    cache_->weights(begin, weights);
    shift_weights(tokens, rules_, weights);
    std::fill_n(row.segments.begin() + static_cast<std::ptrdiff_t>(at), n, segment);
    at += n;
    if (rules_.block_cross_document_attention) ++segment;
  }
  return 0;
}

double PackedDataset::padding_share() const {
  if (packs_.empty()) return 0;
  const double all = static_cast<double>(size()) * static_cast<double>(seq_len());
  return 1 - static_cast<double>(cache_->num_tokens() - lost_tokens_) / all;
}

}  // namespace bora::data
