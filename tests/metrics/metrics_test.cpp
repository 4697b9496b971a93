// Metrics compared with loops: of all data, of ragged batches, merged, masked, jitted, and along a
// named axis.
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/metrics/auroc.h"
#include "plait/metrics/classification.h"
#include "plait/metrics/means.h"
#include "plait/plait.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

using metrics::Average;
using metrics::Task;
using Numbers = std::vector<double>;

constexpr int64_t kRows = 24, kClasses = 4;

Tensor draw(uint64_t seed, const Shape& shape) {
  return random::normal(random::key(seed), shape, 0., 1., DType::f64);
}
Numbers numbers_in(const Tensor& x) {
  Numbers numbers;
  const Tensor flat = reshape(astype(x, DType::f64), {-1});
  for (int64_t i = 0; i < flat.shape(0).number(); ++i) numbers.push_back(flat[i].item<double>());
  return numbers;
}
Tensor rows_from(const Tensor& x, int64_t first, int64_t end) {
  return slice_axis(x, 0, first, end - first);
}
Tensor joined(const Tensor& a, const Tensor& b) {
  const Tensor parts[] = {a, b};
  return concat(parts, 0);
}

void expect_numbers(const Tensor& found, const Numbers& wanted, const char* what) {
  const Numbers numbers = numbers_in(found);
  ASSERT_EQ(numbers.size(), wanted.size()) << what;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(numbers[i])) << what;
    } else {
      EXPECT_NEAR(numbers[i], wanted[i], 1e-12) << what;
    }
  }
}

struct Data {
  Tensor predictions, targets;
};

// All ways to the same result: `begin` has no data.
template <class Metric>
void expect_metric(const Metric& begin, const Data& data, const Numbers& wanted) {
  const auto& [predictions, targets] = data;
  const int64_t rows = targets.shape(0).number();
  const auto part = [&](const Metric& metric, int64_t first, int64_t end) {
    return metric.update(rows_from(predictions, first, end), rows_from(targets, first, end));
  };
  const Metric whole = begin.update(predictions, targets);
  expect_numbers(whole.compute(), wanted, "all data");
  Metric batched = begin;
  for (int64_t first = 0; first < rows; first += 7) {
    batched = part(batched, first, std::min(first + 7, rows));
  }
  expect_numbers(batched.compute(), wanted, "ragged batches");
  const Metric merged = part(begin, 0, 5).merge(part(begin, 5, rows)).merge(begin);
  expect_numbers(merged.compute(), wanted, "merged");
  expect_numbers(whole.reset().update(predictions, targets).compute(), wanted, "reset");
  // The data twice, of which the second half does not count.
  const Tensor mask = iota(2 * rows) < rows;
  const Metric masked =
      begin.update(joined(predictions, flip(predictions, 0)), joined(targets, targets), mask);
  expect_numbers(masked.compute(), wanted, "masked");
  const auto step = jit(
      [](const Metric& metric, const Tensor& x, const Tensor& y) { return metric.update(x, y); });
  Metric jitted = begin;
  for (int64_t first = 0; first < rows; first += 9) {
    const int64_t end = std::min(first + 9, rows);
    jitted = step(jitted, rows_from(predictions, first, end), rows_from(targets, first, end));
  }
  expect_numbers(jitted.compute(), wanted, "jitted");
}

// As two samples along a named axis.
template <class Metric>
void expect_reduced(const Metric& begin, const Data& data, const Numbers& wanted) {
  const auto halves = [](const Tensor& x) {
    const Dim rows = floor_div(x.shape(0), 2);
    const Tensor parts[] = {slice_axis(x, 0, 0, rows), slice_axis(x, 0, rows, rows)};
    return stack(parts, 0);
  };
  const auto reduced = [&](const Tensor& x, const Tensor& y) {
    return begin.update(x, y).all_reduce("data").compute();
  };
  const Tensor found =
      vmap(reduced, {.name = "data"})(halves(data.predictions), halves(data.targets));
  expect_numbers(found[0], wanted, "reduced");
  expect_numbers(found[1], wanted, "reduced");
}

template <class Metric>
void expect_both(const Metric& begin, const Data& data, const Numbers& wanted) {
  expect_metric(begin, data, wanted);
  expect_reduced(begin, data, wanted);
}

