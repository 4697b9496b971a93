// The function that a trace records: what was recorded so far, its sizes, and the tensors from
// outside that it uses.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/ir/builder.h"
#include "plait/tensor/inside/tracing/trace_captures.h"
#include "plait/tensor/inside/tracing/trace_program.h"
#include "plait/tensor/inside/tracing/traced_sizes.h"
#include "plait/tensor/tensor.h"

namespace plait {

struct RecordedFunction {
  std::shared_ptr<const ir::Function> function;
  // Inputs beyond the declared parameters, in order: tensors of outer traces, and concrete tensors.
  std::vector<Tensor> captures;
  // New number of each value of the trace; ir::Outlined::kWithin if it is inside an outlined part.
  std::vector<ir::ValueId> values;
};

class OpenFunction {
 public:
  // `enclosing` is the function of the enclosing trace, whose sizes it may use; null if there is
  // none.
  OpenFunction(std::string name, std::shared_ptr<TraceProgram> program,
               const OpenFunction* enclosing);
  ~OpenFunction();
  OpenFunction(const OpenFunction&) = delete;
  OpenFunction& operator=(const OpenFunction&) = delete;

  const std::string& name() const { return name_; }
  // Its program, which the functions of nested traces share.
  const std::shared_ptr<TraceProgram>& program() const { return program_; }
  ir::FunctionBuilder& builder() { return *builder_; }
  const ir::Function& so_far() const { return builder_->so_far(); }
  Location latest_location() const;  // location of the last recorded instruction

  // ---- Sizes.

  TracedSizes& sizes() { return sizes_; }
  const TracedSizes& sizes() const { return sizes_; }
  // Declares symbolic sizes as size parameters.
  void declare_sizes(const ir::Type& type);
  void declare_size(Dim symbol);  // ValueError if there is one of that name
  // A similar name that no size has, here or in the enclosing functions.
  Dim fresh_size(std::string_view hint) { return builder_->fresh_size(hint); }
  // True if a parameter or a captured tensor has a dimension of that size.
  bool has_dimension(Dim symbol) const;
  // Sizes used so far that are not declared here; those of them that an enclosing function has.
  std::vector<Dim> undeclared_sizes() const;
  std::vector<Dim> outer_sizes() const;

  // ---- Tensors from outside.

  const TraceCaptures& captures() const { return captures_; }
  // Captures a tensor that is not captured yet.
  ir::ValueId capture(const void* identity, const Tensor& tensor);

  // ---- Parts, which become functions that it calls.

  void outline(ir::Part part) { parts_.push_back(std::move(part)); }
  void keep_whole() { is_kept_whole_ = true; }  // permanently: no part is outlined
  bool is_kept_whole() const { return is_kept_whole_; }

  // ---- The end.

  RecordedFunction finish(std::span<const ir::ValueId> results, std::span<const Dim> size_values);
  // Begins another function of the same name, after this one was finished.
  void begin_next();
  // The same, in a program of its own.
  void begin_in_new_program();

 private:
  void begin();

  const std::string name_;
  std::shared_ptr<TraceProgram> program_;
  const OpenFunction* const enclosing_;
  std::optional<ir::FunctionBuilder> builder_;
  std::vector<ir::Part> parts_;
  bool is_kept_whole_ = false;
  TraceCaptures captures_;
  TracedSizes sizes_;
};

}  // namespace plait
