// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/front.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "bora/base/clock.h"
#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/locale_text.h"
#include "bora/base/output.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/base/typed_config.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/train_arguments.h"
#include "bora/mesh/launch.h"
#include "bora/models/builtin.h"
#include "bora/optim/builtin.h"
#include "bora/run/hf_start.h"

namespace bora::cli {
namespace {

void check(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "train") return;
  auto train = parse_train_arguments({arguments.begin() + 1, arguments.end()});
  run::load_run(train.paths, train.overrides, run::MissingModel::Recorded);
}

// All workers of a run read the same command and configuration.
void say(const std::string& error) {
  if (mesh::is_to_speak()) print_note("bora: {}\n", redact(error));
}

// So much is needed to load the libraries and to say what else is wrong; with less the loader, or what runs before main,
// ends the process.
constexpr rlim_t kLeastAddresses = 512 << 20;

void require_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kLeastAddresses) return;
  fail(
      ErrorKind::Io,
      "memory: this process may have {} (ulimit -v), and {} are needed at least\nhint: ulimit -v unlimited, or a "
      "larger limit",
      human_bytes(static_cast<double>(limit.rlim_cur)), human_bytes(kLeastAddresses));
}

bool computes(char** argv) {
  const auto others = {"help", "--help", "-h", "--flags", "--describe", "completion", "doctor"};
  const auto is_other = [&](const std::string& word) {
    return std::any_of(others.begin(), others.end(), [&](const char* other) { return word == other; });
  };
  for (char** word = argv + 1; *word != nullptr; ++word)
    if (word == argv + 1 ? is_other(*word) : std::string(*word) == "--help") return false;
  return argv[1] != nullptr;
}

// Libraries are found from it.
void require_folder() {
  std::error_code error;
  (void)std::filesystem::current_path(error);
  if (error)
    fail(ErrorKind::NotFound, "the current folder: {}\nhint: it was removed; cd to one that is there",
         error.message());
}

// bora-run stands beside this program.
[[noreturn]] void become_program(char** argv) {
  require_addresses();
  if (computes(argv)) (void)env::threads();
  env::hide_wrong_threads();
  char self[4096];
  auto n = ::readlink("/proc/self/exe", self, sizeof self - 1);
  auto program = parent_path(std::string(self, n > 0 ? static_cast<std::size_t>(n) : 0)) + "/bora-run";
  ::execv(program.c_str(), argv);
  fail(ErrorKind::NotFound, "{} cannot be started\nhint: build or install Bora again", program);
}

// What this program does not know, such as a model type, bora-run may; if not, it says so.
int hand_over(char** argv) {
  try {
    become_program(argv);
  } catch (const Error& e) {
    say(e.what());
    return exit_code(e.kind());
  }
}

}  // namespace

int front(int argc, char** argv) {
  hold_standard_streams();
  begin_here();
  try {
    require_folder();
    leave_unknown_types_to_others();
    models::add_builtin_configs();
    optim::add_builtin_optimizer_configs();
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (!arguments.empty() && arguments[0] == "launch")
      return run_launch({arguments.begin() + 1, arguments.end()});
    check(arguments);
    become_program(argv);
  } catch (const HelpShown&) {
    return 0;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::Unsupported) return hand_over(argv);
    say(e.what());
    return exit_code(e.kind());
  } catch (const std::bad_alloc&) {
    say("out of memory\nhint: ulimit -v says how much this process may have");
    return exit_code(ErrorKind::Io);
  } catch (const std::exception& e) {
    say(fmt::format("internal error: {}", e.what()));
    return 1;
  }
}

}  // namespace bora::cli
