// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/console.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "bora/base/clock.h"
#include "bora/base/env.h"
#include "bora/base/locale_text.h"
#include "bora/base/log.h"
#include "bora/base/output.h"
#include "bora/base/secrets.h"
#include "bora/base/text.h"
#include "bora/track/console_text.h"

namespace bora::track {
namespace {

constexpr int kNameColumn = 12;  // "data        3 sources"
constexpr int kTimeColumn = 92;  // where durations at the right end
constexpr int kBarWidth = 40, kMinBarWidth = 10;
constexpr int kDefaultWidth = 100;
constexpr double kRedrawSeconds = 0.1;
constexpr int kPlainLines = 20;
constexpr double kPlainStepSeconds = 60, kPlainProgressSeconds = 5;

// The console that log lines must not tear. Guarded by the log's own mutex: hooks are called and set under
// it.
Console* g_logged = nullptr;

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kDefaultWidth;
}

void write_stdout(std::string_view text) { write_output(Output::Standard, text); }

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

Json cell_value(const std::string& cell) {
  const auto value = parse_double(cell);
  return value ? Json(*value) : Json(cell);
}

std::string joined(std::span<const std::string> parts) { return join(parts, " · "); }

}  // namespace

// A terminal that shows whole lines only still has a width.
ConsoleOptions detect_console(bool quiet, bool json) {
  ConsoleOptions options;
  const bool terminal = isatty(STDOUT_FILENO) != 0 && !json;
  const bool moves = terminal && !env::plain_terminal();
  options.mode = json ? ConsoleMode::Json : moves ? ConsoleMode::Terminal : ConsoleMode::Plain;
  options.color = options.mode == ConsoleMode::Terminal && !env::no_color();
  options.quiet = quiet;
  if (terminal) options.width = terminal_width;
  if (!json && env::ascii_locale()) options.write = [](std::string_view text) { write_stdout(ascii(text)); };
  return options;
}

Console::Console(ConsoleOptions options) : options_(std::move(options)) {
  if (!options_.write) options_.write = write_stdout;
  if (!options_.clock) options_.clock = monotonic_seconds;
  if (!options_.is_lost) options_.is_lost = [] { return output_is_lost(Output::Standard); };
  if (!interactive()) return;
  g_logged = this;
  set_log_hooks([] { g_logged->clear_live(); }, [] { g_logged->draw_live(); });
}

Console::~Console() {
  if (g_logged == this) {
    set_log_hooks(nullptr, nullptr);
    g_logged = nullptr;
  }
  settle();
}

// Bars have a width wherever they are; whole lines as the terminal has, and in files none.
int Console::line_width(bool with_bar) const { return width_or(with_bar ? kDefaultWidth : 1 << 20) - 1; }

int Console::width_or(int otherwise) const { return options_.width ? options_.width() : otherwise; }

// --- lines ---

void Console::emit(std::string_view text) {
  if (options_.quiet) return;
  leave_lost_terminal();
  erase();
  options_.write(fmt::format("{}\n", text));
  draw();
}

void Console::emit_json(const Json& object) {
  if (!options_.quiet)
    options_.write(redact(object.dump(-1, ' ', false, Json::error_handler_t::replace)) + '\n');
}

void Console::header(std::span<const std::string> parts) {
  const std::lock_guard lock(mutex_);
  if (options_.mode == ConsoleMode::Json) return emit_json({{"event", "header"}, {"parts", parts}});
  const auto text = printable(joined(parts));
  if (!options_.width) return emit(text);
  bool first = true;
  for (const auto& piece : wrap(text, width_or(kDefaultWidth) - 1)) {
    emit(first ? painted(piece, Paint::Bold, options_.color) : piece);
    first = false;
  }
}

void Console::fact(std::string_view name, std::string_view text, std::optional<double> seconds) {
  const std::lock_guard lock(mutex_);
  if (options_.mode == ConsoleMode::Json) {
    Json object{{"event", "fact"}, {"name", name}, {"text", text}};
    if (seconds) object["seconds"] = number(*seconds);
    return emit_json(object);
  }
  const int width = width_or(1 << 20);
  std::string start = pad_right(printable(name), kNameColumn);
  if (start.back() != ' ') start += ' ';
  auto lines = wrap(printable(text), std::max(20, width - 1 - display_width(start)));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string content = lines[i];
    if (seconds && i + 1 == lines.size()) {
      const int room = std::min(kTimeColumn, width - 1) - display_width(start) - display_width(content);
      content += "  " + pad_left(human_duration(*seconds), room - 2);
    }
    emit(painted(start, Paint::Dim, options_.color) + content);
    start.assign(display_width(start), ' ');
  }
}

void Console::line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (options_.mode == ConsoleMode::Json)
    return text.empty() ? void() : emit_json({{"event", "line"}, {"text", text}});
  for (const auto& piece : split(text, '\n')) emit(printable(piece));
}

void Console::next(std::span<const std::string> commands) {
  const std::lock_guard lock(mutex_);
  if (options_.mode == ConsoleMode::Json) return emit_json({{"event", "next"}, {"commands", commands}});
  for (std::size_t i = 0; i < commands.size(); ++i) {
    emit((i == 0 ? painted("next:", Paint::Bold, options_.color) + "  " : "       ") +
         printable(commands[i]));
  }
}

