// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Texts that come, grow and go, each at its own time.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bora/infer/request.h"
#include "bora/nn/kv_cache.h"
#include "bora/nn/language_model_interface.h"

namespace bora::infer {

struct EngineOptions {
  std::int64_t rows = 8;  ///< texts that grow together; others wait, first come, first served
  /// Of prompts, at most so many tokens are read between two tokens of the texts that grow, to the next end of a
  /// chunk: what is read first holds the others up no longer than that.
  std::int64_t prompt_tokens = 512;
};

/// Continues requests with one model and one cache of keys and values. A step reads some of the prompts that are
/// not yet read and adds a token to every text that grows; requests may be added and cancelled between steps.
///
/// A request gets the tokens, and its logits the bits, that it gets alone: they depend on the model, on the request
/// and on nothing else, not on the options above either. Prompts are read in chunks that end at whole multiples of
/// kChunk positions, wherever the others are: shorter chunks would make long prompts slower, longer ones hold the
/// others up. Requests of one prompt that are there together read it once and share its pages. Prompts of as many
/// tokens, kTogether at most, and short ones, kShort at most, are read in one pass, as many as prompt_tokens allow:
/// of such prompts most of the time goes into reading the weights.
///
/// Where several workers hold the model, all make the same calls. After an error the engine is of no use.
class Engine {
 public:
  using Id = std::int64_t;
  using OnToken = std::function<bool(std::int32_t id)>;
  static constexpr std::int64_t kChunk = 2048, kTogether = 64, kShort = 16;  // few rows of core::RowsApart

  explicit Engine(const nn::LanguageModel& model, EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Ids count from 0. `on_token` is called with each new token; false ends the text after it. Errors as
  /// require_prompt.
  Id add(Request request, OnToken on_token = {});
  /// Ends a text where it is (Finish::Caller); false where it has ended already.
  bool cancel(Id id);
  /// False where nothing is left to do. NonFinite for logits from which no token can be drawn.
  bool step();

  struct Done {
    Id id;
    Generated text;
  };
  /// Texts that have ended since the last call, in the order in which they did.
  std::vector<Done> take_done();

  std::int64_t waiting() const { return std::ssize(waiting_); }
  std::int64_t growing() const { return std::ssize(active_); }
  const nn::KvCache& cache() const { return cache_; }
  /// For tests: sees the logits of every token that is drawn.
  void observe(std::function<void(Id id, std::span<const float> logits)> see) { see_ = std::move(see); }

 private:
  struct Text;
  struct ReadPrompt;  // by a text, for those that wait with the same one
  void admit();
  void begin(Text& text);
  void read_prompts();
  std::vector<Text*> next_to_read(std::int64_t room);
  bool are_read_together(const Text& a, const Text& b) const;
  std::int64_t read_chunk(const std::vector<Text*>& texts);
  void share_prompt(Text& text, std::span<const float> logits);
  void grow();
  void take(Text& text, std::span<const float> logits);
  void end(Text& text, Finish finish);
  void sweep();

  const nn::LanguageModel& model_;
  nn::ModelShape shape_;
  EngineOptions options_;
  nn::KvCache cache_;
  std::deque<std::unique_ptr<Text>> waiting_;
  std::vector<std::unique_ptr<Text>> active_;
  std::vector<ReadPrompt> read_;
  std::vector<Done> done_;
  Id next_ = 0;
  std::function<void(Id, std::span<const float>)> see_;
};

}  // namespace bora::infer
