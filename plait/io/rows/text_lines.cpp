#include "plait/io/rows/text_lines.h"

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/compressed/file_content.h"
#include "plait/io/inside/rows/lines.h"
#include "plait/io/inside/rows/row_index.h"

namespace plait {

struct TextLines::State {
  explicit State(const std::string& place)
      : path(place),
        file(place),
        text(characters_of(file.bytes())),
        index(mark_bytes(text), [this](size_t at) { return find_line(text, at, false); }) {}

  std::string path;
  FileContent file;
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
  return text_of_line({state_->path, state_->text}, *place);
}

}  // namespace plait
