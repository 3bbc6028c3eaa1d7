// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/completion.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::cli {
namespace {

// By a positional; by --model every command that has it.
constexpr std::array<std::string_view, 9> kOfRuns = {"generate", "chat", "transcribe", "export", "inspect",
                                                     "report",   "diff", "config",     "senses"};

bool is_of_runs(const std::string& command) {
  return std::find(kOfRuns.begin(), kOfRuns.end(), command) != kOfRuns.end();
}

// "-n,--workers" -> -n, --workers.
std::vector<std::string> spellings(const ArgumentSpec& a) {
  return a.is_positional ? std::vector<std::string>() : split(a.name, ',');
}

std::string flags_of(const CommandSpec& command, bool with_value_only) {
  std::string out;
  for (const auto& a : command.arguments)
    for (const auto& flag : spellings(a))
      if (a.takes_value || !with_value_only) out += (out.empty() ? "" : " ") + flag;
  return with_value_only ? out : out + (out.empty() ? "--help" : " --help");
}

// Within single quotes of any of the three shells.
std::string single_quoted(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(quote) : std::string(1, c);
  return out + "'";
}

// "export --dtype=f32 bf16 f16", a line for each spelling of a flag.
std::vector<std::string> choices(const CompletionWords& words) {
  std::vector<std::string> out;
  for (const auto& command : words.specs)
    for (const auto& a : command.arguments)
      for (const auto& flag : spellings(a))
        if (!a.values.empty())
          out.push_back(fmt::format("{} {}={}", command.name, flag, join(a.values, " ")));
  return out;
}

// The two tables that bash and zsh share: functions that set variables by the command.
std::string tables(const CompletionWords& words) {
  std::string out = "_bora_command() {\n  flags= values= first= runs= overrides=\n  case $1 in\n";
  for (const auto& c : words.specs) {
    out += fmt::format("    {}) flags='{}' values='{}' first='{}'{}{} ;;\n", c.name, flags_of(c, false),
                       flags_of(c, true), join(c.words, " "), is_of_runs(c.name) ? " runs=1" : "",
                       c.takes_overrides ? " overrides=1" : "");
  }
  return out + "  esac\n}\n\n_bora_keys='" + join(words.keys, "\n") + "'\n\n_bora_values='" +
         join(words.values, "\n") + "'\n\n_bora_choices='" + join(choices(words), "\n") + "'\n\n";
}

std::string names(const CompletionWords& words) {
  std::string out;
  for (const auto& c : words.commands) out += std::string(c.name) + " ";
  return out + "help";
}

constexpr std::string_view kBash = R"(_bora() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= verb= place=0 i
  local flags values first runs overrides
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --) if [ "$command" = launch ]; then command= place=0; fi ;;
      -*) ;;
      *)
        if [ -z "$command" ]; then
          command=${COMP_WORDS[i]}
        else
          place=$((place + 1))
          [ -n "$verb" ] || verb=${COMP_WORDS[i]}
        fi
        ;;
    esac
  done
  if [ -z "$command" ]; then
    COMPREPLY=($(compgen -W "$_bora_commands --help --version" -- "$cur"))
    return
  fi
  if [ "$command" = help ]; then
    COMPREPLY=($(compgen -W "$_bora_commands --man" -- "$cur"))
    return
  fi
  _bora_command "$command"
  # Readline parts words at =.
  case $cur in
    --*=*) i=${cur%%=*} ;;
    =) i=$prev cur= ;;
    *) if [ "$prev" = "=" ]; then i=${COMP_WORDS[COMP_CWORD-2]}; else i=; fi ;;
  esac
  if [ -n "$i" ]; then
    _bora_add_values "$_bora_choices" "$command $i" "$cur"
    if [ -n "$overrides" ] && [ "${#COMPREPLY[@]}" = 0 ]; then _bora_add_values "$_bora_values" "${i#--}" "$cur"; fi
    return
  fi
  case " $values " in *" $prev "*)
    _bora_add_values "$_bora_choices" "$command $prev" "$cur"
    if [ "$prev" = --model ] && [ "${#COMPREPLY[@]}" = 0 ]; then _bora_add_runs "$cur"; fi
    return
    ;;
  esac
  if [ "$command $verb" = "config explain" ]; then
    [ "$place" != 1 ] || _bora_add_keys "" "$cur"
    return
  fi
  case $cur in
    -*)
      COMPREPLY=($(compgen -W "$flags" -- "$cur"))
      if [ -n "$overrides" ]; then _bora_add_keys -- "$cur"; fi
      ;;
    *)
      if [ -n "$first" ] && [ "$place" = 0 ]; then COMPREPLY=($(compgen -W "$first" -- "$cur")); fi
      if [ -n "$runs" ] && { [ -z "$first" ] || [ "$place" != 0 ]; }; then _bora_add_runs "$cur"; fi
      ;;
  esac
}

