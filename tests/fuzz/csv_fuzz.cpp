// Any bytes either are a table or give an error; what is read by row is what is read by column.
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/logs/row_cuts.h"
#include "plait/io/inside/rows/csv_rows.h"

namespace {

using plait::CsvRows;

plait::CsvOptions as_text(const plait::CsvTable& table) {
  plait::CsvOptions options;
  for (const std::string& name : table.names) options.types[name] = plait::CsvType::text;
  return options;
}

void compare(std::string_view text) {
  const plait::CsvTable table = CsvRows(text, {}).all();
  CsvRows rows(text, as_text(table));
  const plait::CsvTable texts = rows.all();
  if (rows.size() != table.row_count) throw std::logic_error("another number of rows");
  for (int64_t i = table.row_count - 1; i >= 0; --i) {
    const std::vector<std::string> row = *rows.row(i);
    for (size_t k = 0; k < row.size(); ++k) {
      const auto& column = std::get<std::vector<std::string>>(texts.columns[k]);
      if (column[static_cast<size_t>(i)] != row[k]) throw std::logic_error("a cell differs");
    }
  }
}

// The rows that a log keeps when it is resumed stay when it is resumed again.
template <class Cut>
void cut(std::string_view text, const Cut& cut) {
  const auto first = cut(text, 3);
  const auto again = cut(text.substr(0, first.size), 3);
  if (again.size != first.size || again.last_step != first.last_step) {
    throw std::logic_error("another cut");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = plait::characters_of(std::as_bytes(std::span(data, size)));
  for (const auto& work : {+[](std::string_view all) { compare(all); },
                           +[](std::string_view all) { cut(all, plait::csv_cut); },
                           +[](std::string_view all) { cut(all, plait::jsonl_cut); }}) {
    try {
      work(text);
    } catch (const plait::Error&) {
    }
  }
  return 0;
}
