// The records that users have declared in this process.
#pragma once

#include <span>
#include <string_view>

#include "plait/ir/program.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tensor.h"

namespace plait {

// Declares it. TypeError if it was declared with other fields before.
void declare_record(std::string_view name, std::span<const ir::Type> fields);
// Declares the user-defined records of the program.
void declare_records_of(const ir::Program& program);

// The declared record; KeyError if there is none of that name.
const ir::RecordType& record_named(std::string_view name);
// The record of a value of type `@name` or `@name?`; TypeError for other types.
const ir::RecordType& record_of(const Tensor& record);
ir::Type type_of(const ir::RecordType& record);  // `@name?`

// True for a record that a user may declare. Others are Plait's own: tapes.
bool is_of_user(const ir::Type& type);
bool is_optional_of_user(const ir::Type& type);

// Declares the record, and the records in its fields, in the trace.
void declare_in(Trace& trace, const ir::RecordType& record);

}  // namespace plait
