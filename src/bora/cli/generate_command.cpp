// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <cstdio>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "bora/base/clock.h"
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
#include "bora/infer/engine.h"
#include "bora/infer/text_stream.h"
#include "bora/nn/stored_weights.h"
#include "bora/run/open_model.h"

namespace bora::cli {
namespace {

struct Wishes {
  std::string model, prompt, adapter, prompts;
  SamplingFlags sampling;
  WeightsFlag weights;
  DeviceFlag device;
  std::int64_t samples = 1, together = 8, log_probs = -1;
  bool ids = false, jsonl = false, quiet = false;

  /// A text that is shown while it grows.
  bool one_text() const { return prompts.empty() && samples == 1 && !jsonl; }
};

Wishes parse(const Arguments& arguments) {
  Wishes w;
  Args args(
      "generate",
      "Continue a text, or many. Of temperature, top_k, top_p, min_p and repetition_penalty, what is left out is "
      "what the model's generation_config.json says, where it says do_sample (the penalty: always).",
      "  bora generate runs/brisk-otter-7 \"The moon is\"\n"
      "  bora generate runs/brisk-otter-7/hf \"The moon is\" --temperature 0 --max_new_tokens 50\n"
      "  bora generate runs/brisk-otter-7 --prompts prompts.txt --n 4 --jsonl > texts.jsonl");
  args.positional("model", w.model, "a run, a checkpoint, a Hugging Face directory, or a GGUF file")
      .is_path();
  args.positional("prompt", w.prompt, "the text to continue; default: the beginning of a text", false);
  args.option("--prompts", w.prompts,
              "continue each line of this file, or the \"prompt\" of each of a .jsonl")
      .is_path();
  args.option("--n", w.samples, kSize, "texts for each prompt, each with random numbers of its own");
  args.option("--batch", w.together, kSize, "texts that grow together; the next begins where one ends");
  args.option("--adapter", w.adapter, "put this adapter on the model: a directory as PEFT writes it")
      .is_path();
  w.device.declare(args);
  w.weights.declare(args);
  w.sampling.declare(args);
  args.option("--log_probs", w.log_probs, from_to(0, 100),
              "with --jsonl: log-probabilities of each token and of so many alternatives");
  args.flag("--ids", w.ids, "print token ids instead of text");
  args.flag("--jsonl", w.jsonl, "a JSON object for each text, a line each");
  args.flag("--quiet", w.quiet, "the text alone, no speed");
  args.parse(arguments);
  w.sampling.settle(args);
  return w;
}

void require_consistent(const Wishes& w) {
  const auto refuse = [](std::string_view what) {
    fail(ErrorKind::Usage, "generate: {}\nhint: bora generate --help", what);
  };
  if (!w.prompts.empty() && !w.prompt.empty()) refuse("--prompts beside a prompt; give one of them");
  require_utf8_prompt(w.prompt, "generate");
  if (w.jsonl && w.ids) refuse("--ids beside --jsonl, whose objects hold the ids; leave --ids out");
  if (w.log_probs >= 0 && !w.jsonl)
    refuse("--log_probs without --jsonl, whose objects hold them; add --jsonl");
}

std::vector<std::int32_t> encode(const run::OpenedModel& opened, const std::string& prompt) {
  const auto& tokenizer = opened.require_tokenizer();
  std::vector<std::int32_t> ids;
  if (auto bos = tokenizer.bos_id(); bos && (prompt.empty() || opened.prepend_bos)) ids.push_back(*bos);
  tokenizer.encode_ids(prompt, ids, false, SpecialInText::Ordinary);
  return ids;
}

// All of them, before anything is generated.
std::vector<std::vector<std::int32_t>> encode_all(const run::OpenedModel& opened,
                                                  const std::vector<Prompt>& prompts) {
  std::vector<std::vector<std::int32_t>> out;
  const auto shape = opened.model->shape();
  for (const auto& [text, place] : prompts) {
    out.push_back(encode(opened, text));
    const auto check = [&] { infer::require_prompt(shape, out.back()); };
    if (place.empty())
      check();
    else
      in_context(place, check);
  }
  return out;
}

void tell_speed(std::size_t tokens, double seconds) {
  print_note("bora: {} tokens, {:.1f} tokens/s\n", tokens, static_cast<double>(tokens) / seconds);
}

// Shown as it comes, after its prompt.
int show_growing(const run::OpenedModel& opened, const Wishes& w) {
  const auto ids = encode(opened, w.prompt);
  infer::TextStream stream(opened.require_tokenizer(), ids, w.sampling.stops);
  const double started = monotonic_seconds();
  bool begun = false;  // the prompt is shown once the model has taken it
  const auto begin = [&] {
    if (!w.ids && !begun) fmt::print("{}", for_standard_output(w.prompt));
    begun = true;
  };
  const auto show = [&](std::size_t, std::int32_t id) {
    begin();
    const auto text = stream.push(id);
    fmt::print("{}", w.ids ? fmt::format("{} ", id) : for_standard_output(text));
    std::fflush(stdout);
    return !stream.stopped();
  };
  infer::Generated out;
  run::naming_bad_weights(
      opened, [&] { out = infer::generate_all(*opened.model, {{ids, w.sampling.options}}, show).front(); });
  begin();
  fmt::print("{}\n", w.ids ? "" : for_standard_output(stream.finish()));
  std::fflush(stdout);  // the text ends before what follows it on the other stream
  if (w.quiet) return 0;
  if (out.finish == infer::Finish::Context)
    print_note("bora: the text ends where the model's context of {} tokens is full\n",
               opened.model->shape().seq_len);
  tell_speed(out.ids.size(), monotonic_seconds() - started);
  return 0;
}

// A text of several.
struct Text {
  std::size_t prompt = 0;
  std::uint64_t sample = 0;
  infer::TextStream stream;
  std::string text;
};

Json as_json(const infer::LogProbs& told, std::int32_t id, const Tokenizer& tokenizer) {
  const auto entry = [&](std::int32_t token, double log_prob) {
    return Json{{"id", token}, {"token", tokenizer.token(token).value_or("")}, {"log_prob", log_prob}};
  };
  Json out = entry(id, told.log_prob);
  out["top"] = Json::array();
  for (const auto& other : told.top) out["top"].push_back(entry(other.id, other.log_prob));
  return out;
}

// What the caller asked to end did so at a stop string.
std::string_view reason(infer::Finish finish) {
  return name(finish == infer::Finish::Caller ? infer::Finish::Stop : finish);
}

void print_json(const Text& text, const Prompt& prompt, const infer::Generated& made,
                const Tokenizer& tokenizer) {
  Json out{{"prompt", prompt.text}, {"prompt_index", text.prompt},
           {"sample", text.sample}, {"text", text.text},
           {"ids", made.ids},       {"finish_reason", reason(made.finish)}};
  if (!made.log_probs.empty()) out["log_probs"] = Json::array();
  for (std::size_t i = 0; i < made.log_probs.size(); ++i)
    out["log_probs"].push_back(as_json(made.log_probs[i], made.ids[i], tokenizer));
  fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print_text(const Text& text, const Prompt& prompt, const infer::Generated& made, bool ids) {
  if (ids) {
    std::string line;
    for (const auto id : made.ids) line += (line.empty() ? "" : " ") + std::to_string(id);
    fmt::print("{}\n", line);
  } else {
    fmt::print("--- prompt {}, text {}\n{}{}\n", text.prompt + 1, text.sample + 1,
               for_standard_output(prompt.text), for_standard_output(text.text));
  }
}

// Texts that grow and wait for those before them, so that they are written in the order of the prompts.
class Writer {
 public:
  Writer(const Wishes& w, const std::vector<Prompt>& prompts, const Tokenizer& tokenizer)
      : w_(w), prompts_(prompts), tokenizer_(tokenizer) {}

  /// The next text of the order; it stays where it is until it is written.
  Text& expect(Text text) {
    entries_.push_back({std::move(text), std::nullopt});
    return entries_.back().text;
  }

  void write(infer::Engine::Id id, infer::Generated made) {
    auto& entry = entries_[static_cast<std::size_t>(id - written_)];
    entry.text.text += entry.text.stream.finish();
    entry.made = std::move(made);
    for (; !entries_.empty() && entries_.front().made; ++written_, entries_.pop_front()) {
      const auto& [text, done] = entries_.front();
      const auto& prompt = prompts_[text.prompt];
      w_.jsonl ? print_json(text, prompt, *done, tokenizer_) : print_text(text, prompt, *done, w_.ids);
      std::fflush(stdout);
    }
  }

 private:
  struct Entry {
    Text text;
    std::optional<infer::Generated> made;
  };
  const Wishes& w_;
  const std::vector<Prompt>& prompts_;
  const Tokenizer& tokenizer_;
  std::deque<Entry> entries_;
  infer::Engine::Id written_ = 0;
};

// As many wait as grow, not all at once: how many there are is the user's wish, and costs no memory.
int write_many(const run::OpenedModel& opened, const Wishes& w, const std::vector<Prompt>& prompts) {
  const auto ids = encode_all(opened, prompts);
  const auto& tokenizer = opened.require_tokenizer();
  const double started = monotonic_seconds();
  const auto samples = static_cast<std::uint64_t>(w.samples), all = samples * prompts.size();
  std::size_t tokens = 0;
  infer::Engine engine(*opened.model, {.rows = w.together});
  Writer writer(w, prompts, tokenizer);
  const auto add = [&](std::size_t prompt, std::uint64_t sample) {
    auto& text = writer.expect({prompt, sample, {tokenizer, ids[prompt], w.sampling.stops}, ""});
    infer::Request request{ids[prompt], w.sampling.options};
    request.options.sample = sample;
    engine.add(std::move(request), [&text](std::int32_t id) {
      text.text += text.stream.push(id);
      return !text.stream.stopped();
    });
  };
  std::uint64_t next = 0;
  for (bool going = true; going || next < all;) {
    for (; next < all && engine.waiting() < w.together; ++next) add(next / samples, next % samples);
    run::naming_bad_weights(opened, [&] { going = engine.step(); });
    for (auto& [id, made] : engine.take_done()) {
      tokens += made.ids.size();
      writer.write(id, std::move(made));
    }
  }
  if (!w.quiet) tell_speed(tokens, monotonic_seconds() - started);
  return 0;
}

}  // namespace

int run_generate(const Arguments& arguments) {
  auto w = parse(arguments);
  require_consistent(w);
  const auto weights = w.weights.type("generate");
  const auto prompts = w.prompts.empty() ? std::vector<Prompt>{{w.prompt, ""}} : read_prompts(w.prompts);
  core::initialize();
  const auto device = open_device(w.device, "generate", weights);
  const auto opened = run::open_model(w.model, w.adapter);
  nn::store_weights(*opened.model, weights);
  w.sampling.take_defaults(opened, !w.quiet);
  w.sampling.options.log_probs = w.log_probs;
  return w.one_text() ? show_growing(opened, w) : write_many(opened, w, prompts);
}

}  // namespace bora::cli
