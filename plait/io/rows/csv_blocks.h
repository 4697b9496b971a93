// The rows of CSV files from the first to the last, in blocks and without an index. The first block
// is one row, so that it is there immediately, and the others grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/io/rows/csv.h"

namespace plait {

struct OpenCsv;

// Rows of one file.
struct CsvBlock {
  CsvTable table = {};
  int64_t file = 0, file_size = 0;
  std::vector<size_t> places = {};  // where the search for each row begins, and after the last

  // Where CsvBlocks goes on with a row of the block, or with the row after it.
  std::vector<int64_t> position(int64_t row) const {
    return {file, static_cast<int64_t>(places[static_cast<size_t>(row)]), file_size};
  }
};

// Files are opened when it is their turn. All have the columns of the first one, and the types that
// its cells have; a file without rows does not decide. After an error next() goes on: with the next
// row, or with the next file if one cannot be opened. A copy goes on by itself.
class CsvBlocks {
 public:
  explicit CsvBlocks(std::vector<std::string> paths, CsvOptions options = {});

  std::optional<CsvBlock> next();
  // The number of the file, the byte where the search for the next row begins, and the size of the
  // file in bytes.
  std::vector<int64_t> position() const;
  // An empty position is the beginning. ValueError if it is outside of the files; by next() if the
  // file has another size, or no row begins there.
  void seek(std::span<const int64_t> position);

 private:
  void open();
  std::shared_ptr<OpenCsv> opened(size_t number);
  void expect_names(const OpenCsv& file) const;
  void expect_place(const OpenCsv& file) const;
  void end_file();

  std::vector<std::string> paths_;
  CsvOptions options_;
  size_t number_ = 0, byte_ = 0, size_ = 0;
  std::shared_ptr<OpenCsv> file_ = nullptr;  // null until it is opened
  int64_t most_rows_ = 1;                    // the next block has at most these

  size_t known_ = 0;  // files before this one have been asked for names and types
  std::string first_path_ = {};
  std::vector<std::string> names_ = {};
  std::optional<std::vector<CsvType>> types_ = {};
};

}  // namespace plait
