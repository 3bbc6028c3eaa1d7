// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/man_page.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/env.h"
#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::cli {
namespace {

// Text in which nothing means anything to roff: backslashes, hyphens that people copy, and dots and quotes at the
// beginning of a line.
std::string plain(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    begins = c == '\n';
  }
  return out;
}

// In the quotation marks of a macro's argument.
std::string in_quotes(std::string_view text) {
  std::string out;
  for (const char c : plain(text)) out += c == '"' ? "\\(dq" : std::string(1, c);
  return "\"" + out + "\"";
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string head(const std::string& name, std::string_view summary) {
  return fmt::format(".TH {} 1 \"\" {} \"Bora\"\n.SH NAME\n{} \\- {}\n", in_quotes(upper(name)),
                     in_quotes("Bora " BORA_VERSION), plain(name), plain(summary));
}

std::string synopsis(const CommandSpec& command) {
  auto out = fmt::format(".SH SYNOPSIS\n.B bora {}\n[options]", plain(command.name));
  for (const auto& a : command.arguments)
    if (a.is_positional) out += fmt::format(" [\\fI{}\\fR]", plain(a.name));
  if (command.takes_overrides) out += " [\\fB\\-\\-key.key\\fR=\\fIvalue\\fR ...]";
  return out + "\n";
}

std::string options(const CommandSpec& command) {
  std::string out = ".SH OPTIONS\n";
  for (const auto& a : command.arguments)
    out +=
        fmt::format(".TP\n{}{}{}\n{}\n", a.is_positional ? "\\fI" : "\\fB", plain(join(split(a.name, ','))),
                    a.is_positional || !a.takes_value ? "\\fR" : "\\fR \\fIvalue\\fR", plain(a.doc));
  if (command.takes_overrides)
    out += ".TP\n\\fB\\-\\-key.key\\fR=\\fIvalue\\fR\na key of the configuration, over what its files say\n";
  return out + ".TP\n\\fB\\-h, \\-\\-help\\fR\nsay all of this on the terminal\n";
}

}  // namespace

std::string man_page(const CommandSpec& command) {
  return head("bora-" + command.name, command.summary) + synopsis(command) + ".SH DESCRIPTION\n" +
         plain(command.summary) + "\n" + options(command) + ".SH EXAMPLES\n.nf\n" + plain(command.examples) +
         "\n.fi\n.SH SEE ALSO\n.BR bora (1)\n";
}

std::string man_page(const std::vector<Command>& all) {
  auto out = head("bora", "trains language models") +
             ".SH SYNOPSIS\n.B bora\n\\fIcommand\\fR [arguments]\n.SH COMMANDS\n";
  for (const auto& c : all)
    out += fmt::format(".TP\n.BR {} (1)\n{}\n", plain("bora-" + std::string(c.name)), plain(c.summary));
  out += ".SH ENVIRONMENT\n";
  for (const auto& v : env::all())
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", plain(std::string(v.name)), plain(std::string(v.meaning)));
  return out;
}

int print_man_page(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    fmt::print("{}", man_page(commands()));
    return 0;
  }
  std::vector<std::string> names;
  for (const auto& command : command_specs(commands())) {
    names.push_back(command.name);
    if (command.name != arguments[0]) continue;
    fmt::print("{}", man_page(command));
    return 0;
  }
  fail(ErrorKind::Usage, "help --man: there is no command {}{}\nhint: bora --help lists them", arguments[0],
       did_you_mean(arguments[0], names));
}

}  // namespace bora::cli
