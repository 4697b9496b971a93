#include "plait/io/inside/rows/gzip_lines.h"

#include <algorithm>

#include "plait/io/inside/compressed/compression.h"
#include "plait/io/inside/rows/row_index.h"

namespace plait {
namespace {

constexpr size_t kFirstText = size_t{1} << 12, kMostText = size_t{1} << 18;

}  // namespace

GzipLines::GzipLines(std::shared_ptr<const InputFile> file)
    : file_(std::move(file)), reader_(file_->bytes()) {
  fill();
  expect_not_compressed(std::as_bytes(std::span(piece_)));
  at_ = position_ = mark_bytes(piece_);
}

// The first piece is small, so that the first line is there immediately.
bool GzipLines::fill() {
  piece_.resize(std::clamp(2 * piece_.size(), kFirstText, kMostText));
  piece_.resize(reader_.read_some(std::as_writable_bytes(std::span(piece_))));
  at_ = 0;
  return !piece_.empty();
}

bool GzipLines::read_line(std::string& line) {
  line.clear();
  while (!rest().empty() || fill()) {
    const size_t end = rest().find('\n');
    const std::string_view part = rest().substr(0, end == std::string_view::npos ? end : end + 1);
    line += part;
    at_ += part.size();
    position_ += part.size();
    if (end != std::string_view::npos) break;
  }
  if (line.empty()) return false;
  ++lines_;
  return true;
}

std::optional<GzipLines::Line> GzipLines::next(bool skips_blank) {
  std::string line;
  while (read_line(line)) {
    if (skips_blank && is_blank(line)) continue;
    return Line{std::move(line), lines_ - 1};
  }
  return std::nullopt;
}

bool GzipLines::pass_to(size_t byte) {
  if (byte <= position_) return byte == 0 || byte == position_;
  bool is_after_end = false;
  while (position_ < byte && (!rest().empty() || fill())) {
    const std::string_view part = rest().substr(0, byte - position_);
    lines_ += static_cast<size_t>(std::ranges::count(part, '\n'));
    is_after_end = part.ends_with('\n');
    at_ += part.size();
    position_ += part.size();
  }
  if (position_ < byte) return false;
  return is_after_end || (rest().empty() && !fill());
}

}  // namespace plait
