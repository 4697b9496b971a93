// Checkpoints: all that a training run continues from, in a folder of safetensors files, which are
// written while the run goes on.
//
//   CheckpointFolder checkpoints("run", {.keep_last = 3, .best = "loss"});
//   if (checkpoints.latest()) state = checkpoints.restore(state);
//   while (state.step.item<int64_t>() < 10'000) {
//     std::tie(state, loss) = step(state, batch);
//     if (is_time) checkpoints.save(state.step.item<int64_t>(), state, {.metrics = {{"loss", l}}});
//   }
//
// A state is any tree of tensors. The file of step 1000 is step-0000001000.safetensors: tensors by
// path, which every reader of safetensors opens. Its metadata has the classes and static values of
// the tree, so that the state of one optimizer is not taken for that of another, and checksums. A
// file appears when it is complete and on the disk; a killed process leaves the earlier ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plait/core/trees/renaming.h"
#include "plait/io/checkpoint_tree.h"
#include "plait/io/safetensors.h"

namespace plait {

using Metrics = std::map<std::string, double>;

enum class BestIs : uint8_t { least, greatest };

// After each save, those that no rule keeps are removed; if the process is killed before that, when
// the folder is opened next and not read_only.
struct CheckpointFolderOptions {
  int64_t keep_last = 3;   // for the greatest steps; 0: all
  int64_t keep_every = 0;  // those of its multiples, for ever; 0: none
  std::string best = {};   // a metric by which the best are kept; empty: none
  BestIs best_is = BestIs::least;
  int64_t keep_best = 1;
  int64_t largest_shard = 0;  // as in SafetensorsOptions
  bool wait = false;          // save returns when the file is on the disk
  bool read_only = false;     // the folder, which another run may write, is not changed
};

struct SaveCheckpointOptions {
  Metrics metrics = {};
  SafetensorsMetadata metadata = {};  // names that begin with "plait." are reserved
  std::string program = {};           // ir::Program::bytes of the step, for example
};

struct Checkpoint {
  int64_t step = 0;
  CheckpointTree tree = {};
  Metrics metrics = {};
  SafetensorsMetadata metadata = {};
  std::string program = {};  // empty if there is none
};

// Patterns are those of paths; "optimizer.*" is the optimizer and all that is in it.
struct RestoreOptions {
  std::optional<int64_t> step = {};  // the latest one that is not damaged
  Renaming rename = {};              // paths in the checkpoint to those in the tree
  std::vector<std::string> skip =
      {};  // paths that stay as they are in the tree, whatever is saved there
  std::vector<std::string> fill =
      {};  // paths that stay as they are in the tree if they are not saved
  std::vector<std::string> resize = {};  // tensors that may have other sizes: those that are saved
};

class CheckpointFolder {
 public:
  // Makes the folder if there is none, and removes what killed processes have left unfinished, and
  // what they were about to remove by their own rules.
  // IoError if another object, in this process or another one, writes into the folder.
  explicit CheckpointFolder(const std::string& folder, CheckpointFolderOptions options = {});
  CheckpointFolder(CheckpointFolder&&) noexcept;
  CheckpointFolder& operator=(CheckpointFolder&&) noexcept;
  ~CheckpointFolder();  // waits; logs the error of the last save, which is better thrown by close()

  // Begins to write, and returns. The tensors are shared, not copied, except those in memory of
  // other libraries, which may write to it: what computes next leaves shared memory alone. Waits
  // for the save before it. Throws the error of that one; this one is begun nevertheless.
  // ValueError, before anything is written, for a step before the latest one.
  template <class Tree>
  void save(int64_t step, const Tree& tree, SaveCheckpointOptions options = {}) {
    save_tree(step, checkpoint_places(const_cast<Tree&>(tree)).tree, std::move(options));
  }
  void save_tree(int64_t step, CheckpointTree tree, SaveCheckpointOptions options = {});
  // Returns when all is on the disk; IoError if that failed.
  void wait();
  void close();  // the same; then others may write into the folder

  // Those that are there and whole, as far as their sizes and headers tell, and restore: one whose
  // checksum it found to be wrong is left out afterwards. The files of a save that is going on are
  // waited for.
  std::vector<int64_t> steps() const;
  std::optional<int64_t> latest() const;
  std::optional<int64_t> best() const;  // ValueError if the options name no metric

  // KeyError if there is none of this step, ParseError if it is damaged.
  Checkpoint load(int64_t step) const;
  // The latest one that is not damaged, after a warning for those that are. ValueError if there is
  // none.
  Checkpoint load_latest() const;
  // Without its tensors and its program.
  Checkpoint describe(int64_t step) const;

  // The tree with the tensors of a checkpoint; static values are its own. ValueError that lists the
  // differences if the saved tree has another structure, other classes, static values, shapes or
  // dtypes; the mode (`training`) may differ.
  template <class Tree>
  [[nodiscard]] Tree restore(Tree like, const RestoreOptions& options = {}) const {
    restore_places(checkpoint_places(like), options);
    return like;
  }
  void restore_places(const CheckpointPlaces& places, const RestoreOptions& options) const;

  // Removes a checkpoint, or all after a step, from which a run is to go on.
  void remove(int64_t step);
  void remove_after(int64_t step);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plait
