// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/env.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::env {
namespace {

constexpr std::string_view kProxy = "server to fetch URLs through (libcurl); NO_PROXY names exceptions";
constexpr std::string_view kToken = "token for models of the hub that not everybody may read";
constexpr const char* kHidden = "BORA_OMP_NUM_THREADS";
constexpr const char* kProxies[] = {"ALL_PROXY", "HTTPS_PROXY", "all_proxy", "http_proxy", "https_proxy"};

constexpr std::pair<std::string_view, std::string_view> kVariables[] = {
    {"ALL_PROXY", kProxy},
    {"BORA_CACHE", "folder for downloads and caches"},
    {"BORA_CHECKOUT", "set by ./bora: the checkout whose scripts build plug-ins when a command needs them"},
    {"BORA_CPU_TARGET", "best SIMD target to use: AVX3 (AVX-512 without AMX) or AVX2"},
    {"BORA_OMP_NUM_THREADS",
     "set by bora: an OMP_NUM_THREADS that is no number, of which libgomp would speak"},
    {"BORA_THREADS", "number of threads"},
    {"HF_ENDPOINT", "server of the Hugging Face hub"},
    {"HF_HOME", "folder of what Hugging Face's programs keep"},
    {"HF_HUB_CACHE", "folder of models from the hub"},
    {"HF_HUB_OFFLINE", "1: the hub is not asked"},
    {"HF_TOKEN", kToken},
    {"HF_TOKEN_PATH", "file with the token for the hub"},
    {"HOME", "the home folder, where ~/.cache/bora is"},
    {"HOSTNAME", "name of this machine in run records"},
    {"HTTPS_PROXY", kProxy},
    {"LANG", "language of the terminal, where neither LC_ALL nor LC_CTYPE is set"},
    {"LC_ALL",
     "C or a charset that is not UTF-8: only ASCII is shown; other letters, those of samples too, as ?"},
    {"LC_CTYPE", "the same, where LC_ALL is not set"},
    {"NO_COLOR", "not empty: no colours on the terminal"},
    {"OMP_NUM_THREADS", "number of threads, where BORA_THREADS is not set"},
    {"RUN_ID", "identity of the run"},
    {"TERM", "dumb or not set: whole lines on the terminal, no bars that move and no colours"},
    {"TRANSFORMERS_OFFLINE", "1: the hub is not asked"},
    {"XDG_CACHE_HOME", "folder of all caches, where BORA_CACHE is not set"},
    {"all_proxy", kProxy},
    {"http_proxy", kProxy},
    {"https_proxy", kProxy},
};

// An empty variable counts as absent: that is how shells "unset" one for a single command.
std::optional<std::string> read(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// Files of settings that no shell reads give "~/x" by its letters.
std::optional<std::string> read_path(const char* name) {
  auto path = read(name);
  const auto home = read("HOME");
  if (path && home && (*path == "~" || path->starts_with("~/"))) path->replace(0, 1, *home);
  return path;
}

std::optional<std::int64_t> positive(const char* name, const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const auto value = parse_int(trim(*text));
  if (!value || *value < 1) {
    fail(ErrorKind::Usage, "{0} should be a positive integer but is \"{1}\"\nhint: {0}=4, or unset {0}", name,
         *text);
  }
  return value;
}

}  // namespace

std::optional<std::string> home() { return read("HOME"); }

std::string cache_directory() {
  if (auto own = read_path("BORA_CACHE")) return *own;
  if (auto xdg = read_path("XDG_CACHE_HOME")) return *xdg + "/bora";
  if (auto folder = home()) return *folder + "/.cache/bora";
  fail(ErrorKind::Usage,
       "no place for caches: neither BORA_CACHE, XDG_CACHE_HOME nor HOME is set\n"
       "hint: set BORA_CACHE to a folder");
}

std::optional<std::string> launcher(const std::string& name) { return read(name.c_str()); }

char** inherited() { return environ; }

std::optional<std::string> for_tests(const std::string& name) { return read(name.c_str()); }

std::optional<std::string> run_id() { return read("RUN_ID"); }

std::optional<std::int64_t> threads() {
  if (auto own = read("BORA_THREADS")) return positive("BORA_THREADS", own);
  auto omp = read("OMP_NUM_THREADS");
  if (!omp) omp = read(kHidden);
  if (omp) omp->resize(std::min(omp->find(','), omp->size()));  // "4,2": one number per nesting level
  return positive("OMP_NUM_THREADS", omp);
}

void hide_wrong_threads() {
  const auto omp = read("OMP_NUM_THREADS");
  if (!omp || parse_int(trim(omp->substr(0, omp->find(',')))).value_or(0) > 0) return;
  if (!read("BORA_THREADS")) setenv(kHidden, omp->c_str(), 1);
  unsetenv("OMP_NUM_THREADS");
}

std::string hub_home() {
  if (auto own = read_path("HF_HOME")) return *own;
  if (auto xdg = read_path("XDG_CACHE_HOME")) return *xdg + "/huggingface";
  return home().value_or(".") + "/.cache/huggingface";
}
std::optional<std::string> hub_cache() { return read_path("HF_HUB_CACHE"); }
std::optional<std::string> hub_endpoint() { return read("HF_ENDPOINT"); }
std::optional<std::string> hub_token() { return read("HF_TOKEN"); }
std::optional<std::string> hub_token_path() { return read_path("HF_TOKEN_PATH"); }
bool hub_offline() {
  for (const char* name : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}) {
    const auto value = ascii_lower(read(name).value_or(""));
    if (value == "1" || value == "true" || value == "yes" || value == "on") return true;
  }
  return false;
}

