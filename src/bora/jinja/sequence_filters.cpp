// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <algorithm>
#include <array>

#include "bora/jinja/builtins.h"
#include "bora/jinja/objects.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"
#include "bora/jinja/unicode.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;

Value folded(Guard& guard, const Value& value) {
  return value.is(Kind::String) ? rewritten(guard, value.text(), lower) : value;
}

// What sort, min, max and unique compare: an attribute, without regard to case unless asked for.
class Key {
 public:
  Key(Guard& guard, const Value& path, bool case_sensitive)
      : guard_(guard), path_(guard, path), case_sensitive_(case_sensitive) {}
  Value of(const Value& item) const {
    Value value = path_.of(guard_, item);
    return case_sensitive_ ? value : folded(guard_, value);
  }

 private:
  Guard& guard_;
  Path path_;
  bool case_sensitive_;
};

Value path_at(const Bound& bound, std::size_t i) { return bound[i] != nullptr ? *bound[i] : Value(); }

Value length(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "length", std::move(arguments), {});
  const auto count = length_of(guard, subject);
  if (!count) {
    guard.fail("a {} has no length{}", type_name(subject),
               type_name(subject) == "generator" ? "\nhint: `| list` makes a list of it" : "");
  }
  return Value(static_cast<std::int64_t>(*count));
}

Value first(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "first", std::move(arguments), {});
  Value item;
  if (iterate(guard, subject)->next(item)) return item;
  return Value::undefined("there is no first item: the sequence is empty");
}

// What reversed() takes: generators and sets of things it does not.
std::vector<Value> reversible(Guard& guard, const Value& subject) {
  if (subject.is(Kind::Object) &&
      (subject.object().type() == "generator" || subject.object().type() == "LoopContext")) {
    guard.fail("a {} cannot be read backwards\nhint: `| list` makes a list of it", type_name(subject));
  }
  return items_of(guard, subject);
}

Value last(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "last", std::move(arguments), {});
  if (subject.is(Kind::String) && !subject.text().empty())
    return item_of(guard, subject, Value(std::int64_t{-1}));
  const std::vector<Value> items = reversible(guard, subject);
  return items.empty() ? Value::undefined("there is no last item: the sequence is empty") : items.back();
}

Value reverse(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "reverse", std::move(arguments), {});
  if (subject.is(Kind::String)) {
    const Value back(std::int64_t{-1});
    return slice_of(guard, subject, nullptr, nullptr, &back);
  }
  std::vector<Value> items = items_of(guard, subject);
  std::reverse(items.begin(), items.end());
  const bool lazy = !subject.is(Kind::Object) || subject.object().type() != "generator";
  Value list = list_of(guard, std::move(items));
  if (!lazy) return list;
  return generate(guard, list.depth(), [list, at = std::size_t{0}](Value& out) mutable {
    if (at >= list.items().size()) return false;
    out = list.items()[at++];
    return true;
  });
}

Value to_list(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "list", std::move(arguments), {});
  return list_of(guard, items_of(guard, subject));
}

Value join(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "join", std::move(arguments), {"d", "attribute"});
  std::vector<Value> items = items_of(guard, subject);
  if (const Value* attribute = bound.unless_none(1)) {
    const Path path(guard, *attribute);
    for (Value& item : items) item = path.of(guard, item);
  }
  return Value(joined(guard, bound[0] != nullptr ? to_text(guard, *bound[0]) : Text(), items));
}

Value items(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "items", std::move(arguments), {});
  if (!subject.is(Kind::Undefined) && !subject.is(Kind::Dict)) {
    guard.fail("items needs a dict, not {}", type_name(subject));
  }
  const auto dict = subject.is(Kind::Dict) ? subject.shared_dict() : std::make_shared<Dict>();
  return generate(guard, subject.depth() + 1, [&guard, dict, at = std::size_t{0}](Value& out) mutable {
    if (at >= dict->entries.size()) return false;
    guard.charge();
    out = tuple_of(guard, {dict->entries[at].first, dict->entries[at].second});
    ++at;
    return true;
  });
}

// Stable, also backwards.
void sort_by(Guard& guard, std::vector<std::pair<Value, Value>>& keyed, bool backwards) {
  guard.charge(keyed.size());
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return backwards ? less(guard, b.first, a.first) : less(guard, a.first, b.first);
  });
}

Value sorted(Guard& guard, std::vector<std::pair<Value, Value>> keyed, bool backwards) {
  sort_by(guard, keyed, backwards);
  std::vector<Value> out;
  for (auto& [key, value] : keyed) out.push_back(std::move(value));
  return list_of(guard, std::move(out));
}

Value dict_sort(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "dictsort", std::move(arguments), {"case_sensitive", "by", "reverse"});
  const std::string by = bound[1] != nullptr ? bound.text(1).bytes() : "key";
  if (by != "key" && by != "value") guard.fail("dictsort: by should be key or value but is {}", by);
  require_defined(guard, subject);
  if (!subject.is(Kind::Dict)) guard.fail("dictsort needs a dict, not {}", type_name(subject));
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, value] : subject.dict().entries) {
    const Value& sort_by = by == "key" ? key : value;
    keyed.emplace_back(bound.flag(0) ? sort_by : folded(guard, sort_by), tuple_of(guard, {key, value}));
  }
  return sorted(guard, std::move(keyed), bound.flag(2));
}

