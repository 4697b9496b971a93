#include "plait/io/checkpoints.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/ranges.h>
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/log.h"
#include "plait/core/text.h"
#include "plait/io/inside/checkpoints/checkpoint_files.h"
#include "plait/io/inside/checkpoints/checkpoint_metadata.h"
#include "plait/io/inside/checkpoints/checkpoint_paths.h"
#include "plait/io/inside/checkpoints/checkpoint_removals.h"
#include "plait/io/inside/checkpoints/known_checkpoints.h"
#include "plait/io/inside/checkpoints/tree_match.h"
#include "plait/io/inside/logs/path_lock.h"
#include "plait/io/inside/safetensors/safetensors_division.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

void expect_not_negative(const char* name, int64_t value) {
  if (value < 0) throw ValueError("Checkpoints: {} is {}, expected 0 or more", name, value);
}

void expect_valid(const CheckpointFolderOptions& options) {
  expect_not_negative("keep_last", options.keep_last);
  expect_not_negative("keep_every", options.keep_every);
  expect_not_negative("keep_best", options.keep_best);
  expect_not_negative("largest_shard", options.largest_shard);
}

void expect_outside_of_traces(const char* function) {
  if (Trace::current() == nullptr) return;
  throw ValueError("Checkpoints.{}: a function is being recorded here", function)
      .at(Location::of_caller())
      .hint("call it outside of jit and other transforms, with what the function returns");
}

void expect_metrics(const Metrics& metrics, const std::string& best) {
  if (best.empty() || metrics.empty() || metrics.contains(best)) return;
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics) names.push_back(name);
  throw ValueError("Checkpoints.save: the best are kept by the metric {}, but there {} {}",
                   in_quotes(best), names.size() == 1 ? "is" : "are", fmt::join(names, ", "))
      .at(Location::of_caller());
}

void expect_no_reserved(const Checkpoint& checkpoint) {
  for (const auto& [name, text] : checkpoint.metadata) {
    if (!is_reserved_metadata(name)) continue;
    throw ValueError("Checkpoints.save: the metadata {} has a reserved name", in_quotes(name))
        .at(Location::of_caller())
        .hint("names that begin with \"plait.\" are those of Plait");
  }
  if (checkpoint.tree.find(kProgramTensor) == nullptr) return;
  throw ValueError("Checkpoints.save: a tensor cannot be named {}", kProgramTensor)
      .at(Location::of_caller());
}

// The working directory may be another one later.
std::string absolute_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(path, error).lexically_normal();
  if (error) return path;
  return (whole.has_filename() ? whole : whole.parent_path()).string();
}

void open_folder(const std::string& folder, bool may_make_it) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_new = may_make_it && fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) {
    throw IoError("cannot open the folder {}: {}", folder,
                  error ? error.message() : "it is not a folder");
  }
  if (is_new) sync_folder(fs::path(folder).parent_path().string());
}

// Removes what a killed process was about to remove, if its new checkpoint is there.
void finish_removals(const std::string& folder, const std::map<int64_t, Metrics>& there) {
  const Removals noted = noted_removals(folder);
  for (const int64_t step : noted.removed) {
    if (!there.contains(noted.step) || !there.contains(step)) continue;
    log(LogArea::io, LogLevel::info, "{}: step {} is removed, as after the save of step {}", folder,
        step, noted.step);
    remove_checkpoint(folder, step);
  }
  remove_note(folder);
}

// Other libraries may write to memory that is borrowed from them.
void own_arrays(CheckpointTree& tree) {
  for (auto& [path, array] : tree.arrays) {
    if (array.buffer().is_borrowed()) array = array.copy();
  }
}

}  // namespace

// One thread writes at a time; it uses `folder`, `options` and `known`, which others use only when
// it has ended.
struct CheckpointFolder::State {
  State(const std::string& given, CheckpointFolderOptions options_given);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void expect_writable(const char* function) const;
  // Begins to write, and returns the error of the save before, if it failed.
  std::exception_ptr save(Checkpoint checkpoint);
  void write(const Checkpoint& checkpoint);
  void finish_writing();  // waits; an error is kept
  void throw_error();     // that of the last save, once

  const std::string folder;
  const CheckpointFolderOptions options;
  std::recursive_mutex mutex;  // held by callers
  std::optional<PathLock> lock = {};
  KnownCheckpoints known;
  std::thread writer = {};
  std::exception_ptr error = nullptr;  // error of the writer
  std::atomic<bool> is_writing = false;
  const pid_t process = ::getpid();
};

