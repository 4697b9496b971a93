// Readers of CSV, JSONL and text. The package (python/plait/inside/rows) makes the arguments.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "plait/io/inside/json.h"
#include "plait/io/rows/csv.h"
#include "plait/io/rows/csv_blocks.h"
#include "plait/io/rows/jsonl.h"
#include "plait/io/rows/line_stream.h"
#include "plait/io/rows/text_lines.h"

#include "python/bindings/bindings.h"
#include "python/bindings/logs/file_arguments.h"

namespace plait::python {
namespace {

nb::object python_value(const Json& json) {
  if (json.is_null()) return nb::none();
  if (json.holds<bool>()) return nb::bool_(json.as<bool>(""));
  if (json.holds<int64_t>()) return nb::int_(json.as<int64_t>(""));
  if (json.holds<double>()) return nb::float_(json.number(""));
  if (json.holds<Json::BigInteger>()) {
    const std::string& digits = json.as<Json::BigInteger>("").digits;
    return nb::steal(PyLong_FromString(digits.c_str(), nullptr, 10));
  }
  if (json.holds<std::string>()) return text_object(json.as<std::string>(""));
  if (json.holds<Json::List>()) {
    nb::list result;
    for (const Json& each : json.as<Json::List>("")) result.append(python_value(each));
    return result;
  }
  nb::dict result;
  for (const auto& [name, each] : json.as<Json::Object>("")) {
    result[text_object(name)] = python_value(each);
  }
  return result;
}

CsvType csv_type_from(const std::string& column, const std::string& name) {
  if (name == "i64") return CsvType::i64;
  if (name == "f64") return CsvType::f64;
  if (name == "text") return CsvType::text;
  throw ValueError("csv: the type of column '{}' is '{}', expected 'i64', 'f64' or 'text'", column,
                   name);
}

char character_from(std::string_view what, const std::string& text) {
  if (text.size() <= 1) return text.empty() ? '\0' : text[0];
  throw ValueError("csv: the {} is '{}', expected one character of ASCII", what, text);
}

// From the dict that csv_options() in the package made.
CsvOptions csv_options(const nb::dict& given) {
  using Names = std::vector<std::string>;
  const auto optional = [&](const char* name, Names& value) {
    if (!given[name].is_none()) value = nb::cast<Names>(given[name]);
  };
  CsvOptions options{
      .separator = character_from("separator", nb::cast<std::string>(given["separator"])),
      .quote = character_from(
          "quote", given["quote"].is_none() ? "" : nb::cast<std::string>(given["quote"])),
      .has_header = nb::cast<bool>(given["header"])};
  optional("names", options.names);
  optional("missing", options.missing);
  optional("columns", options.columns);
  if (given["types"].is_none()) return options;
  for (const auto& [column, type] : nb::cast<nb::dict>(given["types"])) {
    const std::string name = utf8_of(column);
    options.types[name] = csv_type_from(name, utf8_of(type));
  }
  return options;
}

// The numbers of f64 as bytes, of which NumPy makes objects sooner than we could.
struct CellsAsPython {
  nb::object operator()(const Array& array) const {
    if (array.dtype() == DType::f64) {
      const auto bytes = std::as_bytes(array.elements<double>());
      return nb::bytes(bytes.data(), bytes.size());
    }
    nb::list result;
    for (const int64_t number : array.elements<int64_t>()) result.append(nb::int_(number));
    return result;
  }
  nb::object operator()(const std::vector<std::string>& texts) const {
    nb::list result;
    for (const std::string& text : texts) result.append(text_object(text));
    return result;
  }
};

nb::list python_cells(const CsvTable& table) {
  nb::list columns;
  for (const CsvColumn& column : table.columns) {
    columns.append(std::visit(CellsAsPython(), column));
  }
  return columns;
}

struct ColumnAsPython {
  nb::object operator()(const Array& array) const { return to_python(Tensor(array)); }
  nb::object operator()(const std::vector<std::string>& texts) const {
    nb::list result;
    for (const std::string& text : texts) result.append(text_object(text));
    return result;
  }
};

// Dicts by name, of columns of one length. A copy of a dict has its places: nothing is hashed
// again.
nb::list rows_of(const nb::list& names, const nb::list& columns) {
  nb::dict empty;
  for (const nb::handle name : names) empty[name] = nb::none();
  nb::list rows;
  const auto cells = [&](size_t k) { return PyList_GET_ITEM(columns.ptr(), k); };
  const Py_ssize_t count = columns.size() == 0 ? 0 : PyList_GET_SIZE(cells(0));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const auto row = nb::steal<nb::dict>(PyDict_Copy(empty.ptr()));
    for (size_t k = 0; k < columns.size(); ++k) {
      PyObject* const name = PyList_GET_ITEM(names.ptr(), k);
      PyObject* const cell = PyList_GET_ITEM(cells(k), i);
      if (PyDict_SetItem(row.ptr(), name, cell) != 0) nb::raise_python_error();
    }
    rows.append(row);
  }
  return rows;
}

nb::dict python_table(const CsvTable& table) {
  nb::dict columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    columns[text_object(table.names[i])] = std::visit(ColumnAsPython(), table.columns[i]);
  }
  return columns;
}

