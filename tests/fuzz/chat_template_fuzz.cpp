// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A chat template, and a conversation that it renders.
#include "bora/tokenize/chat_template.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bora;
  static const Json messages = Json::parse(R"([{"role":"system","content":"be <b>kind</b>"},
    {"role":"user","content":[{"type":"text","text":"1 + 1"}]},
    {"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":{"a":[1,2.5,true]}}}]}])");
  static const Json tools = Json::parse(R"([{"type":"function","function":{"name":"f","parameters":{}}}])");
  ChatOptions options{.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}},
                      .add_generation_prompt = true};
  options.now = 1'700'000'000;
  options.limits.steps = 100'000;
  options.limits.output_bytes = 1 << 20;
  return fuzz::refuse_or_accept([&] {
    const auto rendered =
        ChatTemplate::parse(fuzz::text_of(data, size), "t", options.limits).render(messages, tools, options);
    std::size_t covered = 0;
    for (const auto& segment : rendered.segments) {
      if (segment.span.begin != covered) __builtin_trap();
      covered = segment.span.end;
    }
    if (covered != rendered.text.size()) __builtin_trap();
  });
}
