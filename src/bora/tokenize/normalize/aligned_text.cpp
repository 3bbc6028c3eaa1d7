// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/normalize/aligned_text.h"

#include <algorithm>
#include <utility>

#include "bora/unicode/unicode.h"

namespace bora::tokenize {

AlignedText::AlignedText(std::string_view text, std::size_t first, bool tracked)
    : text_(text), first_(first), tracked_(tracked) {
  if (!tracked) return;
  origin_.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_length(text[i]);
    origin_.insert(origin_.end(), n, {first + i, first + i + n});
    i += n;
  }
}

AlignedText AlignedText::slice(ByteRange range) const {
  AlignedText part({}, first_, tracked_);
  part.text_ = text_.substr(range.begin, range.size());
  part.first_ += range.begin;
  if (tracked_ && range.size() > 0) {
    part.origin_.assign(origin_.begin() + static_cast<std::ptrdiff_t>(range.begin),
                        origin_.begin() + static_cast<std::ptrdiff_t>(range.end));
    part.first_ = part.origin_.front().begin;
  }
  return part;
}

void AlignedText::transform(std::span<const Change> changes, std::size_t skipped) {
  std::string text;
  std::vector<Origin> origin;
  text.reserve(text_.size());
  origin.reserve(origin_.size());
  std::size_t at = 0;
  const auto skip = [&](std::size_t characters) {
    for (; characters > 0 && at < text_.size(); --characters) at += utf8_length(text_[at]);
  };
  skip(skipped);
  for (const Change& c : changes) {
    const std::size_t before = text.size();
    append_utf8(text, c.character);
    if (tracked_) {
      const bool inserted = c.change > 0 || at >= text_.size();
      const Origin from = !inserted ? origin_[at] : at > 0 ? origin_[at - 1] : Origin{first_, first_};
      origin.insert(origin.end(), text.size() - before, from);
    }
    if (c.change <= 0) skip(1 + static_cast<std::size_t>(-c.change));
  }
  text_ = std::move(text);
  origin_ = std::move(origin);
}

void AlignedText::replace(std::span<const ByteRange> ranges, std::string_view by) {
  if (ranges.empty()) return;
  if (by.empty()) return drop({ranges.begin(), ranges.end()});
  if (ranges.front().begin == 0 && ranges.front().end > 0)
    first_ += previous_start(text_, ranges.front().end);
  std::string text;
  std::vector<Origin> origin;
  std::size_t done = 0;
  const auto keep = [&](std::size_t end) {
    text.append(text_, done, end - done);
    if (tracked_) {
      origin.insert(origin.end(), origin_.begin() + static_cast<std::ptrdiff_t>(done),
                    origin_.begin() + static_cast<std::ptrdiff_t>(end));
    }
  };
  for (const ByteRange& r : ranges) {
    keep(r.begin);
    text += by;
    if (tracked_)
      origin.insert(origin.end(), by.size(), r.end > 0 ? origin_[r.end - 1] : Origin{first_, first_});
    done = r.end;
  }
  keep(text_.size());
  text_ = std::move(text);
  origin_ = std::move(origin);
}

void AlignedText::rewrite(std::string text, std::span<const std::size_t> from) {
  std::vector<Origin> origin;
  if (tracked_ && !origin_.empty()) {
    const auto place = [&](std::size_t at) {
      return at < origin_.size() ? origin_[at].begin : origin_.back().end;
    };
    origin.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) origin.push_back({place(from[i]), place(from[i + 1])});
  }
  text_ = std::move(text);
  origin_ = std::move(origin);
}

void AlignedText::drop(const std::vector<ByteRange>& ranges) {
  std::size_t kept = 0, done = 0, lead = 0;
  const auto keep = [&](std::size_t end) {
    std::copy(text_.begin() + static_cast<std::ptrdiff_t>(done),
              text_.begin() + static_cast<std::ptrdiff_t>(end),
              text_.begin() + static_cast<std::ptrdiff_t>(kept));
    if (tracked_) {
      std::copy(origin_.begin() + static_cast<std::ptrdiff_t>(done),
                origin_.begin() + static_cast<std::ptrdiff_t>(end),
                origin_.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    kept += end - done;
  };
  for (const ByteRange& r : ranges) {
    if (r.begin == lead) lead = r.end;
    keep(r.begin);
    done = r.end;
  }
  keep(text_.size());
  text_.resize(kept);
  if (tracked_) origin_.resize(kept);
  first_ += lead;
}

void AlignedText::replace_untracked(std::string_view what, std::string_view by) {
  std::string text;
  text.reserve(text_.size() + text_.size() / 2);
  std::size_t done = 0;
  for (std::size_t at = text_.find(what); at != std::string::npos; at = text_.find(what, done)) {
    if (at == 0) first_ += previous_start(text_, what.size());
    text.append(text_, done, at - done);
    text += by;
    done = at + what.size();
  }
  text.append(text_, done);
  text_ = std::move(text);
}

void AlignedText::replace(const Pattern& pattern, std::string_view by) {
  if (!tracked_ && !pattern.is_regex() && !pattern.source().empty() && !by.empty())
    return replace_untracked(pattern.source(), by);
  std::vector<ByteRange> ranges;
  if (!pattern.is_regex() && !pattern.source().empty()) {  // the common case, without the parts between
    for (auto m = pattern.find(text_, 0); m; m = pattern.find(text_, m->end)) ranges.push_back(*m);
  } else {
    for (const PatternPart& part : pattern.parts(text_)) {
      if (part.match) ranges.push_back(part.range);
    }
  }
  replace(ranges, by);
}

void AlignedText::prepend(std::string_view before) {
  if (text_.empty()) return;
  text_.insert(0, before);
  if (tracked_) {
    const Origin first = origin_.front();
    origin_.insert(origin_.begin(), before.size(), first);
  }
}

void AlignedText::bytes_to_alphabet() {
  std::string text;
  std::vector<Origin> origin;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const std::size_t before = text.size();
    append_in_alphabet(text, std::string_view(text_).substr(i, 1));
    if (tracked_) origin.insert(origin.end(), text.size() - before, origin_[i]);
  }
  text_ = std::move(text);
  origin_ = std::move(origin);
}

void AlignedText::append(const AlignedText& other) {
  text_ += other.text_;
  origin_.insert(origin_.end(), other.origin_.begin(), other.origin_.end());
}

}  // namespace bora::tokenize
