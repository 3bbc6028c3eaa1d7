// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/args.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>

#include "bora/base/error.h"
#include "bora/base/foreign_keys.h"
#include "bora/base/home_path.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"

namespace bora::cli {

namespace {

// While set, Args::parse throws what was declared instead of parsing.
bool specs_only = false;
struct SpecListed {
  CommandSpec spec;
};

// 1e3 is a whole number too, as in configurations.
std::optional<std::string> read_number(const std::string& text, const Range& range, std::int64_t& value) {
  const auto whole = parse_int(text);
  const auto number = whole ? std::optional(static_cast<double>(*whole)) : parse_double(text);
  if (!number || std::floor(*number) != *number) return "must be a whole number, " + range.words();
  if (auto wrong = range.problem<std::int64_t>(*number)) return wrong;
  if (!whole && std::fabs(*number) > 0x1p53) return "must be a whole number, written out";
  value = whole ? *whole : static_cast<std::int64_t>(*number);
  return std::nullopt;
}

std::optional<std::string> read_number(const std::string& text, const Range& range, double& value) {
  const auto number = parse_double(text);
  if (!number) return "must be a number, " + range.words();
  if (auto wrong = range.problem<double>(*number)) return wrong;
  value = *number;
  return std::nullopt;
}

}  // namespace

std::vector<CommandSpec> command_specs(const std::vector<Command>& commands) {
  std::vector<CommandSpec> out;
  specs_only = true;
  for (const auto& command : commands) {
    try {
      command.run({});
    } catch (SpecListed& listed) {
      out.push_back(std::move(listed.spec));
    }
  }
  specs_only = false;
  return out;
}

struct Args::State {
  CLI::App app;
  CommandSpec spec;
  std::vector<std::pair<std::string, std::string>>* overrides = nullptr;
  std::string flag_hint;
  std::string surplus = "in quotation marks several words are one";

  // As it was written; read when all of the command line is there, so that all mistakes are told at once.
  struct Number {
    std::string flag, text;
    CLI::Option* option = nullptr;
    std::function<std::optional<std::string>(const std::string&)> read;  // what is wrong
  };
  std::deque<Number> numbers;  // CLI11 keeps their addresses

  struct Text {
    std::string flag;
    std::string* one = nullptr;
    std::vector<std::string>* many = nullptr;
    bool is_path = false, may_be_empty = false;
    std::vector<std::string> words = {};  // one of which it is, if there are any
  };
  std::vector<Text> texts;
  void note(const std::string& name, std::string& value) { texts.push_back({name, &value}); }
  void note(const std::string& name, std::vector<std::string>& values) {
    texts.push_back({name, nullptr, &values});
  }

  void declare(const std::string& name, const std::string& doc, bool takes_value = true) {
    spec.arguments.push_back({name, doc, !name.starts_with('-'), takes_value});
  }

  template <class T>
  void add(const std::string& name, T& value, const std::string& doc, bool required) {
    auto* o = app.add_option(name, value, doc);
    if (value != T{}) o->capture_default_str();
    if (required) o->required();
    declare(name, doc);
    note(name, value);
  }

