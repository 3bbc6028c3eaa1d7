// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bora/infer/stop_strings.h"
#include "bora/tokenize/post/stream_decoder.h"

namespace bora::infer {

/// The text of a continuation, as its tokens come: whole characters, up to a stop string.
class TextStream {
 public:
  TextStream(const Tokenizer& tokenizer, std::span<const std::int32_t> prompt,
             std::vector<std::string> stops = {});

  /// The text that is certain now.
  std::string push(std::int32_t id);
  bool stopped() const { return stops_.found(); }
  /// The last of it.
  std::string finish();

 private:
  StreamDecoder decoder_;
  StopStrings stops_;
};

}  // namespace bora::infer
