// The common part of logs with one row a step: a file, its lock, and the order of the steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/logs/append_file.h"
#include "plait/io/inside/logs/path_lock.h"
#include "plait/io/inside/logs/row_cuts.h"

namespace plait {

// The cut of a file, which need not exist. Errors name the file.
template <class Cut>
Cut cut_of_file(const std::string& path, int64_t from_step,
                Cut (*cut)(std::string_view text, int64_t from_step)) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  const InputFile file(path);
  try {
    return cut(characters_of(file.bytes()), from_step);
  } catch (Error& problem) {
    problem.prepend(path + ": ");
    throw;
  }
}

class RowLogFile {
 public:
  // Locks the file. IoError if it is not empty, unless the log continues.
  RowLogFile(const std::string& path, bool continues);

  // Opens the file after it was cut.
  void open(const RowCut& cut);
  // Opens the file that has replaced the one that was open.
  void reopen();

  // ValueError unless the log is open and the step comes after the last one.
  void expect_next(int64_t step) const;
  void append(int64_t step, std::string_view row);  // one write: all of it or nothing
  void sync();
  void close();

  const std::string& path() const { return path_; }

  std::mutex mutex;  // locked by the log that has the file

 private:
  std::string path_;
  std::optional<PathLock> lock_;
  std::optional<AppendFile> file_;  // empty before open() and after close()
  std::optional<int64_t> last_step_;
};

}  // namespace plait
