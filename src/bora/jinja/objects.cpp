// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/objects.h"

#include <algorithm>

#include "bora/jinja/print.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;

// Yields at(0), at(1), ... of an object it keeps alive.
template <class Source>
class Indexed : public Iterator {
 public:
  Indexed(Guard& guard, std::shared_ptr<Object> keeper, const Source& source, std::size_t count)
      : guard_(guard), keeper_(std::move(keeper)), source_(source), count_(count) {}
  bool next(Value& out) override {
    if (at_ >= count_) return false;
    guard_.charge();
    if constexpr (std::is_same_v<Source, Range>) {
      out = source_.at(at_++);
    } else {
      out = source_.at(guard_, at_++);
    }
    return true;
  }

 private:
  Guard& guard_;
  std::shared_ptr<Object> keeper_;
  const Source& source_;
  std::size_t count_, at_ = 0;
};

class Forward : public Iterator {
 public:
  Forward(std::shared_ptr<Object> keeper, Iterator& source) : keeper_(std::move(keeper)), source_(source) {}
  bool next(Value& out) override { return source_.next(out); }

 private:
  std::shared_ptr<Object> keeper_;
  Iterator& source_;
};

class Calls : public Iterator {
 public:
  Calls(Guard& guard, std::function<bool(Value&)> next) : guard_(guard), next_(std::move(next)) {}
  bool next(Value& out) override {
    // Python forbids the same.
    if (running_) guard_.fail("a generator asks itself for its next item");
    const Level level(guard_, guard_.at);
    running_ = true;
    const bool more = next_ != nullptr && next_(out);
    running_ = false;
    if (!more) next_ = nullptr;
    return more;
  }

 private:
  Guard& guard_;
  std::function<bool(Value&)> next_;
  bool running_ = false;
};

std::size_t range_length(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(stop);
  const std::uint64_t distance = step > 0 ? to - from : from - to;
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  return (distance - 1) / stride + 1;
}

}  // namespace

Range::Range(std::int64_t start, std::int64_t stop, std::int64_t step, Origin origin)
    : start_(start), stop_(stop), step_(step), count_(range_length(start, stop, step)), origin_(origin) {}

std::optional<Value> Range::item(Guard&, const Value& key) {
  if (!key.is_whole()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(count_);
  const std::int64_t index = key.integer() < 0 ? key.integer() + count : key.integer();
  if (index < 0 || index >= count) return std::nullopt;
  return at(static_cast<std::size_t>(index));
}

std::unique_ptr<Iterator> Range::iterate(Guard& guard, const std::shared_ptr<Object>& self) {
  return std::make_unique<Indexed<Range>>(guard, self, *this, count_);
}

std::optional<Text> Range::print(Guard&) {
  return Text(step_ == 1 ? fmt::format("range({}, {})", start_, stop_)
                         : fmt::format("range({}, {}, {})", start_, stop_, step_),
              origin_);
}

bool Range::equals(Guard&, const Object& other) {
  const auto* range = dynamic_cast<const Range*>(&other);
  if (range == nullptr || range->count_ != count_) return false;
  return count_ == 0 || (range->start_ == start_ && (count_ == 1 || range->step_ == step_));
}

std::shared_ptr<Range> Range::slice(std::int64_t start, std::int64_t stop, std::int64_t step) const {
  return std::make_shared<Range>(start_ + start * step_, start_ + stop * step_, step_ * step, origin_);
}

DictView::DictView(Guard& guard, std::shared_ptr<Dict> dict, Part part)
    : dict_(std::move(dict)), part_(part) {
  depth = nested(guard, dict_->depth);
}

std::string_view DictView::type() const {
  return part_ == Part::Items ? "dict_items" : part_ == Part::Keys ? "dict_keys" : "dict_values";
}

Value DictView::at(Guard& guard, std::size_t i) const {
  const auto& [key, value] = dict_->entries[i];
  if (part_ == Part::Items) return tuple_of(guard, {key, value});
  return part_ == Part::Keys ? key : value;
}

std::unique_ptr<Iterator> DictView::iterate(Guard& guard, const std::shared_ptr<Object>& self) {
  return std::make_unique<Indexed<DictView>>(guard, self, *this, dict_->entries.size());
}

std::optional<Text> DictView::print(Guard& guard) {
  std::vector<Value> items;
  for (std::size_t i = 0; i < dict_->entries.size(); ++i) items.push_back(at(guard, i));
  Text out(std::string(type()) + "(", kUnknown);
  out.append(repr(guard, list_of(guard, std::move(items))));
  out.append(")", kUnknown);
  return out;
}

Generator::Generator(Guard& guard, std::unique_ptr<Iterator> source, int source_depth)
    : source_(std::move(source)) {
  depth = nested(guard, source_depth);
}

std::unique_ptr<Iterator> Generator::iterate(Guard&, const std::shared_ptr<Object>& self) {
  return std::make_unique<Forward>(self, *source_);
}

Value generate(Guard& guard, int depth, std::function<bool(Value&)> next) {
  return Value(std::make_shared<Generator>(guard, std::make_unique<Calls>(guard, std::move(next)), depth));
}

std::optional<Value> Namespace::attribute(Guard&, const std::string& name) {
  const auto at =
      std::find_if(values_.begin(), values_.end(), [&](const auto& v) { return v.first == name; });
  return at == values_.end() ? std::nullopt : std::optional(at->second);
}

void Namespace::set(Guard& guard, const std::string& name, Value value) {
  guard.charge(1 + values_.size() / 8);
  const auto at =
      std::find_if(values_.begin(), values_.end(), [&](const auto& v) { return v.first == name; });
  if (at != values_.end()) {
    at->second = std::move(value);
  } else {
    values_.emplace_back(name, std::move(value));
  }
}

std::optional<Text> Namespace::print(Guard& guard) {
  const Level level(guard, guard.at);
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [name, value] : values_) entries.emplace_back(Value(name, kUnknown), value);
  Text out("<Namespace ", kUnknown);
  out.append(repr(guard, dict_of(guard, std::move(entries))));
  out.append(">", kUnknown);
  return out;
}

}  // namespace bora::jinja
