// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/preference_dataset.h"

#include "bora/base/error.h"

namespace bora::data {
namespace {

const std::shared_ptr<const store::TokenCache>& of_pairs(
    const std::shared_ptr<const store::TokenCache>& cache) {
  if (cache->ledger().shape.documents_per_record != 2) {
    fail(ErrorKind::Config,
         "preference: the token cache {} is not of pairs\nhint: format.type: preference_chat",
         cache->directory());
  }
  return cache;
}

}  // namespace

PreferenceDataset::PreferenceDataset(const std::shared_ptr<const store::TokenCache>& cache,
                                     std::int64_t seq_len, const TokenRules& rules)
    : rows_(of_pairs(cache), {seq_len, 1, Overlong::Raise}, rules) {
  if (rows_.size() != cache->num_documents()) {
    fail(ErrorKind::Config, "preference: {} of {} conversations in {} are empty",
         cache->num_documents() - rows_.size(), cache->num_documents(), cache->directory());
  }
}

void PreferenceDataset::read(std::int64_t index, const Row& chosen, const Row& rejected) const {
  if (index < 0 || index >= size())
    fail(ErrorKind::InvalidArgument, "preference: pair {} is outside of its {}", index, size());
  rows_.read(2 * index, chosen);
  rows_.read(2 * index + 1, rejected);
}

}  // namespace bora::data
