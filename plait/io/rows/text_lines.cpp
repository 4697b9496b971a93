#include "plait/io/rows/text_lines.h"

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/rows/row_index.h"
#include "plait/io/inside/utf8.h"

namespace plait {

struct TextLines::State {
  explicit State(const std::string& place)
      : path(place),
        file(place),
        text(characters_of(file.bytes())),
        index(mark_bytes(text), [this](size_t at) { return find_line(text, at, false); }) {}

  std::string path;
  InputFile file;
  std::string_view text;
  RowIndex index;
};

TextLines::TextLines(const std::string& path) : state_(std::make_unique<State>(path)) {}
TextLines::~TextLines() = default;
TextLines::TextLines(TextLines&&) noexcept = default;
TextLines& TextLines::operator=(TextLines&&) noexcept = default;

int64_t TextLines::size() const { return state_->index.count(); }

std::string_view TextLines::line(int64_t i) const {
  const auto place = state_->index.place(i);
  if (!place) throw IndexError("{} has {} lines, not line {}", state_->path, size(), i);
  const std::string_view line = line_at(state_->text, *place);
  const size_t valid = valid_utf8_bytes(line);
  if (valid == line.size()) return line;
  throw ParseError("{}: line {}: byte {} of the line is not UTF-8", state_->path, i + 1, valid);
}

}  // namespace plait
