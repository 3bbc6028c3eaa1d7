// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "args.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "bora/base/error.h"

namespace bora::app {

namespace {
bool flags_only = false;
}  // namespace

void list_flags_only(bool on) { flags_only = on; }

struct Args::State {
  CLI::App app;
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>>* overrides = nullptr;

  template <class T>
  void add(const std::string& name, T& value, const std::string& doc, bool required) {
    auto* o = app.add_option(name, value, doc);
    if (value != T{}) o->capture_default_str();
    if (required) o->required();
    names.push_back(name);
  }
};

Args::Args(std::string_view command, std::string_view summary, std::string_view examples)
    : state_(std::make_unique<State>()) {
  state_->app.name(fmt::format("bora {}", command));
  state_->app.description(std::string(summary));
  state_->app.footer(fmt::format("Examples:\n{}", examples));
}
Args::~Args() = default;

Args& Args::option(const std::string& name, std::string& value, const std::string& doc, bool required) {
  state_->add(name, value, doc, required);
  return *this;
}
Args& Args::option(const std::string& name, std::int64_t& value, const std::string& doc, bool required) {
  state_->add(name, value, doc, required);
  return *this;
}
Args& Args::option(const std::string& name, double& value, const std::string& doc, bool required) {
  state_->add(name, value, doc, required);
  return *this;
}
Args& Args::flag(const std::string& name, bool& value, const std::string& doc) {
  state_->app.add_flag(name, value, doc);
  state_->names.push_back(name);
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
Args& Args::overrides(std::vector<std::pair<std::string, std::string>>& values) {
  state_->overrides = &values;
  return *this;
}

namespace {

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
    } else if (a.find('=') != std::string::npos) {
      out.emplace_back(name.substr(2), a.substr(a.find('=') + 1));
    } else if (name.find('.') != std::string::npos && i + 1 < arguments.size()) {
      out.emplace_back(name.substr(2), arguments[++i]);
    } else {
      rest.push_back(a);
    }
  }
  return rest;
}

}  // namespace

void Args::parse(const std::vector<std::string>& arguments) {
  if (flags_only) throw FlagsListed{state_->names};
  auto rest = arguments;
  if (state_->overrides != nullptr) rest = take_overrides(arguments, *state_->overrides, state_->names);
  std::reverse(rest.begin(), rest.end());  // CLI11 takes them from the back
  try {
    state_->app.parse(rest);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", state_->app.help());
    throw HelpShown{};
  } catch (const CLI::ParseError& e) {
    const auto name = state_->app.get_name();
    fail(ErrorKind::Usage, "{}: {}\nhint: {} --help", name.substr(name.find(' ') + 1), e.what(), name);
  }
}

std::vector<std::string> Args::flag_names() const { return state_->names; }

}  // namespace bora::app