# The words that a table of lines NAME=WORDS has for a name.
_bora_add_values() {
  local line before=
  case $3 in *=*) before=${3%%=*}= ;; esac
  while IFS= read -r line; do
    case $line in "$2="*) COMPREPLY=($(compgen -P "$before" -W "${line#*=}" -- "${3#"$before"}")) ;; esac
  done <<<"$1"
}

_bora_add_runs() {
  local run folder
  for folder in runs checkpoints; do
    for run in $folder/"${1#"$folder"/}"*; do
      if [ -d "$run" ]; then COMPREPLY+=("$run"); fi
    done
  done
  case $1 in runs/* | checkpoints/*) return ;; esac
  [ "${#COMPREPLY[@]}" = 0 ] || COMPREPLY+=($(compgen -f -- "$1"))
}

# Keys up to the next dot: --trainer. first, then --trainer.seed=; without -- in front there is no = behind.
_bora_add_keys() {
  local key rest part last= begin=$1
  while IFS= read -r key; do
    case $begin$key in "$2"*) ;; *) continue ;; esac
    rest=$begin$key rest=${rest#"$2"} part=${rest%%.*}
    if [ "$part" != "$rest" ]; then part+=.; elif [ -n "$begin" ]; then part+="="; fi
    [ "$part" = "$last" ] || COMPREPLY+=("$2$part")
    last=$part
  done <<<"$_bora_keys"
  case ${COMPREPLY[0]-} in *[.=]) compopt -o nospace 2>/dev/null ;; esac
}

complete -o default -F _bora bora ./bora
)";

constexpr std::string_view kZsh = R"(_bora() {
  local flags values first runs overrides command= verb= place=0 i key rest part last=
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case $words[i] in
      --) [[ $command != launch ]] || { command=; place=0 } ;;
      -*) ;;
      *) if [[ -z $command ]]; then command=$words[i]; else ((place++)); verb=${verb:-$words[i]}; fi ;;
    esac
  done
  local cur=$words[CURRENT]
  if [[ -z $command ]]; then _describe command _bora_commands; return; fi
  if [[ $command == help ]]; then _describe command _bora_commands; compadd -- --man; return; fi
  _bora_command $command
  for key in ${(f)_bora_choices}; do
    if [[ $key == "$command $words[CURRENT-1]="* ]]; then compadd -- ${=key#*=}; return; fi
    [[ $cur == --*=* && $key == "$command ${cur%%=*}="* ]] || continue
    compset -P '*='
    compadd -- ${=key#*=}
    return
  done
  if [[ " $values " == *" $words[CURRENT-1] "* ]]; then
    if [[ $words[CURRENT-1] == --model ]]; then _bora_runs_or_files; else _files; fi
    return
  fi
  if [[ "$command $verb" == "config explain" ]]; then
    [[ $place != 1 ]] || compadd -- ${(f)_bora_keys}
    return
  fi
  if [[ -n $overrides && $cur == --*=* ]]; then
    for key in ${(f)_bora_values}; do
      [[ --$key == ${cur%%=*}=* ]] || continue
      compset -P '*='
      compadd -- ${=key#*=}
      return
    done
    _files
    return
  fi
  if [[ $cur == -* ]]; then
    compadd -- ${=flags}
    [[ -n $overrides ]] || return
    for key in ${(f)_bora_keys}; do
      [[ --$key == $cur* ]] || continue
      rest=--$key rest=${rest#$cur} part=${rest%%.*}
      if [[ $part == $rest ]]; then part+="="; else part+=.; fi
      [[ $part == $last ]] || found+=($cur$part)
      last=$part
    done
    compadd -S '' -- $found
    return
  fi
  [[ -z $first || $place != 0 ]] || compadd -- ${=first}
  if [[ -z $runs || ( -n $first && $place == 0 ) ]]; then _files; else _bora_runs_or_files; fi
}

# -U: a run is offered for its name, too, which is no beginning of runs/name.
_bora_runs_or_files() {
  local folder
  local -a found
  for folder in runs checkpoints; do found+=($folder/${cur#$folder/}*(/N)); done
  if (( $#found )); then compadd -U -- $found; else _files; fi
}

# Found in fpath, this file is the function, at its first call; else it has been sourced.
if [[ ${funcstack[1]} == _bora ]]; then _bora "$@"; else compdef _bora bora; fi
)";

std::string bash(const CompletionWords& words) {
  return fmt::format("# Completion for bash, made by: bora completion bash\n_bora_commands='{}'\n\n{}{}",
                     names(words), tables(words), kBash);
}

std::string zsh(const CompletionWords& words) {
  std::string out = "#compdef bora\n# Completion for zsh, made by: bora completion zsh\n_bora_commands=(\n";
  for (const auto& c : words.commands)
    out += "  " + single_quoted(fmt::format("{}:{}", c.name, c.summary), "'\\''") + "\n";
  return out + "  'help:say what a command takes'\n)\n\n" + tables(words) + std::string(kZsh);
}

std::string fish_flag(const std::string& condition, const ArgumentSpec& a) {
  std::string out = "complete -c bora -n " + condition;
  for (const auto& flag : spellings(a))
    out += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
  const auto words = a.values.empty() ? "" : fmt::format(" -f -a '{}'", join(a.values, " "));
  return out + (a.takes_value ? " -r" : "") + words + " -d " + single_quoted(a.doc, "\\'") + "\n";
}

std::string fish(const CompletionWords& words) {
  std::string out = "# Completion for fish, made by: bora completion fish\n";
  for (const auto& c : words.commands)
    out += fmt::format("complete -c bora -f -n __fish_use_subcommand -a {} -d {}\n", c.name,
                       single_quoted(c.summary, "\\'"));
  out += "complete -c bora -f -n __fish_use_subcommand -a help -d 'say what a command takes'\n";
  out +=
      fmt::format("complete -c bora -f -n '__fish_seen_subcommand_from help' -a '{} --man'\n", names(words));
  std::string with_keys;
  for (const auto& c : words.specs) {
    const auto condition = fmt::format("'__fish_seen_subcommand_from {}'", c.name);
    for (const auto& a : c.arguments)
      if (!a.is_positional) out += fish_flag(condition, a);
    if (!c.words.empty())
      out += fmt::format("complete -c bora -n {} -a '{}'\n", condition, join(c.words, " "));
    const bool has_model = std::any_of(c.arguments.begin(), c.arguments.end(), [](const ArgumentSpec& a) {
      return a.name == "--model" && a.values.empty();
    });
    if (is_of_runs(c.name))
      out += fmt::format("complete -c bora -n {} -a '(path filter -d runs/* checkpoints/*)'\n", condition);
    if (has_model)
      out += fmt::format("complete -c bora -n {} -l model -r -a '(path filter -d runs/* checkpoints/*)'\n",
                         condition);
    if (c.takes_overrides) with_keys += " " + c.name;
  }
  for (const auto& key : words.keys)
    out += fmt::format("complete -c bora -n '__fish_seen_subcommand_from explain' -a '{}'\n", key);
  for (const auto& line : words.values) {
    const auto key = line.substr(0, line.find('='));
    for (const auto& value : split(line.substr(key.size() + 1), ' '))
      out += fmt::format(
          "complete -c bora -n '__fish_seen_subcommand_from{}; and string match -q -- \"--{}=*\" "
          "(commandline -ct)' -a '--{}={}'\n",
          with_keys, key, key, value);
  }
  for (const auto& key : words.keys)
    out += fmt::format(
        "complete -c bora -n '__fish_seen_subcommand_from{}; and string match -q -- \"--*\" "
        "(commandline -ct)' -a '--{}='\n",
        with_keys, key);
  return out;
}

}  // namespace

std::string completion_script(std::string_view shell, const CompletionWords& words) {
  if (shell == "bash") return bash(words);
  if (shell == "zsh") return zsh(words);
  if (shell == "fish") return fish(words);
  const std::vector<std::string> all = {"bash", "zsh", "fish"};
  fail(ErrorKind::Usage, "completion: {} is not one of bash, zsh, fish{}\nhint: bora completion --help",
       shell, did_you_mean(std::string(shell), all));
}

}  // namespace bora::cli
