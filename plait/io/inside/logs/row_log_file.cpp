#include "plait/io/inside/logs/row_log_file.h"

#include <exception>
#include <filesystem>
#include <system_error>

#include "plait/core/error.h"
#include "plait/io/inside/logs/log_entries.h"

namespace plait {
namespace {

namespace fs = std::filesystem;

std::string lock_beside(const std::string& path) {
  const fs::path file(path);
  return (file.parent_path() / fmt::format(".{}.lock", file.filename().string())).string();
}

}  // namespace

RowLogFile::RowLogFile(const std::string& path, bool continues)
    : path_(path), lock_(std::in_place, lock_beside(path), "the log " + path) {
  remove_unfinished(path);
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error || size == 0 || continues) return;
  throw IoError("{} exists already", path)
      .hint("pass a step to continue from, 0 to begin again, or choose another file");
}

void RowLogFile::open(const RowCut& cut) {
  file_.emplace(path_);
  if (cut.size < file_->size()) {
    file_.reset();
    cut_file(path_, cut.size);
    file_.emplace(path_);
  }
  if (cut.needs_line_end) file_->append("\n");
  last_step_ = cut.last_step;
}

void RowLogFile::reopen() { file_.emplace(path_); }

void RowLogFile::expect_next(int64_t step) const {
  if (!file_) throw ValueError("log: the log {} is closed", path_);
  expect_step(step);
  if (!last_step_ || step > *last_step_) return;
  throw ValueError("log: step {} after step {} in {}, expected ascending steps", step, *last_step_,
                   path_)
      .hint("pass all values of a step in one call");
}

void RowLogFile::append(int64_t step, std::string_view row) {
  file_->append(row);
  last_step_ = step;
}

void RowLogFile::sync() {
  if (!file_) throw ValueError("log: the log {} is closed", path_);
  file_->sync();
}

void RowLogFile::close() {
  if (!file_) return;
  std::exception_ptr error;
  try {
    file_->sync();
  } catch (...) {
    error = std::current_exception();
  }
  file_.reset();
  lock_.reset();
  if (error) std::rethrow_exception(error);
}

}  // namespace plait