  template <class T>
  void add_number(const std::string& name, T& value, const Range& range, const std::string& doc,
                  bool required) {
    auto& number = numbers.emplace_back();
    number.flag = name.substr(0, name.find(','));
    number.option = app.add_option(name, number.text, doc);
    number.option->type_name(std::is_same_v<T, double> ? "FLOAT" : "INT");
    if (value != T{}) number.option->default_str(fmt::format("{}", value));
    if (required) number.option->required();
    number.read = [&value, range](const std::string& text) { return read_number(text, range, value); };
    declare(name, doc);
  }
};

Args::Args(std::string_view command, std::string_view summary, std::string_view examples)
    : state_(std::make_unique<State>()) {
  state_->app.name(fmt::format("bora {}", command));
  state_->app.description(std::string(summary));
  state_->app.footer(fmt::format("Examples:\n{}", examples));
  state_->spec.name = command;
  state_->spec.summary = summary;
  state_->spec.examples = examples;
}
Args::~Args() = default;

Args& Args::option(const std::string& name, std::string& value, const std::string& doc, bool required) {
  state_->add(name, value, doc, required);
  return *this;
}
Args& Args::option(const std::string& name, std::vector<std::string>& values, const std::string& doc) {
  state_->app.add_option(name, values, doc)->allow_extra_args(false);
  state_->declare(name, doc);
  state_->note(name, values);
  return *this;
}
Args& Args::option(const std::string& name, std::int64_t& value, const Range& range, const std::string& doc,
                   bool required) {
  state_->add_number(name, value, range, doc, required);
  return *this;
}
Args& Args::option(const std::string& name, double& value, const Range& range, const std::string& doc,
                   bool required) {
  state_->add_number(name, value, range, doc, required);
  return *this;
}
Args& Args::flag(const std::string& name, bool& value, const std::string& doc) {
  state_->app.add_flag(name, value, doc);
  state_->declare(name, doc, /*takes_value=*/false);
  return *this;
}
Args& Args::positional(const std::string& name, std::string& value, const std::string& doc, bool required) {
  state_->add(name, value, doc, required);
  return *this;
}
Args& Args::positional(const std::string& name, std::vector<std::string>& values, const std::string& doc,
                       bool required) {
  state_->add(name, values, doc, required);
  return *this;
}
Args& Args::is_path() {
  state_->texts.back().is_path = true;
  return *this;
}
Args& Args::may_be_empty() {
  state_->texts.back().may_be_empty = true;
  return *this;
}
Args& Args::one_of(std::vector<std::string> words) {
  state_->texts.back().words = words;
  return offers(std::move(words));
}
Args& Args::offers(std::vector<std::string> words) {
  state_->spec.arguments.back().values = std::move(words);
  return *this;
}
Args& Args::overrides(std::vector<std::pair<std::string, std::string>>& values) {
  state_->overrides = &values;
  state_->spec.takes_overrides = true;
  return *this;
}
Args& Args::surplus(std::string advice) {
  state_->surplus = std::move(advice);
  return *this;
}
Args& Args::hint_at_flags(std::string hint) {
  state_->flag_hint = std::move(hint);
  return *this;
}
Args& Args::words(std::vector<std::string> words) {
  state_->spec.words = std::move(words);
  return *this;
}

std::vector<std::string> Args::names() const {
  std::vector<std::string> out;
  for (const auto& argument : state_->spec.arguments) out.push_back(argument.name);
  return out;
}

namespace {

// A variable of a shell that is not set: --trainer.initialize_from=$MODEL would begin with new weights.
std::string value_of_key(const std::string& name, const std::string& value) {
  if (trim(value).empty())
    fail(ErrorKind::Usage, "{0}: the value is empty\nhint: {0}=VALUE, or {0}=null for its default", name);
  return value;
}

// Moves --a.b.c=value out of the arguments: a flag whose name holds a dot, or that is a top-level
// configuration key.
std::vector<std::string> take_overrides(const std::vector<std::string>& arguments,
                                        std::vector<std::pair<std::string, std::string>>& out,
                                        const std::vector<std::string>& flags) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& a = arguments[i];
    auto name = a.substr(0, a.find('='));
    bool known = std::find(flags.begin(), flags.end(), name) != flags.end() || name == "--help";
    if (!a.starts_with("--") || known || a == "--") {
      rest.push_back(a);
    } else if (name == "--" || name.ends_with('.')) {
      fail(ErrorKind::Usage,
           "{} names no whole key\nhint: --trainer.seed=1, for example; docs/reference/config.md lists all",
           a);
    } else if (a.find('=') != std::string::npos) {
      out.emplace_back(name.substr(2), value_of_key(name, a.substr(a.find('=') + 1)));
    } else if (name.find('.') != std::string::npos) {
      if (i + 1 == arguments.size()) fail(ErrorKind::Usage, "{} has no value\nhint: {}=VALUE", name, name);
      out.emplace_back(name.substr(2), value_of_key(name, arguments[++i]));
    } else {
      rest.push_back(a);
    }
  }
  return rest;
}

constexpr std::string_view kOnGpus = "{} asks for a GPU; auto, the default, takes one where there is one";

// What people type first who know other programs.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kForeign = {{
    {"--config", "name the file alone: bora train my.yaml; or --config_path my.yaml, as in Levanter"},
    {"--chat", "bora chat MODEL talks with a model by its chat template"},
    {"--resume", "a run goes on by itself: give the same command again; --fresh starts over"},
    {"--continue", "a run goes on by itself: give the same command again; --fresh starts over"},
    {"-n", "bora launch -n 4 -- train CONFIG starts several workers"},
    {"-np", "bora launch -n 4 -- train CONFIG starts several workers"},
    {"--workers", "bora launch -n 4 -- train CONFIG starts several workers"},
    {"--nproc_per_node", "bora launch -n 4 -- train CONFIG starts several workers"},
    {"--gpu", kOnGpus},
    {"--gpus", kOnGpus},
    {"--cuda", kOnGpus},
    {"--device", kOnGpus},
}};

