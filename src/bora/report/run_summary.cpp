// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/run_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "bora/base/config_node.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/report/curves.h"
#include "bora/report/status.h"

namespace bora::report {
namespace {

// The system gives the lock back when the process that held it ends, however it ends.
bool is_held(const std::string& lock) {
  try {
    return exists(lock) && !files().try_lock(lock);
  } catch (const Error&) {  // somebody else's run: nobody may know
    return false;
  }
}

// What says nothing of its end either goes on or was killed.
std::string state_of(const std::string& directory, const std::optional<Status>& status) {
  if (status && status->phase == Phase::Finished) return "finished";
  if (status && status->phase == Phase::Stopped) return "stopped";
  if (status && status->phase == Phase::Failed) return "failed";
  if (is_held(path_join(directory, ".lock"))) return "running";
  return status ? "killed" : "unknown";
}

// Where its last start was, which paths of its configuration mean; "" where nobody knows.
std::string folder_of(const std::string& directory) {
  try {
    const auto record = Json::parse(read_text(path_join(directory, "run.json")), nullptr, false);
    const auto folder = record.is_object() ? record.value("folder", Json()) : Json();
    return folder.is_string() ? folder.get<std::string>() : "";
  } catch (const Error&) {
    return "";
  }
}

std::string text_of(const ConfigTree& tree, const char* key) {
  const auto* node = config::find(tree.root(), key);
  return node == nullptr || node->kind != ConfigTree::Node::Kind::Scalar ? "" : node->text;
}

// Like calm-heron-12: one that a start finds again from the configuration alone.
bool is_made_up(const std::string& name) {
  const auto parts = split(name, '-');
  return parts.size() == 3 && parse_int(parts[2]) && name.find('.') == name.npos;
}

// Whether the configuration that a run keeps means the directory where it lies, which --fresh and people rename, move
// and copy. `folder`: what its paths are relative to. Where nothing is known a start says what is wrong.
bool is_in_its_place(const std::string& config, const std::string& folder) {
  namespace fs = std::filesystem;
  try {
    ConfigTree tree;
    tree.merge_file(config);
    const auto base = tree.empty() ? "" : text_of(tree, "trainer.checkpointer.base_path");
    if (base.empty() || text_of(tree, "trainer.checkpointer.append_run_id_to_base_path") == "false")
      return true;
    std::error_code error;
    const auto there = fs::weakly_canonical(fs::path(parent_path(config)), error);
    auto id = text_of(tree, "trainer.id");
    if (id.empty() && is_made_up(there.filename())) id = there.filename();
    return !id.empty() && fs::weakly_canonical(fs::path(folder) / base / id, error) == there;
  } catch (const Error&) {
    return true;
  }
}

// The flags that say where a run lies whose configuration, in `file`, means another place.
std::string flags_of_place(const std::string& file) {
  const auto directory = parent_path(file);
  return fmt::format(" --trainer.checkpointer.base_path={} --trainer.id={}",
                     shell_word(parent_path(directory)), shell_word(base_name(directory)));
}

// A run that goes on does so by its own configuration, in the folder of its paths; one that is over is looked at.
std::string next_command(const RunSummary& run) {
  const auto config = path_join(run.directory, "config.yaml");
  const bool goes_on = run.state == "stopped" || run.state == "killed";
  if (!goes_on || !exists(config)) return program_word() + " report " + shell_word(run.directory);
  const auto more = run.reason == kStopReason ? " --trainer.stop_at_step=null" : "";
  const auto here = working_folder(), folder = folder_of(run.directory);
  const bool is_moved = !is_in_its_place(config, folder.empty() ? here : folder);
  const auto train = [&](const std::string& program, const std::string& file) {
    return program + " train " + shell_word(file) + (is_moved ? flags_of_place(file) : "") + more;
  };
  if (folder.empty() || folder == here || !exists(folder)) return train(program_word(), config);
  const auto whole = std::filesystem::path(here) / config;
  auto file = whole.lexically_normal().string();
  if (file.starts_with(folder + "/")) file = file.substr(folder.size() + 1);
  return "cd " + shell_word(folder) + " && " + train(program_word(folder), file);
}

std::optional<double> newest(const Curves& curves, const std::string& name) {
  const auto found = curves.find(name);
  if (found == curves.end()) return std::nullopt;
  return found->second.back().value;
}

double time_of(const std::string& file) {
  const auto info = files().info(file);
  return info ? info->modified : 0;
}

// A damaged file is said, and no reason not to list a run.
Curves last_curves(RunSummary& run, const char* name) {
  try {
    return read_last_curves(path_join(run.directory, name));
  } catch (const Error&) {
    run.reason = fmt::format("{} is damaged", name);
    return {};
  }
}

void add_numbers(RunSummary& run) {
  const auto metrics = last_curves(run, "metrics.jsonl");
  run.loss = newest(metrics, "train/loss");
  if (run.loss) run.step = metrics.at("train/loss").back().step + 1;
  run.tokens_per_second = usual(last_curves(run, "timing.jsonl"), "throughput/tokens_per_second");
  run.changed = std::max(time_of(path_join(run.directory, "metrics.jsonl")),
                         time_of(path_join(run.directory, "run.json")));
}

std::string steps_text(const RunSummary& run) {
  return run.num_train_steps ? fmt::format("{}/{}", run.step, *run.num_train_steps)
                             : std::to_string(run.step);
}

std::string age_text(double seconds) {
  if (seconds < 60) return "now";
  if (seconds < 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} d", seconds / 86400);
}

std::string rate_text(const std::optional<double>& rate) {
  if (!rate) return "-";
  return *rate < 10000 ? fmt::format("{:.0f}", *rate) : fmt::format("{:.1f}k", *rate / 1000);
}

constexpr std::size_t kReason = 40;  // bytes of a reason in the table

std::string state_text(const RunSummary& run) {
  if (run.reason.empty()) return run.state;
  const auto shown = run.reason.size() > kReason ? run.reason.substr(0, kReason - 3) + "..." : run.reason;
  return fmt::format("{}: {}", run.state, shown);
}

using Row = std::vector<std::string>;

Row row_of(const RunSummary& run, double now) {
  return {run.name,
          state_text(run),
          steps_text(run),
          run.loss ? fmt::format("{:.3f}", *run.loss) : "-",
          rate_text(run.tokens_per_second),
          age_text(now - run.changed),
          run.next};
}

std::vector<std::size_t> widths_of(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  return widths;
}

// The last cell is as long as it is.
std::string line_of(const Row& row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
  return line + row.back() + "\n";
}

}  // namespace

bool is_run(const std::string& directory) {
  return exists(path_join(directory, "run.json")) || exists(path_join(directory, "metrics.jsonl"));
}

const std::vector<std::string>& usual_run_folders() {
  static const std::vector<std::string> folders = {"runs", "checkpoints"};
  return folders;
}

std::string meant_run(const std::string& name) {
  for (const auto& folder : usual_run_folders())
    if (auto run = path_join(folder, base_name(name)); !base_name(name).empty() && is_run(run)) return run;
  return "";
}

void require_run(const std::string& directory) {
  if (directory.empty())
    fail(ErrorKind::Usage,
         "the run's directory is an empty text\nhint: bora runs lists the runs of a folder");
  if (const auto meant = meant_run(directory); !exists(directory) && !meant.empty())
    fail(ErrorKind::NotFound, "{} does not exist; did you mean {}?\nhint: bora report {}", directory, meant,
         shell_word(meant));
  if (!exists(directory))
    fail(ErrorKind::NotFound, "{} does not exist\nhint: bora runs lists the runs of a folder", directory);
  if (!is_run(directory))
    fail(
        ErrorKind::NotFound,
        "{} is no run: it has neither run.json nor metrics.jsonl\nhint: bora runs lists the runs of a folder",
        directory);
}

RunSummary summarize(const std::string& run_directory) {
  require_run(run_directory);
  const auto status = read_status(run_directory);
  RunSummary run{.name = base_name(run_directory), .directory = run_directory};
  run.state = state_of(run_directory, status);
  add_numbers(run);
  if (status) {
    run.num_train_steps = status->num_train_steps;
    run.step = std::max(run.step, status->step);
    if (!status->reason.empty()) run.reason = status->reason;
    run.changed = std::max(run.changed, status->time);
  }
  run.next = next_command(run);
  return run;
}

std::vector<RunSummary> runs_in(const std::vector<std::string>& folders) {
  std::vector<RunSummary> runs;
  for (const auto& folder : folders) {
    for (const auto& name : files().list(folder)) {
      const auto directory = path_join(folder, name);
      const auto info = files().info(directory);
      if (info && info->is_directory && is_run(directory)) runs.push_back(summarize(directory));
    }
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& a, const auto& b) { return a.changed > b.changed; });
  return runs;
}

std::string runs_table(const std::vector<RunSummary>& runs, double now) {
  std::vector<Row> rows = {{"run", "state", "step", "loss", "tokens/s", "age", "next"}};
  for (const auto& run : runs) rows.push_back(row_of(run, now));
  std::string text;
  for (const auto& row : rows) text += line_of(row, widths_of(rows));
  return text;
}

}  // namespace bora::report