// ---- Numbers.

TEST(Metrics, MeansOfNumbers) {
  const metrics::Mean mean;
  const Tensor x = tensor<double>({1, 2, 6, 7}), weights = tensor<double>({1, 0, 2, 1});
  expect_numbers(mean.update(x).compute(), {4}, "mean");
  expect_numbers(mean.update(x, {.weights = weights}).compute(), {5}, "weighted");
  const Tensor mask = tensor<double>({1, 0, 1, 0}) != 0;
  expect_numbers(mean.update(x, {.weights = weights, .mask = mask}).compute(), {13. / 3}, "both");
  expect_numbers(mean.update(x[0]).update(rows_from(x, 1, 4)).compute(), {4}, "ragged");
  expect_numbers(mean.update(x).merge(mean.update(x * 3)).compute(), {8}, "merged");
  expect_numbers(mean.compute(), {std::nan("")}, "of none");
  expect_numbers(metrics::Sum{}.update(x, {.mask = mask}).update(x).compute(), {23}, "sum");
  // Elements that do not count may be anything.
  const double nan = std::nan("");
  expect_numbers(
      mean.update(tensor<double>({1, nan}), {.mask = tensor<double>({1, 0}) != 0}).compute(), {1},
      "masked");
  EXPECT_EQ(mean.update(astype(x, DType::f16)).compute().dtype(), DType::f64);
}

TEST(Metrics, AMeanOfFloatsIsExact) {
  // In f32, adding 1 to 2^24 changes nothing.
  metrics::Mean mean;
  mean = mean.update(tensor<float>({16777216})).update(ones({2}));
  expect_numbers(mean.compute(), {16777218. / 3}, "mean");
}

// MSE, MAE and R2 take options where the others take a mask.
template <class Metric>
struct WithMask {
  Metric metric;
  WithMask update(const Tensor& predictions, const Tensor& targets, const Tensor& mask = {}) const {
    return {metric.update(predictions, targets, {.mask = mask})};
  }
  WithMask merge(const WithMask& other) const { return {metric.merge(other.metric)}; }
  WithMask all_reduce(const char* name) const { return {metric.all_reduce(name)}; }
  WithMask reset() const { return {metric.reset()}; }
  Tensor compute() const { return metric.compute(); }
};

TEST(Metrics, Errors) {
  const Data data{draw(1, {kRows, 3}), draw(2, {kRows, 3})};
  const Numbers x = numbers_in(data.predictions), y = numbers_in(data.targets);
  double squares = 0, distances = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    squares += (x[i] - y[i]) * (x[i] - y[i]);
    distances += std::abs(x[i] - y[i]);
  }
  const auto count = static_cast<double>(x.size());
  expect_both(WithMask<metrics::MSE>{}, data, {squares / count});
  expect_both(WithMask<metrics::MSE>{{.squared = false}}, data, {std::sqrt(squares / count)});
  expect_both(WithMask<metrics::MAE>{}, data, {distances / count});
}

double determination(const Numbers& x, const Numbers& y, size_t first, size_t step) {
  double mean = 0, count = 0, squares = 0, residual = 0;
  for (size_t i = first; i < y.size(); i += step) {
    mean += y[i];
    ++count;
  }
  mean /= count;
  for (size_t i = first; i < y.size(); i += step) {
    squares += (y[i] - mean) * (y[i] - mean);
    residual += (y[i] - x[i]) * (y[i] - x[i]);
  }
  return 1 - residual / squares;
}

TEST(Metrics, R2) {
  const Data line{draw(1, {kRows}), draw(2, {kRows}) + 1};
  const Numbers x = numbers_in(line.predictions), y = numbers_in(line.targets);
  expect_both(WithMask<metrics::R2>{}, line, {determination(x, y, 0, 1)});
  const Data plane{draw(1, {kRows, 2}), draw(2, {kRows, 2}) + 1};
  const Numbers u = numbers_in(plane.predictions), v = numbers_in(plane.targets);
  expect_both(WithMask<metrics::R2>{{.num_outputs = 2}}, plane,
              {(determination(u, v, 0, 2) + determination(u, v, 1, 2)) / 2});
}

