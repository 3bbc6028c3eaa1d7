// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/console.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "bora/base/locale_text.h"
#include "bora/base/log.h"
#include "bora/base/text.h"
#include "bora/track/console_text.h"

namespace bora::track {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A console that writes to a string and lives in a time of its own.
struct Screen {
  explicit Screen(ConsoleMode mode, int columns_ = 104, bool color = false, bool quiet = false)
      : columns(columns_) {
    options.mode = mode;
    options.color = color;
    options.quiet = quiet;
    if (mode == ConsoleMode::Terminal) options.width = [this] { return columns; };
    options.write = [this](std::string_view text) { out += text; };
    options.clock = [this] { return now; };
  }
  std::vector<std::string> lines() const {
    auto all = split(out, '\n');
    if (!all.empty() && all.back().empty()) all.pop_back();
    return all;
  }
  /// What a terminal shows at the end: every \r starts the line anew, \x1b[K clears what follows.
  std::vector<std::string> shown() const {
    std::vector<std::string> result;
    for (const auto& line : lines()) {
      std::string visible;
      for (auto piece : split(line, '\r')) {
        if (const auto clear = piece.find("\x1b[K"); clear != std::string::npos) piece.erase(clear, 3);
        visible = piece;
      }
      result.push_back(visible);
    }
    return result;
  }
  int columns;
  std::string out;
  double now = 100;
  ConsoleOptions options;
};

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// Standard output is a terminal of 60 columns.
class OnATerminal {
 public:
  OnATerminal() {
    ::grantpt(main_);
    ::unlockpt(main_);
    const int terminal = ::open(::ptsname(main_), O_RDWR | O_NOCTTY);
    const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(terminal, TIOCSWINSZ, &size);
    ::dup2(terminal, STDOUT_FILENO);
    ::close(terminal);
  }
  ~OnATerminal() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
    ::close(main_);
  }
  OnATerminal(const OnATerminal&) = delete;
  OnATerminal& operator=(const OnATerminal&) = delete;
  // What has come since it was last asked; the terminal passes it on a moment later.
  std::string written() const {
    std::string out;
    pollfd arrival{.fd = main_, .events = POLLIN, .revents = 0};
    while (::poll(&arrival, 1, 200) > 0) {
      std::array<char, 4096> text{};
      const auto n = ::read(main_, text.data(), text.size());
      if (n <= 0) break;
      out.append(text.data(), static_cast<std::size_t>(n));
    }
    return out;
  }

 private:
  int before_ = ::dup(STDOUT_FILENO), main_ = ::posix_openpt(O_RDWR | O_NOCTTY);
};

StepLine step_line(std::int64_t step) {
  return {.step = step,
          .total = 600,
          .loss = 4.2109,
          .tokens_per_second = 21432,
          .learning_rate = 2.94e-3,
          .eta = 96};
}

TEST(ConsoleText, Widths) {
  EXPECT_EQ(display_width("a━·é"), 4);
  EXPECT_EQ(display_width("日本"), 4);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);
  EXPECT_EQ(display_width("\xFF\xFE"), 2);
  EXPECT_EQ(fit("日本語", 4), "日…");
  EXPECT_EQ(fit("abc", 3), "abc");
  EXPECT_EQ(fit("abcd", 3), "ab…");
  EXPECT_EQ(fit("abcd", 0), "");
}

TEST(ConsoleText, PrintableKeepsATerminalSafe) {
  EXPECT_EQ(printable("a\x1b[31m\nb\t\xC2\x9B \xFF é"), "a\\x1b[31m⏎b\\x09\\x9b \xEF\xBF\xBD é");
}

