#include "plait/io/rows/jsonl.h"

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/compressed/file_content.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/rows/lines.h"
#include "plait/io/inside/rows/row_index.h"

namespace plait {

struct JsonlFile::State {
  explicit State(const std::string& place)
      : path(place),
        file(place),
        content(characters_of(file.bytes())),
        index(mark_bytes(content), [this](size_t at) { return find_line(content, at, true); }) {}

  size_t place(int64_t i) {
    if (const auto found = index.place(i)) return *found;
    throw IndexError("{} has {} rows, not row {}", path, index.count(), i);
  }

  Json parsed(size_t position) const { return json_of_line({path, content}, position); }

  std::string path;
  FileContent file;
  std::string_view content;
  RowIndex index;
};

JsonlFile::JsonlFile(const std::string& path) : state_(std::make_unique<State>(path)) {}
JsonlFile::~JsonlFile() = default;
JsonlFile::JsonlFile(JsonlFile&&) noexcept = default;
JsonlFile& JsonlFile::operator=(JsonlFile&&) noexcept = default;

int64_t JsonlFile::size() const { return state_->index.count(); }

std::string_view JsonlFile::text(int64_t i) const {
  const size_t position = state_->place(i);
  state_->parsed(position);
  return line_at(state_->content, position);
}

Json JsonlFile::value(int64_t i) const { return state_->parsed(state_->place(i)); }

}  // namespace plait
