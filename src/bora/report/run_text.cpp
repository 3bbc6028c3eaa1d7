// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/run_text.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>
#include <vector>

#include "bora/base/text.h"

namespace bora::report {
namespace {

std::string line(std::string_view name, const std::string& text) {
  return text.empty() ? "" : fmt::format("{:<12}{}\n", name, text);
}

// Those that are known, one after the other.
std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts)
    if (!part.empty()) out += (out.empty() ? "" : " · ") + part;
  return out;
}

std::string value_of(const std::map<std::string, std::string>& all, const std::string& key,
                     std::string_view before = "", std::string_view after = "") {
  const auto found = all.find(key);
  return found == all.end() ? "" : fmt::format("{}{}{}", before, found->second, after);
}

std::optional<double> newest(const RunFiles& run, const std::string& name) {
  const auto found = run.curves.find(name);
  if (found == run.curves.end()) return std::nullopt;
  return found->second.back().value;
}

std::string number_between(std::string_view before, const std::optional<double>& value,
                           std::string_view after = "") {
  return value ? fmt::format("{}{:.4g}{}", before, *value, after) : "";
}

std::string state_line(const RunSummary& s) {
  const auto steps = s.num_train_steps
                         ? fmt::format("{} of {} steps", with_commas(s.step), with_commas(*s.num_train_steps))
                         : fmt::format("{} steps", with_commas(s.step));
  return joined({s.name, s.state, s.reason, steps});
}

std::string numbers_line(const RunFiles& run) {
  const auto& s = run.summary;
  return joined({number_between("", s.loss), number_between("evaluation ", newest(run, "eval/loss")),
                 number_between("", newest(run, "eval/bpb"), " bits per byte"),
                 s.tokens_per_second ? human_count(*s.tokens_per_second) + " tokens/s" : "",
                 number_between("MFU ", usual(run.curves, "throughput/mfu"), " %")});
}

// "1 thread", "1337 documents"; "" without a number.
std::string counted(const std::string& number, const std::string& thing) {
  if (number.empty()) return "";
  const auto whole = parse_int(number);
  return (whole ? with_commas(*whole) : number) + " " + thing + (number == "1" ? "" : "s");
}

std::string threads_of(const std::map<std::string, std::string>& record) {
  const auto workers = value_of(record, "workers"), threads = counted(value_of(record, "threads"), "thread");
  return workers.empty() || workers == "1" ? threads : joined({workers + " workers", threads + " each"});
}

// A text in YAML's quotation marks without them.
std::string unquoted(const std::string& text) {
  const bool has_marks = text.size() > 1 && text.front() == '"' && text.back() == '"';
  return has_marks && text.find('\\') == text.npos ? text.substr(1, text.size() - 2) : text;
}

// In one line, or in one for each of its parts where that would be too long to read.
std::string start_lines(std::string_view name, const std::map<std::string, std::string>& start) {
  constexpr std::size_t kLongest = 110;
  const std::vector<std::string> parts = {
      joined({value_of(start, "started"), value_of(start, "step", "at step "),
              value_of(start, "revision").substr(0, 12), value_of(start, "host"), threads_of(start)}),
      value_of(start, "command"), value_of(start, "changed", "changed ")};
  if (const auto all = joined(parts); all.size() <= kLongest) return line(name, all);
  return line(name, parts[0]) + line("", parts[1]) + line("", parts[2]);
}

// Of each data set what `data.NAME.KEY` of the record says.
std::string data_lines(const std::map<std::string, std::string>& record) {
  constexpr std::string_view kBefore = "data.", kLast = ".fingerprint";
  std::string out;
  for (const auto& [key, fingerprint] : record) {
    if (!key.starts_with(kBefore) || !key.ends_with(kLast)) continue;
    const auto set = key.substr(0, key.size() - kLast.size());
    out += line(out.empty() ? "data" : "",
                joined({set.substr(kBefore.size()), counted(value_of(record, set + ".documents"), "document"),
                        counted(value_of(record, set + ".tokens"), "token"), "fingerprint " + fingerprint}));
  }
  return out;
}

}  // namespace

std::string run_text(const RunFiles& run) {
  const auto& r = run.record;
  auto out =
      line("run", state_line(run.summary)) + line("loss", numbers_line(run)) +
      line("model", joined({value_of(run.config, "model.type"), value_of(run.config, "optimizer.type"),
                            unquoted(value_of(run.config, "trainer.mp"))})) +
      data_lines(r) +
      line("tokenizer", joined({value_of(r, "tokenizer_name"), value_of(r, "tokenizer", "fingerprint ")})) +
      line("program", joined({value_of(r, "bora", "Bora "), value_of(r, "revision"),
                              value_of(r, "libtorch", "libtorch "), value_of(r, "compiler", "compiler ")})) +
      line("machine", joined({value_of(r, "host"), value_of(r, "cpu"), threads_of(r), value_of(r, "memory"),
                              value_of(r, "system")})) +
      line("arithmetic", value_of(r, "arithmetic"));
  for (std::size_t i = 0; i < run.starts.size(); ++i)
    out += start_lines(i == 0 ? "starts" : "", run.starts[i]);
  for (const auto& problem : run.problems) out += line("damaged", problem);
  return out + line("next", run.summary.next);
}

}  // namespace bora::report
