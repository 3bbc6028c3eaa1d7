// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::env {

/// The only place that reads environment variables. Every variable Bora looks at has a line here; `all()`
/// lists them for `bora version` and the run record.
std::optional<std::string> home();      ///< HOME
std::string cache_directory();          ///< BORA_CACHE, else XDG_CACHE_HOME/bora, else ~/.cache/bora
std::optional<std::string> run_id();    ///< RUN_ID, as Levanter
std::optional<std::int64_t> threads();  ///< BORA_THREADS, else OMP_NUM_THREADS
/// Before OpenMP's library starts, which speaks of a wrong OMP_NUM_THREADS in words of its own: it sees none, and threads()
/// refuses it all the same, unless BORA_THREADS is set.
void hide_wrong_threads();
std::optional<std::string> checkout();  ///< BORA_CHECKOUT, which ./bora sets
bool no_color();                        ///< NO_COLOR set and not empty
bool plain_terminal();                  ///< TERM is dumb or not set: only whole lines can be shown
bool ascii_locale();                    ///< LC_ALL, else LC_CTYPE, else LANG says another charset than UTF-8
std::optional<std::string> cpu_target();  ///< BORA_CPU_TARGET: best SIMD target to use
std::optional<std::string> hostname();    ///< HOSTNAME, else gethostname

/// What huggingface_hub reads, and Bora as it does.
std::string hub_home();  ///< HF_HOME, else XDG_CACHE_HOME/huggingface, else ~/.cache/huggingface
std::optional<std::string> hub_cache();       ///< HF_HUB_CACHE
std::optional<std::string> hub_endpoint();    ///< HF_ENDPOINT
std::optional<std::string> hub_token();       ///< HF_TOKEN
std::optional<std::string> hub_token_path();  ///< HF_TOKEN_PATH
bool hub_offline();  ///< HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is 1, true, yes or on

/// Values that nobody may see: of HF_TOKEN, and of variables of other programs that hold a key to something,
/// WANDB_API_KEY, AWS_SECRET_ACCESS_KEY and the like. Shorter than 8 bytes, a value is no secret but a word.
std::vector<std::string> secrets();

/// What libcurl asks through instead of the servers themselves, as the variables have it
/// ("http://name:password@host:port", "host:port"): http_proxy, https_proxy, HTTPS_PROXY, all_proxy,
/// ALL_PROXY.
std::vector<std::string> proxies();

/// A variable that a launcher sets for the workers it starts (mpirun, srun, torchrun); none if it is empty.
std::optional<std::string> launcher(const std::string& name);

/// Any other variable, for tests that look for programs to compare with.
std::optional<std::string> for_tests(const std::string& name);

/// All variables, as a program that this one starts gets them.
char** inherited();

/// Sets a variable for a library that reads it when it is first used, unless it is set. Before threads start.
void prefer(const std::string& name, const std::string& value);

struct Variable {
  std::string_view name;
  std::string_view meaning;
  std::optional<std::string> value;
};
std::vector<Variable> all();

}  // namespace bora::env