// Commands of configurations have a key for it, those of models a flag.
std::string advice_of(std::string_view advice, const std::vector<std::string>& names) {
  if (advice != kOnGpus) return std::string(advice);
  const bool flag = std::find(names.begin(), names.end(), "--device") != names.end();
  return (flag ? "--device cuda" : "--trainer.device=cuda") + std::string(advice.substr(2));
}

// "--dry-run=1" -> "--dry_run"
std::string as_we_spell(std::string_view argument) {
  std::string flag(argument.substr(0, argument.find('=')));
  for (std::size_t i = 2; i < flag.size(); ++i)
    if (flag[i] == '-') flag[i] = '_';
  return flag;
}

bool is_flag(std::string_view argument) { return argument.size() > 1 && argument[0] == '-'; }

// What other programs have flags for, and Bora neither flag nor key.
bool is_no_key(std::string_view flag) {
  constexpr std::array<std::string_view, 7> kNone = {"--debug",   "--verbose",    "--quiet", "--checkpoint",
                                                     "--dry_run", "--no_dry_run", "--force"};
  return std::find(kNone.begin(), kNone.end(), flag) != kNone.end();
}

// Names for a flag that some commands have, and others under another name; CLI11 would read them as something else.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOtherNames = {{
    {"--steps", "--turns"},
    {"-o", "--out"},
    {"-n", "--n"},
    {"--n", "-n"},
    {"-np", "-n"},
    {"--np", "-n"},
    {"--nproc", "-n"},
    {"--nproc_per_node", "-n"},
}};

bool has_name(const std::vector<std::string>& names, std::string_view wanted) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto spellings = split(name, ',');
    return std::find(spellings.begin(), spellings.end(), wanted) != spellings.end();
  });
}

void check_other_names(const std::string& command, const std::vector<std::string>& names,
                       const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const auto& argument = arguments[i];
    const auto word = argument.substr(0, argument.find('='));
    for (const auto& [other, flag] : kOtherNames) {
      if (word != other || has_name(names, other) || !has_name(names, flag)) continue;
      const bool has_value = i + 1 < arguments.size() && !is_flag(arguments[i + 1]);
      const auto value = word.size() < argument.size() ? argument.substr(word.size() + 1)
                         : has_value                   ? arguments[i + 1]
                                                       : "VALUE";
      fail(ErrorKind::Usage, "{}: there is no {}: {} {}\nhint: bora {} --help", command, word, flag,
           shell_word(value), command);
    }
  }
}

// What a command does, where that is one of some words: told before all else that may be wrong.
void check_word(const CommandSpec& spec, const std::vector<std::string>& arguments) {
  const auto& words = spec.words;
  if (words.empty() || arguments.empty() || is_flag(arguments[0])) return;
  if (std::find(words.begin(), words.end(), arguments[0]) != words.end()) return;
  fail(ErrorKind::Usage, "{}: {} is not one of {}{}\nhint: bora {} --help", spec.name, arguments[0],
       join(words), did_you_mean(arguments[0], words), spec.name);
}

std::optional<std::string> value_behind(const std::string& flag, const std::vector<std::string>& arguments) {
  const auto at = std::find(arguments.begin(), arguments.end(), flag);
  if (at == arguments.end() || at + 1 == arguments.end() || is_flag(at[1])) return std::nullopt;
  return at[1];
}

// The beginning of a flag is that flag: --temp of --temperature.
std::string did_you_mean_flag(const std::string& flag, const std::vector<std::string>& names) {
  constexpr std::size_t kShortest = 5;
  const auto whole = std::find_if(names.begin(), names.end(),
                                  [&](const std::string& name) { return name.starts_with(flag); });
  if (flag.size() < kShortest || whole == names.end()) return did_you_mean(flag, names);
  return fmt::format("; did you mean `{}`?", *whole);
}

// Of the first argument that the command does not know.
std::string unknown_argument(const std::vector<std::string>& left, const std::vector<std::string>& names,
                             const std::string& command, bool takes_overrides, const std::string& surplus,
                             const std::vector<std::string>& arguments) {
  const auto flag = std::find_if(left.begin(), left.end(), is_flag);
  if (flag == left.end()) return fmt::format("{} is one argument too many; {}", left.front(), surplus);
  const auto spelt = as_we_spell(*flag);
  for (const auto& [foreign, advice] : kForeign)
    if (spelt == foreign) return fmt::format("there is no {}: {}", *flag, advice_of(advice, names));
  if (const auto word = spelt.substr(std::min<std::size_t>(2, spelt.size())); has_name(names, word))
    return fmt::format("there is no {}: the {} is given without a flag{}", *flag, word,
                       word == "prompt" ? ", in quotation marks" : "");
  const bool may_be_key = takes_overrides && flag->starts_with("--") && flag->find('=') == flag->npos;
  if (const auto* meant = may_be_key ? foreign_key(flag->substr(2)) : nullptr) {
    const auto value = value_behind(*flag, arguments).value_or(std::string(meant->value));
    return fmt::format("{} has no flag {}; the key is --{}={}", command, *flag, meant->key,
                       value.empty() ? "VALUE" : shell_word(value));
  }
  return fmt::format("{} has no flag {}{}{}", command, *flag, did_you_mean_flag(spelt, names),
                     may_be_key && !is_no_key(spelt)
                         ? fmt::format("; a key of the configuration is set by {}=VALUE", *flag)
                         : "");
}

}  // namespace

