// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/encode_chat.h"

#include <utility>

#include "bora/base/error.h"
#include "bora/tokenize/pipeline.h"
#include "bora/unicode/unicode.h"

namespace bora {

namespace {

/// Spans of bytes, in order, as spans of code points.
std::vector<CodePointSpan> code_points_of(std::string_view text, const std::vector<ByteSpan>& spans) {
  std::vector<CodePointSpan> out;
  std::size_t at = 0;
  std::int64_t n = 0;
  const auto count_to = [&](std::size_t end) {
    for (; at < end; ++at) n += bora::is_continuation(text[at]) ? 0 : 1;
    return n;
  };
  for (const ByteSpan& span : spans) {
    const std::int64_t begin = count_to(span.begin);
    out.push_back({begin, count_to(span.end)});
  }
  return out;
}

}  // namespace

ChatEncoding encode_chat(const Tokenizer& tokenizer, const ChatText& chat) {
  if (!bora::is_valid_utf8(chat.text))
    fail(ErrorKind::InvalidArgument, "encode_chat: the conversation's text is not UTF-8");
  std::vector<bora::ByteRange> control;
  for (const ChatSegment& segment : chat.segments) {
    if (segment.control) control.push_back({segment.span.begin, segment.span.end});
  }
  Encoding encoding = tokenizer.pipeline().encode_chosen(chat.text, control);
  ChatEncoding out{std::move(encoding.ids), std::move(encoding.offsets), {}};
  const auto spans = code_points_of(chat.text, chat.assistant_spans);
  std::size_t i = 0;  // the first span that does not end before the token
  for (const CodePointSpan& token : out.offsets) {
    while (i < spans.size() && spans[i].end <= token.begin) ++i;
    out.assistant.push_back(i < spans.size() && spans[i].begin < token.end ? 1 : 0);
  }
  return out;
}

}  // namespace bora
