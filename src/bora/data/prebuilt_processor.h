// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>

#include "bora/store/processor.h"

namespace bora::data {

/// Records that are token ids already, Levanter's `prebuilt` format, with a weight for each position if
/// wanted: that of position t is how much predicting token t + 1 counts, so the last one of a document has no
/// effect. Nothing is added in front or behind.
class PrebuiltProcessor final : public store::Processor {
 public:
  PrebuiltProcessor(std::int64_t vocab_size, std::string ids_key, std::optional<std::string> weights_key);

  std::string fingerprint() const override;
  std::int64_t vocab_size() const override { return vocab_size_; }
  void encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const override;
  bool takes_records() const override { return true; }
  store::CacheShape shape() const override { return {weights_key_.has_value(), 1}; }
  void encode_record(std::string_view json, store::EncodedRecord& out) const override;

 private:
  std::int64_t vocab_size_;
  std::string ids_key_;
  std::optional<std::string> weights_key_;
};

}  // namespace bora::data
