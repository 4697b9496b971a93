#include "plait/io/inside/logs/log_entries.h"

#include <algorithm>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/logs/row_cuts.h"
#include "plait/io/inside/utf8.h"

namespace plait {

void expect_step(int64_t step) {
  if (step < 0) throw ValueError("log: the step is {}, expected 0 or more", step);
}

void expect_text(std::string_view what, std::string_view text) {
  const size_t valid = valid_utf8_bytes(text);
  if (valid == text.size()) return;
  throw ValueError("log: {} is not UTF-8: {} at byte {}", what, in_quotes(text.substr(valid, 1)),
                   valid);
}

void expect_entries(std::span<const LogEntry> entries) {
  std::unordered_set<std::string_view> names;
  for (const LogEntry& entry : entries) {
    if (entry.name.empty()) throw ValueError("log: the name of a value is empty");
    expect_text("a name", entry.name);
    if (!names.insert(entry.name).second) {
      throw ValueError("log: two values are named {}", in_quotes(entry.name));
    }
    if (const auto* text = std::get_if<std::string>(&entry.value.any())) {
      expect_text(in_quotes(entry.name), *text);
    }
  }
}

void expect_no_step(std::span<const LogEntry> entries) {
  if (std::ranges::find(entries, kStepColumn, &LogEntry::name) == entries.end()) return;
  throw ValueError("log: a value is named {}, as the step of the row is", in_quotes(kStepColumn));
}

std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace plait
