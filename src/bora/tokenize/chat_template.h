// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"
#include "bora/jinja/limits.h"

namespace bora {

namespace jinja {
struct Program;
}

/// Bytes [begin, end) of a rendered text.
struct ByteSpan {
  std::size_t begin = 0, end = 0;
  bool operator==(const ByteSpan&) const = default;
};

/// A stretch of a rendered text with one origin. `control` true: written by the template's author or a
/// special-token variable; special tokens in it are meant. False: it came with the conversation (messages,
/// tools, variables) or cannot be told; special tokens spelled in it are mere text.
struct ChatSegment {
  ByteSpan span;
  bool control = false;
  bool operator==(const ChatSegment&) const = default;
};

/// What a rendering gets besides the conversation.
struct ChatOptions {
  /// bos_token, eos_token, pad_token, ...: control text. A name that is not here is undefined.
  std::map<std::string, std::string> special_tokens;
  bool add_generation_prompt = false;
  /// Null, or the documents that some templates cite.
  Json documents;
  /// Any further variables (enable_thinking, date_string, ...), an object. They win over all the others.
  Json variables = Json::object();
  /// What strftime_now shows, in seconds since 1970-01-01 as its zone's clock has it. Without it the
  /// function is not defined: a template that asks first (Llama 3.2) writes its fixed date, one that calls it
  /// all the same (gpt-oss) is an error.
  std::optional<std::int64_t> now;
  /// A message's `role` counts as control text if it is one of these, since templates build tokens of it:
  /// '<|' + message['role'] + '|>'.
  std::vector<std::string> roles = {"system", "developer", "user",    "assistant",
                                    "tool",   "function",  "ipython", "model"};
  jinja::Limits limits;
};

/// What a conversation became. Encode `text` as a whole (cutting it changes how words fall apart), but
/// recognise special tokens only where they lie wholly within one control segment.
struct ChatText {
  std::string text;
  /// What {% generation %} enclosed, in order; neighbours that touch are one.
  std::vector<ByteSpan> assistant_spans;
  /// All of `text`, in order, no two neighbours alike in `control`, none empty.
  std::vector<ChatSegment> segments;
};

/// A chat template as `tokenizer_config.json` has it: the part of Jinja 2 that such templates use, rendered
/// to the bytes that `transformers` makes of it (jinja2 3.1, ImmutableSandboxedEnvironment, trim_blocks,
/// lstrip_blocks, loop controls, {% generation %}, raise_exception, strftime_now, tojson without HTML
/// escapes). A cheap value; every function is const and may be called from any number of threads.
///
/// Left out: inheritance and inclusion, async, autoescape, integers beyond 64 bits; printing what has an
/// address (generators, functions). Each is an error that says so. Errors read "NAME: line 3, column 14:
/// what is wrong"; columns count bytes.
class ChatTemplate {
 public:
  /// `name` stands for the template in errors. Errors: Corruption for malformed templates, Unsupported for
  /// tags that Bora does not have.
  static ChatTemplate parse(std::string_view text, std::string_view name = "chat template",
                            const jinja::Limits& limits = {});

  /// The special tokens of a tokenizer_config.json by name, for ChatOptions.
  static std::map<std::string, std::string> special_tokens(const Json& tokenizer_config);

  /// The conversation as text. `messages` is a list of {"role": ..., "content": ...}; `tools` a list of
  /// JSON schemas, or null. As in apply_chat_template of `transformers` 5.23, what is null in a message
  /// counts as absent, and the first of reasoning_content, thinking and reasoning that is there becomes
  /// reasoning_content, and thinking too if there is none. (4.57 leaves messages as they are.) Errors:
  /// InvalidArgument for whatever goes wrong in the template, its raise_exception included, and for passed
  /// limits; Unsupported.
  ChatText render(const Json& messages, const Json& tools = nullptr, const ChatOptions& options = {}) const;

  /// Whether the template has a {% generation %} block, without which no assistant_spans come back.
  bool has_generation() const;

  /// Whether the template has a name `variable`, so that a value for it may matter.
  bool reads(std::string_view variable) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const jinja::Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const jinja::Program> program_;
};

}  // namespace bora
