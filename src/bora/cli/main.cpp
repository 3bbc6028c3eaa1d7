// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/main.h"

#include <cxxabi.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <typeinfo>

#include "bora/base/error.h"
#include "bora/base/locale_text.h"
#include "bora/base/output.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/describe.h"
#include "bora/cli/man_page.h"
#include "bora/core/out_of_memory.h"
#include "bora/core/runtime.h"
#include "bora/models/builtin.h"
#include "bora/optim/builtin.h"

namespace bora::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"train", "train a model as a configuration file says", run_train},
      {"launch", "train with several workers, watched over and started again", run_launch},
      {"eval", "evaluate a checkpoint or a Hugging Face model on each data source", run_eval},
      {"generate", "continue a text", run_generate},
      {"chat", "talk with a model by its chat template", run_chat},
      {"transcribe", "write what is said in files of sound", run_transcribe},
      {"wer", "word error rate of what was heard against what was said", run_wer},
      {"train-tokenizer", "train a byte-level BPE tokenizer on text files", run_train_tokenizer},
      {"tokenize", "turn text into ids and back", run_tokenize},
      {"cache", "build or check the token cache of a configuration", run_cache},
      {"data", "show a batch, or what the data sets are like", run_data},
      {"config", "explain, compare and rewrite configurations", run_config},
      {"import", "make a checkpoint from a Hugging Face model or a GGUF file", run_import},
      {"export", "write a checkpoint in the Hugging Face layout", run_export},
      {"forward", "logits, loss, hidden states and gradients of given ids", run_forward},
      {"senses", "what each sense vector of a word predicts, in a Backpack", run_senses},
      {"diff", "compare two checkpoints, exports or tensor files bit by bit", run_diff},
      {"inspect", "show what a checkpoint, cache, tokenizer or tensor file holds", run_inspect},
      {"runs", "list runs: state, step, loss, and the command that comes next", run_runs},
      {"report", "draw a run, or several over each other, as one page", run_report},
      {"bench", "time a training step and its parts", run_bench},
      {"completion", "what bash, zsh or fish need to complete this program's words", run_completion},
      {"doctor", "whether what Bora needs of this machine is there and works", run_doctor},
      {"version", "versions, machine and environment", run_version},
  };
  return all;
}

namespace {

void print_help() {
  fmt::print("Bora trains language models.\n\nUsage: bora COMMAND [arguments]\n\n");
  for (const auto& c : commands()) fmt::print("  {:<16} {}\n", c.name, c.summary);
  fmt::print(
      "\nbora help COMMAND shows each command's flags and examples, bora help --man [COMMAND] as a manual page.\n"
      "Start with: bora train recipes/quickstart.yaml\n");
}

// Every command's flags, a line each: the list that a test keeps frozen.
int print_flags() {
  for (const auto& command : command_specs(commands()))
    for (const auto& argument : command.arguments) fmt::print("{} {}\n", command.name, argument.name);
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  const bool asks = !arguments.empty() && arguments[0] == "help";
  if (asks && arguments.size() > 1 && arguments[1] == "--man")
    return print_man_page({arguments.begin() + 2, arguments.end()});
  if (asks && arguments.size() > 1) return run({arguments[1], "--help"});
  if (asks || arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    print_help();
    return arguments.empty() ? 2 : 0;
  }
  if (arguments[0] == "--flags") return print_flags();
  if (arguments[0] == "--describe") return describe({arguments.begin() + 1, arguments.end()});
  if (arguments[0] == "--version" || arguments[0] == "-V") return run_version({});
  std::vector<std::string> names;
  for (const auto& c : commands()) {
    if (c.name == arguments[0]) return c.run({arguments.begin() + 1, arguments.end()});
    names.emplace_back(c.name);
  }
  const auto& first = arguments[0];
  const auto hint = first.ends_with(".yaml") || first.ends_with(".yml") ? "bora train " + first
                    : first == "-v" || first == "--v" || first == "-version"
                        ? "bora -V, or bora --version, shows the version"
                    : first.starts_with('-')
                        ? "the command comes first, then its flags; bora --help lists commands"
                        : "bora --help lists them";
  fail(ErrorKind::Usage, "unknown command {}{}\nhint: {}", first, did_you_mean(ascii_lower(first), names),
       hint);
}

// Whoever reads has enough: `bora inspect ... | head`. The end is that of any program that writes into a
// closed pipe, also where SIGPIPE is ignored.
constexpr int kClosedPipe = 128 + SIGPIPE;

// What was printed may still wait in a buffer; a full disk shows only now.
int flush_output(int code) {
  if (output_is_lost(Output::Standard)) return code;  // the run went on without it
  int error = output_error();
  if (error == 0 && std::fflush(stdout) != 0) error = errno;
  if (error == 0 && std::ferror(stdout) != 0) error = EIO;
  if (error == EPIPE) return kClosedPipe;
  if (error == 0) return code;
  fail(ErrorKind::Io, "standard output cannot be written: {}", std::strerror(error));
}

// Every error ends with what to do next: where it does not say it itself, in general words.
std::string_view general_hint(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Corruption:
      return "it was changed or cut, or is something else: mend it, copy or download it again, or name another";
    case ErrorKind::NotFound:
      return "is the path right? It is relative to the folder in which bora was started";
    case ErrorKind::Io:
      return "look at the path, who may write there, and how much room there is";
    default:
      return "";
  }
}

