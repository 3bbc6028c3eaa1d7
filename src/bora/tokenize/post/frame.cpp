// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/post/frame.h"

#include <algorithm>
#include <utility>

#include "bora/base/error.h"

namespace bora::tokenize {

namespace {

template <class T>
void extend(std::vector<T>& out, const std::vector<T>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

template <class T>
std::vector<T> part_of(const std::vector<T>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

template <class T>
void pad_one(std::vector<T>& values, std::size_t n, T value, Side side) {
  values.insert(side == Side::Left ? values.begin() : values.end(), n, value);
}

}  // namespace

void Frame::append(std::int32_t id, std::int32_t type_id, std::int8_t text, CodePointSpan offset,
                   TokenSpaces token_spaces) {
  ids.push_back(id);
  type_ids.push_back(type_id);
  offsets.push_back(offset);
  texts.push_back(text);
  is_padding.push_back(0);
  spaces.push_back(token_spaces);
}

void Frame::append(const Frame& other) {
  std::vector<Frame> all;
  const auto join = [&](const Frame& a, const Frame& b) {
    Frame joined = a;
    joined.append(b);
    all.push_back(std::move(joined));
  };
  for (const Frame& mine : overflow) {
    join(mine, other);
    for (const Frame& theirs : other.overflow) join(mine, theirs);
  }
  for (const Frame& theirs : other.overflow) join(*this, theirs);
  extend(ids, other.ids);
  extend(type_ids, other.type_ids);
  extend(offsets, other.offsets);
  extend(texts, other.texts);
  extend(is_padding, other.is_padding);
  extend(spaces, other.spaces);
  overflow = std::move(all);
}

Frame Frame::slice(std::size_t begin, std::size_t end) const {
  Frame part;
  part.ids = part_of(ids, begin, end);
  part.type_ids = part_of(type_ids, begin, end);
  part.offsets = part_of(offsets, begin, end);
  part.texts = part_of(texts, begin, end);
  part.is_padding = part_of(is_padding, begin, end);
  part.spaces = part_of(spaces, begin, end);
  return part;
}

void Frame::truncate(std::size_t limit, std::size_t stride, Side direction) {
  const std::size_t all = size();
  if (limit >= all) return;
  std::vector<Frame> parts;
  if (limit == 0) {
    parts = {Frame{}, std::move(*this)};
  } else if (stride >= limit) {
    fail(ErrorKind::InvalidArgument,
         "frame: truncation with a stride of {} leaves nothing of the {} tokens there is room for", stride,
         limit);
  } else {
    for (std::size_t done = 0; parts.empty() || done < all;) {  // `done` from the end where cutting starts
      const std::size_t from = parts.empty() ? 0 : done - stride;
      done = std::min(from + limit, all);
      parts.push_back(direction == Side::Right ? slice(from, done) : slice(all - done, all - from));
    }
  }
  Frame first = std::move(parts.front());
  parts.erase(parts.begin());
  first.overflow = std::move(parts);
  *this = std::move(first);
}

void Frame::pad(std::size_t length, const Padding& padding) {
  for (Frame& other : overflow) other.pad(length, padding);
  if (size() >= length) return;
  const std::size_t n = length - size();
  pad_one(ids, n, padding.id, padding.direction);
  pad_one(type_ids, n, padding.type_id, padding.direction);
  pad_one(offsets, n, CodePointSpan{}, padding.direction);
  pad_one(texts, n, std::int8_t{-1}, padding.direction);
  pad_one(is_padding, n, std::uint8_t{1}, padding.direction);
  pad_one(spaces, n, TokenSpaces{}, padding.direction);
}

namespace {

/// Lengths that sum up to at most `limit`: the shorter text keeps what it has, if it can.
std::pair<std::size_t, std::size_t> longest_first(std::size_t a, std::size_t b, std::size_t limit) {
  const std::size_t least = std::min(a, b);
  std::size_t n1 = least, n2 = least > limit ? least : std::max(least, limit - least);
  if (n1 + n2 > limit) {
    n1 = limit / 2;
    n2 = n1 + limit % 2;
  }
  return a > b ? std::pair{n2, n1} : std::pair{n1, n2};
}

}  // namespace

void truncate(std::vector<Frame>& texts, const Truncation& truncation, std::size_t max_length) {
  const auto stride = static_cast<std::size_t>(truncation.stride);
  std::size_t total = 0;
  for (const Frame& text : texts) total += text.size();
  if (total <= max_length) return;
  if (max_length == 0) {
    for (Frame& text : texts) text.truncate(0, stride, truncation.direction);
  } else if (truncation.strategy == Truncation::Strategy::LongestFirst) {
    const auto lengths = texts.size() == 1 ? std::pair{max_length, std::size_t{0}}
                                           : longest_first(texts[0].size(), texts[1].size(), max_length);
    texts[0].truncate(lengths.first, stride, truncation.direction);
    if (texts.size() > 1) texts[1].truncate(lengths.second, stride, truncation.direction);
  } else {
    const std::size_t which = truncation.strategy == Truncation::Strategy::OnlyFirst ? 0 : 1;
    if (which >= texts.size()) {
      fail(ErrorKind::InvalidArgument,
           "frame: truncation is OnlySecond, but there is one text of {} tokens and room for {}", total,
           max_length);
    }
    const std::size_t excess = total - max_length, size = texts[which].size();
    if (size <= excess) {
      fail(ErrorKind::InvalidArgument,
           "frame: {} of {} tokens are too many, but the text to be cut has {}\nhint: set the truncation "
           "strategy to LongestFirst",
           excess, total, size);
    }
    texts[which].truncate(size - excess, stride, truncation.direction);
  }
}

namespace {

using Stage = PostProcessor::Stage;

template <class Change>
void change_with_overflow(Frame& frame, Change&& change) {
  change(frame);
  for (Frame& other : frame.overflow) change(other);
}

struct Processor {
  std::vector<Frame>& parts;
  bool add_special;

  bool operator()(const PostProcessor::Trim& trim) const {
    for (Frame& part : parts) {
      change_with_overflow(part, [&](Frame& frame) { trim_offsets(frame.offsets, frame.spaces, trim); });
    }
    return true;
  }

  bool operator()(const PostProcessor::Surround& s) const {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (s.roberta) std::fill(parts[i].type_ids.begin(), parts[i].type_ids.end(), 0);
      if (!add_special) continue;
      change_with_overflow(parts[i], [&](Frame& frame) {
        if (s.roberta) std::fill(frame.type_ids.begin(), frame.type_ids.end(), 0);
        Frame around;
        if (i == 0) around.append(s.cls, 0, -1);
        if (i > 0 && s.roberta) around.append(s.sep, 0, -1);
        std::vector<Frame> overflow = std::exchange(frame.overflow, {});
        around.append(frame);
        around.append(s.sep, i > 0 && !s.roberta ? 1 : 0, -1);
        frame = std::move(around);
        frame.overflow = std::move(overflow);
      });
    }
    return true;
  }

  bool operator()(const PostProcessor::Template& t) const {
    if (parts.empty() || parts.size() > 2) return false;
    std::vector<Frame> out;
    for (const auto& part : parts.size() == 2 ? t.pair : t.single) {
      if (part.text >= 0) {
        Frame frame = parts[static_cast<std::size_t>(part.text)];
        std::fill(frame.type_ids.begin(), frame.type_ids.end(), part.type_id);
        out.push_back(std::move(frame));
      } else if (add_special) {
        out.emplace_back();
        for (const std::int32_t id : part.ids) out.back().append(id, part.type_id, -1);
      }
    }
    parts = std::move(out);
    return true;
  }
};

}  // namespace

std::optional<Frame> process(const std::vector<Stage>& stages, std::vector<Frame> parts, bool add_special) {
  for (const Stage& stage : stages) {
    if (!std::visit(Processor{parts, add_special}, stage)) return std::nullopt;
  }
  Frame all;
  for (const Frame& part : parts) all.append(part);
  return all;
}

std::size_t added_tokens(const std::vector<Stage>& stages, bool pair) {
  std::size_t n = 0;
  for (const Stage& stage : stages) {
    if (const auto* s = std::get_if<PostProcessor::Surround>(&stage)) n += !pair ? 2 : s->roberta ? 4 : 3;
    if (const auto* t = std::get_if<PostProcessor::Template>(&stage)) {
      for (const auto& part : pair ? t->pair : t->single) n += part.ids.size();
    }
  }
  return n;
}

}  // namespace bora::tokenize
