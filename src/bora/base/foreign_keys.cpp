// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/foreign_keys.h"

#include <algorithm>
#include <array>

#include "bora/base/text.h"

namespace bora {
namespace {

constexpr auto kForeignKeys = std::to_array<ForeignKey>({
    {"amp", "trainer.mp", "p=f32,c=bf16"},
    {"base_path", "trainer.checkpointer.base_path", ""},
    {"batch_size", "trainer.train_batch_size", ""},
    {"bf16", "trainer.mp", "p=f32,c=bf16"},
    {"block_size", "model.seq_len", ""},
    {"bsz", "trainer.train_batch_size", ""},
    {"context_length", "model.seq_len", ""},
    {"data_path", "data.train_urls", ""},
    {"dataset", "data.train_urls", ""},
    {"dtype", "trainer.mp", ""},
    {"eval_steps", "trainer.steps_per_eval", ""},
    {"fp16", "trainer.mp", "p=f32,c=bf16"},
    {"global_batch_size", "trainer.train_batch_size", ""},
    {"hidden_size", "model.hidden_dim", ""},
    {"id", "trainer.id", ""},
    {"iterations", "trainer.num_train_steps", ""},
    {"lr", "optimizer.learning_rate", ""},
    {"lr_scheduler", "optimizer.lr_schedule", ""},
    {"lr_scheduler_type", "optimizer.lr_schedule", ""},
    {"max_iters", "trainer.num_train_steps", ""},
    {"max_length", "model.seq_len", ""},
    {"max_seq_len", "model.seq_len", ""},
    {"max_seq_length", "model.seq_len", ""},
    {"max_steps", "trainer.num_train_steps", ""},
    {"mixed_precision", "trainer.mp", "p=f32,c=bf16"},
    {"n_embd", "model.hidden_dim", ""},
    {"n_head", "model.num_heads", ""},
    {"n_layer", "model.num_layers", ""},
    {"name", "trainer.id", ""},
    {"num_hidden_layers", "model.num_layers", ""},
    {"num_steps", "trainer.num_train_steps", ""},
    {"out_dir", "trainer.checkpointer.base_path", ""},
    {"output_dir", "trainer.checkpointer.base_path", ""},
    {"per_device_train_batch_size", "trainer.train_batch_size", ""},
    {"precision", "trainer.mp", ""},
    {"report_to", "trainer.tracker", ""},
    {"run_name", "trainer.id", ""},
    {"save_dir", "trainer.checkpointer.base_path", ""},
    {"save_steps", "trainer.checkpointer.keep", "[{every: 1000}]"},
    {"seed", "trainer.seed", ""},
    {"steps", "trainer.num_train_steps", ""},
    {"train_file", "data.train_urls", ""},
    {"train_steps", "trainer.num_train_steps", ""},
    {"training", "trainer", ""},
    {"validation_file", "data.validation_urls", ""},
    {"wandb", "trainer.tracker", "{type: wandb}"},
    {"warmup_steps", "optimizer.warmup", ""},
    {"weight_decay", "optimizer.weight_decay", ""},
});

}  // namespace

const ForeignKey* foreign_key(std::string_view word) {
  auto spelt = ascii_lower(word);
  std::replace(spelt.begin(), spelt.end(), '-', '_');
  const auto* found = std::find_if(kForeignKeys.begin(), kForeignKeys.end(),
                                   [&](const ForeignKey& key) { return key.word == spelt; });
  return found == kForeignKeys.end() ? nullptr : found;
}

}  // namespace bora
