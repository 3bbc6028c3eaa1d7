// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <set>

#include "bora/audio/sound.h"
#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/base/locale_text.h"
#include "bora/base/terminal_text.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/open_device.h"
#include "bora/core/runtime.h"
#include "bora/run/generation_defaults.h"
#include "bora/run/speech_defaults.h"
#include "bora/run/transcribe.h"

namespace bora::cli {
namespace {

struct SpeechWishes {
  std::string model;
  std::vector<std::string> sounds;
  run::TranscribeOptions options;
  std::set<std::string> given;
  DeviceFlag device;
  bool times = false;  // a line for each part; a model's generation_config.json may want them for itself
  bool json = false, jsonl = false, quiet = false;
};

SpeechWishes parse_wishes(const Arguments& arguments) {
  SpeechWishes w;
  auto& decoding = w.options.decoding;
  Args args(
      "transcribe",
      "Write what is said in files of sound: WAV or FLAC, of any length and rate. Flags that are left out are "
      "what the model's generation_config.json says.",
      "  bora transcribe openai/whisper-tiny talk.flac\n"
      "  bora transcribe runs/brisk-otter-7 one.wav two.wav --jsonl > texts.jsonl\n"
      "  bora transcribe openai/whisper-small talk.wav --language de --task translate --timestamps");
  args.positional(
          "model", w.model,
          "a run, a checkpoint, a Hugging Face directory, or a name on its hub: owner/name[@revision]")
      .is_path();
  args.positional("sounds", w.sounds, "files to hear").is_path();
  args.option(
      "--language", w.options.language,
      "what is spoken, as en or english; default: what the model's generation_config.json says, else the "
      "model listens for it, where it has several");
  args.option("--task", w.options.task, "transcribe, or translate (into English)")
      .offers({"transcribe", "translate"});
  args.flag("--timestamps", decoding.timestamps, "write from when to when each part is said");
  args.option("--beams", decoding.beams, from_to(1, 1024), "texts that are followed together; 1: greedy");
  args.option("--length_penalty", decoding.length_penalty, from_to(-100, 100),
              "with beams: a text counts by its log-probability / length^this");
  args.option("--max_new_tokens", decoding.max_new_tokens, kSize,
              "of a chunk, at most; default: as many as the model has positions for");
  w.device.declare(args);
  args.flag("--json", w.json, "a JSON array with an object for each file");
  args.flag("--jsonl", w.jsonl, "a JSON object for each file, a line each");
  args.flag("--quiet", w.quiet, "the text alone, no speed");
  args.parse(arguments);
  w.given = args.given();
  w.times = decoding.timestamps;
  if (w.json && w.jsonl)
    fail(ErrorKind::Usage,
         "transcribe: --json beside --jsonl; give one of them\nhint: bora transcribe --help");
  return w;
}

double rounded(double seconds) { return std::round(seconds * 1000) / 1000; }

Json as_json(const std::string& file, const run::Transcript& heard) {
  Json out{{"file", file}, {"seconds", rounded(heard.seconds)}, {"text", heard.text}};
  if (!heard.language.empty()) out["language"] = heard.language;
  out["parts"] = Json::array();
  for (const auto& part : heard.parts)
    out["parts"].push_back({{"begin", rounded(part.begin)}, {"end", rounded(part.end)}, {"text", part.text}});
  return out;
}

std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// "1:02:03.40", without hours below one.
std::string clock_text(double seconds) {
  const auto hundredths = static_cast<std::int64_t>(std::llround(seconds * 100));
  const auto minutes = hundredths / 6000, rest = hundredths % 6000;
  const auto end = fmt::format("{:02}:{:02}.{:02}", minutes % 60, rest / 100, rest % 100);
  return minutes < 60 ? end : fmt::format("{}:{}", minutes / 60, end);
}

void print_text(const std::string& file, const run::Transcript& heard, const SpeechWishes& w) {
  if (w.sounds.size() > 1) fmt::print("--- {}\n", file);
  if (!w.times) {
    fmt::print("{}\n", for_standard_output(heard.text));
    return;
  }
  for (const auto& part : heard.parts)
    fmt::print("[{} - {}] {}\n", clock_text(part.begin), clock_text(part.end),
               for_standard_output(part.text));
}

}  // namespace

int run_transcribe(const Arguments& arguments) {
  auto w = parse_wishes(arguments);
  core::initialize();
  const auto device = open_device(w.device, "transcribe");
  auto opened = run::open_model(w.model);
  const auto told = run::take_speech_defaults(opened, w.given, w.options);
  const auto unused = run::unused_settings(opened.generation, opened.generation_file, run::Decoding::Speech);
  if (!told.empty() && !w.quiet) print_note("bora: {}\n", told);
  if (!unused.empty() && !w.quiet) print_note("bora: {}\n", unused);
  const run::Transcriber transcribe(opened, w.options);
  const double started = monotonic_seconds();
  double seconds = 0;
  Json all = Json::array();
  for (const auto& file : w.sounds) {
    const auto heard = transcribe(audio::read_mono(file, transcribe.sample_rate()));
    seconds += heard.seconds;
    if (w.json)
      all.push_back(as_json(file, heard));
    else if (w.jsonl)
      fmt::print("{}\n", dumped(as_json(file, heard), -1));
    else
      print_text(file, heard, w);
    std::fflush(stdout);
  }
  if (w.json) fmt::print("{}\n", dumped(all, 2));
  std::fflush(stdout);
  const double took = monotonic_seconds() - started;
  if (!w.quiet)
    print_note("bora: {:.1f} s of sound in {:.1f} s, {:.1f} times as fast as it is\n", seconds, took,
               seconds / took);
  return 0;
}

}  // namespace bora::cli
