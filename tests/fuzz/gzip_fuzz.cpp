// Any bytes either are a gzip file or give an error; so do the lines and the archive in it. Pieces
// of it are the parts of its content, and streams go on at each of their positions. Other bytes are
// compressed, and their content is read like them.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "plait/core/error.h"
#include "plait/data/readers/web_dataset.h"
#include "plait/io/inside/gzip.h"
#include "plait/io/rows/line_stream.h"
#include "plait/io/rows/text_lines.h"

#include "tests/io/gzip_samples.h"
#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"

namespace {

constexpr size_t kMostContent = size_t{1} << 22;

void expect(bool condition, const char* message) {
  if (!condition) throw std::logic_error(message);
}

// The content; nothing if there is an error, no more than kMostContent.
std::vector<std::byte> read_in_pieces(std::span<const std::byte> file, size_t piece) {
  std::vector<std::byte> content;
  try {
    plait::GzipReader reader(file);
    while (content.size() < kMostContent && reader.append_some(content, piece) == piece) continue;
  } catch (const plait::ParseError&) {
    content.clear();
  }
  return content;
}

void compare_pieces(std::span<const std::byte> file) {
  const auto large = read_in_pieces(file, kMostContent);
  if (large.size() == kMostContent) return;
  expect(std::ranges::equal(read_in_pieces(file, 100), large), "pieces are not the content");
}

std::string text_or_error(const plait::StreamedLine& line) {
  try {
    return std::string(line.text());
  } catch (const plait::ParseError&) {
    return "an error";
  }
}

void compare_lines(const std::string& path) {
  const plait::TextLines lines(path);
  plait::LineStream stream({path});
  for (int64_t i = 0; i < std::min<int64_t>(lines.size(), 200); ++i) {
    plait::LineStream other({path});
    other.seek(stream.position());
    const auto line = stream.next(), same = other.next();
    expect(line && same, "a stream ends early");
    expect(text_or_error(*line) == text_or_error(*same), "a line differs");
  }
}

void read_shard(const std::string& path) {
  plait::data::WebStream stream({path});
  for (int i = 0; i < 100; ++i) {
    plait::data::WebStream other({path});
    other.seek(stream.position());
    const auto sample = stream.next();
    if (!sample) return;
    for (const auto& member : sample->members()) sample->bytes(member.extension);
    const auto same = other.next();
    expect(same && same->key() == sample->key(), "a sample differs");
  }
}

void read_file(const std::string& path, std::span<const std::byte> file) {
  compare_pieces(file);
  if (read_in_pieces(file, kMostContent).size() == kMostContent) return;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  for (const auto& read : {compare_lines, read_shard}) {
    try {
      read(path);
    } catch (const plait::Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!plait::can_compress()) return 0;  // this build has no zlib
  static const plait::TemporaryFolder folder;
  static const std::string path = folder.path("file");
  const auto bytes = std::as_bytes(std::span(data, size));
  read_file(path, bytes);
  const std::string compressed = plait::gzip(plait::characters_of(bytes));
  expect(std::ranges::equal(plait::gunzipped(plait::bytes_of(compressed)), bytes),
         "the content differs");
  read_file(path, plait::bytes_of(compressed));
  return 0;
}