void Args::read_numbers() const {
  const auto name = state_->app.get_name();
  std::string problems;
  for (const auto& number : state_->numbers) {
    if (number.option->count() == 0) continue;
    const auto wrong = number.read(number.text);
    if (!wrong) continue;
    problems +=
        fmt::format("{}{}: {} is {}; it {}", problems.empty() ? "" : "\n", name.substr(name.find(' ') + 1),
                    number.flag, number.text.empty() ? "empty" : number.text, *wrong);
  }
  if (!problems.empty()) fail(ErrorKind::Usage, "{}\nhint: {} --help", problems, name);
}

void Args::refuse_empty() const {
  for (const auto& text : state_->texts) {
    if (!text.flag.starts_with('-') || text.may_be_empty || state_->app.count(text.flag) == 0) continue;
    const bool is_empty = text.one != nullptr ? text.one->empty() : std::ranges::count(*text.many, "") > 0;
    if (is_empty)
      fail(ErrorKind::Usage, "{0}: {1} is empty\nhint: give it a value, or leave it out; bora {0} --help",
           state_->spec.name, text.flag);
  }
}

void Args::read_paths() const {
  const auto name = state_->app.get_name();
  const auto read = [&](const std::string& flag, std::string& value) {
    const auto why = expand_home(value);
    if (!why.empty())
      fail(ErrorKind::Usage, "{}: {}: {}\nhint: {} --help", state_->spec.name, flag, why, name);
  };
  for (const auto& text : state_->texts) {
    if (!text.is_path) continue;
    if (text.one != nullptr) read(text.flag, *text.one);
    if (text.many != nullptr)
      for (auto& value : *text.many) read(text.flag, value);
  }
}

void Args::read_words() const {
  for (const auto& text : state_->texts) {
    const auto& words = text.words;
    if (words.empty() || state_->app.count(text.flag) == 0) continue;
    if (std::find(words.begin(), words.end(), *text.one) != words.end()) continue;
    fail(ErrorKind::Usage, "{0}: {1} {2} is not one of {3}{4}\nhint: bora {0} --help", state_->spec.name,
         text.flag, shell_word(*text.one), join(words), did_you_mean(*text.one, words));
  }
}

void Args::parse(const std::vector<std::string>& arguments) {
  if (specs_only) throw SpecListed{std::move(state_->spec)};
  check_other_names(state_->spec.name, names(), arguments);
  check_word(state_->spec, arguments);
  auto rest = arguments;
  if (state_->overrides != nullptr) rest = take_overrides(arguments, *state_->overrides, names());
  std::reverse(rest.begin(), rest.end());  // CLI11 takes them from the back
  try {
    state_->app.parse(rest);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", state_->app.help());
    throw HelpShown{};
  } catch (const CLI::ExtrasError&) {
    const auto name = state_->app.get_name();
    const auto command = name.substr(name.find(' ') + 1);
    const auto left = state_->app.remaining();
    const bool is_of_flag = !state_->flag_hint.empty() && std::any_of(left.begin(), left.end(), is_flag);
    fail(ErrorKind::Usage, "{}: {}\nhint: {}", command,
         unknown_argument(left, names(), command, state_->overrides != nullptr, state_->surplus, arguments),
         is_of_flag ? state_->flag_hint : name + " --help");
  } catch (const CLI::ParseError& e) {
    const auto name = state_->app.get_name();
    fail(ErrorKind::Usage, "{}: {}\nhint: {} --help", name.substr(name.find(' ') + 1), e.what(), name);
  }
  read_numbers();
  refuse_empty();
  read_words();
  read_paths();
}

std::set<std::string> Args::given() const {
  std::set<std::string> out;
  for (const auto* option : state_->app.get_options())
    if (option->count() > 0) out.insert(option->get_name());
  return out;
}

}  // namespace bora::cli