CheckpointFolder::State::State(const std::string& given, CheckpointFolderOptions options_given)
    : folder(absolute_path(given)), options(std::move(options_given)), known(folder) {
  expect_valid(options);
  open_folder(folder, !options.read_only);
  if (options.read_only) return;
  lock.emplace(folder + "/.lock", fmt::format("the folder of checkpoints {}", folder));
  remove_unfinished_checkpoints(folder);
  remove_unused_shards(folder);
  finish_removals(folder, known.steps());
}

CheckpointFolder::State::~State() {
  finish_writing();
  try {
    throw_error();
  } catch (const Error& failed) {
    log(LogArea::io, LogLevel::error, "{}", failed.message());
  } catch (const std::exception& failed) {
    log(LogArea::io, LogLevel::error, "a checkpoint was not saved: {}", failed.what());
  }
}

void CheckpointFolder::State::expect_writable(const char* function) const {
  if (process != ::getpid()) {
    throw ValueError("Checkpoints.{}: {} was opened by the parent of this process", function,
                     folder)
        .hint("the process that has opened the folder writes into it");
  }
  if (lock) return;
  throw ValueError("Checkpoints.{}: {} is {}", function, folder,
                   options.read_only ? "opened read_only" : "closed");
}

// A child process has no copy of the thread.
void CheckpointFolder::State::finish_writing() {
  if (!writer.joinable()) return;
  if (process == ::getpid()) {
    writer.join();
  } else {
    writer.detach();
  }
}

void CheckpointFolder::State::throw_error() {
  if (error) std::rethrow_exception(std::exchange(error, nullptr));
}

void CheckpointFolder::State::write(const Checkpoint& checkpoint) {
  try {
    std::map<int64_t, Metrics> found = known.steps();
    found[checkpoint.step] = checkpoint.metrics;
    const std::set<int64_t> kept = kept_steps(found, options);
    Removals removals{checkpoint.step};
    for (const auto& [step, metrics] : found) {
      if (!kept.contains(step)) removals.removed.insert(step);
    }
    if (!removals.removed.empty()) note_removals(folder, removals);
    write_checkpoint(folder, checkpoint, options.largest_shard);
    for (const int64_t step : removals.removed) remove_checkpoint(folder, step);
    remove_note(folder);
  } catch (Error& failed) {
    remove_note(folder);
    failed.prepend(fmt::format("the checkpoint of step {} was not saved: ", checkpoint.step));
    throw;
  }
}

std::exception_ptr CheckpointFolder::State::save(Checkpoint checkpoint) {
  finish_writing();
  std::exception_ptr before = std::exchange(error, nullptr);
  const auto work = [this, checkpoint = std::move(checkpoint)] {
    try {
      write(checkpoint);
    } catch (...) {
      error = std::current_exception();
    }
    is_writing = false;
  };
  is_writing = true;
  try {
    writer = std::thread(work);
  } catch (const std::system_error&) {
    work();  // there are no more threads
  }
  return before;
}

CheckpointFolder::CheckpointFolder(const std::string& folder, CheckpointFolderOptions options)
    : state_(std::make_unique<State>(folder, std::move(options))) {}
CheckpointFolder::CheckpointFolder(CheckpointFolder&&) noexcept = default;
CheckpointFolder& CheckpointFolder::operator=(CheckpointFolder&&) noexcept = default;
CheckpointFolder::~CheckpointFolder() = default;

// ---- Writing.

void CheckpointFolder::save_tree(int64_t step, CheckpointTree tree, SaveCheckpointOptions options) {
  expect_outside_of_traces("save");
  const std::lock_guard guard(state_->mutex);
  state_->expect_writable("save");
  if (state_->is_writing) {
    log(LogArea::io, LogLevel::info, "the save of step {} waits for the one before it", step);
  }
  expect_not_negative("the step", step);
  expect_metrics(options.metrics, state_->options.best);
  Checkpoint checkpoint{step, std::move(tree), std::move(options.metrics),
                        std::move(options.metadata), std::move(options.program)};
  expect_no_reserved(checkpoint);
  check_for_safetensors(checkpoint.tree.arrays, metadata_of(checkpoint));
  const std::optional<int64_t> last = latest();
  if (last && *last > step) {
    throw ValueError("Checkpoints.save: step {} is before step {}, the latest in {}", step, *last,
                     state_->folder)
        .at(Location::of_caller())
        .hint(fmt::format("continue from step {}, or remove_after(step) those after the one that "
                          "the run continues from",
                          *last));
  }
  own_arrays(checkpoint.tree);
  const std::exception_ptr before = state_->save(std::move(checkpoint));
  if (before) std::rethrow_exception(before);
  if (state_->options.wait) wait();
}

