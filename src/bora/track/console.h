// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/json.h"

namespace bora::track {

/// Terminal: colour, and bars that move. Plain: whole lines, for pipes and files. Json: one object a line.
enum class ConsoleMode { Terminal, Plain, Json };

struct ConsoleOptions {
  ConsoleMode mode = ConsoleMode::Plain;
  bool color = false;                           ///< only with Terminal
  bool quiet = false;                           ///< nothing is shown; warnings (base/log.h) still are
  std::function<int()> width;                   ///< columns; unset: no limit for lines, 100 for bars
  std::function<void(std::string_view)> write;  ///< unset: standard output, flushed
  std::function<double()> clock;                ///< seconds; unset: monotonic_seconds
  std::function<bool()> is_lost;                ///< nobody reads any more; unset: as base/output.h knows
};

/// Standard output as it is: a terminal or not, its width at each moment, and what TERM (dumb: whole lines),
/// NO_COLOR say of it. Files and pipes get whole lines. Everywhere the characters that the locale has: UTF-8, or ASCII alone.
ConsoleOptions detect_console(bool quiet = false, bool json = false);

/// What the training line shows.
struct StepLine {
  std::int64_t step = 0;         ///< steps done
  std::int64_t total = 0;        ///< steps of the whole run
  std::optional<double> loss;    ///< nats; absent where no token counted
  double tokens_per_second = 0;  ///< 0: not shown
  double learning_rate = 0;
  std::optional<double> eta;      ///< seconds to go
  std::optional<double> elapsed;  ///< seconds so far, shown on the last line; default: since the first line
  std::string note = {};          ///< shown at the end: "cache 43 %"
};

/// Rows of a label and cells; numbers are aligned.
struct Table {
  std::string title;
  std::vector<std::string> columns;
  struct Row {
    std::string label;
    std::vector<std::string> cells;
  };
  std::vector<Row> rows;
};

struct Sample {
  std::string prompt;
  std::string continuation;
};

/// What a person sees of a run, on standard output. One line per fact, aligned; a bar for whatever takes
/// long. Any thread may call. While a bar is on the screen, log lines (base/log.h) and all other output go
/// above it.
class Console {
 public:
  explicit Console(ConsoleOptions options = detect_console());
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// Bora 0.1.0 · quickstart · run brisk-otter-7 · ...
  void header(std::span<const std::string> parts);
  /// data        3 sources · 24.1 MB          and, at the right, how long it took
  void fact(std::string_view name, std::string_view text, std::optional<double> seconds = std::nullopt);
  void line(std::string_view text = {});
  /// next:  the first command, the others below it
  void next(std::span<const std::string> commands);
  void table(const Table& table);
  ///  "prompt" > continuation
  void samples(std::span<const Sample> samples);

  /// A bar that moves from step to step and stays when step == total. In Plain mode about 20 lines in a run,
  /// or one a minute if that is more; in Json mode every step.
  void step(const StepLine& line);
  /// The time of a task counts from here; else from the first of its bars.
  void begin(std::string_view name);
  /// A bar for one task; it stays when done >= total. Plain: a line every five seconds, and the last.
  ///   cache       6.0 M tokens  ━━━━━━━━━━━━━━━━━━━━ 100 %  41 MB/s      0.6 s
  void progress(std::string_view name, double done, double total, std::string_view text = {},
                std::string_view rate = {});
  /// The same of what is only waited for: nothing but a terminal shows it, and nothing stays.
  void wait(std::string_view name, double done, double total, std::string_view text);
  /// Ends a bar where it stands (a run that stops early, an error message that follows).
  void settle();

  bool interactive() const { return options_.mode == ConsoleMode::Terminal && !options_.quiet; }
  const ConsoleOptions& options() const { return options_; }

  // For base/log.h: takes the bar off the screen, and puts it back.
  void clear_live();
  void draw_live();

 private:
  struct Task {
    std::string name;
    double started = 0;
    double printed = 0;
  };
  int width_or(int otherwise) const;
  int line_width(bool with_bar) const;
  bool shows(ConsoleMode mode) const { return options_.mode == mode && !options_.quiet; }
  void emit(std::string_view text);
  void emit_json(const Json& object);
  void leave_lost_terminal();
  void show_live(std::string text, bool final);
  void erase();
  void draw();
  bool plain_step_is_due(const StepLine& line, double now);
  std::string step_text(const StepLine& line, double elapsed, bool with_bar) const;
  std::string progress_text(double done, double total, std::string_view text, std::string_view rate,
                            double elapsed, bool with_bar) const;

  ConsoleOptions options_;
  std::mutex mutex_;
  std::string live_;        ///< the bar's line, "" if none
  double drawn_at_ = -1e9;  ///< time of the last drawing
  Task task_;
  std::optional<double> steps_started_;
  std::int64_t printed_part_ = -1;  ///< twentieth of the run whose line has been printed
  double printed_at_ = -1e9;
};

}  // namespace bora::track
