#include "plait/cpu/onednn_packed_product.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "plait/cpu/onednn_engine.h"
#include "plait/tensor/buffer.h"

namespace plait {
namespace {

using dnnl::memory;

// The tile units (AMX) want operands whose rows lie close: rows a multiple of 1 KiB apart push each
// other out of the first cache, and oneDNN's kernels for these units take only operands without
// gaps. So a and b are copied in blocks, b into the layout that oneDNN asks for, and products of
// blocks add up in f32. Rows of blocks of a are 22 cache lines long: 16 of them, as many as a tile
// has, begin in different sets of the first cache.
constexpr int64_t kRows = 256, kColumns = 512, kSteps = 704;

// Below, copying costs more than it gives.
constexpr int64_t kLeastRows = 256, kLeastColumns = 256, kLeastWork = int64_t{1} << 28;

// A dimension in blocks of one size, the last of which may be smaller.
struct Cut {
  int64_t size, block;

  int64_t count() const { return (size + block - 1) / block; }
  int64_t size_of(int64_t i) const { return std::min(block, size - i * block); }
  bool is_last(int64_t i) const { return i + 1 == count(); }
};

memory::desc dense(int64_t rows, int64_t columns, memory::data_type type) {
  return {{rows, columns}, type, memory::dims{columns, 1}};
}

std::shared_ptr<OnednnPrimitive> copy_primitive(const memory::desc& from, const memory::desc& to) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc desc(onednn_engine(), from, onednn_engine(), to, attributes);
  return std::make_shared<OnednnPrimitive>(
      dnnl::reorder(desc), desc.scratchpad_desc(),
      std::vector<OnednnPrimitive::Argument>{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

// What is done with blocks of one kind.
struct BlockPrimitives {
  std::shared_ptr<OnednnPrimitive> pack_a, pack_b, multiply, multiply_and_add, store;
  int64_t b_bytes = 0;  // packed
};

class PackedProduct : public LibraryProduct {
 public:
  explicit PackedProduct(const ProductShape& shape)
      : shape_(shape),
        rows_{shape.rows, kRows},
        columns_{shape.columns, kColumns},
        steps_{shape.steps, kSteps} {}

  // False where oneDNN would not use the tile units.
  bool prepare() {
    for (const int64_t row : {int64_t{0}, rows_.count() - 1}) {
      for (const int64_t column : {int64_t{0}, columns_.count() - 1}) {
        for (const int64_t step : {int64_t{0}, steps_.count() - 1}) {
          BlockPrimitives& block = primitives_[kind_of(row, column, step)];
          if (block.multiply != nullptr) continue;
          if (!prepare(block, rows_.size_of(row), columns_.size_of(column), steps_.size_of(step))) {
            return false;
          }
          most_b_bytes_ = std::max(most_b_bytes_, (block.b_bytes + 63) / 64 * 64);
        }
      }
    }
    return true;
  }

  void run(const std::byte* a, const std::byte* b, std::byte* out) override {
    const int64_t size = size_of(shape_.dtype);
    const Buffer packed_b = pack_b(b);
    const Buffer packed_a = Buffer::allocate(kRows * kSteps * size * steps_.count());
    const Buffer sums = Buffer::allocate(kRows * kColumns * size_of(DType::f32));
    for (int64_t row = 0; row < rows_.count(); ++row) {
      pack_rows(a, row, packed_a);
      for (int64_t column = 0; column < columns_.count(); ++column) {
        for (int64_t step = 0; step < steps_.count(); ++step) {
          const BlockPrimitives& block = primitives_[kind_of(row, column, step)];
          OnednnPrimitive& multiply = step == 0 ? *block.multiply : *block.multiply_and_add;
          run(multiply, {packed_a.data() + step * kRows * kSteps * size,
                         packed_b.data() + place_in_b(column, step), sums.data()});
        }
        std::byte* to = out + (row * kRows * shape_.out_row + column * kColumns) * size;
        run(*primitives_[kind_of(row, column, 0)].store, {sums.data(), to});
      }
    }
  }

 private:
  static void run(OnednnPrimitive& primitive, std::initializer_list<const std::byte*> data) {
    std::array<void*, 3> pointers{};
    std::ranges::transform(data, pointers.begin(),
                           [](const std::byte* each) { return const_cast<std::byte*>(each); });
    primitive.run(std::span(pointers).first(data.size()));
  }

  size_t kind_of(int64_t row, int64_t column, int64_t step) const {
    return (rows_.is_last(row) ? 1 : 0) + (columns_.is_last(column) ? 2 : 0) +
           (steps_.is_last(step) ? 4 : 0);
  }
  int64_t place_in_b(int64_t column, int64_t step) const {
    return (column * steps_.count() + step) * most_b_bytes_;
  }

  bool prepare(BlockPrimitives& block, int64_t rows, int64_t columns, int64_t steps) const {
    const auto narrow = *onednn_type(shape_.dtype), wide = memory::data_type::f32;
    const memory::desc a = dense(rows, steps, narrow), sums = dense(rows, columns, wide);
    const auto product_of = [&](const memory::desc& b, bool adds) {
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      dnnl::post_ops after;
      if (adds) after.append_sum();
      attributes.set_post_ops(after);
      return dnnl::matmul::primitive_desc({a, b, sums}, attributes, onednn_engine());
    };
    const auto made = [&](const dnnl::matmul::primitive_desc& desc) {
      return std::make_shared<OnednnPrimitive>(
          dnnl::matmul(desc), desc.scratchpad_desc(),
          std::vector<OnednnPrimitive::Argument>{
              {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, desc.weights_desc()}, {DNNL_ARG_DST, sums}});
    };
    const auto first = product_of({{steps, columns}, narrow, memory::format_tag::any}, false);
    const auto later = product_of(first.weights_desc(), true);
    for (const auto& desc : {first, later}) {
      if (std::string_view(desc.impl_info_str()).find("amx") == std::string_view::npos)
        return false;
    }
    block.multiply = made(first);
    block.multiply_and_add = made(later);
    block.b_bytes = static_cast<int64_t>(first.weights_desc().get_size());
    block.pack_a =
        copy_primitive({{rows, steps}, narrow, memory::dims{shape_.a_row, shape_.a_step}}, a);
    block.pack_b =
        copy_primitive({{steps, columns}, narrow, memory::dims{shape_.b_step, shape_.b_column}},
                       first.weights_desc());
    block.store = copy_primitive(sums, {{rows, columns}, narrow, memory::dims{shape_.out_row, 1}});
    return true;
  }

  Buffer pack_b(const std::byte* b) const {
    const int64_t size = size_of(shape_.dtype);
    Buffer packed = Buffer::allocate(columns_.count() * steps_.count() * most_b_bytes_);
    for (int64_t column = 0; column < columns_.count(); ++column) {
      for (int64_t step = 0; step < steps_.count(); ++step) {
        const std::byte* from =
            b + (step * kSteps * shape_.b_step + column * kColumns * shape_.b_column) * size;
        run(*primitives_[kind_of(0, column, step)].pack_b,
            {from, packed.data() + place_in_b(column, step)});
      }
    }
    return packed;
  }

  void pack_rows(const std::byte* a, int64_t row, const Buffer& packed) const {
    const int64_t size = size_of(shape_.dtype);
    for (int64_t step = 0; step < steps_.count(); ++step) {
      const std::byte* from =
          a + (row * kRows * shape_.a_row + step * kSteps * shape_.a_step) * size;
      run(*primitives_[kind_of(row, 0, step)].pack_a,
          {from, packed.data() + step * kRows * kSteps * size});
    }
  }

  ProductShape shape_;
  Cut rows_, columns_, steps_;
  std::array<BlockPrimitives, 8> primitives_;  // by kind_of
  int64_t most_b_bytes_ = 0;
};

}  // namespace

std::shared_ptr<LibraryProduct> packed_product(const ProductShape& shape) {
  if (shape.dtype != DType::bf16 || shape.rows < kLeastRows || shape.columns < kLeastColumns ||
      shape.rows * shape.columns * shape.steps < kLeastWork) {
    return nullptr;
  }
  auto product = std::make_shared<PackedProduct>(shape);
  bool uses_tiles = false;
  make_by_onednn([&] { uses_tiles = product->prepare(); });
  return uses_tiles ? product : nullptr;
}

}  // namespace plait