Value sort(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "sort", std::move(arguments), {"reverse", "case_sensitive", "attribute"});
  std::vector<Key> keys;
  const Value path = path_at(bound, 2);
  std::string_view rest = path.is(Kind::String) ? std::string_view(path.bytes()) : "";
  while (path.is(Kind::String)) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    keys.emplace_back(guard, Value(std::string(rest.substr(0, comma)), kUnknown), bound.flag(1));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  if (!path.is(Kind::String)) keys.emplace_back(guard, path, bound.flag(1));
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : items_of(guard, subject)) {
    std::vector<Value> key;
    for (const Key& part : keys) key.push_back(part.of(item));
    keyed.emplace_back(list_of(guard, std::move(key)), std::move(item));
  }
  return sorted(guard, std::move(keyed), bound.flag(0));
}

Value unique(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "unique", std::move(arguments), {"case_sensitive", "attribute"});
  const Key key(guard, path_at(bound, 1), bound.flag(0));
  const std::shared_ptr<Iterator> source = iterate(guard, subject);
  return generate(
      guard, subject.depth(), [&guard, key, source, seen = std::vector<Value>()](Value& out) mutable {
        while (source->next(out)) {
          Value mark = key.of(out);
          if (!hashable(mark)) guard.fail("unique cannot tell values of type {} apart", type_name(mark));
          const bool known =
              std::any_of(seen.begin(), seen.end(), [&](const Value& v) { return equal(guard, v, mark); });
          if (known) continue;
          seen.push_back(std::move(mark));
          return true;
        }
        return false;
      });
}

template <bool greatest>
Value extreme(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, greatest ? "max" : "min", std::move(arguments), {"case_sensitive", "attribute"});
  const Key key(guard, path_at(bound, 1), bound.flag(0));
  std::optional<Value> best, best_key;
  const auto source = iterate(guard, subject);
  for (Value item; source->next(item);) {
    Value mark = key.of(item);
    if (best && !(greatest ? less(guard, *best_key, mark, ">") : less(guard, mark, *best_key))) continue;
    best = std::move(item);
    best_key = std::move(mark);
  }
  return best ? *best : Value::undefined("there is no smallest or greatest item: the sequence is empty");
}

Value sum(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "sum", std::move(arguments), {"attribute", "start"});
  const Path path(guard, path_at(bound, 0));
  Value total = bound[1] != nullptr ? *bound[1] : Value(std::int64_t{0});
  if (total.is(Kind::String)) guard.fail("sum does not add strings\nhint: use join");
  const auto source = iterate(guard, subject);
  for (Value item; source->next(item);) total = binary(guard, Operator::Add, total, path.of(guard, item));
  return total;
}

Value batch(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "batch", std::move(arguments), {"linecount", "fill_with"}, 1);
  const std::int64_t size = bound.integer(0, 0);
  const Value fill = path_at(bound, 1);
  const std::shared_ptr<Iterator> source = iterate(guard, subject);
  return generate(guard, subject.depth() + 1,
                  [&guard, size, fill, source, ahead = std::optional<Value>()](Value& out) mutable {
                    std::vector<Value> line;
                    if (ahead) line.push_back(*std::exchange(ahead, std::nullopt));
                    for (Value item; source->next(item);) {
                      if (static_cast<std::int64_t>(line.size()) == size) {
                        ahead = std::move(item);
                        break;
                      }
                      line.push_back(std::move(item));
                    }
                    if (line.empty() && !ahead) return false;
                    while (!ahead && !fill.is(Kind::None) && static_cast<std::int64_t>(line.size()) < size) {
                      guard.charge();
                      line.push_back(fill);
                    }
                    out = list_of(guard, std::move(line));
                    return true;
                  });
}

Value slices(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "slice", std::move(arguments), {"slices", "fill_with"}, 1);
  const std::int64_t count = bound.integer(0, 0);
  if (count == 0) guard.fail("division by zero");
  const std::vector<Value> all = items_of(guard, subject);
  const auto length = static_cast<std::int64_t>(all.size());
  std::vector<Value> out;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t size = length / count + (i < length % count ? 1 : 0);
    std::vector<Value> part(all.begin() + begin, all.begin() + begin + size);
    begin += size;
    if (bound.unless_none(1) != nullptr && i >= length % count) part.push_back(*bound[1]);
    out.push_back(list_of(guard, std::move(part)));
  }
  const Value list = list_of(guard, std::move(out));
  return generate(guard, list.depth(), [list, at = std::size_t{0}](Value& item) mutable {
    if (at >= list.items().size()) return false;
    item = list.items()[at++];
    return true;
  });
}

constexpr std::array kSequenceFilters = {
    Builtin{"length", length},     Builtin{"count", length},    Builtin{"first", first},
    Builtin{"last", last},         Builtin{"reverse", reverse}, Builtin{"list", to_list},
    Builtin{"join", join},         Builtin{"items", items},     Builtin{"dictsort", dict_sort},
    Builtin{"sort", sort},         Builtin{"unique", unique},   Builtin{"min", extreme<false>},
    Builtin{"max", extreme<true>}, Builtin{"sum", sum},         Builtin{"batch", batch},
    Builtin{"slice", slices},
};

}  // namespace

std::span<const Builtin> sequence_filters() { return kSequenceFilters; }

}  // namespace bora::jinja
