// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <utility>

#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/locale_text.h"
#include "bora/base/terminal_text.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/open_device.h"
#include "bora/cli/prompts.h"
#include "bora/cli/sampling_flags.h"
#include "bora/cli/weights_flag.h"
#include "bora/core/runtime.h"
#include "bora/infer/text_stream.h"
#include "bora/nn/stored_weights.h"
#include "bora/run/open_model.h"
#include "bora/tokenize/encode_chat.h"

namespace bora::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// While it lives, Ctrl-C asks for the end of an answer, not of the program.
class AnswerSignal {
 public:
  AnswerSignal() {
    interrupted = 0;
    before_ = std::signal(SIGINT, [](int) { interrupted = 1; });
  }
  ~AnswerSignal() { std::signal(SIGINT, before_); }
  AnswerSignal(const AnswerSignal&) = delete;
  AnswerSignal& operator=(const AnswerSignal&) = delete;

 private:
  void (*before_)(int);
};

ChatTemplate template_of(const run::OpenedModel& opened) {
  const auto& templates = opened.require_tokenizer().chat_templates();
  const auto found = templates.find(std::string(kDefaultTemplate));
  if (found == templates.end())
    fail(ErrorKind::NotFound,
         "chat: the tokenizer beside {} has no chat template\nhint: a model that was not trained on chats "
         "continues texts: bora generate; or put a chat_template.jinja beside its tokenizer",
         opened.directory);
  return ChatTemplate::parse(found->second);
}

class Chat {
 public:
  Chat(const run::OpenedModel& opened, const SamplingFlags& sampling, const std::string& system)
      : opened_(opened), sampling_(sampling), template_(template_of(opened)), system_(system) {
    options_.special_tokens = opened.require_tokenizer().special_tokens();
    options_.add_generation_prompt = true;
    options_.now = std::time(nullptr);
    reset();
  }
  void reset() {
    messages_ = Json::array();
    if (!system_.empty()) messages_.push_back({{"role", "system"}, {"content", system_}});
  }
  /// Prints the answer as it comes, and remembers both. Why the question cannot be asked, or nothing.
  std::string ask(const std::string& text) {
    messages_.push_back({{"role", "user"}, {"content", text}});
    const auto& tokenizer = opened_.require_tokenizer();
    const auto ids = encode_chat(tokenizer, template_.render(messages_, nullptr, options_)).ids;
    tell_if_not_asked(ids);
    if (const auto room = opened_.model->shape().seq_len; std::ssize(ids) >= room) {
      messages_.erase(messages_.size() - 1);
      return fmt::format("the conversation has {} tokens, the model's context {}", ids.size(), room);
    }
    messages_.push_back({{"role", "assistant"}, {"content", answer(tokenizer, ids)}});
    return "";
  }

 private:
  // Once: a template that writes nothing where an answer begins.
  void tell_if_not_asked(const std::vector<std::int32_t>& ids) {
    if (std::exchange(is_looked_at_, true)) return;
    auto plain = options_;
    plain.add_generation_prompt = false;
    if (encode_chat(opened_.require_tokenizer(), template_.render(messages_, nullptr, plain)).ids != ids)
      return;
    print_note(
        "bora: the chat template beside {} writes nothing for add_generation_prompt: the model must begin its answer by "
        "itself\n",
        opened_.directory);
  }
  std::string answer(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) const {
    infer::TextStream stream(tokenizer, ids, sampling_.stops);
    std::string all;
    const auto show = [&](const std::string& text) {
      all += text;
      fmt::print("{}", for_standard_output(text));
      std::fflush(stdout);
    };
    const AnswerSignal signal;
    const auto take = [&](std::size_t, std::int32_t id) {
      show(stream.push(id));
      return !stream.stopped() && interrupted == 0;
    };
    infer::Generated made;
    run::naming_bad_weights(opened_, [&] {
      made = infer::generate_all(*opened_.model, {{ids, sampling_.options}}, take).front();
    });
    show(stream.finish());
    fmt::print("\n");
    std::fflush(stdout);
    if (made.finish == infer::Finish::Context)
      print_note("bora: the model's context of {} tokens is full; /reset begins anew\n",
                 opened_.model->shape().seq_len);
    return all;
  }

  const run::OpenedModel& opened_;
  const SamplingFlags& sampling_;
  ChatTemplate template_;
  ChatOptions options_;
  std::string system_;
  Json messages_;
  bool is_looked_at_ = false;
};

// The next line; false at the end of the input.
bool read_line(bool terminal, std::string& line) {
  if (terminal) {
    fmt::print("> ");
    std::fflush(stdout);
  }
  return static_cast<bool>(std::getline(std::cin, line));
}

// A person can go on otherwise; who reads the answers of a file must not take the next one for that of this line.
void talk(Chat& chat, bool terminal) {
  std::int64_t number = 0;
  for (std::string line; read_line(terminal, line);) {
    ++number;
    require_utf8_prompt(line, "chat");
    if (trim(line) == "/reset") {
      chat.reset();
    } else if (!trim(line).empty()) {
      const auto why_not = chat.ask(line);
      if (why_not.empty()) continue;
      if (!terminal)
        fail(ErrorKind::Usage,
             "chat: line {} of standard input: {}\nhint: a line /reset before it begins a new conversation",
             number, why_not);
      print_note("bora: {}; /reset begins anew\n", why_not);
    }
  }
}

}  // namespace

int run_chat(const Arguments& arguments) {
  std::string path, adapter, system;
  SamplingFlags sampling;
  WeightsFlag weights;
  DeviceFlag device;
  sampling.options.max_new_tokens = 512;
  Args args(
      "chat",
      "Talk with a model by its chat template: a line, an answer. /reset begins anew, Ctrl-C ends an "
      "answer, Ctrl-D leaves. Sampling that is left out is what the model's generation_config.json says, as in "
      "bora generate.",
      "  bora chat llama-dir --system \"Answer in one sentence.\"\n"
      "  bora chat llama-dir --temperature 0 < questions.txt");
  args.positional("model", path, "a run, a checkpoint, a Hugging Face directory, or a GGUF file").is_path();
  args.surplus("what is said comes from standard input: echo 'Hello' | bora chat MODEL");
  args.option("--system", system, "what the model is told before the conversation").may_be_empty();
  args.option("--adapter", adapter, "put this adapter on the model: a directory as PEFT writes it").is_path();
  device.declare(args);
  weights.declare(args);
  sampling.declare(args);
  args.parse(arguments);
  sampling.settle(args);
  require_utf8_prompt(system, "chat");
  const auto type = weights.type("chat");
  core::initialize();
  const auto in_use = open_device(device, "chat", type);
  const auto opened = run::open_model(path, adapter);
  nn::store_weights(*opened.model, type);
  sampling.take_defaults(opened, /*tells=*/true);
  Chat chat(opened, sampling, system);
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  talk(chat, terminal);
  if (terminal) fmt::print("\n");
  return 0;
}

}  // namespace bora::cli
