#include "plait/io/rows/csv.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/gzip.h"
#include "plait/io/inside/rows/csv_rows.h"

namespace plait {

const CsvColumn& CsvTable::at(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return columns[static_cast<size_t>(found - names.begin())];
  refuse_column(name, names);
}

struct CsvFile::State : OpenCsv {
  using OpenCsv::OpenCsv;
};

CsvFile::CsvFile(const std::string& path, CsvOptions options)
    : state_(std::make_unique<State>(path, std::move(options))) {}
CsvFile::~CsvFile() = default;
CsvFile::CsvFile(CsvFile&&) noexcept = default;
CsvFile& CsvFile::operator=(CsvFile&&) noexcept = default;

const std::vector<std::string>& CsvFile::names() const { return state_->rows->names(); }

int64_t CsvFile::size() const {
  return with_path(state_->path, [&] { return state_->rows->size(); });
}

const std::vector<CsvType>& CsvFile::types() const {
  with_path(state_->path, [&] { state_->rows->types(); });
  return state_->rows->types();
}

std::vector<std::string> CsvFile::row(int64_t i) const {
  return with_path(state_->path, [&] {
    auto row = state_->rows->row(i);
    if (row) return std::move(*row);
    throw IndexError("the file has {} rows, not row {}", state_->rows->size(), i);
  });
}

CsvTable CsvFile::rows(int64_t begin, int64_t end) const {
  return with_path(state_->path, [&] { return state_->rows->rows(begin, end); });
}

CsvTable load_csv(const std::string& path, const CsvOptions& options) {
  const FileContent file(path);
  return with_path(path, [&] { return CsvRows(characters_of(file.bytes()), options).all(); });
}

CsvTable read_csv(std::span<const std::byte> bytes, const CsvOptions& options) {
  if (!is_gzip(bytes)) return CsvRows(characters_of(bytes), options).all();
  return CsvRows(characters_of(gunzipped(bytes)), options).all();
}

}  // namespace plait
