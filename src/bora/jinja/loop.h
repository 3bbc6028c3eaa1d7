// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/jinja/value.h"

namespace bora::jinja {

/// The variable `loop`, and the loop's way through its items. It looks ahead only as far as it is asked to,
/// which shows where a loop's condition or a lazy filter depends on what the body does.
class Loop : public Object, public std::enable_shared_from_this<Loop> {
 public:
  using Again = std::function<Value(const Value& iterable)>;
  /// `known_length`: of the items, where Python would know it. `again` runs a recursive loop on other items.
  Loop(Guard& guard, std::unique_ptr<Iterator> source, std::optional<std::size_t> known_length,
       int source_depth, std::int64_t level, Again again);

  std::string_view type() const override { return "LoopContext"; }
  std::optional<Value> attribute(Guard& guard, const std::string& name) override;
  std::optional<std::size_t> length(Guard&) override { return count(); }
  bool callable() const override { return true; }
  Value call(Guard& guard, Arguments&& arguments) override;
  std::optional<Text> print(Guard&) override;

  /// Goes on to the next item, if there is one.
  bool advance();
  const Value& current() const { return *current_; }
  /// Lets go of everything: the loop has ended.
  void finish();

 private:
  std::size_t count();
  bool peek();
  Value cycle(Guard& guard, Arguments&& arguments) const;
  Value changed(Guard& guard, Arguments&& arguments);

  std::unique_ptr<Iterator> source_;
  std::optional<std::size_t> length_;
  std::int64_t level_;
  Again again_;
  std::deque<Value> ahead_;
  std::optional<Value> before_, current_;
  std::optional<std::vector<Value>> last_changed_;
  std::int64_t index0_ = -1;
};

}  // namespace bora::jinja