TEST(Metrics, R2OfWeightsConstantsAndFarNumbers) {
  const metrics::R2 r2;
  const Tensor x = tensor<double>({1, 2, 4}), y = tensor<double>({1, 3, 5});
  const Tensor weights = tensor<double>({1, 2, 1});
  // The same as two rows of the second.
  expect_numbers(r2.update(x, y, {.weights = weights}).compute(),
                 {determination({1, 2, 2, 4}, {1, 3, 3, 5}, 0, 1)}, "weighted");
  expect_numbers(r2.update(y, y).compute(), {1}, "exact");
  expect_numbers(r2.update(x, ones({3}, DType::f64)).compute(), {0}, "constant");
  expect_numbers(r2.update(ones({3}), ones({3})).compute(), {1}, "constant and exact");
  expect_numbers(r2.update(x[0], y[0]).compute(), {std::nan("")}, "one row");
  const Tensor far = y + 1e9;
  const auto parts = r2.update(rows_from(x, 0, 1) + 1e9, rows_from(far, 0, 1))
                         .update(rows_from(x, 1, 3) + 1e9, rows_from(far, 1, 3));
  EXPECT_NEAR(parts.compute().item<double>(), 0.75, 1e-6);
}

// ---- Classes.

// Scores of which about half are right.
Data scores(bool lacks_class_1 = false) {
  Tensor targets = random::randint(random::key(1), {kRows}, 0, kClasses);
  if (lacks_class_1) targets = where(targets == 1, 2, targets);
  Tensor given = draw(2, {kRows, kClasses}) + one_hot(targets, kClasses, DType::f64) * 1.5;
  if (lacks_class_1) given = where(iota(kClasses) == 1, -9, given);
  return {given, targets};
}
Data labels(const Shape& shape) {
  const Tensor targets = random::randint(random::key(3), shape, 0, 2);
  const Tensor noise = random::uniform(random::key(4), shape, 0, 0.7, DType::f64);
  return {astype(targets, DType::f64) * 0.4 + noise, targets};
}

TEST(Metrics, Accuracy) {
  const Data data = scores();
  const Numbers all = numbers_in(data.predictions), to = numbers_in(data.targets);
  for (const int64_t k : {1, 2, 3}) {
    double right = 0;
    for (size_t row = 0; row < to.size(); ++row) {
      const double own = all[row * kClasses + static_cast<size_t>(to[row])];
      int64_t greater = 0;
      for (size_t c = 0; c < kClasses; ++c) greater += all[row * kClasses + c] > own ? 1 : 0;
      right += greater < k ? 1 : 0;
    }
    expect_both(metrics::Accuracy{.top_k = k}, data, {right / kRows});
  }
  const Data classes{argmax(data.predictions, -1), data.targets};
  expect_both(metrics::Accuracy{}, classes,
              numbers_in(metrics::Accuracy{}.update(data.predictions, data.targets).compute()));
}

TEST(Metrics, AccuracyOfLabels) {
  for (const Shape& shape : {Shape{kRows}, Shape{kRows, 3}}) {
    const Data data = labels(shape);
    const Numbers p = numbers_in(data.predictions), to = numbers_in(data.targets);
    double right = 0;
    for (size_t i = 0; i < p.size(); ++i) right += (p[i] > 0.45) == (to[i] == 1) ? 1 : 0;
    const Task task = shape.rank() == 1 ? Task::binary : Task::multilabel;
    expect_both(metrics::Accuracy{.of = {.task = task, .threshold = 0.45}}, data,
                {right / static_cast<double>(p.size())});
  }
}

TEST(Metrics, IgnoredTargetsAndAnAxisOfClasses) {
  const Tensor given = draw(1, {2, 3, 5});  // [batch, classes, length]
  const Tensor targets = tensor(std::vector<int64_t>{0, -1, 2, 1, 1, 0, -1, -1, 2, 2}, {2, 5});
  const metrics::Accuracy accuracy{.of = {.ignore_index = -1, .axis = 1}};
  const Tensor chosen = argmax(given, 1);
  double right = 0;
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      right += chosen[{i, j}].item<int64_t>() == targets[{i, j}].item<int64_t>() ? 1 : 0;
    }
  }
  const auto found = accuracy.update(given, targets);
  EXPECT_EQ(found.count.item<int64_t>(), 7);
  expect_numbers(found.compute(), {right / 7}, "ignored");
  // A mask of samples.
  const auto first = accuracy.update(given, targets, tensor<double>({1, 0}) != 0);
  EXPECT_EQ(first.count.item<int64_t>(), 4);
}

