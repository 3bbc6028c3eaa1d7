// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/prebuilt_processor.h"

#include <simdjson.h>

#include <cmath>

#include "bora/base/error.h"

namespace bora::data {
namespace {

namespace dom = simdjson::dom;

/// The list in a field of the record.
dom::array list(const dom::object& record, const std::string& field, std::string_view key) {
  dom::element value;
  if (record.at_key(field).get(value) != simdjson::SUCCESS) {
    fail(ErrorKind::Corruption, "no field \"{}\"\nhint: set format.{} to the field that holds it", field,
         key);
  }
  dom::array array;
  if (value.get(array) == simdjson::SUCCESS) return array;
  fail(ErrorKind::Corruption, "field \"{}\" should be a list but is {}", field,
       simdjson::minify(value).substr(0, 40));
}

}  // namespace

PrebuiltProcessor::PrebuiltProcessor(std::int64_t vocab_size, std::string ids_key,
                                     std::optional<std::string> weights_key)
    : vocab_size_(vocab_size), ids_key_(std::move(ids_key)), weights_key_(std::move(weights_key)) {
  if (vocab_size < 1)
    fail(ErrorKind::Config, "data.vocab_size: {} but a vocabulary has at least 1 token", vocab_size);
}

std::string PrebuiltProcessor::fingerprint() const {
  return fmt::format("prebuilt ids: \"{}\"{}", ids_key_,
                     weights_key_ ? fmt::format(", weights \"{}\"", *weights_key_) : "");
}

void PrebuiltProcessor::encode(const store::TextPiece&, std::vector<std::int32_t>&) const {
  fail(ErrorKind::InvalidArgument, "prebuilt: records of token ids are no text");
}

void PrebuiltProcessor::encode_record(std::string_view json, store::EncodedRecord& out) const {
  thread_local dom::parser parser;
  dom::object record;
  if (const auto error = parser.parse(json.data(), json.size()).get(record)) {
    fail(ErrorKind::Corruption, "each record should be one JSON object: {}",
         std::string_view(simdjson::error_message(error)));
  }
  const std::size_t first = out.ids.size();
  for (const dom::element item : list(record, ids_key_, "input_ids_key")) {
    std::int64_t id = -1;
    if (item.get(id) != simdjson::SUCCESS || id < 0 || id >= vocab_size_) {
      fail(ErrorKind::Corruption, "field \"{}\": item {} is {} but ids are whole numbers from 0 to {}",
           ids_key_, out.ids.size() - first, simdjson::minify(item).substr(0, 40), vocab_size_ - 1);
    }
    out.ids.push_back(static_cast<std::int32_t>(id));
  }
  out.ends.push_back(out.ids.size());
  if (!weights_key_) return;
  // Kept with the token that is predicted; the first one of a document is predicted from nothing.
  const std::size_t n = out.ids.size() - first;
  const dom::array weights = list(record, *weights_key_, "loss_weights_key");
  if (weights.size() != n) {
    fail(ErrorKind::Corruption, "field \"{}\" has {} weights for {} ids", *weights_key_, weights.size(), n);
  }
  if (n > 0) out.weights.push_back(0.0F);
  for (const dom::element item : weights) {
    double weight = 0;
    if (item.get(weight) != simdjson::SUCCESS || !(weight >= 0) || !std::isfinite(weight)) {
      fail(ErrorKind::Corruption, "field \"{}\": a weight is {} but should be a number, at least 0",
           *weights_key_, simdjson::minify(item).substr(0, 40));
    }
    if (out.weights.size() < out.ids.size()) out.weights.push_back(static_cast<float>(weight));
  }
}

}  // namespace bora::data
