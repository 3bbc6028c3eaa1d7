// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Command lines: a thin front to CLI11, which is slow to compile and so stays in args.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bora/base/range.h"

namespace bora::cli {

/// An argument as it is declared.
struct ArgumentSpec {
  std::string name;  ///< "-n,--workers", "--quiet", or "config" of a positional
  std::string doc;
  bool is_positional = false, takes_value = true;
  std::vector<std::string> values = {};  ///< words that it may be, or the usual ones; empty: anything
};

/// All that a command takes: what --help, --flags, completions and man pages are made of.
struct CommandSpec {
  std::string name, summary, examples;
  std::vector<ArgumentSpec> arguments;
  std::vector<std::string> words;  ///< that the first positional may be; empty: anything
  bool takes_overrides = false;    ///< --a.b.c=value
};

/// The arguments of one command. Declare, then parse; errors are Usage errors that name the flag and show the
/// usage line. `--help` prints and leaves by throwing HelpShown.
class Args {
 public:
  /// `examples`: whole lines, shown at the end of --help.
  Args(std::string_view command, std::string_view summary, std::string_view examples);
  ~Args();
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;

  Args& option(const std::string& name, std::string& value, const std::string& doc, bool required = false);
  /// May be given several times, with one value each.
  Args& option(const std::string& name, std::vector<std::string>& values, const std::string& doc);
  /// A number in `range`: every one outside is a Usage error that says the flag, the value and the range.
  Args& option(const std::string& name, std::int64_t& value, const Range& range, const std::string& doc,
               bool required = false);
  Args& option(const std::string& name, double& value, const Range& range, const std::string& doc,
               bool required = false);
  Args& flag(const std::string& name, bool& value, const std::string& doc);
  Args& positional(const std::string& name, std::string& value, const std::string& doc, bool required = true);
  Args& positional(const std::string& name, std::vector<std::string>& values, const std::string& doc,
                   bool required = true);
  /// The text that was declared last is a path: a leading ~ is the home folder, and what a shell would replace besides is
  /// a Usage error (expand_home).
  Args& is_path();
  /// The option that was declared last can be empty. Of every other that is a Usage error: a variable of a shell that is
  /// not set would leave it out without a word.
  Args& may_be_empty();
  /// The option that was declared last is one of these words: every other is a Usage error that says all of them.
  Args& one_of(std::vector<std::string> words);
  /// The words that it may be, or the usual ones, for completions alone: the command looks at it itself, as what it may be
  /// depends on more.
  Args& offers(std::vector<std::string> words);
  /// What the first positional may be, for completions; the command looks at it itself.
  Args& words(std::vector<std::string> words);
  /// What is said of a positional too many: "the text comes from standard input: echo hello | bora ...".
  Args& surplus(std::string advice);
  /// The hint where a flag is not known, in place of `bora COMMAND --help`.
  Args& hint_at_flags(std::string hint);
  /// Accepts --a.b.c=value (and --a.b.c value) as configuration overrides.
  Args& overrides(std::vector<std::pair<std::string, std::string>>& values);

  void parse(const std::vector<std::string>& arguments);
  /// After parsing: what stands on the command line, as "--seed".
  std::set<std::string> given() const;

 private:
  std::vector<std::string> names() const;
  void read_numbers() const;
  void refuse_empty() const;
  void read_paths() const;
  void read_words() const;
  struct State;
  std::unique_ptr<State> state_;
};

struct HelpShown {};

/// One subcommand of the program.
struct Command {
  std::string_view name, summary;
  int (*run)(const std::vector<std::string>& arguments);
};
const std::vector<Command>& commands();

/// What each of these commands declares, in their order.
std::vector<CommandSpec> command_specs(const std::vector<Command>& commands);

}  // namespace bora::cli