// Numbers of true positives, false positives and false negatives.
struct Counts {
  double hits = 0, wrong = 0, missed = 0;
};
std::vector<Counts> counts_of(const Numbers& predicted, const Numbers& actual) {
  std::vector<Counts> counts(kClasses);
  for (size_t i = 0; i < actual.size(); ++i) {
    const auto p = static_cast<size_t>(predicted[i]), a = static_cast<size_t>(actual[i]);
    if (p == a) {
      ++counts[a].hits;
    } else {
      ++counts[p].wrong;
      ++counts[a].missed;
    }
  }
  return counts;
}
double over(double a, double b) { return b == 0 ? 0 : a / b; }
double precision(const Counts& c) { return over(c.hits, c.hits + c.wrong); }
double recall(const Counts& c) { return over(c.hits, c.hits + c.missed); }
double f1(const Counts& c) { return over(2 * c.hits, 2 * c.hits + c.wrong + c.missed); }

Numbers averaged(const std::vector<Counts>& counts, double (*ratio)(const Counts&), Average average,
                 bool all_count) {
  Counts whole;
  double total = 0, weight = 0;
  Numbers each;
  for (const Counts& c : counts) {
    whole = {whole.hits + c.hits, whole.wrong + c.wrong, whole.missed + c.missed};
    const bool is_there = all_count || c.hits + c.wrong + c.missed > 0;
    const double share = average == Average::weighted ? c.hits + c.missed : is_there ? 1 : 0;
    total += share * ratio(c);
    weight += share;
    each.push_back(ratio(c));
  }
  switch (average) {
    case Average::micro: return {ratio(whole)};
    case Average::none: return each;
    case Average::macro:
    case Average::weighted: break;
  }
  return {total / weight};
}

template <class Metric>
void expect_ratios(double (*ratio)(const Counts&)) {
  for (const Average average : {Average::micro, Average::macro, Average::weighted, Average::none}) {
    for (const bool lacks : {false, true}) {
      const Data data = scores(lacks);
      const auto counts =
          counts_of(numbers_in(argmax(data.predictions, -1)), numbers_in(data.targets));
      expect_both(Metric::init({.num_classes = kClasses, .average = average}), data,
                  averaged(counts, ratio, average, false));
    }
    const Data data = labels({kRows, 3});
    std::vector<Counts> counts(3);
    const Numbers p = numbers_in(data.predictions), to = numbers_in(data.targets);
    for (size_t i = 0; i < p.size(); ++i) {
      const bool yes = p[i] > 0.5, is = to[i] == 1;
      counts[i % 3].hits += yes && is ? 1 : 0;
      counts[i % 3].wrong += yes && !is ? 1 : 0;
      counts[i % 3].missed += !yes && is ? 1 : 0;
    }
    expect_both(
        Metric::init({.num_classes = 3, .average = average, .of = {.task = Task::multilabel}}),
        data, averaged(counts, ratio, average, true));
  }
  const Data data = labels({kRows});
  const Tensor yes = data.predictions > 0.5, is = data.targets != 0;
  const auto count = [](const Tensor& x) { return sum(x).item<double>(); };
  const Counts counts{count(yes & is), count(yes & ~is), count(~yes & is)};
  expect_both(Metric::init({.of = {.task = Task::binary}}), data, {ratio(counts)});
}

TEST(Metrics, Precision) { expect_ratios<metrics::Precision>(precision); }
TEST(Metrics, Recall) { expect_ratios<metrics::Recall>(recall); }
TEST(Metrics, F1) { expect_ratios<metrics::F1>(f1); }