std::optional<std::string> checkout() { return read("BORA_CHECKOUT"); }

std::vector<std::string> secrets() {
  constexpr std::size_t kShortest = 8;
  std::vector<std::string> out;
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY",
                           "AWS_SESSION_TOKEN", "COMET_API_KEY", "NEPTUNE_API_TOKEN"}) {
    auto value = read(name);
    if (value && value->size() >= kShortest) out.push_back(*std::move(value));
  }
  return out;
}

std::vector<std::string> proxies() {
  std::vector<std::string> out;
  for (const char* name : kProxies) {
    if (auto proxy = read(name)) out.push_back(*std::move(proxy));
  }
  return out;
}

bool no_color() { return read("NO_COLOR").has_value(); }
bool plain_terminal() { return read("TERM").value_or("dumb") == "dumb"; }

// "de_DE.UTF-8@euro", "C", "C.utf8", "ru_RU.KOI8-R". Without a charset, and where nothing is said, nobody knows:
// most terminals of today show UTF-8.
bool ascii_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    auto locale = read(name);
    if (!locale) continue;
    if (*locale == "C" || *locale == "POSIX") return true;
    const auto dot = locale->find('.');
    if (dot == locale->npos) return false;
    std::string charset;
    for (const char c : locale->substr(dot + 1, locale->find('@') - dot - 1))
      if (c != '-') charset += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return charset != "utf8";
  }
  return false;
}
std::optional<std::string> cpu_target() { return read("BORA_CPU_TARGET"); }

std::optional<std::string> hostname() {
  if (auto name = read("HOSTNAME")) return name;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return std::nullopt;
  return name.data();
}

void prefer(const std::string& name, const std::string& value) {
  ::setenv(name.c_str(), value.c_str(), 0);  // 0: a value that is there stays
}

std::vector<Variable> all() {
  std::vector<Variable> variables;
  for (const auto& [name, meaning] : kVariables) {
    auto value = read(std::string(name).c_str());
    // A proxy's password may stand there without the scheme that makes a URL of it.
    if (value && (meaning == kProxy || meaning == kToken)) value = "(set)";
    variables.push_back({name, meaning, std::move(value)});
  }
  return variables;
}

}  // namespace bora::env
