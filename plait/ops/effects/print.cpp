#include "plait/ops/effects/print.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/ir/inference.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/samples.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/effect_log.h"

namespace plait {
namespace {

struct Printing {
  std::recursive_mutex mutex;  // held while the sink runs; recursive, since a sink may print or set
                               // another sink
  PrintSink sink;
  bool is_in_sink = false;
};
Printing& printing() {
  static Immortal<Printing> printing;
  return *printing;
}

// Flushes, so that the text is visible even if the process crashes next.
void write_to_stdout(const std::string& text) {
  const std::string line = text + "\n";
  const size_t written = std::fwrite(line.data(), 1, line.size(), stdout);
  if (written == line.size() && std::fflush(stdout) == 0) return;
  throw IoError("print: cannot write to standard output: {}", std::strerror(errno));
}

struct InSink {
  explicit InSink(Printing& printing) : printing(printing) { printing.is_in_sink = true; }
  ~InSink() { printing.is_in_sink = false; }
  InSink(const InSink&) = delete;
  InSink& operator=(const InSink&) = delete;
  Printing& printing;
};

void print_now(const Array& x, const std::string& label) {
  const std::string numbers = text_of(x);
  const std::string text = label.empty() ? numbers : label + ": " + numbers;
  Printing& state = printing();
  const std::lock_guard lock(state.mutex);
  if (!state.sink || state.is_in_sink) return write_to_stdout(text);
  const InSink inside(state);
  const PrintSink sink = state.sink;
  sink(text);
}

struct PrintTable;
const PrintTable& print_ops();

struct PrintTable {
  const ir::Primitive& print = declare(
      {.primitive = {
           .name = "print",
           .summary = "Prints the label and the elements; has no result.",
           .oracle = "the text that tests/ops/effects/print_test.cpp expects",
           .attributes = &ir::schema_of<PrintAttributes>(),
           .operands = ir::exactly(1),
           .infer =
               [](ir::Inference& in) {
                 in.expect_array(0, kAllDTypes);
                 expect_samples(in, in.attributes_as<PrintAttributes>().samples);
               },
           .effects = [](const ir::Instruction&) -> ir::Effects { return {.observable = true}; }},
       .rules = {.not_differentiable = "has no results",
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_over_samples<PrintAttributes>(print_ops().print, a, operands,
                                                              batched);
                 }}},
       .evaluator = [](KernelCall& call, const void*) {
         const auto& attributes = call.attributes.as<PrintAttributes>();
         EffectLog::once(call, [&] {
           for_each_sample(call.operands, attributes.samples,
                           [&](auto operands, auto) { print_now(operands[0], attributes.label); });
         });
       }});
};
const PrintTable& print_ops() {
  static const PrintTable table;
  return table;
}

}  // namespace

Tensor print(const Tensor& x, std::string_view label) {
  const Call call("print", x);
  apply_all(print_ops().print, {&x, 1}, ir::Attributes::of(PrintAttributes{std::string(label)}));
  return x;
}

PrintSink set_print_sink(PrintSink sink) {
  Printing& state = printing();
  const std::lock_guard lock(state.mutex);
  return std::exchange(state.sink, std::move(sink));
}

void register_print() { print_ops(); }

}  // namespace plait