TEST(Metrics, ConfusionMatrix) {
  using metrics::Normalize;
  const Data data = scores(true);
  const Numbers p = numbers_in(argmax(data.predictions, -1)), to = numbers_in(data.targets);
  Numbers counts(kClasses * kClasses);
  for (size_t i = 0; i < p.size(); ++i) ++counts[static_cast<size_t>(to[i] * kClasses + p[i])];
  for (const Normalize normalize :
       {Normalize::none, Normalize::truth, Normalize::prediction, Normalize::all}) {
    Numbers wanted;
    for (size_t i = 0; i < counts.size(); ++i) {
      double divisor = 0;
      for (size_t j = 0; j < counts.size(); ++j) {
        const bool same_row = i / kClasses == j / kClasses, same_column = i % 4 == j % 4;
        const bool is_in = normalize == Normalize::truth        ? same_row
                           : normalize == Normalize::prediction ? same_column
                                                                : true;
        divisor += is_in ? counts[j] : 0;
      }
      wanted.push_back(normalize == Normalize::none ? counts[i] : over(counts[i], divisor));
    }
    expect_both(metrics::ConfusionMatrix::init({.num_classes = kClasses, .normalize = normalize}),
                data, wanted);
  }
}

TEST(Metrics, ConfusionMatricesOfLabels) {
  const Data data = labels({kRows, 3});
  const Numbers p = numbers_in(data.predictions), to = numbers_in(data.targets);
  Numbers wanted(12);
  for (size_t i = 0; i < p.size(); ++i) {
    ++wanted[i % 3 * 4 + (to[i] == 1 ? 2 : 0) + (p[i] > 0.5 ? 1 : 0)];
  }
  expect_both(metrics::ConfusionMatrix::init({.num_classes = 3, .of = {.task = Task::multilabel}}),
              data, wanted);
  const Data line{data.predictions[{Slice{}, 0}], data.targets[{Slice{}, 0}]};
  expect_both(metrics::ConfusionMatrix::init({.of = {.task = Task::binary}}), line,
              Numbers(wanted.begin(), wanted.begin() + 4));
}

TEST(Metrics, Perplexity) {
  const Tensor logits = draw(1, {kRows, 3, 5});
  const Tensor targets = random::randint(random::key(2), {kRows, 3}, -1, 5);
  const Tensor logs = log_softmax(logits, -1);
  double total = 0, count = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      const auto to = targets[{i, j}].item<int64_t>();
      if (to < 0) continue;
      total -= logs[{i, j, to}].item<double>();
      ++count;
    }
  }
  expect_both(metrics::Perplexity{.ignore_index = -1}, {logits, targets},
              {std::exp(total / count)});
  EXPECT_THROW(metrics::Perplexity{}.update(logits, targets), IndexError);
}

// The share of pairs in order, of scores [row * width + c].
double area(const Numbers& given, const std::vector<bool>& is_positive) {
  double above = 0, pairs = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    for (size_t j = 0; j < given.size(); ++j) {
      if (!is_positive[i] || is_positive[j]) continue;
      above += given[i] > given[j] ? 1 : given[i] == given[j] ? 0.5 : 0;
      ++pairs;
    }
  }
  return above / pairs;
}

TEST(Metrics, AreaUnderTheCurve) {
  Data data = labels({kRows});
  data.predictions = round(data.predictions * 20) / 20;  // with equal scores
  const Numbers to = numbers_in(data.targets);
  std::vector<bool> is_positive;
  for (const double each : to) is_positive.push_back(each == 1);
  expect_both(metrics::AUROC::init(), data, {area(numbers_in(data.predictions), is_positive)});
  const auto binned = [&](const Numbers& edges) {
    Numbers bins;
    for (const double score : numbers_in(data.predictions)) {
      double bin = 0;
      for (const double edge : edges) bin += score >= edge ? 1 : 0;
      bins.push_back(bin);
    }
    return area(bins, is_positive);
  };
  expect_both(metrics::BinnedAUROC::init(Numbers{0.6, 0.2}), data, {binned({0.2, 0.6})});
  expect_both(metrics::BinnedAUROC::init(5), data, {binned({0, 0.25, 0.5, 0.75, 1})});
}

