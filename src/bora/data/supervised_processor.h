// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <optional>
#include <string>

#include "bora/data/tokenizer_processor.h"

namespace bora::data {

/// Records with a question and an answer, Levanter's `supervised` format: the tokens of the question and what
/// separates the two, then those of the answer; around both what stands around a document.
class SupervisedProcessor final : public store::Processor {
 public:
  struct Fields {
    std::string input = "prompt", output = "response";
    std::optional<std::string> separate_with;
    bool mask_inputs = true;  ///< the question's tokens weigh 0
  };
  SupervisedProcessor(TokenizerProcessor text, Fields fields);

  std::string fingerprint() const override;
  std::int64_t vocab_size() const override { return text_.vocab_size(); }
  void encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const override;
  bool takes_records() const override { return true; }
  store::CacheShape shape() const override { return {fields_.mask_inputs, 1}; }
  void encode_record(std::string_view json, store::EncodedRecord& out) const override;

 private:
  TokenizerProcessor text_;
  Fields fields_;
};

}  // namespace bora::data