std::string_view csv_type_name(CsvType type) {
  return type == CsvType::i64 ? "i64" : type == CsvType::f64 ? "f64" : "text";
}

void bind_csv(nb::module_& module) {
  nb::class_<CsvFile>(module, "_CsvFile")
      .def("__init__",
           [](CsvFile* place, const nb::bytes& path, const nb::dict& given) {
             CsvOptions options = csv_options(given);
             const std::string file = system_path(path);
             computed([&] { new (place) CsvFile(file, std::move(options)); });
           })
      .def("names", [](const CsvFile& file) { return file.names(); })
      .def("size", [](const CsvFile& file) { return computed([&] { return file.size(); }); })
      .def("types",
           [](const CsvFile& file) {
             nb::list types;
             for (const CsvType type : computed([&] { return file.types(); })) {
               types.append(text_object(csv_type_name(type)));
             }
             return types;
           })
      .def("cells",
           [](const CsvFile& file, int64_t i) {
             return python_cells(computed([&] { return file.rows(i, i + 1); }));
           })
      .def("rows", [](const CsvFile& file, int64_t begin, int64_t end) {
        return python_table(computed([&] { return file.rows(begin, end); }));
      });
}

std::vector<std::string> system_paths(const std::vector<nb::bytes>& given) {
  std::vector<std::string> paths;
  for (const nb::bytes& each : given) paths.push_back(system_path(each));
  return paths;
}

void bind_csv_blocks(nb::module_& module) {
  nb::class_<CsvBlocks>(module, "_CsvBlocks")
      .def("__init__",
           [](CsvBlocks* place, const std::vector<nb::bytes>& paths, const nb::dict& options) {
             new (place) CsvBlocks(system_paths(paths), csv_options(options));
           })
      .def("next", [](CsvBlocks& blocks) { return computed([&] { return blocks.next(); }); })
      .def("position", &CsvBlocks::position)
      .def("seek", [](CsvBlocks& blocks, const std::vector<int64_t>& position) {
        computed([&] { blocks.seek(position); });
      });
  module.def("_rows_of", &rows_of);
  nb::class_<CsvBlock>(module, "_CsvBlock")
      .def("size", [](const CsvBlock& block) { return block.table.row_count; })
      .def("names", [](const CsvBlock& block) { return block.table.names; })
      .def("cells", [](const CsvBlock& block) { return python_cells(block.table); })
      .def("position", &CsvBlock::position);
}

void bind_line_stream(nb::module_& module) {
  nb::class_<LineStream>(module, "_LineStream")
      .def("__init__",
           [](LineStream* place, const std::vector<nb::bytes>& paths, bool skips_blank) {
             new (place) LineStream(system_paths(paths), skips_blank);
           })
      .def("next", [](LineStream& stream) { return computed([&] { return stream.next(); }); })
      .def("position", &LineStream::position)
      .def("seek", [](LineStream& stream, const std::vector<int64_t>& position) {
        computed([&] { stream.seek(position); });
      });
  nb::class_<StreamedLine>(module, "_StreamedLine")
      .def("text", [](const StreamedLine& line) { return text_object(line.text()); })
      .def("value", [](const StreamedLine& line) { return python_value(line.json()); });
}

}  // namespace

void bind_rows(nb::module_& module) {
  bind_csv(module);
  nb::class_<JsonlFile>(module, "_JsonlFile")
      .def("__init__", [](JsonlFile* place,
                          const nb::bytes& path) { new (place) JsonlFile(system_path(path)); })
      .def("size", [](const JsonlFile& file) { return computed([&] { return file.size(); }); })
      .def("value", [](const JsonlFile& file, int64_t i) {
        return python_value(computed([&] { return file.value(i); }));
      });
  nb::class_<TextLines>(module, "_TextLines")
      .def("__init__", [](TextLines* place,
                          const nb::bytes& path) { new (place) TextLines(system_path(path)); })
      .def("size", [](const TextLines& lines) { return computed([&] { return lines.size(); }); })
      .def("line", [](const TextLines& lines, int64_t i) {
        return text_object(computed([&] { return lines.line(i); }));
      });
  bind_csv_blocks(module);
  bind_line_stream(module);
}

}  // namespace plait::python
