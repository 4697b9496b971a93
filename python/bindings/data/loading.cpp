// Loaders: orders of epochs, work done ahead, and batches of tensors. The package around them is
// python/plait/inside/data.
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "plait/core/system/thread_team.h"
#include "plait/data/array_files.h"
#include "plait/data/collate.h"
#include "plait/data/dataset.h"
#include "plait/data/epoch_plan.h"
#include "plait/data/inside/prefetcher.h"
#include "plait/data/sample_key.h"
#include "plait/data/sampler.h"
#include "plait/ops/random/stream_scope.h"

#include "python/bindings/bindings.h"
#include "python/bindings/files/files.h"

namespace plait::python {
namespace loading {
namespace {

using namespace data;
using nb::arg;

// ---- Orders.

template <class T>
std::vector<T> elements_of(const Tensor& tensor) {
  const Array array = tensor.array().contiguous();
  const auto elements = array.elements<T>();
  return {elements.begin(), elements.end()};
}

nb::list indices_of(const Sampler& sampler, int64_t epoch, int64_t begin, int64_t end) {
  nb::list indices;
  for (int64_t place = begin; place < end; ++place) indices.append(sampler.at(epoch, place));
  return indices;
}

void bind_samplers(nb::module_& module) {
  nb::class_<Sampler>(module, "Sampler")
      .def_static("sequential", [](int64_t count) { return Sampler(SequentialSampler(count)); })
      .def_static("random",
                  [](int64_t count, uint64_t seed, bool replacement, int64_t samples) {
                    return Sampler(RandomSampler(count, {seed, replacement, samples}));
                  })
      .def_static("subset",
                  [](const Tensor& indices) {
                    return Sampler(SubsetSampler(elements_of<int64_t>(indices)));
                  })
      .def_static("subset_random",
                  [](const Tensor& indices, uint64_t seed) {
                    return Sampler(SubsetRandomSampler(elements_of<int64_t>(indices), seed));
                  })
      .def_static("weighted",
                  [](const Tensor& weights, int64_t samples, bool replacement, uint64_t seed) {
                    return Sampler(WeightedRandomSampler(elements_of<double>(weights), samples,
                                                         {seed, replacement}));
                  })
      .def_static("distributed",
                  [](const Sampler& sampler, int64_t ranks, int64_t rank, bool drop_last) {
                    return Sampler(DistributedSampler(sampler, ranks, rank, drop_last));
                  })
      .def("size", &Sampler::size)
      .def("repeats", &Sampler::repeats)
      .def("indices", indices_of);
}

nb::tuple pair_of(const Places& places) { return nb::make_tuple(places.begin, places.end); }

void bind_plans(nb::module_& module) {
  nb::class_<EpochPlan>(module, "EpochPlan")
      .def(
          "__init__",
          [](EpochPlan* plan, int64_t size, int64_t batch_size, int64_t ranks, int64_t rank,
             bool drop_last, int64_t place, std::vector<int64_t> done) {
            new (plan)
                EpochPlan(size, {batch_size, ranks, rank, drop_last}, place, std::move(done));
          },
          arg("size"), arg("batch_size"), arg("ranks"), arg("rank"), arg("drop_last"),
          arg("place") = 0, arg("done") = std::vector<int64_t>())
      .def("count", &EpochPlan::count)
      .def("step", [](const EpochPlan& plan, int64_t number) { return pair_of(plan.step(number)); })
      .def("step_at",
           [](const EpochPlan& plan, int64_t place) { return pair_of(plan.step_at(place)); })
      .def("share", [](const EpochPlan& plan, int64_t begin, int64_t end) {
        return pair_of(plan.share({begin, end}));
      });
  nb::class_<Progress>(module, "Progress")
      .def(nb::init<int64_t>())
      .def("note",
           [](Progress& progress, int64_t begin, int64_t end) { progress.note({begin, end}); })
      .def("place", &Progress::place)
      .def("done", &Progress::done);
}

// ---- Work done ahead.

// Keeps a Python object, which is released on any thread.
std::shared_ptr<void> kept(nb::object object) {
  return {static_cast<void*>(object.release().ptr()), [](void* pointer) {
            if (Py_IsInitialized() == 0 || is_ended_elsewhere()) return;
            const LockedPython locked;
            Py_DECREF(static_cast<PyObject*>(pointer));
          }};
}

const char* name_of_state(Prefetcher::State state) {
  switch (state) {
    case Prefetcher::State::ready: return "ready";
    case Prefetcher::State::late: return "late";
    default: return "finished";
  }
}

struct PythonPrefetcher {
  std::shared_ptr<Prefetcher> shared;

