// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/post/framing.h"

#include <algorithm>
#include <utility>

#include "bora/base/error.h"
#include "bora/tokenize/pipeline.h"
#include "bora/tokenize/post/frame.h"
#include "bora/unicode/unicode.h"

namespace bora {

namespace {

using tokenize::Frame;

Frame encoded(const tokenize::Pipeline& p, std::string_view text, std::int8_t number, SpecialInText in_text) {
  const std::string storage = bora::is_valid_utf8(text) ? std::string() : bora::utf8_lossy(text);
  std::vector<tokenize::TokenSpaces> spaces;
  const Encoding encoding = p.encode(storage.empty() ? text : std::string_view(storage), in_text, &spaces);
  spaces.resize(encoding.ids.size());  // none if nothing will be trimmed
  Frame frame;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    frame.append(encoding.ids[i], number, number, encoding.offsets[i], spaces[i]);
  }
  return frame;
}

void cut(const tokenize::Pipeline& p, std::vector<Frame>& texts, bool add_special) {
  const tokenize::Truncation& truncation = *p.framing.truncation;
  const auto limit = static_cast<std::size_t>(truncation.max_length);
  const std::size_t added =
      add_special ? tokenize::added_tokens(p.post_processor.stages, texts.size() > 1) : 0;
  if (added > limit) {
    fail(ErrorKind::InvalidArgument, "frame: truncation to {} tokens, but the post-processor alone adds {}",
         limit, added);
  }
  tokenize::truncate(texts, truncation, limit - added);
}

Frame framed(const tokenize::Pipeline& p, const TextPair& text, const FrameOptions& options) {
  std::vector<Frame> texts{encoded(p, text.first, 0, options.in_text)};
  if (text.second) texts.push_back(encoded(p, *text.second, 1, options.in_text));
  if (options.truncate && p.framing.truncation) cut(p, texts, options.add_special);
  for (const auto& stage : p.post_processor.stages) {
    const auto* t = std::get_if<tokenize::PostProcessor::Template>(&stage);
    if (t == nullptr || !text.second || !t->pair.empty()) continue;
    fail(ErrorKind::InvalidArgument,
         "frame: the tokenizer's TemplateProcessing has no template for two texts");
  }
  auto all = tokenize::process(p.post_processor.stages, std::move(texts), options.add_special);
  if (!all) {
    fail(ErrorKind::InvalidArgument,
         "frame: a TemplateProcessing of the tokenizer's Sequence gets more than two parts");
  }
  return std::move(*all);
}

void pad_all(const tokenize::Padding& padding, std::vector<Frame>& frames) {
  std::size_t length = 0;
  for (const Frame& frame : frames) length = std::max(length, frame.size());
  if (padding.fixed) length = static_cast<std::size_t>(*padding.fixed);
  const auto multiple = static_cast<std::size_t>(padding.multiple_of);
  if (multiple > 0) length = (length + multiple - 1) / multiple * multiple;
  for (Frame& frame : frames) frame.pad(length, padding);
}

FramedEncoding result_of(Frame frame) {
  FramedEncoding out;
  out.ids = std::move(frame.ids);
  out.type_ids = std::move(frame.type_ids);
  out.offsets = std::move(frame.offsets);
  out.texts = std::move(frame.texts);
  out.is_padding = std::move(frame.is_padding);
  for (Frame& other : frame.overflow) out.overflow.push_back(result_of(std::move(other)));
  return out;
}

}  // namespace

FramedEncoding frame(const Tokenizer& tokenizer, const TextPair& text, const FrameOptions& options) {
  return std::move(frame_batch(tokenizer, {&text, 1}, options).front());
}

std::vector<FramedEncoding> frame_batch(const Tokenizer& tokenizer, std::span<const TextPair> texts,
                                        const FrameOptions& options) {
  const tokenize::Pipeline& p = tokenizer.pipeline();
  std::vector<Frame> frames;
  for (const TextPair& text : texts) frames.push_back(framed(p, text, options));
  if (options.pad && p.framing.padding) pad_all(*p.framing.padding, frames);
  std::vector<FramedEncoding> out;
  for (Frame& frame : frames) out.push_back(result_of(std::move(frame)));
  return out;
}

}  // namespace bora