// "data set one: s3://bucket/x.txt: no answer": of an address, no path.
bool is_of_an_address(const std::string& text) {
  return text.substr(0, text.find('\n')).find("://") != text.npos;
}

// "export: --dtype is ..." and the like.
std::string help_of(const std::string& text) {
  const auto words = text.substr(0, text.find(':'));
  const auto command = words.substr(0, words.find(' '));
  const auto& all = commands();
  const bool known = std::any_of(all.begin(), all.end(), [&](const Command& c) { return c.name == command; });
  return known ? fmt::format("bora {} --help", command) : "";
}

std::string with_hint(const Error& e) {
  std::string text = e.what();
  std::string hint(general_hint(e.kind()));
  if (e.kind() == ErrorKind::Usage) hint = help_of(text);
  if (e.kind() == ErrorKind::Io && is_of_an_address(text))
    hint =
        "is the address right, may it be read, and does this machine reach it? Or fetch the files and give their paths";
  if (hint.empty() || text.find("hint: ") != text.npos) return text;
  return fmt::format("{}\nhint: {}", text, hint);
}

int report_error() {
  try {
    throw;
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::broken_pipe) return kClosedPipe;  // of fmt::print
  } catch (...) {                                                // what it is, current_error() knows
  }
  const auto e = core::current_error();
  write_output(Output::Error, in_locale(fmt::format("bora: {}\n", redact(with_hint(e)))));
  return exit_code(e.kind());
}

// Where memory ends while an exception is on its way, a destructor that needs some ends the process, and nobody catches
// anything.
[[noreturn]] void end_process() {
  const auto* thrown = abi::__cxa_current_exception_type();
  if (thrown == nullptr || *thrown != typeid(std::bad_alloc)) std::abort();
  constexpr std::string_view kWords = "bora: out of memory\nhint: ", kEnd = "\n";
  for (const auto part : {kWords, core::kMemoryAdvice, kEnd})
    if (::write(STDERR_FILENO, part.data(), part.size()) < 0) break;
  ::_exit(exit_code(ErrorKind::Io));
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  try {
    return flush_output(run(arguments));
  } catch (const HelpShown&) {
    return 0;
  } catch (...) {
    return report_error();
  }
}

int main(int argc, char** argv, const std::function<void()>& add) {
  hold_standard_streams();
  std::set_terminate(end_process);
  try {
    if (add) add();
    models::add_builtin_models();
    optim::add_builtin_optimizers();
  } catch (...) {
    return report_error();
  }
  return run_command({argv + 1, argv + argc});
}

}  // namespace bora::cli
