// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What `value is name` asks. (Not the tests of this code: those are in template_test.cpp.)
#include <algorithm>
#include <array>

#include "bora/jinja/builtins.h"
#include "bora/jinja/operations.h"
#include "bora/jinja/print.h"

namespace bora::jinja {
namespace {

using Kind = Value::Kind;

bool is_undefined(Guard&, const Value& v) { return v.is(Kind::Undefined); }
bool is_defined(Guard&, const Value& v) { return !v.is(Kind::Undefined); }
bool is_none(Guard&, const Value& v) { return v.is(Kind::None); }
bool is_boolean(Guard&, const Value& v) { return v.is(Kind::Bool); }
bool is_true(Guard&, const Value& v) { return v.is(Kind::Bool) && v.boolean(); }
bool is_false(Guard&, const Value& v) { return v.is(Kind::Bool) && !v.boolean(); }
bool is_integer(Guard&, const Value& v) { return v.is(Kind::Int); }
bool is_float(Guard&, const Value& v) { return v.is(Kind::Float); }
bool is_number(Guard&, const Value& v) { return v.is_number(); }
bool is_string(Guard&, const Value& v) { return v.is(Kind::String); }
bool is_mapping(Guard&, const Value& v) { return v.is(Kind::Dict); }
bool is_escaped(Guard&, const Value& v) { return v.is(Kind::String) && v.text().markup; }
bool is_iterable(Guard& guard, const Value& v) { return iterate_or_null(guard, v) != nullptr; }
bool is_filter(Guard&, const Value& v) { return v.is(Kind::String) && find_filter(v.bytes()) != nullptr; }
bool is_test(Guard&, const Value& v) { return v.is(Kind::String) && find_test(v.bytes()) != nullptr; }

// An undefined value has the methods, if only to complain when they are called.
bool is_callable(Guard&, const Value& v) {
  return v.is(Kind::Undefined) || (v.is(Kind::Object) && v.object().callable());
}
bool is_sequence(Guard&, const Value& v) {
  return v.is(Kind::Undefined) || v.is(Kind::String) || v.is_sequence() || v.is(Kind::Dict) ||
         (v.is(Kind::Object) && v.object().type() == "range");
}

bool is_odd(Guard& guard, const Value& v) {
  const Value rest = binary(guard, Operator::Modulo, v, Value(std::int64_t{2}));
  return equal(guard, rest, Value(std::int64_t{1}));
}
bool is_even(Guard& guard, const Value& v) {
  const Value rest = binary(guard, Operator::Modulo, v, Value(std::int64_t{2}));
  return equal(guard, rest, Value(std::int64_t{0}));
}

template <bool upper>
bool is_case(Guard& guard, const Value& v) {
  const Value text(to_text(guard, v));
  return call(guard, *string_method(guard, text, upper ? "isupper" : "islower"), {}).boolean();
}

template <bool (*test)(Guard&, const Value&)>
Value plain(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "this test", std::move(arguments), {});
  return Value(test(guard, subject));
}

template <Operator op>
Value comparison(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "this test", std::move(arguments), {"other"}, 1);
  return Value(compare(guard, op, subject, *bound[0]));
}

Value same_as(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "sameas", std::move(arguments), {"other"}, 1);
  return Value(subject.same(*bound[0]));
}

Value divisible_by(Guard& guard, const Value& subject, Arguments&& arguments) {
  const Bound bound(guard, "divisibleby", std::move(arguments), {"num"}, 1);
  return Value(equal(guard, binary(guard, Operator::Modulo, subject, *bound[0]), Value(std::int64_t{0})));
}

constexpr std::array kTests = {
    Builtin{"defined", plain<is_defined>},
    Builtin{"undefined", plain<is_undefined>},
    Builtin{"none", plain<is_none>},
    Builtin{"boolean", plain<is_boolean>},
    Builtin{"true", plain<is_true>},
    Builtin{"false", plain<is_false>},
    Builtin{"integer", plain<is_integer>},
    Builtin{"float", plain<is_float>},
    Builtin{"number", plain<is_number>},
    Builtin{"string", plain<is_string>},
    Builtin{"mapping", plain<is_mapping>},
    Builtin{"iterable", plain<is_iterable>},
    Builtin{"sequence", plain<is_sequence>},
    Builtin{"callable", plain<is_callable>},
    Builtin{"escaped", plain<is_escaped>},
    Builtin{"filter", plain<is_filter>},
    Builtin{"test", plain<is_test>},
    Builtin{"odd", plain<is_odd>},
    Builtin{"even", plain<is_even>},
    Builtin{"lower", plain<is_case<false>>},
    Builtin{"upper", plain<is_case<true>>},
    Builtin{"divisibleby", divisible_by},
    Builtin{"sameas", same_as},
    Builtin{"in", comparison<Operator::In>},
    Builtin{"==", comparison<Operator::Equal>},
    Builtin{"eq", comparison<Operator::Equal>},
    Builtin{"equalto", comparison<Operator::Equal>},
    Builtin{"!=", comparison<Operator::NotEqual>},
    Builtin{"ne", comparison<Operator::NotEqual>},
    Builtin{">", comparison<Operator::Greater>},
    Builtin{"gt", comparison<Operator::Greater>},
    Builtin{"greaterthan", comparison<Operator::Greater>},
    Builtin{">=", comparison<Operator::GreaterEqual>},
    Builtin{"ge", comparison<Operator::GreaterEqual>},
    Builtin{"<", comparison<Operator::Less>},
    Builtin{"lt", comparison<Operator::Less>},
    Builtin{"lessthan", comparison<Operator::Less>},
    Builtin{"<=", comparison<Operator::LessEqual>},
    Builtin{"le", comparison<Operator::LessEqual>},
};

}  // namespace

const Builtin* find_test(std::string_view name) {
  const auto* at =
      std::find_if(kTests.begin(), kTests.end(), [&](const Builtin& test) { return test.name == name; });
  return at == kTests.end() ? nullptr : at;
}

}  // namespace bora::jinja
