// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bora/tokenize/tokenizer.h"

namespace bora {

/// Turns ids that arrive one by one into text, and never gives out part of a UTF-8 character.
///
/// What push() and finish() return, put together, is decode() of all ids. (One exception, where no stream can
/// know: with byte fallback, a run of byte tokens that starts well and ends ill.)
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, bool skip_special = true);

  /// The text that `id` completes; empty while a character is still open.
  std::string push(std::int32_t id);
  /// What is left: U+FFFD for the bytes of an unfinished character. The decoder is as new afterwards.
  std::string finish();

 private:
  std::string take(const std::string& text, std::size_t stable);
  void shorten(const std::string& text);

  Tokenizer tokenizer_;
  bool skip_special_;
  std::vector<std::int32_t> window_;  // decode(window_) begins with what was given out of it
  std::size_t given_ = 0;             // bytes of decode(window_) given out
  int open_ids_ = 0;                  // ids since the text last ended in a whole character
};

}  // namespace bora
