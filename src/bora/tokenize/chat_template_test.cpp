// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Expected texts are what jinja2 3.1 makes of the same template with trim_blocks and lstrip_blocks.
#include "bora/tokenize/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/tokenize/chat_templates.h"

namespace bora {
namespace {

using testing::HasSubstr;

Json talk() {
  return Json::array({{{"role", "system"}, {"content", " Be brief. "}},
                      {{"role", "user"}, {"content", "Hi <|end|>"}},
                      {{"role", "assistant"}, {"content", "Hello"}}});
}

ChatOptions options() {
  ChatOptions o;
  o.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  return o;
}

std::string rendered(const std::string& text, const ChatOptions& o = options()) {
  return ChatTemplate::parse(text).render(talk(), nullptr, o).text;
}

std::string refusal(const std::string& text, const ChatOptions& o = options()) {
  try {
    rendered(text, o);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(ChatTemplate, WritesMessagesBetweenMarks) {
  EXPECT_EQ(
      rendered("{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>\n{{ m['content'] | trim }}<|end|>\n"
               "{% endfor %}"),
      "<s><|system|>\nBe brief.<|end|>\n<|user|>\nHi <|end|><|end|>\n<|assistant|>\nHello<|end|>\n");
}

TEST(ChatTemplate, GenerationPromptIsAVariable) {
  const std::string text = "{% if add_generation_prompt %}<|assistant|>{% else %}none{% endif %}";
  EXPECT_EQ(rendered(text), "none");
  auto o = options();
  o.add_generation_prompt = true;
  EXPECT_EQ(rendered(text, o), "<|assistant|>");
}

TEST(ChatTemplate, RangesHaveTheirAttributes) {
  EXPECT_EQ(rendered("{% set r = range(1, 8, 2) %}{{ r.count(3) }} {{ r.count(4) }} {{ r.count(3.0) }} {{ "
                     "r.count('3') }}"
                     " {{ r.index(5) }} {{ r.start }} {{ r.stop }} {{ r.step }}"),
            "1 0 1 0 2 1 8 2");
  EXPECT_THAT(refusal("{{ range(3).index(7) }}"),
              HasSubstr("range does not hold the value that index() asks for"));
}

TEST(ChatTemplate, FormatsOfMarkupEscape) {
  EXPECT_EQ(
      rendered(
          "{{ ('<b>%s</b>' | safe) % '<i>' }} {{ ('%r' | safe) % '<' }} {{ ('%s' | safe) % ('<' | safe) }}"
          " {{ ('%(a)s %%' | safe) % {'a': '&'} }} {{ ('%.2s' | safe) % '<' }} {{ '%s' % '<' }}"),
      "<b>&lt;i&gt;</b> &#39;&lt;&#39; < &amp; % &l <");
}

struct Case {
  std::string text, expected;
};

class ChatExpressions : public testing::TestWithParam<Case> {};

TEST_P(ChatExpressions, AreAsInJinja) { EXPECT_EQ(rendered(GetParam().text), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    Values, ChatExpressions,
    testing::Values(
        Case{"{{ 7 // 2 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 7 / 2 }} {{ 1 ~ 'a' }}", "3 2 1024 3.5 1a"},
        Case{"{{ true }} {{ none }} {{ [1, 'a', 2.0] }} {{ {'k': false} }}",
             "True None [1, 'a', 2.0] {'k': False}"},
        Case{"{{ 1 < 2 < 3 }} {{ 'a' in 'cat' }} {{ 3 not in [1, 2] }} {{ not true or 1 == 1.0 }}",
             "True True True True"},
        Case{"{{ 'a' if false }}|{{ 'a' if false else 'b' }}|{{ nothing }}|{{ nothing is defined }}",
             "|b||False"},
        Case{"{{ 'abcdef'[1:4] }} {{ [1, 2, 3][-1] }} {{ 'abc'[::-1] }}", "bcd 3 cba"},
        Case{"{{ ' x '.strip() }}|{{ 'a,b'.split(',') }}|{{ 'Ab'.upper() }}|{{ 'a'.startswith('b') }}",
             "x|['a', 'b']|AB|False"},
        Case{"{{ [3, 1, 2] | sort | join('-') }} {{ 'x' | default('y') }} {{ u | default('y') }} {{ [1, 2] | "
             "length }}",
             "1-2-3 x y 2"},
        Case{"{{ messages | map(attribute='role') | list }}", "['system', 'user', 'assistant']"},
        Case{"{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "1"},
        Case{"{{ {'b': 1, 'a': 'é<'} | tojson }}", "{\"b\": 1, \"a\": \"é<\"}"},
        Case{"{{ {'a': [1, {}]} | tojson(indent=2) }}", "{\n  \"a\": [\n    1,\n    {}\n  ]\n}"},
        Case{"{{ 'x' is string }} {{ {} is mapping }} {{ 3 is odd }} {{ [] is iterable }}",
             "True True True True"}));

INSTANTIATE_TEST_SUITE_P(
    Statements, ChatExpressions,
    testing::Values(
        Case{"{% for i in [1, 2, 3] %}{{ loop.index }}{{ loop.first }}{{ loop.last }} {% endfor %}",
             "1TrueFalse 2FalseFalse 3FalseTrue "},
        Case{"{% for i in [] %}a{% else %}empty{% endfor %}", "empty"},
        Case{"{% for i in [1, 2, 3, 4] if i is even %}{{ i }}{% endfor %}", "24"},
        Case{"{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "13"},
        Case{"{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "1"},
        Case{"{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}", "1"},
        Case{"{% set n = namespace(x=1) %}{% for i in [1] %}{% set n.x = 2 %}{% endfor %}{{ n.x }}", "2"},
        Case{"{% set t %}a{{ 1 }}{% endset %}[{{ t }}]", "[a1]"},
        Case{"{% macro f(a, b='z') %}{{ a }}{{ b }}{% endmacro %}{{ f('x') }}{{ f('x', b='y') }}", "xzxy"},
        Case{"a {# no #} b{% raw %}{{ x }}{% endraw %}", "a  b{{ x }}"},
        Case{"a\n  {% if true %}\n  b\n  {% endif %}\nc", "a\n  b\nc"},
        Case{"a  {%- if true -%}  b  {%- endif -%}  c", "abc"}));

TEST(ChatTemplate, MarksWhatTheAssistantSaid) {
  auto chat = ChatTemplate::parse(
      "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration "
      "%}"
      "{% else %}[{{ m.role }}]{% endif %}{% endfor %}");
  EXPECT_TRUE(chat.has_generation());
  auto out = chat.render(talk());
  EXPECT_EQ(out.text, "[system][user]Hello");
  EXPECT_EQ(out.assistant_spans, (std::vector<ByteSpan>{{14, 19}}));
}

TEST(ChatTemplate, ToldApartFromWhatUsersWrote) {
  auto out = ChatTemplate::parse("<|u|>{{ messages[1].content | trim }}<|end|>").render(talk());
  EXPECT_EQ(out.text, "<|u|>Hi <|end|><|end|>");
  EXPECT_EQ(out.segments, (std::vector<ChatSegment>{{{0, 5}, true}, {{5, 15}, false}, {{15, 22}, true}}));
}

TEST(ChatTemplate, ErrorsNameThePlace) {
  EXPECT_THAT(refusal("a\n{% if %}"), HasSubstr("chat template: line 2"));
  EXPECT_THAT(refusal("{% for x in [1] %}"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("{{ raise_exception('no tools here') }}"), HasSubstr("no tools here"));
  EXPECT_THAT(refusal("{{ nothing.at_all }}"), HasSubstr("nothing"));
  EXPECT_THAT(refusal("{% include 'x' %}"), HasSubstr("include"));
}

TEST(ChatTemplate, BoundsWork) {
  auto o = options();
  o.limits.steps = 1000;
  EXPECT_NE(refusal("{% for i in range(100000) %}{{ i }}{% endfor %}", o), "accepted");
  o = options();
  o.limits.output_bytes = 100;
  EXPECT_NE(refusal("{{ 'a' * 1000 }}", o), "accepted");
  EXPECT_NE(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), "accepted");
}

// What does not fit 64 bits is no other number.
TEST(ChatTemplate, NumbersBeyondAllBounds) {
  EXPECT_THAT(refusal("{{ '{99999999999999999999}'.format('x') }}"),
              HasSubstr("format has no argument number 99999999999999999999"));
  EXPECT_THAT(refusal("{{ '{0[99999999999999999999]}'.format('x') }}"),
              HasSubstr("format has no argument number 99999999999999999999"));
  EXPECT_THAT(refusal("{{ '%.*f' % (4294967299, 1.5) }}"),
              HasSubstr("a precision of 4294967299 digits is too much"));
  EXPECT_EQ(rendered("{{ 'a'.ljust(-9223372036854775807 - 1) }}"), "a");
  EXPECT_EQ(rendered("{{ 'a short text' | truncate(9223372036854775807) }}"), "a short text");
}

TEST(ChatTemplate, TimeComesFromTheCaller) {
  auto o = options();
  EXPECT_EQ(rendered("{{ strftime_now is defined }}", o), "False");
  o.now = 86400 * 365;
  EXPECT_EQ(rendered("{{ strftime_now('%d %b %Y') }}", o), "01 Jan 1971");
}

TEST(ChatTemplate, ADateThatNobodyGaveIsMissed) {
  EXPECT_EQ(refusal("Today: {{ strftime_now('%d %b %Y') }}"),
            "chat template: line 1, column 23: strftime_now is undefined: the template writes the date, and "
            "nobody has said which\nhint: a fixed one, for example format.chat_date: 2024-07-26");
  EXPECT_EQ(rendered("{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% else %}2024{% endif %}"),
            "2024");
}

// The expected texts are those of apply_chat_template of transformers 5.23.
TEST(ChatTemplate, ReasoningHasTwoNames) {
  const auto shown = [](const std::string& fields) {
    const auto messages = Json::parse(R"([{"role":"assistant",)" + fields + "}]");
    return ChatTemplate::parse("{{ messages[0] | tojson }}").render(messages).text;
  };
  EXPECT_EQ(shown(R"("content":"c","thinking":"t")"),
            R"({"thinking": "t", "role": "assistant", "content": "c", "reasoning_content": "t"})");
  EXPECT_EQ(shown(R"("reasoning":"r","content":"c")"),
            R"({"thinking": "r", "role": "assistant", "reasoning": "r", "content": "c", )"
            R"("reasoning_content": "r"})");
  EXPECT_EQ(shown(R"("reasoning_content":"x","content":"c")"),
            R"({"thinking": "x", "role": "assistant", "reasoning_content": "x", "content": "c"})");
  EXPECT_EQ(shown(R"("thinking":"t","reasoning":"r","reasoning_content":null,"content":"c")"),
            R"({"thinking": "t", "role": "assistant", "reasoning": "r", "content": "c", )"
            R"("reasoning_content": "t"})");
  EXPECT_EQ(shown(R"("thinking":"","reasoning_content":"x")"),
            R"({"thinking": "", "role": "assistant", "reasoning_content": "x"})");
}

TEST(ChatTemplate, NullInAMessageIsAbsent) {
  const auto messages = Json::parse(R"([{"role":"assistant","content":null,"tool_calls":[{"id":null}]}])");
  EXPECT_EQ(ChatTemplate::parse("{{ messages[0] | tojson }}{{ messages[0].content }}").render(messages).text,
            R"({"role": "assistant", "tool_calls": [{"id": null}]})");
}

TEST(ChatTemplate, KnowsWhatItReads) {
  const auto text = ChatTemplate::parse("{% if tools %}{{ messages[0].documents }}{% endif %}");
  EXPECT_TRUE(text.reads("tools"));
  EXPECT_FALSE(text.reads("documents"));
}

TEST(ChatTemplates, OfAConfiguration) {
  const auto of = [](const char* json) { return chat_templates_of(Json::parse(json), "c.json"); };
  EXPECT_EQ(of("{}"), ChatTemplates{});
  EXPECT_EQ(of(R"({"chat_template":null})"), ChatTemplates{});
  EXPECT_EQ(of(R"({"chat_template":"t"})"), (ChatTemplates{{"default", "t"}}));
  EXPECT_EQ(of(R"({"chat_template":[{"name":"default","template":"d"},{"name":"tool_use","template":"t"}]})"),
            (ChatTemplates{{"default", "d"}, {"tool_use", "t"}}));
  const auto wrong = [&](const char* json) -> std::string {
    try {
      of(json);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(wrong(R"({"chat_template":3})"),
            "c.json: chat_template should be a text or a list but is number");
  EXPECT_EQ(wrong(R"({"chat_template":[{"name":"../x","template":"t"}]})"),
            "c.json: chat_template has one named \"../x\", which is no name of a file");
}

}  // namespace
}  // namespace bora
