// Checkpoints. The package (python/plait/inside/files/checkpoints.py) handles the trees.
#include "plait/io/checkpoints.h"

#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "plait/io/inside/checkpoints/tree_match.h"

#include "python/bindings/files/files.h"

namespace plait::python {
namespace {

std::map<std::string, std::string> texts_from(const nb::dict& given) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, text] : given) {
    texts.emplace(nb::cast<std::string>(name), nb::cast<std::string>(text));
  }
  return texts;
}

nb::dict texts_to_python(const std::map<std::string, std::string>& texts) {
  nb::dict made;
  for (const auto& [name, text] : texts) made[text_to_python(name)] = text_to_python(text);
  return made;
}

CheckpointTree tree_from(const nb::dict& tensors, const nb::dict& same, const nb::dict& parts) {
  CheckpointTree tree;
  tree.language = "Python";
  tree.arrays = arrays_from(tensors);
  tree.same = texts_from(same);
  tree.parts = texts_from(parts);
  return tree;
}

Metrics metrics_from(const nb::dict& given) {
  Metrics metrics;
  for (const auto& [name, value] : given) {
    metrics.emplace(nb::cast<std::string>(name), nb::cast<double>(value));
  }
  return metrics;
}

nb::dict metrics_to_python(const Checkpoint& checkpoint) {
  nb::dict metrics;
  for (const auto& [name, value] : checkpoint.metrics) metrics[text_to_python(name)] = value;
  return metrics;
}

nb::dict tensors_to_python(const Checkpoint& checkpoint) {
  nb::dict tensors;
  for (const auto& [path, array] : checkpoint.tree.arrays) {
    tensors[text_to_python(path)] = Tensor(array);
  }
  for (const auto& [path, first] : checkpoint.tree.same) {
    tensors[text_to_python(path)] = nb::object(tensors[text_to_python(first)]);
  }
  return tensors;
}

void save(CheckpointFolder& checkpoints, int64_t step, const nb::tuple& tree,
          const nb::dict& metrics, const nb::dict& metadata, const nb::bytes& program) {
  CheckpointTree saved = tree_from(tree[0], tree[1], tree[2]);
  SaveCheckpointOptions options{metrics_from(metrics), texts_from(metadata),
                                std::string(program.c_str(), program.size())};
  computed([&] { checkpoints.save_tree(step, std::move(saved), std::move(options)); });
}

// The tensors by their paths in the tree `like`. `renames` has the new path, or None, of each old
// one.
nb::dict match(const Checkpoint& checkpoint, const nb::tuple& tree, const nb::dict& renames,
               const std::vector<std::string>& skip, const std::vector<std::string>& fill,
               const std::vector<std::string>& resize) {
  const CheckpointTree like = tree_from(tree[0], tree[1], tree[2]);
  const auto rename = [&](const std::string& name) -> std::optional<std::string> {
    const nb::object renamed = renames[text_to_python(name)];
    if (renamed.is_none()) return std::nullopt;
    return nb::cast<std::string>(renamed);
  };
  return arrays_to_python(match_trees(
      like, checkpoint.tree, {.rename = rename, .skip = skip, .fill = fill, .resize = resize}));
}

std::unique_ptr<Checkpoint> load(const CheckpointFolder& checkpoints, std::optional<int64_t> step) {
  return computed([&] {
    return std::make_unique<Checkpoint>(step ? checkpoints.load(*step) : checkpoints.load_latest());
  });
}

void bind_checkpoint(nb::module_& module) {
  nb::class_<Checkpoint>(module, "_SavedCheckpoint")
      .def_ro("step", &Checkpoint::step)
      .def("tensors", tensors_to_python)
      .def("metrics", metrics_to_python)
      .def("metadata",
           [](const Checkpoint& checkpoint) { return texts_to_python(checkpoint.metadata); })
      .def("program",
           [](const Checkpoint& checkpoint) {
             return nb::bytes(checkpoint.program.data(), checkpoint.program.size());
           })
      .def("match", match);
}

}  // namespace

void bind_checkpoints(nb::module_& module) {
  bind_checkpoint(module);
  nb::class_<CheckpointFolder>(module, "_CheckpointFolder")
      .def("__init__",
           [](CheckpointFolder* self, const nb::bytes& folder, int64_t keep_last,
              int64_t keep_every, const std::string& best, bool is_greatest, int64_t keep_best,
              int64_t largest_shard, bool wait, bool read_only) {
             const CheckpointFolderOptions options{
                 keep_last, keep_every,    best, is_greatest ? BestIs::greatest : BestIs::least,
                 keep_best, largest_shard, wait, read_only};
             const std::string path = path_from(folder);
             computed([&] { new (self) CheckpointFolder(path, options); });
           })
      .def("save", save)
      .def("wait", [](CheckpointFolder& checkpoints) { computed([&] { checkpoints.wait(); }); })
      .def("close", [](CheckpointFolder& checkpoints) { computed([&] { checkpoints.close(); }); })
      .def("steps",
           [](const CheckpointFolder& checkpoints) {
             return computed([&] { return checkpoints.steps(); });
           })
      .def("latest",
           [](const CheckpointFolder& checkpoints) {
             return computed([&] { return checkpoints.latest(); });
           })
      .def("best",
           [](const CheckpointFolder& checkpoints) {
             return computed([&] { return checkpoints.best(); });
           })
      .def("load", load, nb::arg().none())
      .def("describe",
           [](const CheckpointFolder& checkpoints, int64_t step) {
             return computed(
                 [&] { return std::make_unique<Checkpoint>(checkpoints.describe(step)); });
           })
      .def("remove", [](CheckpointFolder& checkpoints,
                        int64_t step) { computed([&] { checkpoints.remove(step); }); })
      .def("remove_after", [](CheckpointFolder& checkpoints, int64_t step) {
        computed([&] { checkpoints.remove_after(step); });
      });
}

}  // namespace plait::python
