#include "plait/io/rows/csv_blocks.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/rows/csv_rows.h"

namespace plait {
namespace {

constexpr size_t kMostRowsOfBlock = 1024, kMostCellsOfBlock = size_t{1} << 15;

}  // namespace

CsvBlocks::CsvBlocks(std::vector<std::string> paths, CsvOptions options)
    : paths_(std::move(paths)), options_(std::move(options)) {
  dialect_of(options_);
}

std::optional<CsvBlock> CsvBlocks::next() {
  while (number_ < paths_.size()) {
    if (!file_) open();
    CsvPiece piece = with_path(file_->path, [&] { return file_->rows->piece(byte_, most_rows_); });
    if (piece.table.row_count == 0) {
      end_file();
      continue;
    }
    const size_t columns = std::max<size_t>(1, piece.table.columns.size());
    const size_t most = std::clamp<size_t>(kMostCellsOfBlock / columns, 1, kMostRowsOfBlock);
    most_rows_ = std::min(2 * most_rows_, static_cast<int64_t>(most));
    return CsvBlock{std::move(piece.table), static_cast<int64_t>(number_),
                    static_cast<int64_t>(size_), std::move(piece.places)};
  }
  return std::nullopt;
}

void CsvBlocks::open() {
  // After seek(): those before this one, until one has rows. An error here is not of this file.
  while (!types_ && known_ < number_) opened(known_++);
  known_ = std::max(known_, number_ + 1);
  try {
    std::shared_ptr<OpenCsv> file = opened(number_);
    expect_place(*file);
    if (byte_ == 0) byte_ = file->rows->begin();
    size_ = file->file.bytes().size();
    file_ = std::move(file);
  } catch (...) {
    end_file();
    throw;
  }
}

std::shared_ptr<OpenCsv> CsvBlocks::opened(size_t number) {
  const std::string& path = paths_[number];
  auto file = std::make_shared<OpenCsv>(path, options_);
  if (file->rows->all_names().empty()) return file;  // without a header, a file that is empty
  if (names_.empty()) {
    names_ = file->rows->all_names();
    first_path_ = path;
  }
  expect_names(*file);
  if (types_) {
    file->rows->set_types(*types_);
  } else if (file->rows->has_rows()) {
    types_ = file->rows->types();
  }
  return file;
}

void CsvBlocks::expect_names(const OpenCsv& file) const {
  const std::vector<std::string>& names = file.rows->all_names();
  if (names == names_) return;
  if (names.size() != names_.size()) {
    throw ParseError("{}: line 1: {} columns, but {} has {}", file.path, names.size(), first_path_,
                     names_.size());
  }
  const auto [found, expected] = std::ranges::mismatch(names, names_);
  throw ParseError("{}: line 1: column {} is {}, but in {} it is {}", file.path,
                   found - names.begin() + 1, in_quotes(*found), first_path_, in_quotes(*expected));
}

void CsvBlocks::expect_place(const OpenCsv& file) const {
  if (byte_ == 0) return;
  const size_t size = file.file.bytes().size();
  constexpr const char* kHint = "the file is another one than when the position was saved";
  if (size != size_) {
    throw ValueError("{}: {} bytes, but there were {} when the position was saved", file.path, size,
                     size_)
        .hint(kHint);
  }
  if (file.rows->may_begin_at(byte_)) return;
  throw ValueError("{}: no row begins at byte {}, where the saved position is", file.path, byte_)
      .hint(kHint);
}

void CsvBlocks::end_file() {
  ++number_;
  byte_ = size_ = 0;
  file_ = nullptr;
}

std::vector<int64_t> CsvBlocks::position() const {
  return {static_cast<int64_t>(number_), static_cast<int64_t>(byte_), static_cast<int64_t>(size_)};
}

void CsvBlocks::seek(std::span<const int64_t> position) {
  constexpr int64_t kBeginning[] = {0, 0, 0};
  if (position.empty()) position = kBeginning;
  const auto files = static_cast<int64_t>(paths_.size());
  if (position.size() != 3 || position[0] < 0 || position[0] > files || position[1] < 0 ||
      position[1] > position[2]) {
    throw ValueError(
        "CsvStream: the position is [{}], expected the number of one of {} files, a byte of it and "
        "its size",
        fmt::join(position, ", "), files);
  }
  number_ = static_cast<size_t>(position[0]);
  byte_ = static_cast<size_t>(position[1]);
  size_ = static_cast<size_t>(position[2]);
  file_ = nullptr;
  most_rows_ = 1;
}

}  // namespace plait
