// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "bora/base/config_node.h"
#include "bora/base/text.h"

// Grammar of what is written (a subset of YAML 1.2 that YAML 1.1 readers take the same way):
//   map    := (indent key ": " scalar NL | indent key ": " flow NL | indent key ":" NL map-or-list(indent +
//   2))* list   := (indent "- " value)*                 the value's own first indent is what "- " stands on
//   flow   := "[" scalar (", " scalar)* "]" | "[]" | "{}"
//   scalar := plain | '"' JSON string escapes '"' | "null"
namespace bora::config {
namespace {

constexpr std::size_t kLongestFlow = 100;

// Plain words that YAML 1.1 or 1.2 reads as something else than a string.
bool is_reserved(std::string_view text) {
  static constexpr std::array kWords{"~", "null", "true", "false", "yes",   "no",    "on",  "off",
                                     "y", "n",    "<<",   ".inf",  "-.inf", "+.inf", ".nan"};
  return std::find(kWords.begin(), kWords.end(), ascii_lower(text)) != kWords.end();
}

// A leading digit (numbers, dates, 0x10, 1_000, 12:30) or sign is reason enough for quotes.
bool looks_like_number(std::string_view text) {
  constexpr std::string_view kStarts = "0123456789+-.";
  return kStarts.find(text[0]) != std::string_view::npos &&
         std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool may_be_plain(std::string_view text) {
  if (text.empty() || text != trim(text)) return false;
  constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`=";
  const bool negative =
      text.size() > 1 && text[0] == '-' && (text[1] == '.' || (text[1] >= '0' && text[1] <= '9'));
  if (!negative && kIndicators.find(text[0]) != std::string_view::npos) return false;
  // Inside brackets some of these end a scalar; which ones, and when, differs between parsers.
  if (text.find_first_of(",[]{}?#&!|>'\"`\\") != std::string_view::npos) return false;
  if (text.find(": ") != std::string_view::npos) return false;
  const auto special = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F;
  };
  return text.back() != ':' && !text.starts_with("---") && !text.starts_with("...") &&
         std::none_of(text.begin(), text.end(), special);
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
          out += fmt::format("\\x{:02x}", c);
        else
          out += c;
    }
  }
  return out + '"';
}

std::string string_text(std::string_view text) {
  return may_be_plain(text) && !is_reserved(text) && !looks_like_number(text) ? std::string(text)
                                                                              : in_quotes(text);
}

bool is_inline(const Node& node) {
  return node.kind == Node::Kind::Null || node.kind == Node::Kind::Scalar || node.children.empty();
}

std::string scalar_text(const Node& node) {
  switch (node.kind) {
    case Node::Kind::Null:
      return "null";
    case Node::Kind::List:
      return "[]";
    case Node::Kind::Map:
      return "{}";
    case Node::Kind::Scalar:
      break;
  }
  if (node.is_string) return string_text(node.text);
  return may_be_plain(node.text) && node.text != "<<" ? node.text : in_quotes(node.text);
}

// The list on one line, or "" if it is no list of scalars or too long for that.
std::string flow_text(const Node& node) {
  if (node.kind != Node::Kind::List || !std::all_of(node.children.begin(), node.children.end(), is_inline))
    return "";
  std::string out = "[";
  for (const Node& c : node.children) {
    if (out.size() > 1) out += ", ";
    out += scalar_text(c);
    if (out.size() > kLongestFlow) return "";
  }
  return out + ']';
}

std::string inline_text(const Node& node) { return is_inline(node) ? scalar_text(node) : flow_text(node); }

void write(const Node& node, std::size_t indent, std::string& out);

void write_item(const Node& item, std::size_t indent, std::string& out) {
  const std::size_t start = out.size();
  write(item, indent + 2, out);
  out.replace(start + indent, 2, "- ");
}

void write_entry(const Node& entry, std::size_t indent, std::string& out) {
  out.append(indent, ' ');
  out += string_text(entry.key) + ':';
  if (const std::string text = inline_text(entry); !text.empty()) {
    out += ' ' + text + '\n';
    return;
  }
  out += '\n';
  write(entry, indent + 2, out);
}

void write(const Node& node, std::size_t indent, std::string& out) {
  if (const std::string text = inline_text(node); !text.empty()) {
    out.append(indent, ' ');
    out += text + '\n';
    return;
  }
  for (const Node& c : node.children) {
    if (node.kind == Node::Kind::Map)
      write_entry(c, indent, out);
    else
      write_item(c, indent, out);
  }
}

}  // namespace

std::string to_yaml(const Node& node) {
  std::string out;
  write(node, 0, out);
  return out;
}

std::string to_inline_yaml(const Node& node) {
  if (is_inline(node)) return scalar_text(node);
  std::string out;
  for (const Node& c : node.children) {
    if (!out.empty()) out += ", ";
    if (node.kind == Node::Kind::Map) out += string_text(c.key) + ": ";
    out += to_inline_yaml(c);
  }
  return node.kind == Node::Kind::Map ? "{" + out + "}" : "[" + out + "]";
}

}  // namespace bora::config
