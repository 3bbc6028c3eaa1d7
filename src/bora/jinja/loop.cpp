// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/jinja/loop.h"

#include "bora/jinja/objects.h"

namespace bora::jinja {

Loop::Loop(Guard& guard, std::unique_ptr<Iterator> source, std::optional<std::size_t> known_length,
           int source_depth, std::int64_t level, Again again)
    : source_(std::move(source)), length_(known_length), level_(level), again_(std::move(again)) {
  depth = nested(guard, source_depth);
}

bool Loop::peek() {
  if (!ahead_.empty()) return true;
  Value item;
  if (source_ == nullptr || !source_->next(item)) return false;
  ahead_.push_back(std::move(item));
  return true;
}

bool Loop::advance() {
  if (!peek()) return false;
  before_ = std::exchange(current_, std::move(ahead_.front()));
  ahead_.pop_front();
  ++index0_;
  return true;
}

void Loop::finish() {
  source_ = nullptr;
  again_ = nullptr;
  ahead_.clear();
  before_ = current_ = std::nullopt;
  last_changed_ = std::nullopt;
}

std::size_t Loop::count() {
  if (!length_) {
    for (Value item; source_ != nullptr && source_->next(item);) ahead_.push_back(std::move(item));
    length_ = static_cast<std::size_t>(index0_ + 1) + ahead_.size();
  }
  return *length_;
}

Value Loop::cycle(Guard& guard, Arguments&& arguments) const {
  const auto& items = arguments.positional;
  if (items.empty() || !arguments.named.empty()) guard.fail("loop.cycle needs the items to cycle through");
  return items[static_cast<std::size_t>(index0_) % items.size()];
}

Value Loop::changed(Guard& guard, Arguments&& arguments) {
  if (!arguments.named.empty()) guard.fail("loop.changed takes no named arguments");
  const std::vector<Value>& now = arguments.positional;
  bool same = last_changed_ && last_changed_->size() == now.size();
  for (std::size_t i = 0; same && i < now.size(); ++i) same = equal(guard, (*last_changed_)[i], now[i]);
  last_changed_ = std::move(arguments.positional);
  return Value(!same);
}

std::optional<Value> Loop::attribute(Guard&, const std::string& name) {
  // What counts the rounds is the template's own, so that tokens can be built of it.
  const auto number = [](std::int64_t n) { return Value(n, kControl); };
  const auto length = [&] { return static_cast<std::int64_t>(count()); };
  if (name == "index") return number(index0_ + 1);
  if (name == "index0") return number(index0_);
  if (name == "first") return Value(index0_ == 0);
  if (name == "last") return Value(!peek());
  if (name == "length") return number(length());
  if (name == "revindex") return number(length() - index0_);
  if (name == "revindex0") return number(length() - index0_ - 1);
  if (name == "depth") return number(level_ + 1);
  if (name == "depth0") return number(level_);
  if (name == "previtem") return before_ ? *before_ : Value::undefined("there is no previous item");
  if (name == "nextitem") return peek() ? ahead_.front() : Value::undefined("there is no next item");
  if (name != "cycle" && name != "changed") return std::nullopt;
  const auto self = weak_from_this();
  return Value(std::make_shared<Function>(
      [self, cycles = name == "cycle"](Guard& g, Arguments&& arguments) {
        const auto loop = self.lock();
        if (loop == nullptr) g.fail("the loop has ended");
        return cycles ? loop->cycle(g, std::move(arguments)) : loop->changed(g, std::move(arguments));
      },
      "method"));
}

Value Loop::call(Guard& guard, Arguments&& arguments) {
  const Bound bound(guard, "loop", std::move(arguments), {"iterable"}, 1);
  if (again_ == nullptr) guard.fail("only a loop marked recursive can be called");
  return again_(*bound[0]);
}

std::optional<Text> Loop::print(Guard&) {
  return Text(fmt::format("<LoopContext {}/{}>", index0_ + 1, count()), kUnknown);
}

}  // namespace bora::jinja