  // Without Python's lock. The copy keeps it alive while a thread waits.
  template <class Use>
  auto use(const Use& use) const {
    return computed([&use, prefetcher = shared] { return use(*prefetcher); });
  }
};

nb::object take(const PythonPrefetcher& prefetcher) {
  const auto number = prefetcher.use([](Prefetcher& each) { return each.take(); });
  return number ? nb::object(nb::int_(*number)) : nb::none();
}

const char* wait(const PythonPrefetcher& prefetcher, double seconds) {
  const std::chrono::duration<double> most(seconds);
  return name_of_state(prefetcher.use([&](Prefetcher& each) {
    return each.wait(std::chrono::duration_cast<std::chrono::nanoseconds>(most));
  }));
}

nb::tuple pop(const PythonPrefetcher& prefetcher) {
  const Prefetcher::Outcome outcome = prefetcher.shared->pop();
  const nb::handle value(static_cast<PyObject*>(outcome.value.get()));
  return nb::make_tuple(outcome.number, value);
}

void bind_prefetcher(nb::module_& module) {
  nb::class_<PythonPrefetcher>(module, "Prefetcher", nb::is_weak_referenceable())
      .def(
          "__init__",
          [](PythonPrefetcher* place, std::optional<int64_t> count, int64_t ahead, bool in_order) {
            new (place) PythonPrefetcher{
                Prefetcher::make({count.value_or(Prefetcher::kUnknownCount), ahead, in_order})};
          },
          arg("count").none(), arg("ahead"), arg("in_order"))
      .def("take", take)
      .def(
          "deliver",
          [](const PythonPrefetcher& prefetcher, int64_t number, nb::object value) {
            prefetcher.shared->deliver({.number = number, .value = kept(std::move(value))});
          },
          arg("number"), arg("value"))
      .def("shorten",
           [](const PythonPrefetcher& each, int64_t count) { each.shared->shorten(count); })
      .def("wait", wait)
      .def("pop", pop)
      .def("cancel", [](const PythonPrefetcher& each) { each.shared->cancel(); })
      .def("is_cancelled",
           [](const PythonPrefetcher& each) { return each.shared->is_cancelled(); });
  // To be kept by the thread that it limits, until that ends.
  nb::class_<ThreadLimit>(module, "ThreadLimit").def(nb::init<int>());
}

// ---- Batches.

Tensor stack(nb::handle samples) {
  const std::vector<Tensor> tensors = tensors_from(samples);
  return computed([&] { return stacked(tensors); });
}

nb::object rows(nb::handle given, const std::vector<int64_t>& indices) {
  const std::vector<Tensor> tensors = tensors_from(given);
  return to_python(computed([&] {
    std::vector<Tensor> batches;
    for (const Tensor& tensor : tensors) batches.push_back(rows_of(tensor, indices));
    return batches;
  }));
}

Tensor padded(nb::handle sequences, bool batch_first, double padding_value, bool to_the_left) {
  const std::vector<Tensor> tensors = tensors_from(sequences);
  return computed([&] {
    return pad_sequence(tensors, {batch_first, padding_value,
                                  to_the_left ? PaddingSide::left : PaddingSide::right});
  });
}

KeyBits key_of_sample(const KeyBits& epoch, int64_t index, std::optional<int64_t> place) {
  const KeyBits key = fold_in(epoch, index);
  return place ? fold_in(key, *place) : key;
}

// The default stream of this thread within a `with` block, which begins again for each work.
class WorkStream {
 public:
  WorkStream(uint64_t seed, int64_t epoch) : key_(epoch_key(seed, epoch)) {}

  WorkStream& enter() {
    scope_.emplace(KeyBits{});
    return *this;
  }
  void exit(const nb::args&) { scope_.reset(); }
  // An index that is not an integer has its place.
  template <StreamOf work>
  void begin(nb::handle index, std::optional<int64_t> place) {
    int64_t number = 0;
    (void)nb::try_cast(index, number);
    scope_->begin(stream_key(key_of_sample(key_, number, place), work));
  }

 private:
  KeyBits key_;  // key of the epoch
  std::optional<random::StreamScope> scope_;
};

void bind_streams(nb::module_& module) {
  module.def(
      "sample_key",
      [](uint64_t seed, int64_t epoch, int64_t index, std::optional<int64_t> place) {
        return tensor_of(key_of_sample(epoch_key(seed, epoch), index, place));
      },
      arg("seed"), arg("epoch"), arg("index"), arg("place").none() = nb::none());
  nb::class_<WorkStream>(module, "WorkStream")
      .def(nb::init<uint64_t, int64_t>(), arg("seed"), arg("epoch"))
      .def("__enter__", &WorkStream::enter, nb::rv_policy::none)
      .def("__exit__", &WorkStream::exit)
      .def("begin_sample", &WorkStream::begin<StreamOf::sample>, arg("index").none(),
           arg("place").none() = nb::none())
      .def("begin_batch", &WorkStream::begin<StreamOf::batch>, arg("index").none(),
           arg("place").none() = nb::none())
      .def("begin_reading", &WorkStream::begin<StreamOf::reading>, arg("index").none(),
           arg("place").none() = nb::none());
}

void bind_batches(nb::module_& module) {
  module.def("stack", stack);
  module.def("rows", rows);
  module.def("row", [](const Tensor& tensor, int64_t index) {
    expect_index(index, row_count(tensor));
    return row_of(tensor, index);
  });
  module.def("pad_sequence", padded);
  module.def("split_indices", [](int64_t count, const std::vector<int64_t>& sizes,
                                 const Tensor& key) { return split_indices(count, sizes, key); });
  module.def("sizes_of_shares", [](int64_t count, const std::vector<double>& shares) {
    return sizes_of_shares(count, shares);
  });
}

void bind_files(nb::module_& module) {
  module.def("npy_rows", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    return computed([&] { return npy_dataset(file).tree(); });
  });
  module.def("npz_rows", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    const auto tensors = computed([&] { return npz_dataset(file).tree(); });
    nb::dict named;
    for (const auto& [name, tensor] : tensors) named[text_to_python(name)] = to_python(tensor);
    return named;
  });
  module.def("idx_rows", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    return computed([&] { return idx_dataset(file).tree(); });
  });
}

}  // namespace
}  // namespace loading

void bind_loading(nb::module_& core) {
  nb::module_ module = core.def_submodule("_data", "The parts of plait.data that are in C++.");
  loading::bind_samplers(module);
  loading::bind_plans(module);
  loading::bind_prefetcher(module);
  loading::bind_batches(module);
  loading::bind_streams(module);
  loading::bind_files(module);
  bind_readers(module);
}

}  // namespace plait::python
