// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/supervised_processor.h"

#include "bora/base/error.h"
#include "bora/data/record_text.h"

namespace bora::data {

SupervisedProcessor::SupervisedProcessor(TokenizerProcessor text, Fields fields)
    : text_(std::move(text)), fields_(std::move(fields)) {}

std::string SupervisedProcessor::fingerprint() const {
  return fmt::format("{}; supervised: \"{}\", separator {}, \"{}\"{}", text_.fingerprint(), fields_.input,
                     fields_.separate_with ? Json(*fields_.separate_with).dump() : "none", fields_.output,
                     fields_.mask_inputs ? ", questions masked" : "");
}

void SupervisedProcessor::encode(const store::TextPiece& piece, std::vector<std::int32_t>& out) const {
  text_.encode(piece, out);
}

void SupervisedProcessor::encode_record(std::string_view json, store::EncodedRecord& out) const {
  const Json record = parse_record(json);
  const std::string input =
      record_text(record, fields_.input, "input_field") + fields_.separate_with.value_or("");
  const std::string& output = record_text(record, fields_.output, "output_field");
  text_.encode({.text = input, .begins_document = true, .ends_document = false}, out.ids);
  const std::size_t masked = out.ids.size();
  text_.encode({.text = output, .begins_document = false, .ends_document = true}, out.ids);
  if (fields_.mask_inputs) {
    out.weights.assign(masked, 0.0F);
    out.weights.resize(out.ids.size(), 1.0F);
  }
  out.ends.push_back(out.ids.size());
  out.text_bytes += static_cast<std::int64_t>(input.size() + output.size());
}

}  // namespace bora::data
