// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/main.h"

#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "bora/base/error.h"
#include "bora/base/output.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/describe.h"
#include "bora/cli/man_page.h"
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
      {"import", "make a checkpoint from a Hugging Face model", run_import},
      {"export", "write a checkpoint in the Hugging Face layout", run_export},
      {"forward", "logits, loss, hidden states and gradients of given ids", run_forward},
      {"senses", "what each sense vector of a word predicts, in a Backpack", run_senses},
      {"diff", "compare two checkpoints, exports or tensor files bit by bit", run_diff},
      {"inspect", "show what a checkpoint, cache, tokenizer or tensor file holds", run_inspect},
      {"runs", "list runs: state, step, loss, and the command that comes next", run_runs},
      {"report", "draw a run, or several over each other, as one page", run_report},
      {"bench", "time a training step and its parts", run_bench},
      {"completion", "what bash, zsh or fish need to complete this program's words", run_completion},
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

std::string with_hint(const Error& e) {
  std::string text = e.what();
  const auto hint = general_hint(e.kind());
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
  write_output(Output::Error, fmt::format("bora: {}\n", redact(with_hint(e))));
  return exit_code(e.kind());
}

}  // namespace

int main(int argc, char** argv, const std::function<void()>& add) {
  try {
    if (add) add();
    models::add_builtin_models();
    optim::add_builtin_optimizers();
    return flush_output(run({argv + 1, argv + argc}));
  } catch (const HelpShown&) {
    return 0;
  } catch (...) {
    return report_error();
  }
}

}  // namespace bora::cli
