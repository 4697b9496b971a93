#include "plait/io/rows/line_stream.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/compressed/compression.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/gzip.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/rows/gzip_lines.h"
#include "plait/io/inside/rows/lines.h"
#include "plait/io/inside/rows/row_index.h"

namespace plait {

std::string_view StreamedLine::text() const {
  return text_of_line({path_, text_, lines_before_}, position_);
}

std::string_view StreamedLine::json_text() const {
  json();
  return line_at(text_, position_);
}

Json StreamedLine::json() const { return json_of_line({path_, text_, lines_before_}, position_); }

std::optional<StreamedLine> LineStream::next() {
  while (number_ < paths_.size()) {
    if (!file_ && !compressed_) open();
    if (compressed_) {
      if (auto line = next_compressed()) return line;
    } else {
      const std::string_view text = characters_of(file_->bytes());
      if (const auto place = find_line(text, byte_, skips_blank_)) {
        byte_ = std::min(place->next, text.size());
        return StreamedLine(file_, paths_[number_], text, place->begin);
      }
    }
    end_file();
  }
  return std::nullopt;
}

std::optional<StreamedLine> LineStream::next_compressed() try {
  auto line = compressed_->next(skips_blank_);
  if (!line) return std::nullopt;
  byte_ = compressed_->position();
  const auto text = std::make_shared<const std::string>(std::move(line->text));
  return StreamedLine(text, paths_[number_], *text, 0, line->lines_before);
} catch (Error& error) {
  error.prepend(paths_[number_] + ": ");
  end_file();
  throw;
}

void LineStream::end_file() {
  ++number_;
  byte_ = 0;
  file_ = nullptr;
  compressed_ = {};
}

void LineStream::open() try {
  const std::string& path = paths_[number_];
  auto file = std::make_shared<const InputFile>(path);
  const bool begins_line = with_path(path, [&] {
    if (is_gzip(path, file->bytes())) {
      compressed_ = std::make_shared<GzipLines>(file);
      return compressed_->pass_to(byte_);
    }
    expect_not_compressed(file->bytes());
    file_ = file;
    const std::string_view text = characters_of(file->bytes());
    if (byte_ == 0) byte_ = mark_bytes(text);
    return byte_ == mark_bytes(text) || byte_ == text.size() ||
           (byte_ < text.size() && text[byte_ - 1] == '\n');
  });
  if (begins_line) return;
  throw ValueError("{}: no line begins at byte {}, where the saved position is", path, byte_)
      .hint("the file is another one than when the position was saved");
} catch (...) {
  end_file();
  throw;
}

std::vector<int64_t> LineStream::position() const {
  return {static_cast<int64_t>(number_), static_cast<int64_t>(byte_)};
}

void LineStream::seek(std::span<const int64_t> position) {
  const auto is_valid = [&] {
    return position.size() == 2 && position[0] >= 0 && position[1] >= 0 &&
           position[0] <= static_cast<int64_t>(paths_.size());
  };
  if (!position.empty() && !is_valid()) {
    throw ValueError("the position of the stream is not a place in one of its {} files",
                     paths_.size());
  }
  number_ = position.empty() ? 0 : static_cast<size_t>(position[0]);
  byte_ = position.empty() ? 0 : static_cast<size_t>(position[1]);
  file_ = nullptr;
  compressed_ = {};
}

}  // namespace plait
