// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "bora/base/env.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/key.h"
#include "bora/base/text.h"

namespace bora::golden {

namespace {

Finished run_line(const std::string& folder, std::vector<std::string> line, double kill_after,
                  const char* out) {
  auto log = folder + "/output.txt";
  std::string leaks_of_mpi = kLeaksOfMpi;
  auto pid = ::fork();
  if (pid == 0) {
    int both = ::open(log.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    int first = out == nullptr ? both : ::open(out, O_WRONLY);
    if (both < 0 || ::dup2(first, 1) < 0 || ::dup2(both, 2) < 0 || ::chdir(folder.c_str()) != 0) ::_exit(126);
    std::vector<char*> argv;
    for (auto& a : line) argv.push_back(a.data());
    argv.push_back(nullptr);
    if (line.size() > 1 && line[1] == "launch") ::putenv(leaks_of_mpi.data());
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  if (kill_after > 0) {
    ::usleep(static_cast<useconds_t>(kill_after * 1e6));
    ::kill(pid, SIGKILL);
  }
  int status = 0;
  rusage usage{};
  ::wait4(pid, &status, 0, &usage);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(log),
          1024.0 * static_cast<double>(usage.ru_maxrss)};
}

std::vector<std::string> mpirun(int workers) {
  return {"env",       kLeaksOfMpi, "mpirun", "--oversubscribe",      "--allow-run-as-root",
          "--bind-to", "none",      "-n",     std::to_string(workers)};
}

}  // namespace

Finished run(const std::string& folder, const std::vector<std::string>& arguments, double kill_after,
             const char* out) {
  std::vector<std::string> line = {BORA_PROGRAM};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return run_line(folder, std::move(line), kill_after, out);
}

Finished run_after(const std::string& folder, const std::string& commands,
                   const std::vector<std::string>& arguments) {
  std::vector<std::string> line = {"sh", "-c", commands + R"(; exec "$0" "$@")", BORA_PROGRAM};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return run_line(folder, std::move(line), 0, nullptr);
}

Finished run_workers(const std::string& folder, int workers, const std::vector<std::string>& arguments) {
  auto line = mpirun(workers);
  line.emplace_back(BORA_PROGRAM);
  line.insert(line.end(), arguments.begin(), arguments.end());
  return run_line(folder, std::move(line), 0, nullptr);
}

Finished run_unlike_workers(const std::string& folder, const std::vector<std::string>& arguments,
                            const std::string& variable) {
  auto line = mpirun(1);
  line.emplace_back(BORA_PROGRAM);
  line.insert(line.end(), arguments.begin(), arguments.end());
  line.insert(line.end(), {":", "-n", "1", "-x", variable, BORA_PROGRAM});
  line.insert(line.end(), arguments.begin(), arguments.end());
  return run_line(folder, std::move(line), 0, nullptr);
}

bool can_run_workers() {
#ifdef BORA_MPI_BUILT
  return std::system("command -v mpirun >/dev/null") == 0;
#else
  return false;
#endif
}

namespace {

// Words of a small made-up language: enough for a tokenizer and a model to find something.
std::string made_up_text(std::uint64_t seed, int words) {
  constexpr const char* kWords[] = {"the",    "moon", "is",    "a",     "compiler", "of",
                                    "dreams", "and",  "light", "falls", "on",       "water"};
  auto key = Key::from_seed(seed);
  std::string text;
  for (int i = 0; i < words; ++i) {
    text += kWords[key.below(12, static_cast<std::uint64_t>(i))];
    text += i % 11 == 10 ? ".\n" : " ";
  }
  return text;
}

constexpr const char* kConfig = R"(data:
  configs:
    one: {train_urls: ["one.txt"]}
    two: {train_urls: ["two.txt"]}
  train_weights: {one: 0.7, two: 0.3}
  mixture_block_size: 16
  num_validation_sequences: {one: 4, two: 4}
  train_tokenizer: {vocab_size: 300}
  cache_dir: cache
  permutation_type: feistel
model:
  type: gpt2
  seq_len: 32
  hidden_dim: 32
  num_heads: 4
  num_layers: 2
  embed_pdrop: 0.1
  resid_pdrop: 0.1
  attn_pdrop: 0.1
trainer:
  id: run
  train_batch_size: 8
  num_train_steps: 40
  lanes: 2
  steps_per_eval: 0
  checkpointer: {base_path: runs, save_interval: null, keep: [{every: 1}]}
optimizer: {learning_rate: 3e-3, warmup: 5}
)";

}  // namespace

namespace {

void copy_folder(const std::string& from, const std::string& to, std::int64_t last_step) {
  files().make_directories(to);
  for (const auto& name : files().list(from)) {
    const bool later = name.starts_with("step-") && parse_int(name.substr(5)).value_or(0) > last_step;
    if (later || (name == "runs" && last_step == 0)) continue;
    const auto source = path_join(from, name), target = path_join(to, name);
    if (files().info(source)->is_directory) {
      copy_folder(source, target, last_step);
      continue;
    }
    const auto file = files().create(target);
    file->write(as_bytes(read_text(source)));
    file->close();
  }
}

}  // namespace

std::string copy_project(const std::string& project, const std::string& name, std::int64_t step) {
  auto folder = testing::TempDir() + "bora_golden_" + name;
  remove_all(folder);
  copy_folder(project, folder, step);
  return folder;
}

std::string small_project(const std::string& name) {
  env::prefer("HF_HUB_OFFLINE", "1");  // no test asks the network
  auto folder = testing::TempDir() + "bora_golden_" + name;
  remove_all(folder);
  files().make_directories(folder);
  write_atomically(folder + "/one.txt", made_up_text(1, 6000));
  write_atomically(folder + "/two.txt", made_up_text(2, 3000));
  write_atomically(folder + "/config.yaml", kConfig);
  return folder;
}

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<double> losses(const std::string& project) {
  std::vector<double> out;
  for (const auto& line : split(read_text(project + "/runs/run/metrics.jsonl"), '\n')) {
    const auto record = line.empty() ? Json() : Json::parse(line);
    if (record.contains("train/loss")) out.push_back(record["train/loss"].get<double>());
  }
  return out;
}

void for_each_file(const std::string& folder, const std::function<void(const std::string&)>& look) {
  for (const auto& name : files().list(folder)) {
    const auto path = path_join(folder, name);
    files().info(path)->is_directory ? for_each_file(path, look) : look(path);
  }
}

}  // namespace bora::golden
