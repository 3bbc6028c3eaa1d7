// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "bora/base/file.h"
#include "bora/base/html.h"
#include "bora/base/text.h"
#include "bora/report/chart.h"

namespace bora::report {
namespace {

constexpr std::string_view kStyle =
    ":root{--ink:#1b1f24;--paper:#fff;--soft:#5b6570;--line:#d8dee4;--c0:#2f6fde;--c1:#d9730d;--c2:#2a9d5c;"
    "--c3:#b23ac1;--c4:#c0392b;--c5:#0f8b8d;--c6:#8a6d00;--c7:#6b6f76}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--paper:#15181c;--soft:#98a2ae;--line:#353b43;"
    "--c0:#6aa0ff;--c1:#ff9f45;--c2:#56cf8c;--c3:#dd7be8;--c4:#ff7466;--c5:#4fd0d2;--c6:#e0c04a;--c7:#a9afb8}}"
    "body{font:15px/1.5 system-ui,sans-serif;margin:1.5em auto;max-width:88em;padding:0 1em;"
    "color:var(--ink);background:var(--paper)}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    ".wide{overflow-x:auto}table{border-collapse:collapse}th,td{padding:.25em .8em .25em 0;text-align:left;"
    "vertical-align:top}td{overflow-wrap:anywhere}.runs td,.runs th{white-space:nowrap}tr+tr{border-top:1px solid var(--line)}"
    "th,.soft,figcaption output{color:var(--soft);font-weight:normal}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26em),1fr));gap:1.2em}"
    "figure{margin:0;min-width:0}figcaption{font-weight:600}figcaption output{font-size:.85em}"
    "svg{width:100%;height:auto;display:block;touch-action:pan-y}svg text{font-size:11px;fill:var(--soft)}"
    ".grid{stroke:var(--line)}.line{fill:none;stroke-width:1.6}.band{opacity:.22}.at{stroke:var(--soft)}"
    ".bad{fill:#e03131}pre{white-space:pre-wrap;overflow-wrap:anywhere;border-left:3px solid var(--line);"
    "padding-left:.8em;margin:.4em 0 1.2em;font:13px/1.6 ui-monospace,monospace}"
    "summary{cursor:pointer;margin:1em 0;font-weight:600}.key{display:inline-block;width:.8em;height:.8em;"
    "border-radius:2px;margin-right:.4em}.warn{color:#e03131}"
    // Where there is no room for a table, a run is a block of names and values.
    "@media(max-width:50em){.runs,.runs tbody{display:block}.runs tr:first-child{display:none}.runs tr{display:grid;padding:.5em 0;"
    "grid-template-columns:repeat(auto-fill,minmax(8em,1fr))}.runs tr:nth-child(2){border-top:0}"
    ".runs td{white-space:normal}.runs td:first-child{grid-column:1/-1;font-weight:600}"
    ".runs td:not(:first-child)::before{content:attr(data-name);display:block;color:var(--soft);font-size:.85em}}";

// Under the pointer: a line, and the values of the stretches nearest to it.
constexpr std::string_view kScript =
    "for(const f of document.querySelectorAll('figure')){"
    "const d=JSON.parse(f.querySelector('script').textContent),g=f.querySelector('svg'),"
    "at=f.querySelector('.at'),out=f.querySelector('output');"
    "g.onpointermove=e=>{const b=g.getBoundingClientRect();"
    "const s=((e.clientX-b.left)/b.width*420-56)/348*d.last;let x=null,t=[];"
    "for(const l of d.lines){let i=0;l.steps.forEach((v,j)=>{if(Math.abs(v-s)<Math.abs(l.steps[i]-s))i=j});"
    "x=l.steps[i];t.push((d.lines.length>1?l.name+' ':'')+Number(l.values[i].toPrecision(5)))}"
    "at.setAttribute('d','M'+(56+348*x/d.last)+' 8V190');"
    "out.textContent='step '+Math.round(x)+': '+t.join(', ')};"
    "g.onpointerleave=()=>{at.setAttribute('d','');out.textContent=''}}";

// What is looked at first; everything else is one click away.
constexpr std::array<std::string_view, 6> kFirst = {
    "train/loss",          "eval/loss",           "eval/bpb",
    "optim/learning_rate", "optim/gradient_norm", "throughput/tokens_per_second"};

std::string colors() {
  std::string out;
  for (int i = 0; i < 8; ++i)
    out += fmt::format(".s{0}{{stroke:var(--c{0})}}.f{0}{{fill:var(--c{0});background:var(--c{0})}}", i);
  return out;
}

std::string row(const std::vector<std::string>& cells, std::string_view tag = "td") {
  std::string out = "<tr>";
  for (const auto& cell : cells) out += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return out + "</tr>\n";
}

std::string table(const std::string& rows, std::string_view kind = "keys") {
  return fmt::format("<div class=\"wide\"><table class=\"{}\">\n{}</table></div>\n", kind, rows);
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.4g}", *value) : "-"; }

std::optional<double> newest_of(const RunFiles& run, const std::string& name) {
  const auto found = run.curves.find(name);
  if (found == run.curves.end()) return std::nullopt;
  return found->second.back().value;
}

double sum(const RunFiles& run, const std::string& name) {
  double total = 0;
  if (const auto found = run.curves.find(name); found != run.curves.end())
    for (const auto& p : found->second) total += std::isfinite(p.value) ? p.value : 0;
  return total;
}

std::string recorded(const RunFiles& run, const std::string& key) {
  return run.record.contains(key) ? html_text(run.record.at(key)) : "-";
}

std::string state_html(const RunSummary& s) {
  return html_text(s.reason.empty() ? s.state : s.state + ": " + s.reason);
}

std::string steps_of(const RunSummary& s) {
  return s.num_train_steps ? with_commas(s.step) + " of " + with_commas(*s.num_train_steps)
                           : with_commas(s.step);
}

constexpr std::array<std::string_view, 10> kOverview = {
    "run",     "state",    "loss", "tokens/s", "steps", "eval loss", "bits per byte", "tokens that counted",
    "started", "processor"};

std::array<std::string, kOverview.size()> overview_cells(const RunFiles& run, std::size_t color) {
  const auto& s = run.summary;
  return {fmt::format("<span class=\"key f{}\"></span>{}", color % 8, html_text(s.name)),
          state_html(s),
          number(s.loss),
          s.tokens_per_second ? human_count(*s.tokens_per_second) : "-",
          steps_of(s),
          number(newest_of(run, "eval/loss")),
          number(newest_of(run, "eval/bpb")),
          human_count(sum(run, "train/tokens")),
          recorded(run, "started"),
          recorded(run, "cpu")};
}

std::string overview(const std::vector<RunFiles>& runs) {
  auto rows = row({kOverview.begin(), kOverview.end()}, "th");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto cells = overview_cells(runs[i], i);
    rows += "<tr>";
    for (std::size_t c = 0; c < cells.size(); ++c)
      rows += fmt::format("<td data-name=\"{}\">{}</td>", kOverview[c], cells[c]);
    rows += "</tr>\n";
  }
  return table(rows, "runs");
}

std::string problems(const std::vector<RunFiles>& runs) {
  std::string out;
  for (const auto& run : runs)
    for (const auto& problem : run.problems) out += "<p class=\"warn\">" + html_text(problem) + "</p>\n";
  return out;
}

std::string chart_of(const std::vector<RunFiles>& runs, const std::string& name) {
  std::vector<ChartLine> lines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto found = runs[i].curves.find(name);
    if (found != runs[i].curves.end()) lines.push_back({runs[i].summary.name, &found->second, i});
  }
  return chart(name, lines);
}

bool is_first(const std::string& name) {
  return std::find(kFirst.begin(), kFirst.end(), name) != kFirst.end();
}

std::string charts(const std::vector<RunFiles>& runs) {
  std::string first, others;
  for (const auto name : kFirst) first += chart_of(runs, std::string(name));
  std::set<std::string> names;
  for (const auto& run : runs)
    for (const auto& [name, curve] : run.curves) names.insert(name);
  for (const auto& name : names) others += is_first(name) ? "" : chart_of(runs, name);
  if (first.empty() && others.empty()) return "<p class=\"soft\">No numbers yet.</p>\n";
  auto out = "<div class=\"charts\">\n" + first + "</div>\n";
  if (!others.empty())
    out += "<details><summary>All other numbers</summary><div class=\"charts\">\n" + others +
           "</div></details>\n";
  return out;
}

// "sample/Once" of "Once upon a time": where the model begins.
std::string sample_html(const std::string& name, const std::string& text) {
  constexpr std::string_view kBegin = "sample/";
  const auto prompt = name.starts_with(kBegin) ? name.substr(kBegin.size()) : "";
  if (prompt.empty() || !text.starts_with(prompt)) return html_text(text);
  return fmt::format("<b>{}</b><span class=\"soft\"> \u25b8 </span>{}", html_text(prompt),
                     html_text(text.substr(prompt.size())));
}

std::string samples(const std::vector<RunFiles>& runs) {
  std::string out;
  for (const auto& run : runs) {
    for (const auto& [name, text] : run.texts) {
      out += fmt::format("<p class=\"soft\">{} \u00b7 {}</p><pre>{}</pre>\n", html_text(run.summary.name),
                         html_text(name), sample_html(name, text));
    }
  }
  return out.empty() ? "" : "<h2>Samples</h2>\n" + out;
}

std::string differences(const std::vector<RunFiles>& runs) {
  if (runs.size() < 2) return "";
  std::vector<std::string> head = {"key"};
  for (const auto& run : runs) head.push_back(html_text(run.summary.name));
  auto rows = row(head, "th");
  const auto differing = differing_keys(runs);
  for (const auto& [key, values] : differing) {
    std::vector<std::string> cells = {html_text(key)};
    for (const auto& value : values) cells.push_back(html_text(value));
    rows += row(cells);
  }
  return "<h2>Where the configurations differ</h2>\n" +
         (differing.empty() ? std::string("<p class=\"soft\">Nowhere.</p>\n") : table(rows));
}

std::string configuration(const RunFiles& run) {
  if (run.config.empty()) return "";
  std::string rows;
  for (const auto& [key, value] : run.config) rows += row({html_text(key), html_text(value)});
  for (const auto& [key, value] : run.record) rows += row({"run.json: " + html_text(key), html_text(value)});
  return fmt::format("<details><summary>Configuration and record of {}</summary>{}</details>\n",
                     html_text(run.summary.name), table(rows));
}

std::string starts_of(const RunFiles& run) {
  if (run.starts.empty()) return "";
  const std::vector<std::string> keys = {"started", "step",    "command", "revision",
                                         "host",    "workers", "threads", "changed"};
  auto rows = row(keys, "th");
  for (const auto& start : run.starts) {
    std::vector<std::string> cells;
    for (const auto& key : keys) cells.push_back(start.contains(key) ? html_text(start.at(key)) : "");
    rows += row(cells);
  }
  return fmt::format("<details><summary>Starts of {}: {}</summary>{}</details>\n",
                     html_text(run.summary.name), run.starts.size(), table(rows));
}

std::string title_of(const std::vector<RunFiles>& runs) {
  std::vector<std::string> names;
  for (const auto& run : runs) names.push_back(run.summary.name);
  return html_text(join(names));
}

}  // namespace

std::string report_page(const std::vector<RunFiles>& runs) {
  const auto title = title_of(runs);
  std::string body = overview(runs) + problems(runs) + "<h2>Curves</h2>\n" + charts(runs) + samples(runs) +
                     differences(runs) + "<h2>Configuration</h2>\n";
  for (const auto& run : runs) body += configuration(run) + starts_of(run);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{5}"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>{0}</title>\n<style>{1}{2}</style></head>\n"
      "<body><h1>{0}</h1>\n{3}<script>{4}</script></body></html>\n",
      title, kStyle, colors(), body, kScript, kPageMark);
}

std::vector<std::string> write_report(const std::vector<std::string>& run_directories,
                                      const std::string& file) {
  std::vector<RunFiles> runs;
  std::vector<std::string> problems;
  for (const auto& directory : run_directories) require_run(directory);
  for (const auto& directory : run_directories) {
    runs.push_back(read_run(directory));
    const auto& found = runs.back().problems;
    problems.insert(problems.end(), found.begin(), found.end());
  }
  write_atomically(file, report_page(runs), Access::Owner);
  return problems;
}

}  // namespace bora::report