void CheckpointFolder::wait() {
  const std::lock_guard guard(state_->mutex);
  state_->finish_writing();
  state_->throw_error();
}

void CheckpointFolder::close() {
  const std::lock_guard guard(state_->mutex);
  state_->finish_writing();
  state_->lock.reset();
  state_->throw_error();
}

void CheckpointFolder::remove(int64_t step) {
  const std::lock_guard guard(state_->mutex);
  state_->expect_writable("remove");
  state_->finish_writing();
  state_->known.path_of(step);
  remove_checkpoint(state_->folder, step);
}

void CheckpointFolder::remove_after(int64_t step) {
  const std::lock_guard guard(state_->mutex);
  state_->expect_writable("remove_after");
  state_->finish_writing();
  for (const auto& [each, path] : checkpoint_paths(state_->folder)) {
    if (each > step) remove_checkpoint(state_->folder, each);
  }
}

// ---- Reading.

std::vector<int64_t> CheckpointFolder::steps() const {
  const std::lock_guard guard(state_->mutex);
  state_->finish_writing();
  std::vector<int64_t> steps;
  for (const auto& [step, metrics] : state_->known.steps()) steps.push_back(step);
  return steps;
}

std::optional<int64_t> CheckpointFolder::latest() const {
  const std::vector<int64_t> all = steps();
  return all.empty() ? std::nullopt : std::optional(all.back());
}

std::optional<int64_t> CheckpointFolder::best() const {
  if (state_->options.best.empty()) {
    throw ValueError("Checkpoints.best: the options name no metric")
        .at(Location::of_caller())
        .hint("name one when the folder is opened: best = \"loss\"");
  }
  const std::lock_guard guard(state_->mutex);
  state_->finish_writing();
  const std::vector<int64_t> found = best_steps(state_->known.steps(), state_->options);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

Checkpoint CheckpointFolder::load(int64_t step) const {
  expect_outside_of_traces("load");
  const std::lock_guard guard(state_->mutex);
  state_->finish_writing();
  return read_checkpoint(state_->known.path_of(step));
}

Checkpoint CheckpointFolder::describe(int64_t step) const {
  const std::lock_guard guard(state_->mutex);
  state_->finish_writing();
  return describe_checkpoint(state_->known.path_of(step));
}

// Another run may write into the folder, and remove what was just found: it is looked for again.
Checkpoint CheckpointFolder::load_latest() const {
  std::set<int64_t> damaged;
  for (;;) {
    std::vector<int64_t> left = steps();
    std::erase_if(left, [&](int64_t step) { return damaged.contains(step); });
    if (left.empty()) break;
    try {
      return load(left.back());
    } catch (const ParseError& error) {
      damaged.insert(left.back());
      state_->known.leave_out(left.back());
      log(LogArea::io, LogLevel::warning, "{}; the checkpoint before it is used", error.message());
    } catch (const Error& error) {
      const bool is_removed = error.kind() == ErrorKind::io || error.kind() == ErrorKind::key;
      if (!is_removed || checkpoint_paths(state_->folder).contains(left.back())) throw;
    }
  }
  throw ValueError("there is no {}checkpoint in {}", damaged.empty() ? "" : "undamaged ",
                   state_->folder)
      .at(Location::of_caller())
      .hint("latest() says whether there is one");
}

void CheckpointFolder::restore_places(const CheckpointPlaces& places,
                                      const RestoreOptions& options) const {
  const Checkpoint checkpoint = options.step ? load(*options.step) : load_latest();
  const auto rename = [&](const std::string& name) { return renamed(name, options.rename); };
  std::map<std::string, Array> found = match_trees(
      places.tree, checkpoint.tree,
      {.rename = rename, .skip = options.skip, .fill = options.fill, .resize = options.resize});
  std::map<std::string, Tensor> restored;
  for (const auto& [path, tensor] : places.tensors) {
    const auto array = found.find(path);
    if (array == found.end()) continue;
    const auto first = places.tree.same.find(path);  // a tensor at two places remains one
    const bool is_there = first != places.tree.same.end() && restored.contains(first->second);
    const Device device = *tensor ? tensor->device() : Device();
    *tensor = is_there ? restored.at(first->second) : Tensor(array->second.on(device));
    restored.emplace(path, *tensor);
  }
}

}  // namespace plait
