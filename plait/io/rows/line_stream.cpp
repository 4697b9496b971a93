#include "plait/io/rows/line_stream.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/rows/lines.h"
#include "plait/io/inside/rows/row_index.h"

namespace plait {

std::string_view StreamedLine::text() const {
  return text_of_line(path_, characters_of(file_->bytes()), position_);
}

std::string_view StreamedLine::json_text() const {
  json();
  return line_at(characters_of(file_->bytes()), position_);
}

Json StreamedLine::json() const {
  return json_of_line(path_, characters_of(file_->bytes()), position_);
}

std::optional<StreamedLine> LineStream::next() {
  while (number_ < paths_.size()) {
    if (!file_) open();
    const std::string_view text = characters_of(file_->bytes());
    if (const auto place = find_line(text, byte_, skips_blank_)) {
      byte_ = std::min(place->next, text.size());
      return StreamedLine(file_, paths_[number_], place->begin);
    }
    end_file();
  }
  return std::nullopt;
}

void LineStream::end_file() {
  ++number_;
  byte_ = 0;
  file_ = nullptr;
}

void LineStream::open() try {
  auto file = open_lines(paths_[number_]);
  const std::string_view text = characters_of(file->bytes());
  const bool begins_line =
      byte_ == 0 || byte_ == text.size() || (byte_ < text.size() && text[byte_ - 1] == '\n');
  if (!begins_line) {
    throw ValueError("{}: no line begins at byte {}, where the saved position is", paths_[number_],
                     byte_)
        .hint("the file is another one than when the position was saved");
  }
  if (byte_ == 0) byte_ = mark_bytes(text);
  file_ = std::move(file);
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
}

}  // namespace plait
