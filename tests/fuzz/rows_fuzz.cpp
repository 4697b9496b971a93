// Any bytes either have lines of text and of JSON or give errors; a stream of lines has the lines
// that are found by number, and goes on at each of its positions.
#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "plait/core/error.h"
#include "plait/io/rows/jsonl.h"
#include "plait/io/rows/line_stream.h"
#include "plait/io/rows/text_lines.h"

#include "tests/io/temporary_folder.h"

namespace {

// Nothing where it is an error.
template <class Read>
std::optional<std::string> text_or_error(const Read& read) {
  try {
    return std::string(read());
  } catch (const plait::ParseError&) {
    return std::nullopt;
  }
}

void expect_same(const std::optional<std::string>& by_number,
                 const std::optional<std::string>& in_order) {
  if (by_number != in_order) throw std::logic_error("a line differs");
}

template <class Rows, class ByNumber, class InOrder>
void compare(const std::string& path, bool skips_blank, const ByNumber& by_number,
             const InOrder& in_order) {
  const Rows rows(path);
  plait::LineStream stream({path}, skips_blank);
  for (int64_t i = 0; i < rows.size(); ++i) {
    plait::LineStream other({path}, skips_blank);
    other.seek(stream.position());
    const auto line = stream.next(), same = other.next();
    if (!line || !same) throw std::logic_error("a stream ends early");
    const auto expected = text_or_error([&] { return by_number(rows, i); });
    expect_same(expected, text_or_error([&] { return in_order(*line); }));
    expect_same(expected, text_or_error([&] { return in_order(*same); }));
  }
  if (stream.next()) throw std::logic_error("a stream has another line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using plait::StreamedLine;
  static const plait::TemporaryFolder folder;
  const std::string path = folder.path("rows");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    compare<plait::TextLines>(
        path, false, [](const auto& rows, int64_t i) { return rows.line(i); },
        [](const StreamedLine& line) { return line.text(); });
    compare<plait::JsonlFile>(
        path, true, [](const auto& rows, int64_t i) { return rows.text(i); },
        [](const StreamedLine& line) { return line.json_text(); });
  } catch (const plait::Error&) {  // a file that is compressed
  }
  return 0;
}