TEST(ConsoleText, NothingSecretOfUrls) {
  for (const auto mode : {ConsoleMode::Plain, ConsoleMode::Json, ConsoleMode::Terminal}) {
    Screen screen(mode);
    Console console(screen.options);
    console.header(std::vector<std::string>{"https://h/a?CANARY"});
    console.fact(
        "data", "a long text before, and then https://host.example.org/folder/a.jsonl?token=CANARY&b=CANARY");
    console.line("urls: [\"https://me:CANARY@h/a\"]");
    console.next(std::vector<std::string>{"bora train --data.train_urls=https://h/a?CANARY"});
    console.progress("https://h/a?CANARY", 1, 2, "https://h/a?CANARY", "1 MB/s");
    console.samples(std::vector<Sample>{{"https://h/a?CANARY", "x"}});
    console.settle();
    std::string all;
    for (const auto& line : screen.lines()) all += line + "\n";
    EXPECT_EQ(all.find("CANARY"), std::string::npos) << all;
    EXPECT_NE(all.find("?<redacted>"), std::string::npos) << all;
  }
}

TEST(ConsoleText, Numbers) {
  EXPECT_EQ(compact_count(0), "0");
  EXPECT_EQ(compact_count(950), "950");
  EXPECT_EQ(compact_count(999.6), "1.00k");
  EXPECT_EQ(compact_count(21432), "21.4k");
  EXPECT_EQ(compact_count(1234567), "1.23M");
  EXPECT_EQ(compact_count(99960), "100k");
  EXPECT_EQ(compact_scientific(2.94e-3), "2.9e-3");
  EXPECT_EQ(compact_scientific(3e-4), "3.0e-4");
  EXPECT_EQ(compact_scientific(0), "0");
}

TEST(ConsoleText, AsciiKeepsTheShape) {
  EXPECT_EQ(ascii("a · b ━━╸━ 3 × 4 cut… │ x² ▏0▕ \x1b[36m"), "a - b ==>= 3 x 4 cut~ | x^2 |0| \x1b[36m");
  EXPECT_EQ(ascii("für 日本\xff!"),
            "f?r ??"
            "?!");
  EXPECT_EQ(ascii(""), "");
}