TEST(Metrics, AreasOfSeveralClasses) {
  const auto expect_areas = [](const Data& data, Task task, int64_t classes) {
    Numbers areas, numbers;
    for (int64_t c = 0; c < classes; ++c) {
      const Tensor is =
          task == Task::multiclass ? data.targets == c : data.targets[{Slice{}, c}] != 0;
      std::vector<bool> is_positive;
      for (const double each : numbers_in(is)) is_positive.push_back(each == 1);
      areas.push_back(area(numbers_in(data.predictions[{Slice{}, c}]), is_positive));
      numbers.push_back(sum(is).item<double>());
    }
    double total = 0, weighted = 0, count = 0;
    for (size_t c = 0; c < areas.size(); ++c) {
      total += areas[c];
      weighted += areas[c] * numbers[c];
      count += numbers[c];
    }
    const auto made = [&](Average average) {
      return metrics::AUROC::init(
          {.num_classes = classes, .average = average, .of = {.task = task}});
    };
    expect_both(made(Average::macro), data, {total / static_cast<double>(classes)});
    expect_both(made(Average::weighted), data, {weighted / count});
    expect_both(made(Average::none), data, areas);
  };
  expect_areas(scores(), Task::multiclass, kClasses);
  expect_areas(labels({kRows, 3}), Task::multilabel, 3);
  const auto one_class = metrics::AUROC::init().update(draw(1, {5}), ones({5}, DType::i64));
  expect_numbers(one_class.compute(), {std::nan("")}, "of one class");
}

TEST(Metrics, AreValuesInLoops) {
  const Data data = scores();
  struct Both {
    metrics::Accuracy accuracy;
    metrics::F1 f1;
  };
  const Both begin{{}, metrics::F1::init({.num_classes = kClasses})};
  const auto cut = [](const Tensor& x) {
    Shape shape{4, 6};
    if (x.rank() == 2) shape.append(kClasses);
    return reshape(x, shape);
  };
  const Both found = jit([](const Both& both, const Tensor& x, const Tensor& y) {
    const auto step = [](const Both& both, const std::pair<Tensor, Tensor>& batch) {
      return std::pair{Both{both.accuracy.update(batch.first, batch.second),
                            both.f1.update(batch.first, batch.second)},
                       std::tuple<>()};
    };
    return scan(step, both, std::pair{x, y}).first;
  })(begin, cut(data.predictions), cut(data.targets));
  expect_numbers(found.accuracy.compute(),
                 numbers_in(begin.accuracy.update(data.predictions, data.targets).compute()),
                 "accuracy");
  expect_numbers(found.f1.compute(),
                 numbers_in(begin.f1.update(data.predictions, data.targets).compute()), "f1");
}

TEST(Metrics, AreNotTrained) {
  struct State {
    Tensor weight = ones({3}, DType::f64);
    metrics::Mean losses;
  };
  const auto loss = [](State state, const Tensor& x) {
    const Tensor value = sum(square(state.weight) * x);
    state.losses = state.losses.update(value);
    return std::pair{value, state};
  };
  const auto [both, gradient] = value_and_grad(loss, with_aux)(State{}, tensor<double>({1, 2, 3}));
  expect_numbers(both.second.losses.compute(), {6}, "losses");
  expect_numbers(gradient.weight, {2, 4, 6}, "gradient");
}

// Runs it eagerly and jitted.
template <class Metric>
void expect_check_fails(const Metric& metric, const Data& data,
                        std::initializer_list<std::string_view> parts) {
  const auto update = [](const Metric& to, const Tensor& x, const Tensor& y) {
    return to.update(x, y);
  };
  expect_contains(what_of<CheckError>([&] { update(metric, data.predictions, data.targets); }),
                  parts);
  expect_contains(what_of<CheckError>([&] { jit(update)(metric, data.predictions, data.targets); }),
                  parts);
}

