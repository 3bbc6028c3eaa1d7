// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/tokenize/tokenizer.h"

#include <limits>
#include <tuple>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/parallel.h"
#include "bora/tokenize/chat_template.h"
#include "bora/tokenize/formats/tokenizer_files.h"
#include "bora/tokenize/pipeline.h"
#include "bora/unicode/unicode.h"

namespace bora {

namespace {

/// `text`, or a repaired copy in `storage`.
std::string_view valid_text(std::string_view text, std::string& storage) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    fail(ErrorKind::InvalidArgument,
         "encode: a text of {} bytes; at most 4 GiB at a time\nhint: encode it in parts", text.size());
  }
  if (bora::is_valid_utf8(text)) return text;
  storage = bora::utf8_lossy(text);
  return storage;
}

Tokenizer assemble(std::string_view tokenizer_json, std::string_view config, const std::string& name,
                   const std::string& config_name) {
  auto pipeline = tokenize::read_pipeline(tokenizer_json, name);
  if (!config.empty()) {
    pipeline->config = parse_json(config, config_name);
    if (!pipeline->config.is_object()) {
      fail(ErrorKind::Corruption, "{}: should be an object but is {}", config_name,
           pipeline->config.type_name());
    }
  }
  pipeline->finish(config_name);
  ChatTemplates templates = chat_templates_of(pipeline->config, config_name);
  return Tokenizer(std::move(pipeline), std::move(templates));
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const tokenize::Pipeline> pipeline, ChatTemplates templates)
    : pipeline_(std::move(pipeline)),
      templates_(std::make_shared<const ChatTemplates>(std::move(templates))) {}

Tokenizer Tokenizer::with_chat_template(std::string text) const {
  ChatTemplates templates = chat_templates();
  templates[std::string(kDefaultTemplate)] = std::move(text);
  return Tokenizer(pipeline_, std::move(templates));
}

std::map<std::string, std::string> Tokenizer::special_tokens() const {
  const Json& given = pipeline_->config;
  return ChatTemplate::special_tokens(given.empty() ? Json::parse(tokenize::config_json(*pipeline_)) : given);
}

Tokenizer Tokenizer::load(const std::string& path) {
  const tokenize::TokenizerFiles files = tokenize::find_tokenizer(path);
  auto pipeline = tokenize::read_tokenizer(files);
  pipeline->finish(files.config.empty() ? "tokenizer_config.json" : files.config);
  ChatTemplates templates = read_chat_templates(parent_path(files.main));
  if (templates.empty()) templates = chat_templates_of(pipeline->config, files.config);
  return Tokenizer(std::move(pipeline), std::move(templates));
}

Tokenizer Tokenizer::from_json(std::string_view tokenizer_json, std::string_view config_json,
                               std::string_view name) {
  return assemble(tokenizer_json, config_json, std::string(name), "tokenizer_config.json");
}

Encoding Tokenizer::encode(std::string_view text, bool add_special, SpecialInText in_text) const {
  std::string storage;
  Encoding encoding = pipeline_->encode(valid_text(text, storage), in_text);
  if (add_special) {
    const auto& [before, after] = std::tie(pipeline_->post_processor.before, pipeline_->post_processor.after);
    encoding.ids.insert(encoding.ids.begin(), before.begin(), before.end());
    encoding.offsets.insert(encoding.offsets.begin(), before.size(), CodePointSpan{});
    encoding.ids.insert(encoding.ids.end(), after.begin(), after.end());
    encoding.offsets.insert(encoding.offsets.end(), after.size(), CodePointSpan{});
  }
  return encoding;
}

void Tokenizer::encode_ids(std::string_view text, std::vector<std::int32_t>& out, bool add_special,
                           SpecialInText in_text, bool piece_cache) const {
  const auto& post = pipeline_->post_processor;
  std::string storage;
  if (add_special) out.insert(out.end(), post.before.begin(), post.before.end());
  pipeline_->encode_ids(valid_text(text, storage), out, in_text, piece_cache);
  if (add_special) out.insert(out.end(), post.after.begin(), post.after.end());
}

std::vector<std::vector<std::int32_t>> Tokenizer::encode_batch(std::span<const std::string_view> texts,
                                                               bool add_special, SpecialInText in_text,
                                                               int threads) const {
  constexpr std::size_t kEnough = std::size_t{1} << 16;  // bytes that are worth being told to a thread
  std::vector<std::size_t> begins{0};                    // of tasks
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    bytes += texts[i].size();
    if (bytes < kEnough) continue;
    begins.push_back(i + 1);
    bytes = 0;
  }
  if (begins.back() < texts.size()) begins.push_back(texts.size());
  std::vector<std::vector<std::int32_t>> all(texts.size());
  const auto task = [&](std::int64_t n) {
    const auto at = static_cast<std::size_t>(n);
    std::vector<std::int32_t> ids;  // grows once; what is kept has its own size
    for (std::size_t i = begins[at]; i < begins[at + 1]; ++i) {
      ids.clear();
      encode_ids(texts[i], ids, add_special, in_text);
      all[i] = ids;
    }
  };
  parallel_for(std::ssize(begins) - 1, task, threads);
  return all;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  return pipeline_->decode(ids, skip_special);
}

std::optional<std::int32_t> Tokenizer::id_of(std::string_view token) const { return pipeline_->id_of(token); }

std::optional<std::string> Tokenizer::token(std::int32_t id) const {
  const auto text = pipeline_->token(id);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

bool Tokenizer::is_special(std::int32_t id) const {
  const auto text = pipeline_->token(id);
  return text && pipeline_->added.is_special(*text);
}

bool Tokenizer::is_byte(std::int32_t id) const { return pipeline_->is_fallback(id); }

std::int64_t Tokenizer::vocab_size() const { return pipeline_->vocab_size(); }
std::optional<std::int32_t> Tokenizer::bos_id() const { return pipeline_->bos; }
std::optional<std::int32_t> Tokenizer::eos_id() const { return pipeline_->eos; }
std::optional<std::int32_t> Tokenizer::pad_id() const { return pipeline_->pad; }
std::optional<std::int32_t> Tokenizer::unk_id() const { return pipeline_->unk; }
const std::vector<std::int32_t>& Tokenizer::bytes_per_token() const { return pipeline_->bytes_per_token; }
Hash128 Tokenizer::fingerprint() const { return pipeline_->fingerprint; }

std::vector<std::pair<std::string, std::string>> Tokenizer::files() const {
  std::vector<std::pair<std::string, std::string>> out = {
      {"tokenizer.json", pipeline_->json()}, {"tokenizer_config.json", tokenize::config_json(*pipeline_)}};
  for (auto& file : chat_template_files(chat_templates())) out.push_back(std::move(file));
  return out;
}

void Tokenizer::save(const std::string& directory) const {
  for (const auto& [name, content] : files()) {
    const std::string path = path_join(directory, name);
    bora::files().make_directories(parent_path(path));
    write_atomically(path, content);
  }
}

}  // namespace bora
