// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Filters that apply other filters and tests, and default.
#include <array>

#include "bora/jinja/builtins.h"
#include "bora/jinja/objects.h"
#include "bora/jinja/operations.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;

const Builtin& named(Guard& guard, const Value& name, bool filter) {
  const Builtin* found = nullptr;
  if (name.is(Kind::String)) found = filter ? find_filter(name.bytes()) : find_test(name.bytes());
  if (found == nullptr) {
    guard.fail("there is no {} {}", filter ? "filter" : "test",
               name.is(Kind::String) ? std::string_view(name.bytes()) : type_name(name));
  }
  return *found;
}

int depth_of(const Value& subject, const Arguments& arguments) {
  int depth = subject.depth();
  for (const Value& value : arguments.positional) depth = std::max(depth, value.depth());
  for (const auto& [name, value] : arguments.named) depth = std::max(depth, value.depth());
  return depth;
}

Value nothing(Guard& guard) {
  return generate(guard, 0, [](Value&) { return false; });
}

Value map_attribute(Guard& guard, const Value& subject, const Arguments& arguments) {
  Value attribute, otherwise;
  for (const auto& [name, value] : arguments.named) {
    if (name != "attribute" && name != "default") guard.fail("map has no parameter {}", name);
    (name == "default" ? otherwise : attribute) = value;
  }
  const std::shared_ptr<Iterator> source = iterate(guard, subject);
  // The default stands in for each missing part of the path.
  std::vector<Path> parts;
  if (attribute.is(Kind::String)) {
    std::string_view rest = attribute.bytes();
    for (bool more = true; more;) {
      const std::size_t dot = rest.find('.');
      parts.emplace_back(guard, Value(std::string(rest.substr(0, dot)), kUnknown));
      more = dot != std::string_view::npos;
      if (more) rest.remove_prefix(dot + 1);
    }
  } else {
    parts.emplace_back(guard, attribute);
  }
  return generate(guard, depth_of(subject, arguments), [&guard, source, parts, otherwise](Value& out) {
    if (!source->next(out)) return false;
    for (const Path& part : parts) {
      out = part.of(guard, out);
      if (out.is(Kind::Undefined) && !otherwise.is(Kind::None)) out = otherwise;
    }
    return true;
  });
}

Value map(Guard& guard, const Value& subject, Arguments&& arguments) {
  if (!truth(guard, subject)) return nothing(guard);
  const auto has_attribute = [&] {
    for (const auto& [name, value] : arguments.named) {
      if (name == "attribute") return true;
    }
    return false;
  };
  if (arguments.positional.empty() && has_attribute()) return map_attribute(guard, subject, arguments);
  if (arguments.positional.empty()) guard.fail("map needs the name of a filter, or attribute=");
  const Builtin& filter = named(guard, arguments.positional.front(), true);
  const int depth = depth_of(subject, arguments);
  arguments.positional.erase(arguments.positional.begin());
  const std::shared_ptr<Iterator> source = iterate(guard, subject);
  return generate(guard, depth, [&guard, &filter, source, arguments](Value& out) {
    if (!source->next(out)) return false;
    out = filter.run(guard, out, Arguments(arguments));
    return true;
  });
}

template <bool by_attribute, bool keep>
Value select(Guard& guard, const Value& subject, Arguments&& arguments) {
  if (!truth(guard, subject)) return nothing(guard);
  auto& positional = arguments.positional;
  if (by_attribute && positional.empty())
    guard.fail("selectattr and rejectattr need the name of an attribute");
  const int depth = depth_of(subject, arguments);
  const Path path(guard, by_attribute ? positional.front() : Value());
  if (by_attribute) positional.erase(positional.begin());
  const Builtin* test = positional.empty() ? nullptr : &named(guard, positional.front(), false);
  if (test != nullptr) positional.erase(positional.begin());
  const std::shared_ptr<Iterator> source = iterate(guard, subject);
  return generate(guard, depth, [&guard, test, path, source, arguments](Value& out) {
    while (source->next(out)) {
      const Value value = path.of(guard, out);
      const bool passes =
          truth(guard, test == nullptr ? value : test->run(guard, value, Arguments(arguments)));
      if (passes == keep) return true;
    }
    return false;
  });
}

Value otherwise(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "default", std::move(arguments), {"default_value", "boolean"});
  const bool missing = subject.is(Kind::Undefined) || (bound.flag(1) && !truth(guard, subject));
  if (!missing) return subject;
  return bound[0] != nullptr ? *bound[0] : Value("", kControl);
}

Value attr(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "attr", std::move(arguments), {"name"}, 1);
  require_defined(guard, subject);
  const std::string& name = bound.text(0).bytes();
  // Entries of a dict are no attributes.
  if (!subject.is(Kind::Dict)) return attribute_of(guard, subject, name);
  auto method = container_method(guard, subject, name);
  return method ? *method : Value::undefined(fmt::format("dict has no attribute {}", name));
}

constexpr std::array kSelectionFilters = {
    Builtin{"map", map},
    Builtin{"select", select<false, true>},
    Builtin{"reject", select<false, false>},
    Builtin{"selectattr", select<true, true>},
    Builtin{"rejectattr", select<true, false>},
    Builtin{"default", otherwise},
    Builtin{"d", otherwise},
    Builtin{"attr", attr},
};

}  // namespace

std::span<const Builtin> selection_filters() { return kSelectionFilters; }

}  // namespace bora::jinja