TEST(Metrics, RefuseTargetsThatAreNoClasses) {
  const Tensor x = ones({3, 4}), t = tensor<int64_t>({0, 1, 2});
  const auto refuse = [&](const auto& metric) {
    expect_contains(what_of<TypeError>([&] { metric.update(x, astype(t, DType::f32)); }),
                    {"f32[3], expected classes", "astype(targets, DType::i64)"});
    expect_contains(what_of<TypeError>([&] { metric.update(x, one_hot(t, 4, DType::f32)); }),
                    {"f32[3, 4], expected classes", "argmax(targets, axis)"});
    EXPECT_THROW(metric.update(x, expand_dims(t, -1)), ShapeError);
  };
  const auto refuse_classes = [&](const auto& metric) {
    refuse(metric);
    const auto text = "the targets have another class than 0 to 3";
    expect_check_fails(metric, {x, t + 2}, {text});
    expect_check_fails(metric, {x, t - 1}, {text});
    EXPECT_NO_THROW(metric.update(x, t - 1, t > 0));
  };
  const metrics::ClassOptions classes{.task = Task::multiclass};
  refuse_classes(metrics::Accuracy{});
  refuse_classes(metrics::Accuracy{.top_k = 2});
  refuse_classes(metrics::F1::init({.num_classes = 4}));
  refuse_classes(metrics::ConfusionMatrix::init({.num_classes = 4}));
  refuse_classes(metrics::AUROC::init({.num_classes = 4, .of = classes}));
  refuse(metrics::Perplexity{});
  expect_check_fails(metrics::Accuracy{}, {t, t - 1}, {"targets", "0 or more"});
  expect_check_fails(metrics::ConfusionMatrix::init({.num_classes = 2}), {t, t - t},
                     {"the predictions have another class than 0 to 1"});
  const Tensor p = tensor<float>({0.1, 0.2, 0.3});
  const metrics::ClassOptions binary{.task = Task::binary};
  const auto refuse_labels = [&](const auto& metric) {
    for (const Tensor& wrong : {t, t - 1, tensor<float>({0, 0.5, 1})}) {
      expect_check_fails(metric, {p, wrong}, {"the targets have another value than 0 or 1"});
    }
    EXPECT_NO_THROW(metric.update(p, tensor<float>({0, 1, 1})).update(p, t > 1));
  };
  refuse_labels(metrics::Accuracy{.of = binary});
  refuse_labels(metrics::F1::init({.of = binary}));
  refuse_labels(metrics::ConfusionMatrix::init({.of = binary}));
  refuse_labels(metrics::Recall::init({.num_classes = 3, .of = {.task = Task::multilabel}}));
}

TEST(Metrics, RefuseWhatDoesNotFit) {
  const Data data = scores();
  expect_contains(what_of<ValueError>([] { metrics::Precision::init({}); }),
                  {"metrics::Precision", "num_classes is missing", "metrics_test.cpp"});
  expect_contains(what_of<ValueError>([] { metrics::F1::init({.num_classes = 0}); }),
                  {"metrics::F1", "num_classes is 0"});
  expect_contains(
      what_of<ShapeError>([&] {
        metrics::Recall::init({.num_classes = 5}).update(data.predictions, data.targets);
      }),
      {"metrics::Recall", "scores of 4 classes, expected 5"});
  expect_contains(what_of<ShapeError>([&] {
                    metrics::Accuracy{}.update(data.predictions, data.targets[{Slice{1, {}}}]);
                  }),
                  {"metrics::Accuracy", "same sizes"});
  const Tensor zeros_and_ones = tensor<int64_t>({0, 1, 1});
  expect_contains(
      what_of<ShapeError>([&] { metrics::Accuracy{}.update(ones({3}), zeros_and_ones); }),
      {"scores with an axis of classes", "Task::binary"});
  expect_contains(what_of<ValueError>([&] {
                    metrics::Accuracy{.top_k = 0}.update(data.predictions, data.targets);
                  }),
                  {"top_k is 0"});
  expect_contains(what_of<TypeError>([&] {
                    metrics::Accuracy{}.update(data.predictions, data.targets, data.targets);
                  }),
                  {"mask is i64", "mask != 0"});
  expect_contains(
      what_of<ValueError>([&] { metrics::Accuracy{}.merge(metrics::Accuracy{.top_k = 2}); }),
      {"different options"});
  expect_contains(what_of<ValueError>([] { metrics::AUROC::init({.average = Average::micro}); }),
                  {"micro"});
  expect_contains(what_of<ValueError>([] { metrics::BinnedAUROC::init(1); }), {"thresholds is 1"});
  expect_contains(
      what_of<ShapeError>([] { metrics::R2{.num_outputs = 3}.update(ones({4, 2}), ones({4, 2})); }),
      {"metrics::R2", "3 along the last axis"});
}

}  // namespace
}  // namespace plait