void Console::samples(std::span<const Sample> samples) {
  const std::lock_guard lock(mutex_);
  const int width = width_or(240) - 1;
  if (options_.mode != ConsoleMode::Json) emit("samples");
  for (const auto& [prompt, continuation] : samples) {
    if (options_.mode == ConsoleMode::Json) {
      emit_json({{"event", "sample"}, {"prompt", prompt}, {"continuation", continuation}});
    } else {
      emit(fit(fmt::format(" \"{}\" > {}", printable(prompt), printable(continuation)), width));
    }
  }
}

void Console::table(const Table& table) {
  const std::lock_guard lock(mutex_);
  if (options_.mode == ConsoleMode::Json) {
    Json rows = Json::array();
    for (const auto& row : table.rows) {
      Json object{{"name", row.label}};
      for (std::size_t c = 0; c < std::min(row.cells.size(), table.columns.size()); ++c) {
        object[table.columns[c]] = cell_value(row.cells[c]);
      }
      rows.push_back(object);
    }
    return emit_json({{"event", "table"}, {"title", table.title}, {"rows", rows}});
  }
  // Cells are right-aligned among themselves and the block stands below the left end of its heading.
  int labels = kNameColumn;
  std::vector<int> cells(table.columns.size(), 0);
  for (const auto& row : table.rows) {
    labels = std::max(labels, display_width(printable(row.label)) + 3);
    for (std::size_t c = 0; c < std::min(row.cells.size(), cells.size()); ++c) {
      cells[c] = std::max(cells[c], display_width(row.cells[c]));
    }
  }
  const auto emit_row = [&](std::string text, const std::vector<std::string>& values, bool heading) {
    text = pad_right(text, labels);
    for (std::size_t c = 0; c < std::min(values.size(), cells.size()); ++c) {
      const int column = std::max(cells[c], display_width(table.columns[c])) + 3;
      text += pad_right(heading ? values[c] : pad_left(values[c], cells[c]), column);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    if (options_.width) text = fit(text, width_or(kDefaultWidth) - 1);
    emit(heading ? painted(text, Paint::Dim, options_.color) : text);
  };
  emit_row(printable(table.title), table.columns, true);
  for (const auto& row : table.rows) emit_row(' ' + printable(row.label), row.cells, false);
}

// --- bars ---

void Console::erase() {
  if (!live_.empty()) options_.write("\r\x1b[K");
}

void Console::draw() {
  if (!live_.empty()) options_.write('\r' + live_ + "\x1b[K");
}

void Console::clear_live() {
  const std::lock_guard lock(mutex_);
  erase();
}

void Console::draw_live() {
  const std::lock_guard lock(mutex_);
  draw();
}

void Console::settle() {
  const std::lock_guard lock(mutex_);
  if (!live_.empty()) options_.write("\n");
  live_.clear();
  task_ = {};
}

// Bars are for those who look: what goes on in a file after the terminal was lost has whole lines.
void Console::leave_lost_terminal() {
  if (options_.mode != ConsoleMode::Terminal || !options_.is_lost()) return;
  options_.mode = ConsoleMode::Plain;
  options_.color = false;
  options_.width = nullptr;
  live_.clear();
}

void Console::show_live(std::string text, bool final) {
  live_ = std::move(text);
  drawn_at_ = options_.clock();
  draw();
  if (!final) return;
  options_.write("\n");
  live_.clear();
}

std::string Console::step_text(const StepLine& s, double elapsed, bool with_bar) const {
  const bool final = s.total > 0 && s.step >= s.total;
  const auto total = fmt::format("{}", s.total);
  auto start = s.total > 0 ? fmt::format("step  {:>{}}/{}", s.step, total.size(), total)
                           : fmt::format("step  {}", s.step);
  const auto loss = s.loss ? fmt::format("loss {:.3f}", *s.loss) : "loss -";
  const auto speed = s.tokens_per_second > 0 ? compact_count(s.tokens_per_second) + " tok/s" : "";
  const auto rate = final ? "" : "lr " + compact_scientific(s.learning_rate);
  const auto time = final ? human_duration(elapsed) : s.eta ? "eta " + human_duration(*s.eta) : "";
  // What goes first when the terminal is narrow: the learning rate, then the speed, then the bar, then the
  // time.
  const int width = line_width(with_bar);
  for (const int drop : {0, 1, 2, 3}) {
    std::vector<std::string> fields{loss};
    if (drop < 2 && !speed.empty()) fields.push_back(speed);
    if (drop < 1 && !rate.empty()) fields.push_back(rate);
    if (drop < 3 && !time.empty()) fields.push_back(time);
    if (!s.note.empty()) fields.push_back(printable(s.note));
    const auto text = joined(fields);
    const int room = width - display_width(start) - display_width(text) - 2;
    if (with_bar && s.total > 0 && room >= kMinBarWidth) {
      const double fraction = static_cast<double>(s.step) / static_cast<double>(s.total);
      return fmt::format("{} {} {}", start, bar(fraction, std::min(room, kBarWidth), options_.color), text);
    }
    const bool fits = room >= 0;
    if ((fits && (!with_bar || drop == 2 || s.total == 0)) || drop == 3)
      return fit(start + ' ' + text, width);
  }
  return start;
}

bool Console::plain_step_is_due(const StepLine& line, double now) {
  const auto part = line.total > 0 ? line.step * kPlainLines / line.total : printed_part_;
  if (part == printed_part_ && now - printed_at_ < kPlainStepSeconds) return false;
  printed_part_ = part;
  printed_at_ = now;
  return true;
}

void Console::step(const StepLine& line) {
  const std::lock_guard lock(mutex_);
  if (options_.quiet) return;
  leave_lost_terminal();
  const double now = options_.clock();
  if (!steps_started_) steps_started_ = now;
  const double elapsed = line.elapsed.value_or(now - *steps_started_);
  const bool final = line.total > 0 && line.step >= line.total;
  if (options_.mode == ConsoleMode::Json) {
    Json object{{"event", "step"},
                {"step", line.step},
                {"total", line.total},
                {"loss", line.loss ? number(*line.loss) : Json()},
                {"tokens_per_second", number(line.tokens_per_second)},
                {"learning_rate", number(line.learning_rate)},
                {"elapsed", number(elapsed)}};
    if (line.eta) object["eta"] = number(*line.eta);
    if (!line.note.empty()) object["note"] = line.note;
    emit_json(object);
  } else if (options_.mode == ConsoleMode::Plain) {
    if (plain_step_is_due(line, now)) emit(step_text(line, elapsed, false));
  } else if (final || live_.empty() || now - drawn_at_ >= kRedrawSeconds) {
    show_live(step_text(line, elapsed, true), final);
  }
}

std::string Console::progress_text(double done, double total, std::string_view text, std::string_view rate,
                                   double elapsed, bool with_bar) const {
  const double fraction = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 1;
  const auto start = pad_right(printable(task_.name), kNameColumn);
  const auto percent = fmt::format("{:>3} %", static_cast<int>(fraction * 100));
  const auto time = human_duration(elapsed);
  std::vector<std::string> facts;
  if (!text.empty()) facts.push_back(printable(text));
  if (!with_bar) {
    facts.emplace_back(trim(percent));
    if (!rate.empty()) facts.push_back(printable(rate));
    facts.push_back(time);
    return fit(start + joined(facts), line_width(with_bar));
  }
  const auto front = facts.empty() ? start : start + facts[0] + "  ";
  const auto back = rate.empty() ? percent : percent + "  " + printable(rate);
  const int width = width_or(kDefaultWidth) - 1;
  const int room = width - display_width(front) - display_width(back) - display_width(time) - 3;
  if (room < kMinBarWidth) return fit(front + back + "  " + time, width);
  const int bar_width = std::min(room, kBarWidth);
  const int used = display_width(front) + bar_width + 1 + display_width(back);
  const int time_room = std::max(display_width(time) + 2, std::min(kTimeColumn, width) - used);
  return fmt::format("{}{} {}{}", front, bar(fraction, bar_width, options_.color), back,
                     pad_left(time, time_room));
}

void Console::begin(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const double now = options_.clock();
  task_ = {std::string(name), now, now};
}

void Console::progress(std::string_view name, double done, double total, std::string_view text,
                       std::string_view rate) {
  const std::lock_guard lock(mutex_);
  if (options_.quiet) return;
  leave_lost_terminal();
  const double now = options_.clock();
  if (task_.name != name) task_ = {std::string(name), now, now};
  const double elapsed = now - task_.started;
  const bool final = done >= total;
  if (options_.mode == ConsoleMode::Json) {
    if (final || now - task_.printed >= kPlainProgressSeconds) {
      task_.printed = now;
      emit_json({{"event", "progress"},
                 {"name", name},
                 {"done", number(done)},
                 {"total", number(total)},
                 {"text", text},
                 {"rate", rate},
                 {"seconds", number(elapsed)}});
    }
  } else if (options_.mode == ConsoleMode::Plain) {
    if (final || now - task_.printed >= kPlainProgressSeconds) {
      task_.printed = now;
      emit(progress_text(done, total, text, rate, elapsed, false));
    }
  } else if (final || live_.empty() || now - drawn_at_ >= kRedrawSeconds) {
    show_live(progress_text(done, total, text, rate, elapsed, true), final);
  }
  if (final) task_ = {};
}

void Console::wait(std::string_view name, double done, double total, std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (options_.quiet) return;
  leave_lost_terminal();
  if (options_.mode != ConsoleMode::Terminal) return;
  const double now = options_.clock();
  if (task_.name != name) task_ = {std::string(name), now, now};
  if (done >= total) {
    erase();
    live_.clear();
    task_ = {};
  } else if (live_.empty() || now - drawn_at_ >= kRedrawSeconds) {
    show_live(progress_text(done, total, text, {}, now - task_.started, true), /*final=*/false);
  }
}

}  // namespace bora::track