TEST(ConsoleDetect, HeedsTerminalsThatShowLess) {
  const std::vector<std::string> facts = {"Bora",
                                          "a run of words that is longer than sixty columns are wide"};
  std::string dumb, capable, ascii_text, colourless;
  {
    const OnATerminal terminal;
    const Variable language("LC_ALL", "C.UTF-8");
    const auto show = [&] {
      Console console(detect_console());
      console.header(facts);
      console.step(step_line(120));
      console.step(step_line(600));
    };
    {
      const Variable term("TERM", "xterm");
      show();
      capable = terminal.written();
      const Variable colour("NO_COLOR", "1");
      show();
      colourless = terminal.written();
    }
    const Variable term("TERM", "dumb");
    show();
    dumb = terminal.written();
    const Variable charset("LC_ALL", "C");
    show();
    ascii_text = terminal.written();
  }
  EXPECT_THAT(capable, testing::AllOf(HasSubstr("\x1b[K"), HasSubstr("\x1b[36m"), HasSubstr("━")));
  EXPECT_THAT(colourless, testing::AllOf(HasSubstr("\x1b[K"), Not(HasSubstr("\x1b[3")), HasSubstr("━")));
  EXPECT_THAT(dumb, testing::AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("━")), HasSubstr("step  600/600")));
  for (const auto& line : split(dumb, '\n')) {
    const auto text = trim(line);  // the terminal ends lines in \r\n
    EXPECT_LT(display_width(text), 60) << text;
    EXPECT_EQ(text.find('\r'), text.npos) << text;
  }
  EXPECT_THAT(ascii_text, HasSubstr("Bora - a run"));
  EXPECT_TRUE(std::ranges::all_of(ascii_text, [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

TEST(ConsoleText, Bar) {
  EXPECT_EQ(bar(0, 4, false), "╸━━━");
  EXPECT_EQ(bar(0.5, 4, false), "━━╸━");
  EXPECT_EQ(bar(1, 4, false), "━━━━");
  EXPECT_EQ(bar(7, 2, false), "━━");
  EXPECT_EQ(bar(0.5, 4, true), "\x1b[36m━━╸\x1b[0m\x1b[2m━\x1b[0m");
}

TEST(ConsoleFacts, AreAligned) {
  Screen screen(ConsoleMode::Plain);
  Console console(screen.options);
  console.header(std::vector<std::string>{"Bora 0.1.0", "quickstart", "run brisk-otter-7"});
  console.fact("data", "3 sources · 24.1 MB");
  console.fact("tokenizer", "trained: byte-level BPE, 4,096 pieces, 4.02 bytes per token", 4.1);
  EXPECT_EQ(
      screen.lines(),
      (std::vector<std::string>{
          "Bora 0.1.0 · quickstart · run brisk-otter-7", "data        3 sources · 24.1 MB",
          "tokenizer   trained: byte-level BPE, 4,096 pieces, 4.02 bytes per token                4.1 s"}));
}

TEST(ConsoleFacts, WrapOnANarrowTerminal) {
  Screen screen(ConsoleMode::Terminal, 40);
  Console console(screen.options);
  console.fact("data", "one two three four five six seven eight nine", 3.0);
  EXPECT_EQ(screen.lines(), (std::vector<std::string>{"data        one two three four five six",
                                                      "            seven eight nine      3.0 s"}));
}

TEST(ConsoleTable, AlignsNumbersBelowTheirHeading) {
  Screen screen(ConsoleMode::Plain);
  Console console(screen.options);
  console.table({"eval",
                 {"loss", "ppl", "bits/byte"},
                 {{"foldoc", {"3.31", "27.4", "1.19"}}, {"jargon", {"3.62", "9.3", "1.30"}}}});
  EXPECT_EQ(screen.lines(),
            (std::vector<std::string>{"eval        loss   ppl    bits/byte", " foldoc     3.31   27.4   1.19",
                                      " jargon     3.62    9.3   1.30"}));
}

TEST(ConsoleSamples, AreOneSafeLineEach) {
  Screen screen(ConsoleMode::Terminal, 30);
  Console console(screen.options);
  console.samples(std::vector<Sample>{{"The moon", " is\n\x1b[2Ja very long continuation"}});
  EXPECT_EQ(screen.lines(), (std::vector<std::string>{"samples", " \"The moon\" >  is⏎\\x1b[2Ja v…"}));
}

TEST(ConsoleNext, ListsCommands) {
  Screen screen(ConsoleMode::Plain);
  Console console(screen.options);
  console.next(std::vector<std::string>{"./bora generate runs/a \"The moon is\"", "./bora viz runs/a"});
  EXPECT_EQ(screen.lines(), (std::vector<std::string>{"next:  ./bora generate runs/a \"The moon is\"",
                                                      "       ./bora viz runs/a"}));
}

TEST(ConsoleSteps, TerminalShowsOneMovingBar) {
  Screen screen(ConsoleMode::Terminal);
  Console console(screen.options);
  console.step(step_line(120));
  EXPECT_EQ(screen.out,
            "\rstep  120/600 ━━━━━━━━╸━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ loss 4.211 · 21.4k tok/s · lr 2.9e-3 · "
            "eta 1:36"
            "\x1b[K");
  const auto size = screen.out.size();
  screen.now += 0.01;
  console.step(step_line(121));
  EXPECT_EQ(screen.out.size(), size) << "redrawn too often";
  screen.now += 114.99;
  console.step(step_line(600));
  EXPECT_THAT(screen.out,
              EndsWith("step  600/600 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ loss 4.211 · 21.4k tok/s · "
                       "1:55\x1b[K\n"));
}

TEST(ConsoleSteps, RespectTheWidth) {
  for (int columns = 5; columns < 120; ++columns) {
    Screen screen(ConsoleMode::Terminal, columns, true);
    Console console(screen.options);
    console.step(step_line(7));
    std::string text = screen.out;
    for (const auto* code : {"\r", "\x1b[K", "\x1b[36m", "\x1b[2m", "\x1b[0m"}) {
      for (auto at = text.find(code); at != std::string::npos; at = text.find(code))
        text.erase(at, std::strlen(code));
    }
    EXPECT_LT(display_width(text), columns);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
}

TEST(ConsoleSteps, ANoteIsShownToTheEnd) {
  for (const int columns : {100, 60, 44}) {
    Screen screen(ConsoleMode::Terminal, columns);
    {
      Console console(screen.options);
      auto line = step_line(120);
      line.note = "cache 43 %";
      console.step(line);
    }
    const auto text = screen.shown().at(0);
    EXPECT_THAT(text, testing::HasSubstr("loss 4.211")) << columns;
    EXPECT_THAT(text, testing::EndsWith(" · cache 43 %")) << columns;
  }
}

TEST(ConsoleSteps, OtherOutputGoesAboveTheBar) {
  Screen screen(ConsoleMode::Terminal);
  {
    Console console(screen.options);
    console.step(step_line(120));
    console.line("eval done");
    testing::internal::CaptureStderr();
    log_info("hello");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "bora: hello\n");
  }
  const auto shown = screen.shown();
  ASSERT_EQ(shown.size(), 2);
  EXPECT_EQ(shown[0], "eval done");
  EXPECT_THAT(shown[1], StartsWith("step  120/600 ━"));
  const auto size = screen.out.size();
  testing::internal::CaptureStderr();
  log_info("after the console is gone");
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(screen.out.size(), size);
}

TEST(ConsoleSteps, ALostTerminalGetsWholeLines) {
  Screen screen(ConsoleMode::Terminal, 104, true);
  bool lost = false;
  screen.options.is_lost = [&] { return lost; };
  {
    Console console(screen.options);
    console.step(step_line(1));
    screen.out.clear();
    lost = true;
    for (int step = 2; step < 40; ++step) console.step(step_line(step));
    console.line("a line");
  }
  EXPECT_THAT(screen.out, Not(HasSubstr("\r")));
  EXPECT_THAT(screen.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(screen.lines(),
              ElementsAre(StartsWith("step    2/600"), StartsWith("step   30/600"), "a line"));
}

TEST(ConsoleSteps, PlainIsAboutTwentyLinesOrOneAMinute) {
  Screen screen(ConsoleMode::Plain);
  Console console(screen.options);
  for (int step = 1; step <= 600; ++step) {
    screen.now += 0.2;
    console.step(step_line(step));
  }
  EXPECT_EQ(screen.lines().size(), 21);
  EXPECT_EQ(screen.lines()[1], "step   30/600 loss 4.211 · 21.4k tok/s · lr 2.9e-3 · eta 1:36");
  EXPECT_EQ(screen.lines()[20], "step  600/600 loss 4.211 · 21.4k tok/s · 2:00");
  auto without = step_line(600);
  without.loss.reset();  // no token of it counted
  console.step(without);
  screen.now += 60;
  console.step(without);
  EXPECT_EQ(screen.lines().back(), "step  600/600 loss - · 21.4k tok/s · 3:00");
  EXPECT_THAT(screen.out, Not(HasSubstr("\r")));
  EXPECT_THAT(screen.out, Not(HasSubstr("\x1b")));

  Screen slow(ConsoleMode::Plain);
  Console other(slow.options);
  for (int step = 1; step <= 28; ++step) {
    slow.now += 61;
    other.step(step_line(step));
  }
  EXPECT_EQ(slow.lines().size(), 28);
}

TEST(ConsoleProgress, EndsAsOneLine) {
  Screen screen(ConsoleMode::Terminal);
  Console console(screen.options);
  console.progress("cache", 0, 24.1e6, "0 tokens");
  screen.now += 0.3;
  console.progress("cache", 12e6, 24.1e6, "3.0 M tokens", "40 MB/s");
  screen.now += 0.3;
  console.progress("cache", 24.1e6, 24.1e6, "6.0 M tokens", "41 MB/s");
  EXPECT_EQ(screen.shown(),
            std::vector<std::string>{
                "cache       6.0 M tokens  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 100 %  41 MB/s  "
                "    0.6 s"});
  console.progress("cache", 1, 1);  // another task of the same name starts its own clock
  EXPECT_THAT(screen.shown()[1], EndsWith("0.00 s"));
}

TEST(ConsoleProgress, PlainSaysWhatIsWorthSaying) {
  Screen screen(ConsoleMode::Plain);
  Console console(screen.options);
  for (int i = 0; i <= 25; ++i, screen.now += 1) console.progress("cache", i, 25, "tokens", "41 MB/s");
  EXPECT_EQ(screen.lines(),
            (std::vector<std::string>{
                "cache       tokens · 20 % · 41 MB/s · 5.0 s", "cache       tokens · 40 % · 41 MB/s · 10 s",
                "cache       tokens · 60 % · 41 MB/s · 15 s", "cache       tokens · 80 % · 41 MB/s · 20 s",
                "cache       tokens · 100 % · 41 MB/s · 25 s"}));
}

TEST(ConsoleWait, GoesWhenItIsOver) {
  Screen screen(ConsoleMode::Terminal);
  Console console(screen.options);
  console.wait("data", 0, 2, "asking for remote texts, 0 of 2");
  EXPECT_THAT(screen.shown().back(), StartsWith("data        asking for remote texts, 0 of 2"));
  screen.now += 1;
  console.wait("data", 1, 2, "asking for remote texts, 1 of 2");
  EXPECT_THAT(screen.shown().back(), HasSubstr("1 of 2"));
  console.wait("data", 2, 2, "");
  EXPECT_EQ(screen.shown().back(), "");
  console.fact("tokenizer", "bytes");
  EXPECT_THAT(screen.shown(), testing::ElementsAre("tokenizer   bytes"));
  for (const auto mode : {ConsoleMode::Plain, ConsoleMode::Json}) {
    Screen file(mode);
    Console(file.options).wait("data", 0, 2, "asking");
    EXPECT_EQ(file.out, "");
  }
}

TEST(ConsoleProgress, CountsFromWhereATaskBegins) {
  Screen screen(ConsoleMode::Plain);
  Console console(screen.options);
  console.begin("cache");
  screen.now += 4;
  console.progress("cache", 1, 2, "tokens", "41 MB/s");
  screen.now += 2;
  console.fact("data", "3 sources");
  console.progress("cache", 2, 2, "tokens", "41 MB/s");
  EXPECT_THAT(screen.lines().back(), EndsWith("41 MB/s · 6.0 s"));
}

TEST(ConsoleJson, IsOneObjectALine) {
  Screen screen(ConsoleMode::Json);
  Console console(screen.options);
  console.header(std::vector<std::string>{"Bora 0.1.0", "quickstart"});
  console.fact("data", "3 sources", 1.5);
  console.step(step_line(120));
  console.table({"eval", {"loss"}, {{"foldoc", {"3.31"}}}});
  console.progress("cache", 1, 1, "x", "y");
  console.next(std::vector<std::string>{"a"});
  console.samples(std::vector<Sample>{{"p", "c\n"}});
  console.line("text");
  const auto lines = screen.lines();
  ASSERT_EQ(lines.size(), 8);
  std::vector<Json> objects;
  for (const auto& line : lines) objects.push_back(parse_json(line, "console"));
  EXPECT_EQ(lines[0], R"({"event":"header","parts":["Bora 0.1.0","quickstart"]})");
  EXPECT_EQ(lines[1], R"({"event":"fact","name":"data","text":"3 sources","seconds":1.5})");
  EXPECT_EQ(objects[2]["loss"], 4.2109);
  EXPECT_EQ(objects[2]["eta"], 96);
  EXPECT_EQ(lines[3], R"({"event":"table","title":"eval","rows":[{"name":"foldoc","loss":3.31}]})");
  EXPECT_EQ(objects[4]["event"], "progress");
  EXPECT_EQ(lines[7], R"({"event":"line","text":"text"})");
}

TEST(ConsoleQuiet, SaysNothing) {
  for (auto mode : {ConsoleMode::Terminal, ConsoleMode::Plain, ConsoleMode::Json}) {
    Screen screen(mode, 104, false, true);
    Console console(screen.options);
    console.header(std::vector<std::string>{"Bora"});
    console.fact("data", "x");
    console.step(step_line(600));
    console.progress("cache", 1, 1);
    console.table({});
    console.samples({});
    console.settle();
    EXPECT_EQ(screen.out, "");
  }
}

TEST(ConsoleSettle, KeepsTheLastStateOfAStoppedRun) {
  Screen screen(ConsoleMode::Terminal);
  Console console(screen.options);
  console.step(step_line(347));
  console.settle();
  console.line("stopped");
  EXPECT_THAT(screen.out, EndsWith("eta 1:36\x1b[K\nstopped\n"));
}

}  // namespace
}  // namespace bora::track
